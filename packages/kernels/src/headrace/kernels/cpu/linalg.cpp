// Batches of dense matrices: decompositions, determinants, inverses, systems of equations.
//
// Each matrix is worked on in double precision by one thread, a batch by all of them.
#include <algorithm>
#include <atomic>
#include <vector>

#include "dense_matrix.hpp"
#include "element_types.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "shape_rules.hpp"
#include "shapes.hpp"

namespace hr {
namespace {

using dense::Matrix;

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

struct MatrixPlan {
  int64_t batch, rows, columns;
  int64_t rhs_columns;
  bool adjoint, lower, vectors, full;
  // Offsets, in matrices, of operands that broadcast over the batch.
  std::vector<int64_t> a, b;
};

// Runs body(matrix, plan) for each matrix; the first failure's text is the error.
template <class F>
hr_code each_matrix(hr_ctx* ctx, const MatrixPlan& p, F&& body) {
  std::atomic<const char*> failure{nullptr};
  parallel_ranges(ctx, p.batch, grain_of(8 * p.rows * p.columns * (p.columns + 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      if (const char* text = body(i)) failure = text;
                  });
  const char* text = failure;
  return text ? hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s", text) : HR_OK;
}

using In = const hr_tensor* const*;
using Out = hr_tensor* const*;

struct Cholesky {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    auto a = load(read<T>(in[0]) + i * p.rows * p.rows, p.rows, p.rows);
    if (!dense::cholesky(&a))
      return "Cholesky decomposition was not successful. The input might not be valid.";
    store(a, write<T>(out[0]) + i * p.rows * p.rows);
    return nullptr;
  }
};

struct Inverse {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    auto a = load(read<T>(in[0]) + i * p.rows * p.rows, p.rows, p.rows);
    const dense::Lu<Wide<T>> lu(p.adjoint ? a.adjoint() : a);
    if (lu.singular) return "Input is not invertible.";
    store(lu.solve(Matrix<Wide<T>>::identity(p.rows)), write<T>(out[0]) + i * p.rows * p.rows);
    return nullptr;
  }
};

struct Determinant {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    const dense::Lu<Wide<T>> lu(load(read<T>(in[0]) + i * p.rows * p.rows, p.rows, p.rows));
    Wide<T> product = Wide<T>(lu.sign);
    for (int64_t k = 0; k < p.rows; ++k) product *= lu.a[k][k];
    write<T>(out[0])[i] = narrowed<T>(product);
    return nullptr;
  }
};

struct LogDeterminant {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    const dense::Lu<Wide<T>> lu(load(read<T>(in[0]) + i * p.rows * p.rows, p.rows, p.rows));
    Wide<T> sign = Wide<T>(lu.sign);
    double logarithm = 0;
    for (int64_t k = 0; k < p.rows; ++k) {
      const double size = std::abs(lu.a[k][k]);
      sign = size > 0 ? sign * (lu.a[k][k] / size) : Wide<T>(0);
      logarithm += std::log(size);
    }
    write<T>(out[0])[i] = narrowed<T>(sign);
    write<T>(out[1])[i] = narrowed<T>(Wide<T>(logarithm));
    return nullptr;
  }
};

struct LuDecomposition {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    const dense::Lu<Wide<T>> lu(load(read<T>(in[0]) + i * p.rows * p.rows, p.rows, p.rows));
    if (lu.singular) return "Input is not invertible.";
    store(lu.a, write<T>(out[0]) + i * p.rows * p.rows);
    for (int64_t k = 0; k < p.rows; ++k) {
      if (out[1]->dtype == HR_INT32)
        write<int32_t>(out[1])[i * p.rows + k] = int32_t(lu.rows[size_t(k)]);
      else write<int64_t>(out[1])[i * p.rows + k] = lu.rows[size_t(k)];
    }
    return nullptr;
  }
};

struct Solve {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    const int64_t n = p.rows, m = p.rhs_columns;
    auto a = load(read<T>(in[0]) + p.a[size_t(i)] * n * n, n, n);
    const dense::Lu<Wide<T>> lu(p.adjoint ? a.adjoint() : a);
    if (lu.singular) return "Input matrix is not invertible.";
    store(lu.solve(load(read<T>(in[1]) + p.b[size_t(i)] * n * m, n, m)),
          write<T>(out[0]) + i * n * m);
    return nullptr;
  }
};

