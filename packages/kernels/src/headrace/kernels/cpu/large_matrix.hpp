// Decompositions of one row-major matrix by LAPACK, in the matrix's own precision.
//
// LAPACK is column-major, so it sees the transpose; where an algorithm allows it, the transpose is
// what is worked on, and nothing is moved. The functions answer the text of an error, or null.
#ifndef HEADRACE_CPU_LARGE_MATRIX_HPP
#define HEADRACE_CPU_LARGE_MATRIX_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "dense_matrix.hpp"
#include "lapack.hpp"

namespace hr::large {

using dense::conj_of;
using lapack::Lapack;
using lapack::Real;

// to [columns, rows] = transpose of from [rows, columns], in tiles that stay in the cache.
template <bool conjugated, class T>
void transpose(const T* from, int64_t rows, int64_t columns, T* to) {
  constexpr int64_t tile = 32;
  for (int64_t i0 = 0; i0 < rows; i0 += tile)
    for (int64_t j0 = 0; j0 < columns; j0 += tile)
      for (int64_t i = i0; i < std::min(rows, i0 + tile); ++i)
        for (int64_t j = j0; j < std::min(columns, j0 + tile); ++j)
          to[j * rows + i] = conjugated ? conj_of(from[i * columns + j]) : from[i * columns + j];
}

template <class T> const char* cholesky(const T* in, int64_t n, T* out) {
  std::copy_n(in, n * n, out);
  // The upper triangle of the transpose is the lower one of the matrix.
  bool good = Lapack<T>::potrf('U', n, out) == 0;
  for (int64_t i = 0; i < n; ++i) {
    good = good && std::real(out[i * n + i]) > 0;
    std::fill(out + i * n + i + 1, out + (i + 1) * n, T(0));
  }
  return good ? nullptr
              : "Cholesky decomposition was not successful. The input might not be valid.";
}

// Factors of a matrix given column by column (or of the transpose of a row-major one).
template <class T> struct Lu {
  std::vector<T> a;
  std::vector<int64_t> pivots;  // from 1
  bool singular = false;

  Lu(std::vector<T> matrix, int64_t n) : a(std::move(matrix)), pivots(size_t(n), 0) {
    singular = Lapack<T>::getrf(n, a.data(), pivots.data()) != 0;
    for (int64_t i = 0; i < n; ++i) singular = singular || !(std::abs(a[size_t(i * n + i)]) > 0);
  }
  int sign() const {
    int result = 1;
    for (size_t i = 0; i < pivots.size(); ++i)
      if (pivots[i] != int64_t(i) + 1) result = -result;
    return result;
  }
};

template <class T> std::vector<T> copied(const T* in, int64_t n) { return {in, in + n * n}; }

template <class T> const char* inverse(const T* in, int64_t n, bool adjoint, T* out) {
  auto a = copied(in, n);
  if (adjoint) transpose<true>(in, n, n, a.data());
  Lu<T> lu(std::move(a), n);
  if (lu.singular || Lapack<T>::getri(n, lu.a.data(), lu.pivots.data()) != 0)
    return "Input is not invertible.";
  std::copy(lu.a.begin(), lu.a.end(), out);
  return nullptr;
}

// row i of L U is row rows[i] of the matrix.
template <class T> const char* lu(const T* in, int64_t n, T* out, std::vector<int64_t>* rows) {
  std::vector<T> columns(size_t(n * n));
  transpose<false>(in, n, n, columns.data());
  Lu<T> factors(std::move(columns), n);
  if (factors.singular) return "Input is not invertible.";
  transpose<false>(factors.a.data(), n, n, out);
  rows->resize(size_t(n));
  std::iota(rows->begin(), rows->end(), int64_t(0));
  for (int64_t i = 0; i < n; ++i)
    std::swap((*rows)[size_t(i)], (*rows)[size_t(factors.pivots[size_t(i)] - 1)]);
  return nullptr;
}

template <class T>
const char* solve(const T* in, const T* rhs, int64_t n, int64_t m, bool adjoint, T* out) {
  // Column by column, the adjoint is the conjugate of what a row-major matrix is.
  std::vector<T> a(size_t(n * n)), b(size_t(n * m));
  if (adjoint) std::transform(in, in + n * n, a.begin(), [](T x) { return conj_of(x); });
  else transpose<false>(in, n, n, a.data());
  transpose<false>(rhs, n, m, b.data());
  bool singular = Lapack<T>::gesv(n, m, a.data(), b.data()) != 0;
  for (int64_t i = 0; i < n; ++i) singular = singular || !(std::abs(a[size_t(i * n + i)]) > 0);
  if (singular) return "Input matrix is not invertible.";
  transpose<false>(b.data(), m, n, out);
  return nullptr;
}

template <class T>
const char* solve_triangular(const T* in, const T* rhs, int64_t n, int64_t m, bool lower,
                             bool adjoint, T* out) {
  for (int64_t i = 0; i < n; ++i)
    if (in[i * n + i] == T(0)) return "Input matrix is not invertible.";
  std::copy_n(rhs, n * m, out);
  Lapack<T>::trsm_right(lower ? 'U' : 'L', adjoint ? 'C' : 'N', m, n, in, out);
  return nullptr;
}

template <class T>
const char* qr(const T* in, int64_t m, int64_t n, bool full, T* q, T* r) {
  const int64_t least = std::min(m, n), columns = full ? m : least;
  std::vector<T> a(size_t(m * std::max(n, columns)), T(0)), tau(size_t(least), T(0));
  transpose<false>(in, m, n, a.data());
  Lapack<T>::geqrf(m, n, a.data(), tau.data());
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < n; ++j) r[i * n + j] = j >= i ? a[size_t(j * m + i)] : T(0);
  Lapack<T>::orgqr(m, columns, least, a.data(), tau.data());
  transpose<false>(a.data(), columns, m, q);
  return nullptr;
}

// The lower triangle counts. vectors may be null.
template <class T>
const char* self_adjoint_eig(const T* in, int64_t n, std::vector<Real<T>>* values, T* vectors) {
  auto a = copied(in, n);
  values->resize(size_t(n));
  // The transpose is the conjugate matrix: its vectors are the conjugates.
  if (Lapack<T>::heevd(vectors ? 'V' : 'N', 'U', n, a.data(), values->data()) != 0)
    return "Self-adjoint eigen decomposition was not successful. The input might not be valid.";
  if (vectors) transpose<true>(a.data(), n, n, vectors);
  return nullptr;
}

// u [m, full ? m : min(m, n)] and v [n, full ? n : min(m, n)]; both null: values alone. A matrix
// that is not finite has values and vectors that are not numbers.
template <class T>
void svd(const T* in, int64_t m, int64_t n, bool full, std::vector<Real<T>>* values, T* u, T* v) {
  const int64_t least = std::min(m, n), of_u = full ? m : least, of_v = full ? n : least;
  std::vector<T> a(in, in + m * n), right(u ? size_t(n * of_v) : 1);
  values->resize(size_t(least));
  T none{};
  const int64_t info = Lapack<T>::gesdd(!u ? 'N' : full ? 'A' : 'S', n, m, a.data(),
                                        values->data(), right.data(), u ? u : &none, least);
  if (info != 0) {
    constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
    std::fill(values->begin(), values->end(), nan);
    if (u) std::fill_n(u, m * of_u, T(nan));
    std::fill(right.begin(), right.end(), T(nan));
  }
  if (u) transpose<true>(right.data(), of_v, n, v);
}

}  // namespace hr::large

#endif
