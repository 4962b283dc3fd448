// Matrix products: floats by gemm.hpp, integers and complex numbers by plain loops.
#include <algorithm>
#include <memory>
#include <vector>

#include "gemm/epilogue.hpp"
#include "gemm/gemm.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

struct Product {
  int64_t m, n, k, batch;
  bool transpose_a, transpose_b;
  bool conjugate_a, conjugate_b;
  std::vector<int64_t> a_at, b_at;  // element offset of each product of the batch
  Epilogue epilogue;
  gemm::Cut cut;
  bool by_batch;  // the pool's threads take whole products
};

template <class T>
gemm::Problem<T> problem(const Product& p, int64_t i, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs) {
  return {p.m,
          p.n,
          p.k,
          read<T>(inputs[0]) + p.a_at[i],
          p.transpose_a ? p.m : p.k,
          p.transpose_a,
          read<T>(inputs[1]) + p.b_at[i],
          p.transpose_b ? p.k : p.n,
          p.transpose_b,
          write<T>(outputs[0]) + i * p.m * p.n,
          p.n};
}

template <class T>
void finish(const Product& p, const hr_tensor* const* inputs, T* c) {
  if (!p.epilogue.bias && p.epilogue.activation == Activation::none) return;
  apply_epilogue(p.epilogue, c, p.m, p.n, p.epilogue.bias ? read<T>(inputs[2]) : nullptr);
}

template <class T>
hr_code compute_small(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const Product& p = *static_cast<Product*>(plan);
  if (p.batch == 1) {
    gemm::Problem<T> one = problem<T>(p, 0, inputs, outputs);
    gemm::small(one);
    finish<T>(p, inputs, one.c);
    return HR_OK;
  }
  parallel_ranges(ctx, p.batch, std::max<int64_t>(1, 200000 / (p.m * p.n * p.k)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      gemm::Problem<T> one = problem<T>(p, i, inputs, outputs);
                      gemm::small(one);
                      finish<T>(p, inputs, one.c);
                    }
                  });
  return HR_OK;
}

// The epilogue of a part of the result, as gemm::Finish calls it.
template <class T>
struct PartEpilogue {
  const Epilogue& epilogue;
  const T* bias;

  static void run(const void* self, void* c, int64_t ldc, int64_t i0, int64_t i1, int64_t j0,
                  int64_t j1) {
    const PartEpilogue& it = *static_cast<const PartEpilogue*>(self);
    for (int64_t i = i0; i < i1; ++i)
      apply_epilogue(it.epilogue, static_cast<T*>(c) + i * ldc + j0, 1, j1 - j0,
                     it.bias ? it.bias + j0 : nullptr);
  }
};

template <class T>
hr_code compute_blocked(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) {
  const Product& p = *static_cast<Product*>(plan);
  const PartEpilogue<T> epilogue{p.epilogue, p.epilogue.bias ? read<T>(inputs[2]) : nullptr};
  const gemm::Finish last{PartEpilogue<T>::run, &epilogue};
  const bool finishes = p.epilogue.bias || p.epilogue.activation != Activation::none;
  const gemm::Finish* finish = finishes ? &last : nullptr;
  T* packed = static_cast<T*>(workspace);
  if (p.by_batch) {
    const int64_t each = int64_t(gemm::workspace_of<T>(p.cut) / sizeof(T));
    const bool all = parallel_tasks(ctx, p.batch, ctx->threads, [&](int64_t i, int64_t thread) {
      gemm::blocked_alone(problem<T>(p, i, inputs, outputs), p.cut, packed + thread * each, finish);
    });
    return all ? HR_OK : hr_ctx_fail(ctx, HR_CANCELLED, "cancelled in a matrix product");
  }
  for (int64_t i = 0; i < p.batch; ++i) {
    const hr_code code =
        gemm::blocked(ctx, problem<T>(p, i, inputs, outputs), p.cut, packed, finish);
    if (code != HR_OK) return code;
  }
  return HR_OK;
}

// k is empty: the product is zero, the epilogue still counts.
template <class T>
hr_code compute_empty(hr_ctx*, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const Product& p = *static_cast<Product*>(plan);
  T* c = write<T>(outputs[0]);
  std::fill(c, c + p.batch * p.m * p.n, T(0));
  if constexpr (std::is_floating_point_v<T>) {
    if (p.batch) finish<T>(p, inputs, c);
  }
  return HR_OK;
}

