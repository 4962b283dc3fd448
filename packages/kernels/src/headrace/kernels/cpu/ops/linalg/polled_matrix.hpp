// Decompositions of column-major matrices from LAPACK's building blocks, in LAPACK's order, with a
// poll about every 50 milliseconds, because a LAPACK call cannot be cancelled.
// The last stages of singular values (bdsdc) and eigenvalues (stedc) remain single calls.
#ifndef HEADRACE_CPU_LINALG_POLLED_MATRIX_HPP
#define HEADRACE_CPU_LINALG_POLLED_MATRIX_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ops/linalg/lapack.hpp"

namespace hr::polled {

using lapack::Lapack;
using lapack::Real;

constexpr double kFlopsBetweenPolls = 2.5e9;  // some 50 ms
// What is left of a matrix that is reduced to two diagonals when LAPACK does it column by column.
constexpr int64_t kUnblocked = 128;

// Calls part(first, count) for pieces of [0, total), with a poll before each.
template <class Poll, class F>
void in_pieces(int64_t total, double flops_each, Poll&& poll, F&& part) {
  const int64_t most =
      std::max<int64_t>(32, int64_t(kFlopsBetweenPolls / std::max(1.0, flops_each)));
  for (int64_t first = 0; first < total; first += most) {
    poll();
    part(first, std::min(most, total - first));
  }
}

// Columns that are factored at once: all of them where the whole is one piece.
inline int64_t panel_of(int64_t requested, int64_t columns, double flops) {
  return flops <= kFlopsBetweenPolls ? std::max<int64_t>(1, columns) : requested;
}

// Columns of a panel whose reduction passes over the whole matrix once per column and side.
inline int64_t reduced_at_once(int64_t n) { return n <= 2500 ? 32 : n <= 4000 ? 16 : 8; }

// Cholesky's factor U of a [n, n], in place, in the upper triangle. Whether there is one.
template <class T, class Poll> bool cholesky(int64_t n, T* a, Poll&& poll) {
  using L = Lapack<T>;
  const int64_t panel = panel_of(512, n, double(n) * double(n) * double(n) / 3);
  for (int64_t j = 0; j < n; j += panel) {
    const int64_t block = std::min(panel, n - j), right = n - j - block;
    T *column = a + j * n, *diagonal = column + j;
    poll();
    if (j) L::herk('U', 'C', block, j, column, n, diagonal, n);
    if (L::potrf('U', block, diagonal, n) != 0) return false;
    in_pieces(right, 2.0 * double(block) * double(j + block), poll, [&](int64_t at, int64_t count) {
      T* beside = a + (j + block + at) * n;
      if (j) L::gemm('C', 'N', block, count, j, T(-1), column, n, beside, n, T(1), beside + j, n);
      L::trsm('L', 'U', 'C', 'N', block, count, diagonal, n, beside + j, n);
    });
  }
  return true;
}

// L U of a [n, n], in place. Whether no pivot is 0.
template <class T, class Poll>
bool lu(int64_t n, T* a, lapack::Pivots* pivots, Poll&& poll) {
  using L = Lapack<T>;
  const int64_t panel = panel_of(256, n, double(n) * double(n) * double(n) * 2 / 3);
  bool whole = true;
  for (int64_t j = 0; j < n; j += panel) {
    const int64_t block = std::min(panel, n - j), below = n - j - block;
    T* diagonal = a + j * n + j;
    poll();
    whole = L::getrf(n - j, block, diagonal, n, pivots->from(j)) == 0 && whole;
    for (int64_t i = j; i < j + block; ++i) pivots->set(i, (*pivots)[i] + j);
    if (j) L::laswp(j, a, n, j + 1, j + block, pivots->from(0));
    in_pieces(below, 2.0 * double(block) * double(n - j), poll, [&](int64_t at, int64_t count) {
      T* beside = a + (j + block + at) * n;
      L::laswp(count, beside, n, j + 1, j + block, pivots->from(0));
      L::trsm('L', 'L', 'N', 'U', block, count, diagonal, n, beside + j, n);
      if (below)
        L::gemm('N', 'N', below, count, block, T(-1), diagonal + block, n, beside + j, n, T(1),
                beside + j + block, n);
    });
  }
  return whole;
}

// b [n, m] becomes x with a x = b, from the factors of a.
template <class T, class Poll>
void solve(int64_t n, int64_t m, const T* factors, lapack::Pivots* pivots, T* b, Poll&& poll) {
  in_pieces(m, 2.0 * double(n) * double(n), poll, [&](int64_t at, int64_t count) {
    Lapack<T>::getrs(n, count, factors, pivots->from(0), b + at * n);
  });
}

// R in the upper triangle of a [m, n], reflectors below it and in tau.
template <class T, class Poll> void qr(int64_t m, int64_t n, T* a, T* tau, Poll&& poll) {
  const int64_t least = std::min(m, n);
  const int64_t panel = panel_of(256, least, 2.0 * double(m) * double(n) * double(least));
  for (int64_t j = 0; j < least; j += panel) {
    const int64_t block = std::min(panel, least - j), right = n - j - block;
    T* corner = a + j * m + j;
    poll();
    Lapack<T>::geqrf(m - j, block, corner, m, tau + j);
    in_pieces(right, 4.0 * double(block) * double(m - j), poll, [&](int64_t at, int64_t count) {
      Lapack<T>::ormqr('C', m - j, count, block, corner, m, tau + j, a + (j + block + at) * m + j,
                       m);
    });
  }
}

// The first `columns` columns of Q, from k reflectors in a [m, columns], in place.
template <class T, class Poll>
void q_of(int64_t m, int64_t columns, int64_t k, T* a, const T* tau, Poll&& poll) {
  const double flops = 2.0 * double(m) * double(columns) * double(k);
  if (flops <= kFlopsBetweenPolls) {
    poll();
    return Lapack<T>::orgqr(m, columns, k, a, m, tau);
  }
  for (int64_t j = k; j < columns; ++j) {
    std::fill_n(a + j * m, m, T(0));
    a[j * m + j] = T(1);
  }
  constexpr int64_t panel = 256;
  for (int64_t j = k ? (k - 1) / panel * panel : -1; j >= 0; j -= panel) {
    const int64_t block = std::min(panel, k - j), right = columns - j - block;
    T* corner = a + j * m + j;
    in_pieces(right, 4.0 * double(block) * double(m - j), poll, [&](int64_t at, int64_t count) {
      Lapack<T>::ormqr('N', m - j, count, block, corner, m, tau + j, a + (j + block + at) * m + j,
                       m);
    });
    poll();
    Lapack<T>::orgqr(m - j, block, block, corner, m, tau + j);
    for (int64_t i = j; i < j + block; ++i) std::fill_n(a + i * m, j, T(0));
  }
}

// Multiplies a so that neither squares of its elements overflow nor all of them vanish. Returns:
// by what its values are to be multiplied in the end.
template <class T> Real<T> scaled(int64_t size, T* a) {
  using R = Real<T>;
  R largest = 0;
  for (int64_t i = 0; i < size; ++i)
    largest = std::max({largest, std::abs(std::real(a[i])), std::abs(std::imag(a[i]))});
  const R least =
      std::sqrt(std::numeric_limits<R>::min()) / (std::numeric_limits<R>::epsilon() / 2);
  if (largest == 0 || (largest >= least && largest <= 1 / least)) return 1;
  const R requested = largest < least ? least : 1 / least;
  // Two factors: their product may be beyond what R can hold.
  const R root = std::sqrt(requested) / std::sqrt(largest);
  for (int64_t i = 0; i < size; ++i) a[i] = a[i] * root * root;
  return 1 / root;
}

// The lower triangle of a [n, n] becomes tridiagonal: d and e, reflectors in a and tau.
template <class T, class Poll>
void tridiagonalise(int64_t n, T* a, Real<T>* d, Real<T>* e, T* tau, Poll&& poll) {
  using L = Lapack<T>;
  const int64_t block = reduced_at_once(n);
  std::vector<T> w(size_t(n * block), T(0));
  int64_t i = 0;
  for (; n - i > kUnblocked; i += block) {
    T *panel = a + i * n + i, *rest = panel + block * n + block;
    poll();
    L::latrd('L', n - i, block, panel, n, e + i, tau + i, w.data(), n);
    L::her2k('L', n - i - block, block, panel + block, n, w.data() + block, n, rest, n);
    for (int64_t j = i; j < i + block; ++j) {
      a[j * n + j + 1] = T(e[j]);
      d[j] = std::real(a[j * n + j]);
    }
  }
  L::sytd2('L', n - i, a + i * n + i, n, d + i, e + i, tau + i);
}

// Eigenvalues, ascending, of the lower triangle of a [n, n], which is destroyed; vectors [n, n]
// are its columns, or null. Whether they were found.
template <class T, class Poll>
bool self_adjoint_eig(int64_t n, T* a, Real<T>* values, T* vectors, Poll&& poll) {
  using R = Real<T>;
  const R factor = scaled(n * n, a);
  std::vector<R> e(size_t(n), R(0)), real;
  std::vector<T> tau(size_t(n), T(0));
  tridiagonalise(n, a, values, e.data(), tau.data(), poll);
  R* of_tridiagonal = nullptr;
  if (vectors) {
    if constexpr (std::is_same_v<R, T>) of_tridiagonal = vectors;
    else real.resize(size_t(n * n)), of_tridiagonal = real.data();
  }
  poll();
  if (lapack::stedc<R>(n, values, e.data(), of_tridiagonal) != 0) return false;
  if (vectors) {
    if constexpr (!std::is_same_v<R, T>) std::copy(real.begin(), real.end(), vectors);
    in_pieces(n, 2.0 * double(n) * double(n), poll, [&](int64_t at, int64_t count) {
      Lapack<T>::ormtr('L', n, count, a, n, tau.data(), vectors + at * n, n);
    });
  }
  for (int64_t i = 0; i < n; ++i) values[i] = values[i] * factor * factor;
  return true;
}

// a [m, n], m >= n, becomes upper bidiagonal: d and e, reflectors in a, tauq and taup.
template <class T, class Poll>
void bidiagonalise(int64_t m, int64_t n, T* a, Real<T>* d, Real<T>* e, T* tauq, T* taup,
                   Poll&& poll) {
  using L = Lapack<T>;
  const int64_t block = reduced_at_once(m);
  std::vector<T> x(size_t(m * block), T(0)), y(size_t(n * block), T(0));
  int64_t i = 0;
  for (; n - i > kUnblocked; i += block) {
    T *panel = a + i * m + i, *rest = panel + block * m + block;
    poll();
    L::labrd(m - i, n - i, block, panel, m, d + i, e + i, tauq + i, taup + i, x.data(), m, y.data(),
             n);
    L::gemm('N', 'C', m - i - block, n - i - block, block, T(-1), panel + block, m,
            y.data() + block, n, T(1), rest, m);
    L::gemm('N', 'N', m - i - block, n - i - block, block, T(-1), x.data() + block, m,
            panel + block * m, m, T(1), rest, m);
    for (int64_t j = i; j < i + block; ++j) {
      a[j * m + j] = T(d[j]);
      a[(j + 1) * m + j] = T(e[j]);
    }
  }
  L::gebd2(m - i, n - i, a + i * m + i, m, d + i, e + i, tauq + i, taup + i);
}

// Singular values, descending, of a [m, n], m >= n, which is destroyed; u [m, columns] and vt
// [n, n], or both null. Whether they were found.
template <class T, class Poll>
bool svd_of_square(int64_t m, int64_t n, int64_t columns, T* a, Real<T>* values, T* u, T* vt,
                   Poll&& poll) {
  using R = Real<T>;
  using L = Lapack<T>;
  std::vector<R> e(size_t(n), R(0)), left, right;
  std::vector<T> tauq(size_t(n), T(0)), taup(size_t(n), T(0));
  bidiagonalise(m, n, a, values, e.data(), tauq.data(), taup.data(), poll);
  if (u) left.resize(size_t(n * n)), right.resize(size_t(n * n));
  poll();
  if (lapack::bdsdc<R>(n, values, e.data(), u ? left.data() : nullptr,
                       u ? right.data() : nullptr) != 0)
    return false;
  if (!u) return true;
  std::fill_n(u, m * columns, T(0));
  for (int64_t j = 0; j < n; ++j) std::copy_n(left.data() + j * n, n, u + j * m);
  for (int64_t j = n; j < columns; ++j) u[j * m + j] = T(1);
  std::copy(right.begin(), right.end(), vt);
  in_pieces(columns, 4.0 * double(m) * double(n), poll, [&](int64_t at, int64_t count) {
    L::ormbr('Q', 'L', 'N', m, count, n, a, m, tauq.data(), u + at * m, m);
  });
  in_pieces(n, 4.0 * double(n) * double(n), poll, [&](int64_t at, int64_t count) {
    L::ormbr('P', 'R', 'C', count, n, n, a, m, taup.data(), vt + at, n);
  });
  return true;
}

// As svd_of_square, for any m >= n: a tall matrix becomes a square one by Q R first.
template <class T, class Poll>
bool svd(int64_t m, int64_t n, int64_t columns, T* a, Real<T>* values, T* u, T* vt, Poll&& poll) {
  using R = Real<T>;
  const R factor = scaled(m * n, a);
  bool found;
  if (6 * m < 11 * n) {
    found = svd_of_square(m, n, columns, a, values, u, vt, poll);
  } else {
    std::vector<T> tau(size_t(n), T(0)), r(size_t(n * n), T(0)), of_r(size_t(u ? n * n : 0));
    qr(m, n, a, tau.data(), poll);
    for (int64_t j = 0; j < n; ++j) std::copy_n(a + j * m, j + 1, r.data() + j * n);
    found = svd_of_square(n, n, n, r.data(), values, u ? of_r.data() : nullptr, vt, poll);
    if (u && found) {
      // U = Q [U of R, 0; 0, 1]; the columns of Q beyond n complete a full basis.
      std::vector<T> q(size_t(m * columns));
      std::copy_n(a, m * n, q.data());
      q_of(m, columns, n, q.data(), tau.data(), poll);
      in_pieces(n, 2.0 * double(m) * double(n), poll, [&](int64_t at, int64_t count) {
        Lapack<T>::gemm('N', 'N', m, count, n, T(1), q.data(), m, of_r.data() + at * n, n, T(0),
                        u + at * m, m);
      });
      std::copy(q.begin() + m * n, q.end(), u + m * n);
    }
  }
  for (int64_t i = 0; i < n; ++i) values[i] = values[i] * factor * factor;
  return found;
}

}  // namespace hr::polled

#endif
