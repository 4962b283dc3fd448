// Updates rows of a tensor by index: InplaceUpdate, InplaceAdd, InplaceSub.
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "ops/scatter/scatter.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

hr_code compute_inplace(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  if (out[0]->data != in[0]->data)
    copy_elements(ctx, in[0]->dtype, hr_dtype_size(in[0]->dtype), out[0]->data, in[0]->data,
                  hr_elements(in[0]));
  auto offsets = to_int64(in[1]);
  const int64_t rows = out[0]->dims[0];
  for (int64_t& at : offsets)
    if (rows) at = (at % rows + rows) % rows;
  return scatter_rows(ctx, *static_cast<const ScatterPlan*>(plan), out[0],
                      product(out[0]->dims, 1, out[0]->rank), offsets, in[2]);
}

template <ScatterUpdate way> hr_code prepare_inplace(void*, hr_request* r) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  const hr_tensor *x = r->inputs[0], *v = r->inputs[2];
  bool fits = x->rank >= 1 && v->rank == x->rank && v->dims[0] == hr_elements(r->inputs[1]);
  for (int32_t d = 1; fits && d < x->rank; ++d) fits = v->dims[d] == x->dims[d];
  if (!fits)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "x is %s, i is %s, v is %s",
                           (const char*)ShapeText(x), (const char*)ShapeText(r->inputs[1]),
                           (const char*)ShapeText(v));
  return keep_scatter_plan(r, way, x->dtype, compute_inplace);
}

}  // namespace

HR_KERNELS = {
    kernel("InplaceUpdate", nullptr, prepare_inplace<kUpdate>).reuses(0),
    kernel("InplaceAdd", "T=" HR_NUMBERS, prepare_inplace<kAdd>).reuses(0),
    kernel("InplaceSub", "T=" HR_NUMBERS, prepare_inplace<kSub>).reuses(0),
};

}  // namespace hr
