// Batches of dense matrices: decompositions, determinants, inverses, systems of equations.
//
// Small matrices are decomposed in double precision by loops of our own, larger ones in their own
// precision by LAPACK; threads share a batch. A step can be cancelled between matrices, between
// columns of our own loops and between the pieces of polled_matrix.hpp.
#include <algorithm>
#include <atomic>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "ops/linalg/dense_matrix.hpp"
#include "ops/linalg/large_matrix.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

using dense::Matrix;

// Below this, calling LAPACK costs more than its better loops gain.
constexpr int64_t kLeastForLapack = 10 * 10;

// Up to this, LAPACK computes on one thread.
constexpr int64_t kMostForOneThread = 256 * 256;

template <class T> using Wide = std::conditional_t<is_complex<T>, complex128, double>;

template <class T> Matrix<Wide<T>> load(const T* from, int64_t rows, int64_t columns) {
  Matrix<Wide<T>> m(rows, columns);
  for (size_t i = 0; i < m.data.size(); ++i) m.data[i] = Wide<T>(Compute<T>(from[i]));
  return m;
}

template <class T, class W> T narrowed(W x) {
  if constexpr (is_complex<T>) return T(x);
  else return T(Compute<T>(std::real(x)));
}

template <class T, class W> void store(const Matrix<W>& m, T* to) {
  for (size_t i = 0; i < m.data.size(); ++i) to[i] = narrowed<T>(m.data[i]);
}

template <class T> bool all_finite(const T* from, int64_t n) {
  return std::all_of(from, from + n, [](T x) {
    const auto wide = Wide<T>(Compute<T>(x));
    return std::isfinite(std::real(wide)) && std::isfinite(std::imag(wide));
  });
}

struct MatrixPlan {
  int64_t batch, rows, columns;
  int64_t rhs_columns;
  bool adjoint, lower, vectors, full;
  // Offsets, in matrices, of operands that broadcast over the batch.
  std::vector<int64_t> a, b;
};

// One matrix of a batch.
struct Item {
  hr_ctx* ctx;
  const MatrixPlan& p;
  const hr_tensor* const* in;
  hr_tensor* const* out;
  int64_t i;

  template <class T> const T* input(int k, int64_t size) const { return read<T>(in[k]) + i * size; }
  template <class T> T* output(int k, int64_t size) const { return write<T>(out[k]) + i * size; }
  auto polling() const {
    return [ctx = ctx] { poll(ctx); };
  }
};

// Whether LAPACK takes matrices of T and of this size.
template <class T> bool by_lapack(const MatrixPlan& p) {
  return !is_small_float<T> && p.rows * p.columns >= kLeastForLapack && lapack::available() &&
         lapack::fits(std::max(p.rows, p.columns));
}

// Runs `run` for each matrix; the first failure's text is the error.
hr_code each_matrix(hr_ctx* ctx, const MatrixPlan& p, const char* (*run)(const Item&),
                    const hr_tensor* const* in, hr_tensor* const* out) {
  std::atomic<const char*> failure{nullptr};
  // Where the step has one thread, or spends them on the batch, LAPACK gets no more; and a small
  // matrix gains nothing from several.
  const lapack::OneThread alone(ctx->threads == 1 || p.batch > 1 ||
                                p.rows * p.columns <= kMostForOneThread);
  parallel_polled(ctx, p.batch, grain_of(8 * p.rows * p.columns * (p.columns + 1)), 1,
                  [&](int64_t i, int64_t) {
                    if (const char* text = run(Item{ctx, p, in, out, i})) failure = text;
                  });
  const char* text = failure;
  return text ? hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s", text) : HR_OK;
}

struct Cholesky {
  template <class T> static const char* run(const Item& m) {
    const int64_t n = m.p.rows;
    const T* in = m.input<T>(0, n * n);
    T* out = m.output<T>(0, n * n);
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p) && all_finite(in, n * n))
        return large::cholesky(in, n, out, m.polling());
    auto a = load(in, n, n);
    if (!dense::cholesky(&a, m.polling()))
      return "Cholesky decomposition was not successful. The input might not be valid.";
    store(a, out);
    return nullptr;
  }
};

struct Inverse {
  template <class T> static const char* run(const Item& m) {
    const int64_t n = m.p.rows;
    const T* in = m.input<T>(0, n * n);
    T* out = m.output<T>(0, n * n);
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p)) return large::inverse(in, n, m.p.adjoint, out, m.polling());
    auto a = load(in, n, n);
    const dense::Lu<Wide<T>> lu(m.p.adjoint ? a.adjoint() : a, m.polling());
    if (lu.singular) return "Input is not invertible.";
    store(lu.solve(Matrix<Wide<T>>::identity(n), m.polling()), out);
    return nullptr;
  }
};

