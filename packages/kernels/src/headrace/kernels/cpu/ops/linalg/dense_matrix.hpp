// Decompositions of one dense matrix, row-major, in double or complex double precision.
#ifndef HEADRACE_CPU_LINALG_DENSE_MATRIX_HPP
#define HEADRACE_CPU_LINALG_DENSE_MATRIX_HPP

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace hr::dense {

template <class W> W conj_of(W x) { return x; }
template <class R> std::complex<R> conj_of(std::complex<R> x) { return std::conj(x); }
template <class W> double real_of(W x) { return std::real(x); }

template <class W> struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<W> data;
  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), data(size_t(r * c), W(0)) {}
  W* operator[](int64_t i) { return data.data() + i * columns; }
  const W* operator[](int64_t i) const { return data.data() + i * columns; }
  static Matrix identity(int64_t n) {
    Matrix m(n, n);
    for (int64_t i = 0; i < n; ++i) m[i][i] = W(1);
    return m;
  }
  Matrix adjoint() const {
    Matrix m(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) m[j][i] = conj_of((*this)[i][j]);
    return m;
  }
};

// ---- LU with partial pivoting ------------------------------------------------------------------

template <class W> struct Lu {
  Matrix<W> a;                // L below the diagonal (which is 1), U on and above
  std::vector<int64_t> rows;  // row i of L U is row rows[i] of the matrix
  int sign = 1;
  bool singular = false;

  template <class Poll> Lu(Matrix<W> matrix, Poll&& poll)
      : a(std::move(matrix)), rows(size_t(a.rows)) {
    const int64_t n = a.rows;
    std::iota(rows.begin(), rows.end(), int64_t(0));
    for (int64_t k = 0; k < n; ++k) {
      poll();
      int64_t pivot = k;
      for (int64_t i = k + 1; i < n; ++i)
        if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
      if (!(std::abs(a[pivot][k]) > 0)) {
        singular = true;
        continue;
      }
      if (pivot != k) {
        std::swap_ranges(a[k], a[k] + n, a[pivot]);
        std::swap(rows[size_t(k)], rows[size_t(pivot)]);
        sign = -sign;
      }
      for (int64_t i = k + 1; i < n; ++i) {
        const W factor = a[i][k] /= a[k][k];
        if (factor == W(0)) continue;
        for (int64_t j = k + 1; j < n; ++j) a[i][j] -= factor * a[k][j];
      }
    }
  }

  template <class Poll> Matrix<W> solve(const Matrix<W>& b, Poll&& poll) const {
    const int64_t n = a.rows, m = b.columns;
    Matrix<W> x(n, m);
    for (int64_t i = 0; i < n; ++i) {
      poll();
      std::copy_n(b[rows[size_t(i)]], m, x[i]);
      for (int64_t k = 0; k < i; ++k)
        for (int64_t j = 0; j < m; ++j) x[i][j] -= a[i][k] * x[k][j];
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      for (int64_t k = i + 1; k < n; ++k)
        for (int64_t j = 0; j < m; ++j) x[i][j] -= a[i][k] * x[k][j];
      for (int64_t j = 0; j < m; ++j) x[i][j] /= a[i][i];
    }
    return x;
  }
};

// L with L L* = a, from the lower triangle of a; false where a is not positive definite.
template <class W, class Poll> bool cholesky(Matrix<W>* a, Poll&& poll) {
  const int64_t n = a->rows;
  for (int64_t j = 0; j < n; ++j) {
    poll();
    double d = real_of((*a)[j][j]);
    for (int64_t k = 0; k < j; ++k) d -= std::norm((*a)[j][k]);
    if (d <= 0) return false;  // a NaN goes on to what follows from it
    d = std::sqrt(d);
    (*a)[j][j] = W(d);
    for (int64_t i = j + 1; i < n; ++i) {
      W sum = (*a)[i][j];
      for (int64_t k = 0; k < j; ++k) sum -= (*a)[i][k] * conj_of((*a)[j][k]);
      (*a)[i][j] = sum / d;
    }
    for (int64_t i = 0; i < j; ++i) (*a)[i][j] = W(0);
  }
  return true;
}

