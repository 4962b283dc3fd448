// Ops that return their input's memory under another shape, and ops that return shapes.
#include "headrace/kernel.h"
#include "launch/launch.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"

namespace hr::cl {
namespace {

template <hr_code (*rule)(hr_request*)> hr_code by_rule(void*, hr_request* request) {
  return rule(request);
}

// ---- shapes as values, in host memory
// -------------------------------------------------------------

hr_code put(hr_ctx* ctx, hr_tensor* out, int64_t i, int64_t value) {
  if (out->dtype == HR_INT64) {
    hr::write<int64_t>(out)[i] = value;
  } else {
    if (value > INT32_MAX)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "%lld is too large for int32: set out_type to int64", (long long)value);
    hr::write<int32_t>(out)[i] = int32_t(value);
  }
  return HR_OK;
}

hr_code compute_shapes(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto n = reinterpret_cast<intptr_t>(plan);
  for (intptr_t i = 0; i < n; ++i)
    for (int32_t d = 0; d < in[i]->rank; ++d)
      if (hr_code code = put(ctx, out[i], d, in[i]->dims[d])) return code;
  return HR_OK;
}

// Reads the number of inputs, which the plan is.
template <hr_code (*rule)(hr_request*)> hr_code prepare_each(void*, hr_request* r) {
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_inputs));
  return rule(r);
}

hr_code compute_size(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  return put(ctx, out[0], 0, hr_elements(in[0]));
}

hr_code compute_rank(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  return put(ctx, out[0], 0, in[0]->rank);
}

hr_code copy_each(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
                  void*) {
  const auto n = reinterpret_cast<intptr_t>(plan);
  for (intptr_t i = 0; i < n; ++i)
    if (hr_code code = copy(ctx, Out{out[i]->data}, In{in[i]->data}, in[i]->bytes)) return code;
  return HR_OK;
}

constexpr KernelRegistration view_of(const char* op, Prepare prepare) {
  return kernel(op, nullptr, prepare).is(HR_KERNEL_VIEW).reuses(0);
}

}  // namespace

HR_KERNELS = {
    view_of("Identity", by_rule<hr_shape_unchanged>),
    view_of("StopGradient", by_rule<hr_shape_unchanged>),
    view_of("PreventGradient", by_rule<hr_shape_unchanged>),
    view_of("GuaranteeConst", by_rule<hr_shape_unchanged>),
    view_of("Snapshot", by_rule<hr_shape_unchanged>),
    view_of("DebugGradientIdentity", by_rule<hr_shape_unchanged>),
    view_of("PlaceholderWithDefault", by_rule<hr_shape_placeholder_with_default>),
    view_of("EnsureShape", by_rule<hr_shape_ensure_shape>),
    view_of("Reshape", by_rule<hr_shape_reshape>).constant(1),
    view_of("ExpandDims", by_rule<hr_shape_expand_dims>).constant(1),
    view_of("Squeeze", by_rule<hr_shape_squeeze>),
    kernel("IdentityN", "T=" HR_NUMBERS "|bool", prepare_each<hr_shape_each_unchanged>, copy_each),
    kernel("Shape", nullptr, prepare_each<hr_shape_shape>, compute_shapes).outputs_on_host(0),
    kernel("ShapeN", nullptr, prepare_each<hr_shape_shape_n>, compute_shapes).outputs_on_host(0),
    kernel("Size", nullptr, by_rule<hr_shape_scalar>, compute_size).outputs_on_host(0),
    kernel("Rank", nullptr, by_rule<hr_shape_scalar>, compute_rank).outputs_on_host(0),
};

}  // namespace hr::cl