// Calls f(sign of the permutation, [](k) -> diagonal element k of U).
template <class T, class F> void with_diagonal(const Item& m, F&& f) {
  const int64_t n = m.p.rows;
  const T* in = m.input<T>(0, n * n);
  if constexpr (!is_small_float<T>)
    if (by_lapack<T>(m.p)) {
      const large::Lu<T> lu(large::copied(in, n), n, m.polling());
      return f(lu.sign(n), [&](int64_t k) { return Wide<T>(lu.a[size_t(k * n + k)]); });
    }
  const dense::Lu<Wide<T>> lu(load(in, n, n), m.polling());
  f(lu.sign, [&](int64_t k) { return lu.a[k][k]; });
}

struct Determinant {
  template <class T> static const char* run(const Item& m) {
    with_diagonal<T>(m, [&](int sign, auto&& diagonal) {
      Wide<T> product = Wide<T>(sign);
      for (int64_t k = 0; k < m.p.rows; ++k) product *= diagonal(k);
      *m.output<T>(0, 1) = narrowed<T>(product);
    });
    return nullptr;
  }
};

struct LogDeterminant {
  template <class T> static const char* run(const Item& m) {
    with_diagonal<T>(m, [&](int of_rows, auto&& diagonal) {
      Wide<T> sign = Wide<T>(of_rows);
      double logarithm = 0;
      for (int64_t k = 0; k < m.p.rows; ++k) {
        const double size = std::abs(diagonal(k));
        if constexpr (is_complex<T>) sign *= size == 0 ? Wide<T>(0) : diagonal(k) / size;
        else sign *= size > 0 ? std::copysign(1.0, diagonal(k)) : diagonal(k);  // 0 or NaN
        logarithm += std::log(size);
      }
      *m.output<T>(0, 1) = narrowed<T>(sign);
      *m.output<T>(1, 1) = narrowed<T>(Wide<T>(logarithm));
    });
    return nullptr;
  }
};

struct LuDecomposition {
  template <class T> static const char* run(const Item& m) {
    const int64_t n = m.p.rows;
    std::vector<int64_t> rows;
    const char* error = factor(m, n, m.input<T>(0, n * n), m.output<T>(0, n * n), &rows);
    if (error) return error;
    for (int64_t k = 0; k < n; ++k) {
      if (m.out[1]->dtype == HR_INT32) m.output<int32_t>(1, n)[k] = int32_t(rows[size_t(k)]);
      else m.output<int64_t>(1, n)[k] = rows[size_t(k)];
    }
    return nullptr;
  }
  template <class T>
  static const char* factor(const Item& m, int64_t n, const T* in, T* out,
                            std::vector<int64_t>* rows) {
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p)) return large::lu(in, n, out, rows, m.polling());
    dense::Lu<Wide<T>> lu(load(in, n, n), m.polling());
    if (lu.singular) return "Input is not invertible.";
    store(lu.a, out);
    *rows = std::move(lu.rows);
    return nullptr;
  }
};

struct Solve {
  template <class T> static const char* run(const Item& m) {
    const int64_t n = m.p.rows, columns = m.p.rhs_columns;
    const T* in = read<T>(m.in[0]) + m.p.a[size_t(m.i)] * n * n;
    const T* rhs = read<T>(m.in[1]) + m.p.b[size_t(m.i)] * n * columns;
    T* out = m.output<T>(0, n * columns);
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p))
        return large::solve(in, rhs, n, columns, m.p.adjoint, out, m.polling());
    auto a = load(in, n, n);
    const dense::Lu<Wide<T>> lu(m.p.adjoint ? a.adjoint() : a, m.polling());
    if (lu.singular) return "Input matrix is not invertible.";
    store(lu.solve(load(rhs, n, columns), m.polling()), out);
    return nullptr;
  }
};

struct TriangularSolve {
  template <class T> static const char* run(const Item& m) {
    const int64_t n = m.p.rows, columns = m.p.rhs_columns;
    const T* in = read<T>(m.in[0]) + m.p.a[size_t(m.i)] * n * n;
    const T* rhs = read<T>(m.in[1]) + m.p.b[size_t(m.i)] * n * columns;
    T* out = m.output<T>(0, n * columns);
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p))
        return large::solve_triangular(in, rhs, n, columns, m.p.lower, m.p.adjoint, out,
                                       m.polling());
    auto a = load(in, n, n);
    auto b = load(rhs, n, columns);
    dense::solve_triangular(m.p.adjoint ? a.adjoint() : a, m.p.lower != m.p.adjoint, &b,
                            m.polling());
    store(b, out);
    return nullptr;
  }
};