template <class T>
HR_INLINE T conjugated(T x, bool yes) {
  if constexpr (is_complex<T>) return yes ? std::conj(x) : x;
  else return x;
}

// Integers and complex numbers: row by row, the inner loop over contiguous columns.
template <class T>
void rows_of_product(const Product& p, const gemm::Problem<T>& one, int64_t begin, int64_t end) {
  const int64_t ai = one.transpose_a ? 1 : one.lda, ak = one.transpose_a ? one.lda : 1;
  const int64_t bk = one.transpose_b ? 1 : one.ldb, bj = one.transpose_b ? one.ldb : 1;
  for (int64_t i = begin; i < end; ++i) {
    T* c = one.c + i * one.ldc;
    std::fill(c, c + p.n, T(0));
    for (int64_t q = 0; q < p.k; ++q) {
      const T a = conjugated(one.a[i * ai + q * ak], p.conjugate_a);
      const T* b = one.b + q * bk;
      for (int64_t j = 0; j < p.n; ++j) {
        const T y = conjugated(b[j * bj], p.conjugate_b);
        if constexpr (is_complex<T>) {
          // By parts: the C++ operator checks for infinities at every product.
          c[j] += T(a.real() * y.real() - a.imag() * y.imag(),
                    a.real() * y.imag() + a.imag() * y.real());
        } else {
          using U = std::make_unsigned_t<T>;  // wraps around, as TensorFlow's does
          c[j] = T(U(c[j]) + U(uint64_t(U(a)) * uint64_t(U(y))));
        }
      }
    }
  }
}

template <class T>
hr_code compute_loops(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const Product& p = *static_cast<Product*>(plan);
  parallel_ranges(ctx, p.batch * p.m, std::max<int64_t>(1, 100000 / (p.n * p.k + 1)),
                  [&](int64_t begin, int64_t end) {
                    while (begin < end) {
                      const int64_t i = begin / p.m, row = begin % p.m;
                      const int64_t stop = std::min(p.m, row + end - begin);
                      rows_of_product<T>(p, problem<T>(p, i, inputs, outputs), row, stop);
                      begin += stop - row;
                    }
                  });
  return HR_OK;
}

template <class T>
void choose_floats(hr_request* r, Product* p) {
  if (p->k == 0 || p->m * p->n * p->batch == 0) {
    r->compute = compute_empty<T>;
  } else if (gemm::is_small(p->m, p->n, p->k)) {
    r->compute = compute_small<T>;
  } else {
    p->by_batch = r->threads > 1 && p->batch >= 2 * r->threads;
    p->cut = gemm::cut_of<T>(p->m, p->n, p->k, p->transpose_a, p->transpose_b,
                             p->by_batch ? 1 : r->threads);
    r->workspace = gemm::workspace_of<T>(p->cut) * size_t(p->by_batch ? r->threads : 1);
    r->compute = compute_blocked<T>;
  }
}

hr_code choose(hr_request* r, Product* p) {
  const hr_dtype dtype = r->outputs[0]->dtype;
  r->flops = 2.0 * double(p->batch) * double(p->m) * double(p->n) * double(p->k);
  if (dtype == HR_FLOAT || dtype == HR_DOUBLE) {
    if (dtype == HR_FLOAT) choose_floats<float>(r, p);
    else choose_floats<double>(r, p);
    return HR_OK;
  }
  r->compute = with_type(dtype, Join<Integers, Complexes>{}, [](auto type) -> hr_compute {
    return compute_loops<typename decltype(type)::type>;
  });
  if (!r->compute)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no matrix product of dtype %d", dtype);
  return HR_OK;
}

hr_code prepare_matmul(void*, hr_request* r) {
  hr_code code = hr_shape_matmul(r);
  if (code != HR_OK) return code;
  auto plan = std::make_unique<Product>();
  Product* p = plan.get();
  p->transpose_a = hr_attr_bool(r->node, "transpose_a", 0);
  p->transpose_b = hr_attr_bool(r->node, "transpose_b", 0);
  p->m = r->outputs[0]->dims[0];
  p->n = r->outputs[0]->dims[1];
  p->k = r->inputs[0]->dims[p->transpose_a ? 0 : 1];
  p->batch = 1;
  p->a_at = p->b_at = {0};
  if (std::string_view(r->node->op) == "_FusedMatMul") {
    code = read_epilogue(r, p->n, &p->epilogue);
    if (code != HR_OK) return code;
    if (p->epilogue.batch_norm)
      return hr_request_fail(r, HR_UNIMPLEMENTED,
                             "Fusion is not implemented: FusedBatchNorm of a matrix product");
  }
  code = choose(r, p);
  if (code == HR_OK) keep_plan(r, plan.release());
  return code;
}

