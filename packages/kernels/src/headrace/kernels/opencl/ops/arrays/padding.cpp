// Pad and PadV2: a filled output, with the input copied into it.
#include "codegen/copied_types.hpp"
#include "codegen/strided_copy.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

struct PadPlan {
  ElementwiseKernel interior, margin;
  bool has_interior = false, has_margin = false, by_value = false;
};

hr_code compute_pad(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const PadPlan*>(plan_);
  if (plan.has_margin && plan.by_value) {
    const void* value[] = {in[2]->data};
    if (hr_code code = plan.margin.launch(ctx, value, out[0]->data)) return code;
  } else if (plan.has_margin) {
    const uint8_t zero = 0;
    if (hr_code code = fill(ctx, Out{out[0]->data}, &zero, 1, out[0]->bytes)) return code;
  }
  if (!plan.has_interior) return HR_OK;
  const void* inputs[] = {in[0]->data};
  return plan.interior.launch(ctx, inputs, out[0]->data);
}

hr_code prepare_pad(void*, hr_request* r) {
  HR_APPLY_RULE(pad, r);
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  int64_t to[HR_MAX_RANK], begin = 0;
  row_major(x->rank, y->dims, to);
  for (int32_t d = 0; d < x->rank; ++d) begin += to[d] * int_at(r->inputs[1], 2 * d);
  auto* plan = keep_plan(r, new PadPlan);
  plan->by_value = r->node->n_inputs == 3;
  plan->has_interior = hr_elements(x) > 0;
  plan->has_margin = hr_elements(x) != hr_elements(y);
  const Element element = copy_element(x->dtype);
  std::string error;
  if (plan->has_interior)
    error =
        plan->interior.prepare(device_of(r), element, writing_walk(x->rank, x->dims, to, begin));
  if (error.empty() && plan->has_margin && plan->by_value) {
    Walk walk(y);
    walk.strides.push_back({});
    error = plan->margin.prepare(device_of(r), element, walk);
  }
  if (!error.empty()) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  r->compute = compute_pad;
  r->bytes_moved = double(hr_elements(x) + hr_elements(y)) * double(hr_dtype_size(x->dtype));
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Pad", "T=" HR_COPIED, prepare_pad).constant(1),
    kernel("PadV2", "T=" HR_COPIED, prepare_pad).constant(1),
};

}  // namespace hr::cl