struct QrDecomposition {
  template <class T> static const char* run(const Item& m) {
    const int64_t rows = m.p.rows, columns = m.p.columns;
    const int64_t of_q = m.p.full ? rows : std::min(rows, columns);
    const T* in = m.input<T>(0, rows * columns);
    T *q_out = m.output<T>(0, rows * of_q), *r_out = m.output<T>(1, of_q * columns);
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p))
        return large::qr(in, rows, columns, m.p.full, q_out, r_out, m.polling());
    auto a = load(in, rows, columns);
    Matrix<Wide<T>> q;
    dense::qr(&a, &q, m.p.full, m.polling());
    store(q, q_out);
    store(a, r_out);
    return nullptr;
  }
};

struct SelfAdjointEig {
  static constexpr const char* failed =
      "Self-adjoint eigen decomposition was not successful. The input might not be valid.";
  template <class T> static const char* run(const Item& m) {
    const int64_t n = m.p.rows;
    const T* in = m.input<T>(0, n * n);
    if (!all_finite(in, n * n)) return failed;
    const auto put = [&](const auto& values) {
      for (int64_t k = 0; k < n; ++k)
        m.output<T>(0, n)[k] = narrowed<T>(Wide<T>(values[size_t(k)]));
    };
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p)) {
        std::vector<lapack::Real<T>> values;
        T* vectors = m.p.vectors ? m.output<T>(1, n * n) : nullptr;
        if (const char* error = large::self_adjoint_eig(in, n, &values, vectors, m.polling()))
          return error;
        put(values);
        return nullptr;
      }
    std::vector<double> values;
    Matrix<Wide<T>> vectors;
    dense::self_adjoint_eig(load(in, n, n), &values, &vectors, m.polling());
    put(values);
    if (m.p.vectors) store(vectors, m.output<T>(1, n * n));
    return nullptr;
  }
};

struct SingularValues {
  template <class T> static const char* run(const Item& m) {
    const int64_t rows = m.p.rows, columns = m.p.columns, least = std::min(rows, columns);
    if (least == 0 && !m.p.vectors) return nullptr;  // the other side may be 2^33
    const T* in = m.input<T>(0, rows * columns);
    const int64_t of_u = m.p.full ? rows : least, of_v = m.p.full ? columns : least;
    T* u_out = m.p.vectors ? m.output<T>(1, rows * of_u) : nullptr;
    T* v_out = m.p.vectors ? m.output<T>(2, columns * of_v) : nullptr;
    if (!all_finite(in, rows * columns)) {
      const T nan = narrowed<T>(Wide<T>(std::numeric_limits<double>::quiet_NaN()));
      std::fill_n(m.output<T>(0, least), least, nan);
      if (u_out) std::fill_n(u_out, rows * of_u, nan);
      if (v_out) std::fill_n(v_out, columns * of_v, nan);
      return nullptr;
    }
    const auto put = [&](const auto& values) {
      for (int64_t k = 0; k < least; ++k)
        m.output<T>(0, least)[k] = narrowed<T>(Wide<T>(values[size_t(k)]));
    };
    if constexpr (!is_small_float<T>)
      if (by_lapack<T>(m.p)) {
        std::vector<lapack::Real<T>> values;
        large::svd(in, rows, columns, m.p.full, &values, u_out, v_out, m.polling());
        put(values);
        return nullptr;
      }
    using W = Wide<T>;
    auto a = load(in, rows, columns);
    const bool tall = rows >= columns;
    std::vector<double> values;
    Matrix<W> u, v;
    dense::svd(tall ? a : a.adjoint(), &values, &u, &v, m.polling());
    put(values);
    if (!m.p.vectors) return nullptr;
    // Columns of vanished values, and those that a full basis has besides.
    int64_t whole = 0;
    while (whole < least && values[size_t(whole)] > 0) ++whole;
    Matrix<W> wide(u.rows, m.p.full ? u.rows : least);
    for (int64_t r = 0; r < u.rows; ++r)
      for (int64_t c = 0; c < whole; ++c) wide[r][c] = u[r][c];
    dense::complete(&wide, whole);
    store(tall ? wide : v, u_out);
    store(tall ? v : wide, v_out);
    return nullptr;
  }
};