// x with a x = b for a triangular a; false where a diagonal element is 0.
template <class W, class Poll>
void solve_triangular(const Matrix<W>& a, bool lower, Matrix<W>* b, Poll&& poll) {
  const int64_t n = a.rows, m = b->columns;
  for (int64_t s = 0; s < n; ++s) {
    poll();
    const int64_t i = lower ? s : n - 1 - s;
    for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); ++k)
      for (int64_t j = 0; j < m; ++j) (*b)[i][j] -= a[i][k] * (*b)[k][j];
    for (int64_t j = 0; j < m; ++j) (*b)[i][j] /= a[i][i];  // by 0: infinite or NaN
  }
}

// ---- QR by Householder reflections: q gets [m, full ? m : min(m, n)], a becomes R ---------------

template <class W, class Poll>
void qr(Matrix<W>* a, Matrix<W>* q, bool full, Poll&& poll) {
  const int64_t m = a->rows, n = a->columns, p = std::min(m, n);
  std::vector<std::vector<W>> reflectors;
  for (int64_t k = 0; k < p; ++k) {
    poll();
    std::vector<W> v(size_t(m), W(0));
    double norm = 0;
    for (int64_t i = k; i < m; ++i) norm += std::norm(v[size_t(i)] = (*a)[i][k]);
    norm = std::sqrt(norm);
    const double head = std::abs(v[size_t(k)]);
    v[size_t(k)] += head > 0 ? v[size_t(k)] / head * norm : W(norm);
    double length = 0;
    for (int64_t i = k; i < m; ++i) length += std::norm(v[size_t(i)]);
    if (length != 0)  // also a NaN, which goes on to the results
      for (int64_t j = k; j < n; ++j) {
        W dot = W(0);
        for (int64_t i = k; i < m; ++i) dot += conj_of(v[size_t(i)]) * (*a)[i][j];
        dot *= 2 / length;
        for (int64_t i = k; i < m; ++i) (*a)[i][j] -= v[size_t(i)] * dot;
      }
    else v.clear();
    reflectors.push_back(std::move(v));
    for (int64_t i = k + 1; i < m; ++i) (*a)[i][k] = W(0);
  }
  *q = Matrix<W>(m, full ? m : p);
  for (int64_t i = 0; i < q->columns; ++i) (*q)[i][i] = W(1);
  for (int64_t k = p - 1; k >= 0; --k) {
    poll();
    const auto& v = reflectors[size_t(k)];
    if (v.empty()) continue;
    double length = 0;
    for (int64_t i = k; i < m; ++i) length += std::norm(v[size_t(i)]);
    for (int64_t j = 0; j < q->columns; ++j) {
      W dot = W(0);
      for (int64_t i = k; i < m; ++i) dot += conj_of(v[size_t(i)]) * (*q)[i][j];
      dot *= 2 / length;
      for (int64_t i = k; i < m; ++i) (*q)[i][j] -= v[size_t(i)] * dot;
    }
  }
  if (!full) {
    a->data.resize(size_t(p * n));
    a->rows = p;
  }
}

// ---- one-sided Jacobi: a (m by n, m >= n) becomes U S, v its right vectors
// ------------------------

// Turns columns i and j of a (and v) so that they become orthogonal; true if they were.
template <class W> bool orthogonalise(Matrix<W>* a, Matrix<W>* v, int64_t i, int64_t j) {
  double aa = 0, bb = 0;
  W ab = W(0);
  for (int64_t k = 0; k < a->rows; ++k) {
    aa += std::norm((*a)[k][i]);
    bb += std::norm((*a)[k][j]);
    ab += conj_of((*a)[k][i]) * (*a)[k][j];
  }
  const double size = std::abs(ab);
  if (size <= 1e-15 * std::sqrt(aa * bb) || size < std::numeric_limits<double>::min()) return true;
  const W phase = ab / size;
  const double zeta = (bb - aa) / (2 * size);
  const double t = (zeta >= 0 ? 1 : -1) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
  const double c = 1 / std::sqrt(1 + t * t), s = c * t;
  const auto turn = [&](Matrix<W>* m) {
    for (int64_t k = 0; k < m->rows; ++k) {
      const W x = (*m)[k][i], y = (*m)[k][j] * conj_of(phase);
      (*m)[k][i] = x * c - y * s;
      (*m)[k][j] = x * s + y * c;
    }
  };
  turn(a);
  turn(v);
  return false;
}