struct TriangularSolve {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    const int64_t n = p.rows, m = p.rhs_columns;
    auto a = load(read<T>(in[0]) + p.a[size_t(i)] * n * n, n, n);
    auto b = load(read<T>(in[1]) + p.b[size_t(i)] * n * m, n, m);
    if (!dense::solve_triangular(p.adjoint ? a.adjoint() : a, p.lower != p.adjoint, &b))
      return "Input matrix is not invertible.";
    store(b, write<T>(out[0]) + i * n * m);
    return nullptr;
  }
};

struct QrDecomposition {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    auto a = load(read<T>(in[0]) + i * p.rows * p.columns, p.rows, p.columns);
    Matrix<Wide<T>> q;
    dense::qr(&a, &q, p.full);
    store(q, write<T>(out[0]) + i * int64_t(q.data.size()));
    store(a, write<T>(out[1]) + i * int64_t(a.data.size()));
    return nullptr;
  }
};

struct SelfAdjointEig {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    std::vector<double> values;
    Matrix<Wide<T>> vectors;
    dense::self_adjoint_eig(load(read<T>(in[0]) + i * p.rows * p.rows, p.rows, p.rows), &values,
                            &vectors);
    for (int64_t k = 0; k < p.rows; ++k)
      write<T>(out[0])[i * p.rows + k] = narrowed<T>(Wide<T>(values[size_t(k)]));
    if (p.vectors) store(vectors, write<T>(out[1]) + i * p.rows * p.rows);
    return nullptr;
  }
};

struct SingularValues {
  template <class T> static const char* run(const MatrixPlan& p, In in, Out out, int64_t i) {
    using W = Wide<T>;
    auto a = load(read<T>(in[0]) + i * p.rows * p.columns, p.rows, p.columns);
    const bool tall = p.rows >= p.columns;
    const int64_t least = std::min(p.rows, p.columns);
    std::vector<double> values;
    Matrix<W> u, v;
    dense::svd(tall ? a : a.adjoint(), &values, &u, &v);
    for (int64_t k = 0; k < least; ++k)
      write<T>(out[0])[i * least + k] = narrowed<T>(W(values[size_t(k)]));
    if (!p.vectors) return nullptr;
    // Columns of vanished values, and those that a full basis has besides.
    int64_t whole = 0;
    while (whole < least && values[size_t(whole)] > 0) ++whole;
    const int64_t wanted = p.full ? u.rows : least;
    Matrix<W> wide(u.rows, wanted);
    for (int64_t r = 0; r < u.rows; ++r)
      for (int64_t c = 0; c < whole; ++c) wide[r][c] = u[r][c];
    dense::complete(&wide, whole);
    store(tall ? wide : v, write<T>(out[1]) + i * int64_t((tall ? wide : v).data.size()));
    store(tall ? v : wide, write<T>(out[2]) + i * int64_t((tall ? v : wide).data.size()));
    return nullptr;
  }
};

template <class Op, class T>
hr_code compute(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  const auto& p = *static_cast<const MatrixPlan*>(plan);
  return each_matrix(ctx, p, [&](int64_t i) { return Op::template run<T>(p, in, out, i); });
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

// The batch dimensions of matrix and rhs broadcast.
template <class Op> hr_code prepare_solve(void*, hr_request* r) {
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

HR_ROWS(linalg) = {
    row("Cholesky", HR_MATRICES, prepare<Cholesky, hr_shape_square>),
    row("MatrixInverse", HR_MATRICES, prepare<Inverse, hr_shape_square>),
    row("MatrixDeterminant", HR_MATRICES, prepare<Determinant, hr_shape_determinant>),
    row("LogMatrixDeterminant", HR_MATRICES, prepare<LogDeterminant, hr_shape_determinant>),
    row("Lu", HR_MATRICES, prepare<LuDecomposition, hr_shape_lu>),
    row("MatrixSolve", HR_MATRICES, prepare_solve<Solve>),
    row("MatrixTriangularSolve", HR_MATRICES, prepare_solve<TriangularSolve>),
    row("Qr", HR_MATRICES, prepare<QrDecomposition, hr_shape_qr>),
    row("SelfAdjointEigV2", HR_MATRICES, prepare<SelfAdjointEig, hr_shape_self_adjoint_eig_v2>),
    row("Svd", HR_MATRICES, prepare<SingularValues, hr_shape_svd>),
};
HR_ROWS_END(linalg)

}  // namespace hr
