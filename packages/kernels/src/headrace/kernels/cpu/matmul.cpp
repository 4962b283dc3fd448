// Matrix products: own loops where they are small or the dtype is not oneDNN's, oneDNN else.
#include <algorithm>
#include <memory>
#include <vector>

#include "attributes.hpp"
#include "catalogue_shapes.hpp"
#include "element_types.hpp"
#include "epilogue.hpp"
#include "gemm.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "shapes.hpp"
#include "via_float.hpp"
#if HR_WITH_ONEDNN
#include "onednn.hpp"
#endif

namespace hr {
namespace {

struct Product {
  int64_t m, n, k, batch;
  bool transpose_a, transpose_b;
  bool conjugate_a, conjugate_b;
  std::vector<int64_t> a_at, b_at;  // element offset of each product of the batch
  Epilogue epilogue;
#if HR_WITH_ONEDNN
  std::unique_ptr<onednn::Program> program;
#endif
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

template <class T>
hr_code compute_blocked(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) {
  const Product& p = *static_cast<Product*>(plan);
  for (int64_t i = 0; i < p.batch; ++i) {
    gemm::Problem<T> one = problem<T>(p, i, inputs, outputs);
    gemm::blocked(ctx, one, static_cast<T*>(workspace));
    finish<T>(p, inputs, one.c);
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
  if constexpr (is_complex<T>)
    return yes ? std::conj(x) : x;
  else
    return x;
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

#if HR_WITH_ONEDNN
hr_code compute_onednn(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace) {
  const Product& p = *static_cast<Product*>(plan);
  void* external[4] = {inputs[0]->data, inputs[1]->data, outputs[0]->data,
                       p.epilogue.bias ? inputs[2]->data : nullptr};
  return p.program->run(ctx, external, workspace);
}

dnnl::memory::desc matrices(const hr_tensor* t, int32_t rank, bool transposed) {
  dnnl::memory::dims dims(rank, 1), strides(rank, 1);
  for (int32_t i = 0; i < t->rank; ++i) dims[rank - t->rank + i] = t->dims[i];
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
  if (transposed) {
    std::swap(dims[rank - 2], dims[rank - 1]);
    std::swap(strides[rank - 2], strides[rank - 1]);
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

void append_activation(const Epilogue& e, dnnl::primitive_attr& attr) {
  using alg = dnnl::algorithm;
  dnnl::post_ops ops;
  switch (e.activation) {
    case Activation::none: return;
    case Activation::relu: ops.append_eltwise(alg::eltwise_relu, 0, 0); break;
    case Activation::relu6: ops.append_eltwise(alg::eltwise_clip_v2, 0, 6); break;
    case Activation::elu: ops.append_eltwise(alg::eltwise_elu, 1, 0); break;
    case Activation::tanh: ops.append_eltwise(alg::eltwise_tanh, 0, 0); break;
    case Activation::sigmoid: ops.append_eltwise(alg::eltwise_logistic, 0, 0); break;
    case Activation::leaky_relu: ops.append_eltwise(alg::eltwise_relu, e.leaky_alpha, 0); break;
  }
  attr.set_post_ops(ops);
}

hr_code build_onednn(hr_request* r, Product* p) {
  const int32_t rank =
      std::max(r->outputs[0]->rank, std::max(r->inputs[0]->rank, r->inputs[1]->rank));
  try {
    onednn::TeamSize team(r->threads);
    auto program = std::make_unique<onednn::Program>(r->threads);
    const auto a = matrices(r->inputs[0], rank, p->transpose_a);
    const auto b = matrices(r->inputs[1], rank, p->transpose_b);
    const auto c = matrices(r->outputs[0], rank, false);
    dnnl::primitive_attr attr = onednn::attributes();
    append_activation(p->epilogue, attr);
    dnnl::memory::desc bias;
    if (p->epilogue.bias) {
      dnnl::memory::dims dims(rank, 1), strides(rank, 1);
      dims[rank - 1] = p->n;
      for (int32_t i = 0; i + 1 < rank; ++i) strides[i] = p->n;
      bias = dnnl::memory::desc(dims, dnnl::memory::data_type::f32, strides);
    }
    dnnl::matmul::primitive_desc pd(onednn::engine(), a, b, bias, c, attr);
    std::vector<std::pair<int, int>> args = {{DNNL_ARG_SRC, program->external(0, a)},
                                             {DNNL_ARG_WEIGHTS, program->external(1, b)},
                                             {DNNL_ARG_DST, program->external(2, c)}};
    if (p->epilogue.bias) args.push_back({DNNL_ARG_BIAS, program->external(3, bias)});
    program->add<dnnl::matmul>(pd, args);
    r->workspace = program->workspace();
    p->program = std::move(program);
  } catch (const dnnl::error& error) {
    return hr_request_fail(r, HR_INTERNAL, "oneDNN made no matrix product: %s", error.message);
  }
  r->compute = compute_onednn;
  return HR_OK;
}
#endif

hr_code choose(hr_request* r, Product* p) {
  const hr_dtype dtype = r->outputs[0]->dtype;
  r->flops = 2.0 * double(p->batch) * double(p->m) * double(p->n) * double(p->k);
  const bool empty = p->k == 0 || p->m * p->n * p->batch == 0;
  if (dtype == HR_FLOAT) {
    if (empty)
      r->compute = compute_empty<float>;
    else if (gemm::is_small(p->m, p->n, p->k))
      r->compute = compute_small<float>;
    else {
#if HR_WITH_ONEDNN
      return build_onednn(r, p);
#else
      r->compute = compute_blocked<float>;
      r->workspace = size_t(gemm::packed_elements(p->n, p->k)) * sizeof(float);
#endif
    }
    return HR_OK;
  }
  if (dtype == HR_DOUBLE) {
    if (empty)
      r->compute = compute_empty<double>;
    else if (gemm::is_small(p->m, p->n, p->k))
      r->compute = compute_small<double>;
    else {
      r->compute = compute_blocked<double>;
      r->workspace = size_t(gemm::packed_elements(p->n, p->k)) * sizeof(double);
    }
    return HR_OK;
  }
  r->compute = with_type(dtype, Join<Integers, Complexes>{}, [](auto type) -> hr_compute {
    return compute_loops<typename decltype(type)::type>;
  });
  if (!r->compute)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no matrix product of dtype %d", dtype);
  return HR_OK;
}

hr_code shape_matmul(hr_request* r) {
  const hr_tensor *a = r->inputs[0], *b = r->inputs[1];
  if (a->rank != 2 || b->rank != 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "operands must be matrices: a is %s, b is %s",
                           ShapeText(a).text, ShapeText(b).text);
  const bool ta = hr_attr_bool(r->node, "transpose_a", 0),
             tb = hr_attr_bool(r->node, "transpose_b", 0);
  if (a->dims[ta ? 0 : 1] != b->dims[tb ? 1 : 0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "inner sizes differ: a is %s, b is %s",
                           ShapeText(a).text, ShapeText(b).text);
  set_shape(r->outputs[0], {a->dims[ta ? 1 : 0], b->dims[tb ? 0 : 1]});
  return HR_OK;
}

hr_code shape_batch_matmul(hr_request* r) {
  const hr_tensor *a = r->inputs[0], *b = r->inputs[1];
  const bool ta = hr_attr_bool(r->node, "adj_x", 0), tb = hr_attr_bool(r->node, "adj_y", 0);
  if (a->rank < 2 || b->rank < 2 ||
      a->dims[a->rank - (ta ? 2 : 1)] != b->dims[b->rank - (tb ? 1 : 2)])
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "inner sizes differ: x is %s, y is %s",
                           ShapeText(a).text, ShapeText(b).text);
  const int32_t rank = std::max(a->rank, b->rank);
  hr_tensor* out = r->outputs[0];
  out->rank = rank;
  for (int32_t i = 0; i < rank - 2; ++i) {
    const int32_t ia = i - (rank - a->rank), ib = i - (rank - b->rank);
    const int64_t x = ia < 0 ? 1 : a->dims[ia], y = ib < 0 ? 1 : b->dims[ib];
    if (x != y && x != 1 && y != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "batch shapes do not broadcast: x is %s, y is %s", ShapeText(a).text,
                             ShapeText(b).text);
    out->dims[i] = x == 1 ? y : x;
  }
  out->dims[rank - 2] = a->dims[a->rank - (ta ? 1 : 2)];
  out->dims[rank - 1] = b->dims[b->rank - (tb ? 2 : 1)];
  return HR_OK;
}

hr_code prepare_matmul(void*, hr_request* r) {
  hr_code code = shapes_by_rule(r, "matmul", shape_matmul);
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
  if (r->node->n_inputs > 2) {
    code = read_epilogue(r, &p->epilogue);
    if (code != HR_OK) return code;
    if (p->epilogue.bias && hr_elements(r->inputs[2]) != p->n)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "bias is %s, the product %s",
                             ShapeText(r->inputs[2]).text, ShapeText(r->outputs[0]).text);
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
  hr_code code = shapes_by_rule(r, "batch_matmul", shape_batch_matmul);
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

HR_ROWS(matmul) = {
    row("MatMul", "T=" HR_BATCHED, widened<prepare_matmul>),
    row("_FusedMatMul", "T=" HR_FLOATS, widened<prepare_matmul>),
    row("SparseMatMul", nullptr, widened<prepare_matmul>),
    row("BatchMatMul", "T=" HR_BATCHED, widened<prepare_batch_matmul>),
    row("BatchMatMulV2", "T=" HR_BATCHED, widened<prepare_batch_matmul>),
    row("BatchMatMulV3", "Ta=float;Tb=float;Tout=float", prepare_batch_matmul),
    row("BatchMatMulV3", "Ta=double;Tb=double;Tout=double", prepare_batch_matmul),
    row("BatchMatMulV3", "Ta=half;Tb=half;Tout=half", widened<prepare_batch_matmul>),
    row("BatchMatMulV3", "Ta=bfloat16;Tb=bfloat16;Tout=bfloat16", widened<prepare_batch_matmul>),
    row("BatchMatMulV3", "Ta=int32;Tb=int32;Tout=int32", prepare_batch_matmul),
    row("BatchMatMulV3", "Ta=int64;Tb=int64;Tout=int64", prepare_batch_matmul),
};
HR_ROWS_END(matmul)

}  // namespace hr