template <class Op, class T>
hr_code compute(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  return each_matrix(ctx, *static_cast<const MatrixPlan*>(plan), Op::template run<T>, in, out);
}

MatrixPlan* plan_of(hr_request* r) {
  const hr_tensor* a = r->inputs[0];
  auto* p = keep_plan(r, new MatrixPlan{});
  p->batch = product(a->dims, 0, a->rank - 2);
  p->rows = a->dims[a->rank - 2];
  p->columns = a->dims[a->rank - 1];
  p->adjoint = hr_attr_bool(r->node, "adjoint", 0);
  p->lower = hr_attr_bool(r->node, "lower", 1);
  p->full = hr_attr_bool(r->node, "full_matrices", 0);
  p->vectors = hr_attr_bool(r->node, "compute_v", 1) && hr_attr_bool(r->node, "compute_uv", 1);
  return p;
}

using Matrices = Types<float, double, half, complex64, complex128>;
#define HR_MATRICES "T=float|double|half|complex64|complex128"

template <class Op> hr_code choose(hr_request* r) {
  r->compute = with_type(r->inputs[0]->dtype, Matrices{}, [](auto t) -> hr_compute {
    return compute<Op, typename decltype(t)::type>;
  });
  return r->compute ? HR_OK : hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
}

template <class Op, hr_code (*rule)(hr_request*)> hr_code prepare(void*, hr_request* r) {
  if (hr_code code = rule(r)) return code;
  plan_of(r);
  return choose<Op>(r);
}

// The batch dimensions of matrix and rhs broadcast for triangular matrices only.
template <class Op> hr_code prepare_solve(void*, hr_request* r) {
  const hr_tensor *matrix = r->inputs[0], *rhs = r->inputs[1];
  if (std::is_same_v<Op, Solve> &&
      (matrix->rank != rhs->rank ||
       !std::equal(matrix->dims, matrix->dims + std::max(matrix->rank - 2, 0), rhs->dims)))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "All input tensors must have the same outer dimensions: %s, %s",
                           ShapeText(matrix).text, ShapeText(rhs).text);
  HR_APPLY_RULE(matrix_solve, r);
  const hr_tensor *a = r->inputs[0], *b = r->inputs[1], *y = r->outputs[0];
  MatrixPlan* p = plan_of(r);
  p->batch = product(y->dims, 0, y->rank - 2);
  p->rhs_columns = y->dims[y->rank - 1];
  const auto offset = [&](const hr_tensor* t, int64_t i) {
    int64_t at = 0, step = 1;
    for (int32_t d = y->rank - 3, s = t->rank - 3; d >= 0; --d, --s) {
      const int64_t x = i % y->dims[d];
      i /= y->dims[d];
      if (s < 0) continue;
      if (t->dims[s] != 1) at += x * step;
      step *= t->dims[s];
    }
    return at;
  };
  for (int64_t i = 0; i < p->batch; ++i) {
    p->a.push_back(offset(a, i));
    p->b.push_back(offset(b, i));
  }
  return choose<Op>(r);
}

}  // namespace

HR_KERNELS = {
    kernel("Cholesky", HR_MATRICES, prepare<Cholesky, hr_shape_square>).is(HR_KERNEL_SERIAL),
    kernel("MatrixInverse", HR_MATRICES, prepare<Inverse, hr_shape_square>).is(HR_KERNEL_SERIAL),
    kernel("MatrixDeterminant", HR_MATRICES, prepare<Determinant, hr_shape_determinant>)
        .is(HR_KERNEL_SERIAL),
    kernel("LogMatrixDeterminant", HR_MATRICES, prepare<LogDeterminant, hr_shape_determinant>)
        .is(HR_KERNEL_SERIAL),
    kernel("Lu", HR_MATRICES, prepare<LuDecomposition, hr_shape_lu>),
    kernel("MatrixSolve", HR_MATRICES, prepare_solve<Solve>).is(HR_KERNEL_SERIAL),
    kernel("MatrixTriangularSolve", HR_MATRICES, prepare_solve<TriangularSolve>),
    kernel("Qr", HR_MATRICES, prepare<QrDecomposition, hr_shape_qr>).is(HR_KERNEL_SERIAL),
    kernel("SelfAdjointEigV2", HR_MATRICES, prepare<SelfAdjointEig, hr_shape_self_adjoint_eig_v2>)
        .is(HR_KERNEL_SERIAL),
    kernel("Svd", HR_MATRICES, prepare<SingularValues, hr_shape_svd>).is(HR_KERNEL_SERIAL),
};

}  // namespace hr
