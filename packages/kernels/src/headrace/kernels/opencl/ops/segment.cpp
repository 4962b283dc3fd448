// UnsortedSegmentSum and SegmentSum: rows of the data are added to rows of zeros, by index.
#include "codegen/element.hpp"
#include "codegen/variable_update.hpp"
#include "launch/launch.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

const UpdateRule& adding() {
  static const UpdateRule rule{{"var"}, {}, "", "var += grad;"};
  return rule;
}

struct SegmentPlan {
  const Kernel* kernel;
};

hr_code plan_segments(hr_request* r, hr_compute compute) {
  const hr_tensor *data = r->inputs[0], *ids = r->inputs[1];
  if (const char* why = why_not(device_of(r), data->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  UpdateText update;
  update.rule = &adding();
  update.dtype = data->dtype;
  update.indices = ids->dtype;
  std::string error;
  const Kernel* kernel =
      generated_kernel(device_of(r), update.text(device_of(r).traits.is_cpu), "", "update", &error);
  if (!kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new SegmentPlan{kernel});
  r->compute = compute;
  return HR_OK;
}

// Adds the rows of data, one for each of `ids`, whose values are at `indices` on the device.
hr_code add_rows(hr_ctx* ctx, void* plan, const hr_tensor* data, const hr_tensor* ids,
                 const void* indices, const hr_tensor* out) {
  const uint8_t zero = 0;
  if (out->bytes == 0) return HR_OK;
  if (hr_code code = fill(ctx, Out{out->data}, &zero, 1, out->bytes)) return code;
  hr_tensor segments = *out;  // [segments, elements of a row]
  segments.rank = 2;
  segments.dims[1] = hr_elements(out) / out->dims[0];
  if (data->bytes == 0) return HR_OK;
  const UpdateGrid w = update_grid(device_of(ctx).traits, segments, ids);
  return launch(ctx, *static_cast<const SegmentPlan*>(plan)->kernel, w.grid, Out{out->data},
                In{data->data}, In{indices}, w.n, w.rows, w.inner, w.per_item);
}

hr_code compute_unsorted(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  return add_rows(ctx, plan, in[0], in[1], in[1]->data, out[0]);
}

hr_code prepare_unsorted(void*, hr_request* r) {
  HR_APPLY_RULE(unsorted_segment, r);
  return plan_segments(r, compute_unsorted);
}

// ---- sorted ids, which are in host memory: the last decides the shape of the result
// --------------

hr_code compute_sorted(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  const int64_t n = hr_elements(in[1]);
  for (int64_t i = 0; i < n; ++i)
    if (int_at(in[1], i) < (i ? int_at(in[1], i - 1) : 0))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "segment ids must be sorted and not negative: segment_ids[%lld] is not",
                         (long long)i);
  copy_shape(in[0], out[0]);
  out[0]->dims[0] = n ? int_at(in[1], n - 1) + 1 : 0;
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  if (in[1]->bytes)
    if (hr_code code = write(ctx, Out{workspace}, in[1]->data, in[1]->bytes)) return code;
  return add_rows(ctx, plan, in[0], in[1], workspace, out[0]);
}

hr_code prepare_sorted(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(segment, r);
  r->shape_depends_on_data = 1;
  r->workspace = size_t(hr_elements(r->inputs[1])) * 8 + 8;
  return plan_segments(r, compute_sorted);
}

#define TYPES "T=float|double|int64;Tindices=" HR_INDICES

}  // namespace

HR_KERNELS = {
    kernel("UnsortedSegmentSum", TYPES, prepare_unsorted).constant(2),
    kernel("SegmentSum", TYPES, prepare_sorted).is(HR_KERNEL_DATA_SHAPE).host(1),
};

}  // namespace hr::cl
