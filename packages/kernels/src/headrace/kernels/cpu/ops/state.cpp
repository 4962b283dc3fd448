// CountUpTo, for reference and resource variables.
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/slots.hpp"

namespace hr {
namespace {

template <class T>
hr_code compute_count(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const int64_t limit = *static_cast<const int64_t*>(plan);
  WriteSlots<1> variable(ctx, in, out[0]->dtype);
  if (variable.code) return variable.code;
  const hr_tensor& value = variable.values[0];
  if (hr_elements(&value) != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the variable must be a scalar, its shape is %s",
                       (const char*)ShapeText(&value));
  if (*write<T>(&value) >= limit)
    return hr_ctx_fail(ctx, HR_OUT_OF_RANGE, "Reached limit of %lld", (long long)limit);
  *write<T>(out[0]) = (*write<T>(&value))++;
  return HR_OK;
}

hr_code prepare_count(void*, hr_request* r) {
  HR_APPLY_RULE(scalar, r);
  keep_plan(r, new int64_t(hr_attr_int(r->node, "limit", 0)));
  r->compute = r->outputs[0]->dtype == HR_INT32 ? compute_count<int32_t> : compute_count<int64_t>;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("CountUpTo", "T=int32|int64", prepare_count),
    kernel("ResourceCountUpTo", "T=int32|int64", prepare_count),
};

}  // namespace hr