// Singular values, descending; u [m, n] with unit columns, v [n, n].
template <class W, class Poll>
void svd(Matrix<W> a, std::vector<double>* values, Matrix<W>* u, Matrix<W>* v, Poll&& poll) {
  const int64_t m = a.rows, n = a.columns;
  Matrix<W> right = Matrix<W>::identity(n);
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool settled = true;
    for (int64_t i = 0; i < n; ++i) {
      poll();
      for (int64_t j = i + 1; j < n; ++j) settled &= orthogonalise(&a, &right, i, j);
    }
    if (settled) break;
  }
  std::vector<double> norms(size_t(n), 0);
  for (int64_t k = 0; k < m; ++k)
    for (int64_t j = 0; j < n; ++j) norms[size_t(j)] += std::norm(a[k][j]);
  for (double& x : norms) x = std::sqrt(x);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return norms[size_t(i)] > norms[size_t(j)]; });
  values->clear();
  *u = Matrix<W>(m, n);
  *v = Matrix<W>(n, n);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[size_t(j)];
    const double s = norms[size_t(from)];
    values->push_back(s);
    for (int64_t k = 0; k < n; ++k) (*v)[k][j] = right[k][from];
    for (int64_t k = 0; k < m; ++k) (*u)[k][j] = s > 0 ? a[k][from] / s : W(0);
  }
}

// Makes the columns of u from `first` on a unit basis of what the others leave.
template <class W> void complete(Matrix<W>* u, int64_t first) {
  const int64_t m = u->rows;
  int64_t unit = 0;
  for (int64_t j = first; j < u->columns;) {
    for (int64_t k = 0; k < m; ++k) (*u)[k][j] = W(k == unit ? 1 : 0);
    ++unit;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t i = 0; i < j; ++i) {
        W dot = W(0);
        for (int64_t k = 0; k < m; ++k) dot += conj_of((*u)[k][i]) * (*u)[k][j];
        for (int64_t k = 0; k < m; ++k) (*u)[k][j] -= dot * (*u)[k][i];
      }
    double norm = 0;
    for (int64_t k = 0; k < m; ++k) norm += std::norm((*u)[k][j]);
    norm = std::sqrt(norm);
    if (norm < 0.5 / double(m) && unit < m) continue;  // too near to the others: the next unit
    for (int64_t k = 0; k < m; ++k) (*u)[k][j] /= norm > 0 ? norm : 1;
    ++j;
  }
}

// ---- eigenvalues of a self-adjoint matrix, ascending, by cyclic Jacobi
// -----------------------------

template <class W, class Poll>
void self_adjoint_eig(Matrix<W> a, std::vector<double>* values, Matrix<W>* vectors, Poll&& poll) {
  const int64_t n = a.rows;
  for (int64_t i = 0; i < n; ++i)  // the lower triangle counts
    for (int64_t j = i + 1; j < n; ++j) a[i][j] = conj_of(a[j][i]);
  Matrix<W> v = Matrix<W>::identity(n);
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool settled = true;
    for (int64_t p = 0; p < n; ++p) {
      poll();
      for (int64_t q = p + 1; q < n; ++q) {
        const double size = std::abs(a[p][q]);
        const double app = real_of(a[p][p]), aqq = real_of(a[q][q]);
        if (size <= 1e-16 * (std::fabs(app) + std::fabs(aqq)) ||
            size < std::numeric_limits<double>::min())
          continue;
        settled = false;
        const W phase = a[p][q] / size;
        const double theta = (aqq - app) / (2 * size);
        const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int64_t k = 0; k < n; ++k) {  // columns p and q
          const W x = a[k][p], y = a[k][q] * conj_of(phase);
          a[k][p] = x * c - y * s;
          a[k][q] = x * s + y * c;
        }
        for (int64_t k = 0; k < n; ++k) {  // rows p and q
          const W x = a[p][k], y = a[q][k] * phase;
          a[p][k] = x * c - y * s;
          a[q][k] = x * s + y * c;
        }
        for (int64_t k = 0; k < n; ++k) {
          const W x = v[k][p], y = v[k][q] * conj_of(phase);
          v[k][p] = x * c - y * s;
          v[k][q] = x * s + y * c;
        }
      }
    }
    if (settled) break;
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return real_of(a[i][i]) < real_of(a[j][j]); });
  values->clear();
  *vectors = Matrix<W>(n, n);
  for (int64_t j = 0; j < n; ++j) {
    values->push_back(real_of(a[order[size_t(j)]][order[size_t(j)]]));
    for (int64_t k = 0; k < n; ++k) (*vectors)[k][j] = v[k][order[size_t(j)]];
  }
}

}  // namespace hr::dense

#endif
