// Matrix products of one matrix and of batches.
#include <algorithm>
#include <memory>

#include "gemm/gemm.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"

namespace hr::cl {
namespace {

hr_code finish(hr_request* r, Gemm gemm) {
  GemmElement element;
  if (hr_code code = element_of(r, r->outputs[0]->dtype, &element)) return code;
  auto sequence = std::make_unique<Sequence>();
  if (std::string_view(r->node->op) == "_FusedMatMul") {
    if (hr_code code = read_epilogue_step(r, element, gemm.n, &gemm.epilogue, sequence.get()))
      return code;
    if (gemm.epilogue.epilogue.batch_norm)
      return hr_request_fail(r, HR_UNIMPLEMENTED,
                             "Fusion is not implemented: FusedBatchNorm of a matrix product");
  }
  if (hr_code code = add_gemm(r, element, gemm, sequence.get())) return code;
  r->flops = 2.0 * double(hr_elements(r->outputs[0])) * double(gemm.k);
  return run_sequence(r, std::move(sequence));
}

hr_code prepare_matmul(void*, hr_request* r) {
  if (hr_code code = hr_shape_matmul(r)) return code;
  Gemm gemm;
  gemm.transpose_a = hr_attr_bool(r->node, "transpose_a", 0);
  gemm.transpose_b = hr_attr_bool(r->node, "transpose_b", 0);
  gemm.m = r->outputs[0]->dims[0];
  gemm.n = r->outputs[0]->dims[1];
  gemm.k = r->inputs[0]->dims[gemm.transpose_a ? 0 : 1];
  gemm.a = Place::input(0), gemm.b = Place::input(1), gemm.c = Place::output(0);
  return finish(r, gemm);
}

hr_code prepare_batch_matmul(void*, hr_request* r) {
  const hr_tensor *x = r->inputs[0], *y = r->inputs[1], *out = r->outputs[0];
  if (x->dtype != y->dtype || x->dtype != out->dtype)
    return hr_request_fail(r, HR_UNIMPLEMENTED,
                           "operands and result have dtypes %d, %d and %d: cast them to one",
                           x->dtype, y->dtype, out->dtype);
  if (std::string_view(r->node->op) == "BatchMatMul" &&  // its batches do not broadcast
      (x->rank != y->rank || !std::equal(x->dims, x->dims + std::max(x->rank - 2, 0), y->dims)))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "In[0] and In[1] must have the same batch dimensions: %s, %s",
                           ShapeText(x).text, ShapeText(y).text);
  if (hr_code code = hr_shape_batch_matmul(r)) return code;
  Gemm gemm;
  gemm.transpose_a = hr_attr_bool(r->node, "adj_x", 0);
  gemm.transpose_b = hr_attr_bool(r->node, "adj_y", 0);
  const int32_t rank = out->rank;
  gemm.m = out->dims[rank - 2];
  gemm.n = out->dims[rank - 1];
  gemm.k = x->dims[x->rank - (gemm.transpose_a ? 2 : 1)];
  gemm.a = Place::input(0), gemm.b = Place::input(1), gemm.c = Place::output(0);
  auto between = [](const hr_tensor* t, int32_t d) {
    return d < 0 || t->dims[d] == 1 ? 0 : product(t->dims, d + 1, t->rank);
  };
  for (int32_t d = 0; d < rank - 2; ++d)
    gemm.batch.push_back(
        {out->dims[d], between(x, d - (rank - x->rank)), between(y, d - (rank - y->rank))});
  return finish(r, gemm);
}

HR_FUSIBLE_OPS(epilogue::fusible_ops());

}  // namespace

HR_KERNELS = {
    kernel("MatMul", "T=half|float|double", prepare_matmul),
    kernel("_FusedMatMul", "T=float|double", prepare_matmul),
    kernel("BatchMatMul", "T=half|float|double", prepare_batch_matmul),
    kernel("BatchMatMulV2", "T=half|float|double", prepare_batch_matmul),
    kernel("BatchMatMulV3", "Ta=half;Tb=half;Tout=half", prepare_batch_matmul),
    kernel("BatchMatMulV3", "Ta=float;Tb=float;Tout=float", prepare_batch_matmul),
    kernel("BatchMatMulV3", "Ta=double;Tb=double;Tout=double", prepare_batch_matmul),
};

}  // namespace hr::cl
