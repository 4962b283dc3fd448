// Tensors of one value: Fill, ZerosLike, OnesLike; and BroadcastTo.
#include <algorithm>
#include <cstring>

#include "codegen/copied_types.hpp"
#include "codegen/strided_copy.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr::cl {
namespace {

hr_code prepare_fill(void*, hr_request* r) {
  if (hr_elements(r->inputs[1]) != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "value must be a scalar, is %s",
                           (const char*)ShapeText(r->inputs[1]));
  HR_APPLY_RULE(shape_from_input_0, r);
  Walk walk(r->outputs[0]);
  walk.strides.push_back({});
  return plan_elementwise(r, copy_element(r->inputs[1]->dtype), walk, {1});
}

hr_code prepare_broadcast_to(void*, hr_request* r) {
  HR_APPLY_RULE(broadcast_to, r);
  Walk walk(r->outputs[0]);
  walk.add(r->inputs[0]);
  return plan_elementwise(r, copy_element(r->inputs[0]->dtype), walk, {0});
}

// ---- zeros and ones -----------------------------------------------------------------------------

// The bytes of a number 1; the plan of OnesLike.
struct Pattern {
  uint8_t bytes[8] = {};
  size_t size;
};

template <class T> void put(Pattern* pattern, T one) {
  std::memcpy(pattern->bytes, &one, sizeof one);
}

Pattern one_of(hr_dtype dtype) {
  Pattern pattern;
  pattern.size = size_t(hr_dtype_size(dtype));
  switch (dtype) {
    case HR_FLOAT: put(&pattern, 1.0f); break;
    case HR_DOUBLE: put(&pattern, 1.0); break;
    case HR_HALF: put(&pattern, uint16_t(0x3c00)); break;
    case HR_BFLOAT16: put(&pattern, uint16_t(0x3f80)); break;
    default: pattern.bytes[0] = 1;  // integers and bool, the lowest byte first
  }
  return pattern;
}

hr_code compute_pattern(hr_ctx* ctx, void*, void* plan, const hr_tensor* const*,
                        hr_tensor* const* out, void*) {
  const auto& pattern = *static_cast<const Pattern*>(plan);
  if (out[0]->bytes == 0) return HR_OK;
  return fill(ctx, Out{out[0]->data}, pattern.bytes, pattern.size, out[0]->bytes);
}

hr_code prepare_zeros(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  auto* pattern = keep_plan(r, new Pattern);
  pattern->size = size_t(std::min<int64_t>(8, hr_dtype_size(r->outputs[0]->dtype)));
  r->compute = compute_pattern;
  return HR_OK;
}

// A list of zeros has as many items, of the same shapes.
hr_code compute_zero_lists(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                           hr_tensor* const* out, void*) {
  return zeros_like_lists(ctx, in[0], out[0]);
}

hr_code prepare_zero_lists(void*, hr_request* r) { return hr_shape_unchanged(r); }

hr_code prepare_ones(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  keep_plan(r, new Pattern(one_of(r->outputs[0]->dtype)));
  r->compute = compute_pattern;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Fill", "T=" HR_COPIED, prepare_fill).constant(0),
    kernel("BroadcastTo", "T=" HR_COPIED, prepare_broadcast_to).constant(1),
    kernel("ZerosLike", "T=" HR_COPIED, prepare_zeros),
    kernel("ZerosLike", "T=variant", prepare_zero_lists, compute_zero_lists),
    kernel("OnesLike", "T=" HR_COPIED_REALS, prepare_ones),
};

}  // namespace hr::cl