hr_code prepare_batch_matmul(void*, hr_request* r) {
  if (r->inputs[0]->dtype != r->inputs[1]->dtype || r->inputs[0]->dtype != r->outputs[0]->dtype)
    return hr_request_fail(r, HR_UNIMPLEMENTED,
                           "operands and result have dtypes %d, %d and %d: cast them to one",
                           r->inputs[0]->dtype, r->inputs[1]->dtype, r->outputs[0]->dtype);
  if (std::string_view(r->node->op) == "BatchMatMul") {  // its batches do not broadcast
    const hr_tensor *x = r->inputs[0], *y = r->inputs[1];
    if (x->rank != y->rank || !std::equal(x->dims, x->dims + std::max(x->rank - 2, 0), y->dims))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "In[0] and In[1] must have the same batch dimensions: %s, %s",
                             ShapeText(x).text, ShapeText(y).text);
  }
  hr_code code = hr_shape_batch_matmul(r);
  if (code != HR_OK) return code;
  const hr_tensor *a = r->inputs[0], *b = r->inputs[1], *out = r->outputs[0];
  auto plan = std::make_unique<Product>();
  Product* p = plan.get();
  p->transpose_a = p->conjugate_a = hr_attr_bool(r->node, "adj_x", 0);
  p->transpose_b = p->conjugate_b = hr_attr_bool(r->node, "adj_y", 0);
  const int32_t rank = out->rank;
  p->m = out->dims[rank - 2];
  p->n = out->dims[rank - 1];
  p->k = a->dims[a->rank - (p->transpose_a ? 2 : 1)];
  p->batch = product(out->dims, 0, rank - 2);
  // Walks the batch like an odometer; a broadcast dimension has stride 0.
  int64_t sa[HR_MAX_RANK] = {}, sb[HR_MAX_RANK] = {}, at[HR_MAX_RANK] = {};
  for (int32_t i = 0; i < rank - 2; ++i) {
    const int32_t ia = i - (rank - a->rank), ib = i - (rank - b->rank);
    if (ia >= 0 && a->dims[ia] != 1) sa[i] = product(a->dims, ia + 1, a->rank);
    if (ib >= 0 && b->dims[ib] != 1) sb[i] = product(b->dims, ib + 1, b->rank);
  }
  int64_t oa = 0, ob = 0;
  for (int64_t i = 0; i < p->batch; ++i) {
    p->a_at.push_back(oa);
    p->b_at.push_back(ob);
    for (int32_t d = rank - 2; d-- > 0;) {
      oa += sa[d];
      ob += sb[d];
      if (++at[d] < out->dims[d]) break;
      oa -= sa[d] * out->dims[d];
      ob -= sb[d] * out->dims[d];
      at[d] = 0;
    }
  }
  code = choose(r, p);
  if (code == HR_OK) keep_plan(r, plan.release());
  return code;
}

}  // namespace

#define HR_BATCHED \
  "half|bfloat16|float|double|int16|int32|int64|uint8|uint16|uint32|uint64|complex64|complex128"

HR_KERNELS = {
    kernel("MatMul", "T=" HR_BATCHED, widened<prepare_matmul>),
    kernel("_FusedMatMul", "T=" HR_FLOATS, widened<prepare_matmul>),
    kernel("SparseMatMul", nullptr, widened<prepare_matmul>),
    kernel("BatchMatMul", "T=" HR_BATCHED, widened<prepare_batch_matmul>),
    kernel("BatchMatMulV2", "T=" HR_BATCHED, widened<prepare_batch_matmul>),
    kernel("BatchMatMulV3", "Ta=float;Tb=float;Tout=float", prepare_batch_matmul),
    kernel("BatchMatMulV3", "Ta=double;Tb=double;Tout=double", prepare_batch_matmul),
    kernel("BatchMatMulV3", "Ta=half;Tb=half;Tout=half", widened<prepare_batch_matmul>),
    kernel("BatchMatMulV3", "Ta=bfloat16;Tb=bfloat16;Tout=bfloat16", widened<prepare_batch_matmul>),
    kernel("BatchMatMulV3", "Ta=int32;Tb=int32;Tout=int32", prepare_batch_matmul),
    kernel("BatchMatMulV3", "Ta=int64;Tb=int64;Tout=int64", prepare_batch_matmul),
};

}  // namespace hr
