// Decompositions of one row-major matrix by LAPACK, in the matrix's own precision.
//
// LAPACK is column-major, so it sees the transpose; where an algorithm allows it, the functions
// decompose the transpose and copy nothing. They return an error message or null, and call poll()
// every few tens of milliseconds.
#ifndef HEADRACE_CPU_LINALG_LARGE_MATRIX_HPP
#define HEADRACE_CPU_LINALG_LARGE_MATRIX_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/linalg/dense_matrix.hpp"
#include "ops/linalg/lapack.hpp"
#include "ops/linalg/polled_matrix.hpp"

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

template <class T, class Poll>
const char* cholesky(const T* in, int64_t n, T* out, Poll&& poll) {
  std::copy_n(in, n * n, out);
  // The upper triangle of the transpose is the lower one of the matrix.
  bool good = polled::cholesky(n, out, poll);
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
  lapack::Pivots pivots;
  bool singular = false;

  template <class Poll>
  Lu(std::vector<T> matrix, int64_t n, Poll&& poll) : a(std::move(matrix)), pivots(n) {
    singular = !polled::lu(n, a.data(), &pivots, poll);
    for (int64_t i = 0; i < n; ++i) singular = singular || !(std::abs(a[size_t(i * n + i)]) > 0);
  }
  int sign(int64_t n) const {
    int result = 1;
    for (int64_t i = 0; i < n; ++i)
      if (pivots[i] != i + 1) result = -result;
    return result;
  }
};

template <class T> std::vector<T> copied(const T* in, int64_t n) { return {in, in + n * n}; }

template <class T, class Poll>
const char* inverse(const T* in, int64_t n, bool adjoint, T* out, Poll&& poll) {
  auto a = copied(in, n);
  if (adjoint) transpose<true>(in, n, n, a.data());
  Lu<T> lu(std::move(a), n, poll);
  if (lu.singular) return "Input is not invertible.";
  std::fill_n(out, n * n, T(0));
  for (int64_t i = 0; i < n; ++i) out[i * n + i] = T(1);
  polled::solve(n, n, lu.a.data(), &lu.pivots, out, poll);
  return nullptr;
}

// row i of L U is row rows[i] of the matrix.
template <class T, class Poll>
const char* lu(const T* in, int64_t n, T* out, std::vector<int64_t>* rows, Poll&& poll) {
  std::vector<T> columns(size_t(n * n));
  transpose<false>(in, n, n, columns.data());
  Lu<T> factors(std::move(columns), n, poll);
  if (factors.singular) return "Input is not invertible.";
  transpose<false>(factors.a.data(), n, n, out);
  rows->resize(size_t(n));
  std::iota(rows->begin(), rows->end(), int64_t(0));
  for (int64_t i = 0; i < n; ++i)
    std::swap((*rows)[size_t(i)], (*rows)[size_t(factors.pivots[i] - 1)]);
  return nullptr;
}

template <class T, class Poll>
const char* solve(const T* in, const T* rhs, int64_t n, int64_t m, bool adjoint, T* out,
                  Poll&& poll) {
  // Column by column, the adjoint is the conjugate of what a row-major matrix is.
  std::vector<T> a(size_t(n * n)), b(size_t(n * m));
  if (adjoint) std::transform(in, in + n * n, a.begin(), [](T x) { return conj_of(x); });
  else transpose<false>(in, n, n, a.data());
  transpose<false>(rhs, n, m, b.data());
  Lu<T> lu(std::move(a), n, poll);
  if (lu.singular) return "Input matrix is not invertible.";
  polled::solve(n, m, lu.a.data(), &lu.pivots, b.data(), poll);
  transpose<false>(b.data(), m, n, out);
  return nullptr;
}

template <class T, class Poll>
const char* solve_triangular(const T* in, const T* rhs, int64_t n, int64_t m, bool lower,
                             bool adjoint, T* out, Poll&& poll) {
  std::copy_n(rhs, n * m, out);
  polled::in_pieces(m, double(n) * double(n), poll, [&](int64_t at, int64_t count) {
    Lapack<T>::trsm('R', lower ? 'U' : 'L', adjoint ? 'C' : 'N', 'N', count, n, in, n, out + at, m);
  });
  return nullptr;
}

template <class T, class Poll>
const char* qr(const T* in, int64_t m, int64_t n, bool full, T* q, T* r, Poll&& poll) {
  const int64_t least = std::min(m, n), columns = full ? m : least;
  std::vector<T> a(size_t(m * std::max(n, columns)), T(0)), tau(size_t(least), T(0));
  transpose<false>(in, m, n, a.data());
  polled::qr(m, n, a.data(), tau.data(), poll);
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < n; ++j) r[i * n + j] = j >= i ? a[size_t(j * m + i)] : T(0);
  polled::q_of(m, columns, least, a.data(), tau.data(), poll);
  transpose<false>(a.data(), columns, m, q);
  return nullptr;
}

// The lower triangle counts. vectors may be null.
template <class T, class Poll>
const char* self_adjoint_eig(const T* in, int64_t n, std::vector<Real<T>>* values, T* vectors,
                             Poll&& poll) {
  std::vector<T> a(size_t(n * n)), columns(size_t(vectors ? n * n : 0));
  transpose<false>(in, n, n, a.data());
  values->resize(size_t(n));
  if (!polled::self_adjoint_eig(n, a.data(), values->data(), vectors ? columns.data() : nullptr,
                                poll))
    return "Self-adjoint eigen decomposition was not successful. The input might not be valid.";
  if (vectors) transpose<false>(columns.data(), n, n, vectors);
  return nullptr;
}

// u [m, full ? m : min(m, n)] and v [n, full ? n : min(m, n)]; both null: values alone. Where
// LAPACK does not find them, values and vectors are not numbers.
template <class T, class Poll>
void svd(const T* in, int64_t m, int64_t n, bool full, std::vector<Real<T>>* values, T* u, T* v,
         Poll&& poll) {
  const int64_t least = std::min(m, n), most = std::max(m, n), columns = full ? most : least;
  const bool tall = m >= n;
  // Of a wide matrix the transpose, which a row-major matrix is: its left vectors are conj(v).
  std::vector<T> a(in, in + m * n);
  if (tall) transpose<false>(in, m, n, a.data());
  std::vector<T> left(size_t(u ? most * columns : 0)), right(size_t(u ? least * least : 0));
  values->resize(size_t(least));
  const bool found = polled::svd(most, least, columns, a.data(), values->data(),
                                 u ? left.data() : nullptr, u ? right.data() : nullptr, poll);
  if (!found) {
    constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
    std::fill(values->begin(), values->end(), nan);
    std::fill(left.begin(), left.end(), T(nan));
    std::fill(right.begin(), right.end(), T(nan));
  }
  if (!u) return;
  // right holds the adjoint of the right vectors, column by column.
  if (tall) {
    transpose<false>(left.data(), columns, most, u);
    std::transform(right.begin(), right.end(), v, [](T x) { return conj_of(x); });
  } else {
    transpose<true>(left.data(), columns, most, v);
    std::copy(right.begin(), right.end(), u);
  }
}

}  // namespace hr::large

#endif
