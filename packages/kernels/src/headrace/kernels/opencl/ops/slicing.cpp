// Slice, StridedSlice and its gradient. Begins, ends and strides are in host memory, and may be
// known only when the op runs.
#include <algorithm>

#include "codegen/copied_types.hpp"
#include "codegen/strided_copy.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

// Reads a slice of a tensor of shape dims.
Walk walk_out_of(const hr_slice& slice, const int64_t* dims) {
  int64_t whole[HR_MAX_RANK], steps[HR_MAX_RANK], begin = 0;
  row_major(slice.rank, dims, whole);
  for (int32_t d = 0; d < slice.rank; ++d) {
    steps[d] = whole[d] * slice.stride[d];
    begin += whole[d] * slice.begin[d];
  }
  return reading_walk(slice.rank, slice.count, steps, begin);
}

// Writes a slice of a tensor of shape dims.
Walk walk_into(const hr_slice& slice, const int64_t* dims) {
  const Walk reading = walk_out_of(slice, dims);
  return writing_walk(slice.rank, slice.count, reading.strides[0].data(), reading.begin(0));
}

int64_t elements_of(const hr_slice& slice) { return product(slice.count, 0, slice.rank); }

// Plans and launches a copy at once: programs are kept, so little is done again.
hr_code copy_now(hr_ctx* ctx, const Walk& walk, const hr_tensor* from, const hr_tensor* to) {
  ElementwiseKernel kernel;
  const std::string error = kernel.prepare(device_of(ctx), copy_element(from->dtype), walk);
  if (!error.empty()) return hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.c_str());
  const void* inputs[] = {from->data};
  return kernel.launch(ctx, inputs, to->data);
}

// What is left for the run.
struct RunPlan {
  hr_slice_masks masks;
  bool strided;  // StridedSlice, not Slice
  bool by_data;  // the shape of the output
};

hr_code resolve(hr_ctx* ctx, const RunPlan& plan, const hr_tensor* whole,
                const hr_tensor* const* in, hr_slice* slice) {
  hr_slice_error error;
  hr_code code;
  if (plan.strided) {
    hr_slice_entries entries;
    hr_read_entries(in + 1, &entries);
    code = hr_resolve_strided_slice(&plan.masks, &entries, whole->rank, whole->dims, slice, &error);
  } else {
    hr_shape begin, size;
    code = hr_resolve_slice(whole->rank, whole->dims, hr_known_ints(in[1], &begin),
                            hr_known_ints(in[2], &size), slice, &error);
  }
  return code ? hr_ctx_fail(ctx, code, "%s", error.text) : HR_OK;
}

hr_code compute_slice(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const RunPlan*>(plan_);
  hr_slice slice;
  if (hr_code code = resolve(ctx, plan, in[0], in, &slice)) return code;
  if (plan.by_data) {
    set_shape(out[0], slice.out.rank, slice.out.dims);
    if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  }
  if (elements_of(slice) == 0) return HR_OK;
  return copy_now(ctx, walk_out_of(slice, in[0]->dims), in[0], out[0]);
}

// Plans a slice whose entries are known, or leaves it for the run.
hr_code plan_slice(hr_request* r, const hr_slice& slice, bool known, const RunPlan& plan) {
  if (hr_code code = slice.depends ? hr_depends(r) : hr_set(r, 0, &slice.out)) return code;
  if (known) return plan_copy(r, walk_out_of(slice, r->inputs[0]->dims));
  keep_plan(r, new RunPlan(plan));
  r->compute = compute_slice;
  return HR_OK;
}

hr_code prepare_slice(void*, hr_request* r) {
  hr_slice slice;
  if (hr_code code = hr_read_slice(r, &slice)) return code;
  return plan_slice(r, slice, hr_known(r, 1) && hr_known(r, 2), {{}, false, slice.depends != 0});
}

bool all_known(const hr_request* r) { return hr_known(r, 1) && hr_known(r, 2) && hr_known(r, 3); }

hr_code prepare_strided_slice(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  hr_slice slice;
  if (hr_code code = hr_read_strided_slice(r, x->rank, x->dims, &slice)) return code;
  return plan_slice(r, slice, all_known(r), {hr_slice_masks_of(r->node), true, slice.depends != 0});
}

uint64_t slice_shape_inputs(const hr_node*, const hr_tensor* const* known) {
  const hr_tensor* size = known[2];
  if (!size) return 6;
  for (int64_t d = 0, n = hr_elements(size); d < n; ++d)
    if (int_at(size, d) == -1) return 6;  // what is left from begin on
  return 4;
}

uint64_t strided_shape_inputs(const hr_node* node, const hr_tensor* const* known) {
  const hr_tensor* strides = known[3];
  if (!strides) return 14;
  const hr_slice_masks masks = hr_slice_masks_of(node);
  for (int64_t i = 0, n = std::min<int64_t>(hr_elements(strides), HR_MAX_INTS); i < n; ++i)
    if (hr_entry_depends(&masks, i, nullptr, nullptr)) return 14;
  return 8;
}

// ---- the gradient: into a slice of zeros --------------------------------------------------------

hr_code clear(hr_ctx* ctx, hr_tensor* t) {
  const uint8_t zero = 0;
  return t->bytes ? fill(ctx, Out{t->data}, &zero, 1, t->bytes) : HR_OK;
}

hr_code does_not_fit(const hr_slice& slice, const hr_tensor* value) {
  const bool fits = value->rank == slice.out.rank &&
                    std::equal(value->dims, value->dims + value->rank, slice.out.dims);
  return fits ? HR_OK : HR_INVALID_ARGUMENT;
}

hr_code compute_gradient(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  if (hr_code code = clear(ctx, out[0])) return code;
  if (in[4]->bytes == 0) return HR_OK;
  const void* inputs[] = {in[4]->data};
  return static_cast<const ElementwiseKernel*>(plan)->launch(ctx, inputs, out[0]->data);
}

hr_code compute_gradient_at_run(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                                hr_tensor* const* out, void*) {
  hr_slice slice;
  if (hr_code code = resolve(ctx, *static_cast<const RunPlan*>(plan), out[0], in, &slice))
    return code;
  if (hr_code code = does_not_fit(slice, in[4]))
    return hr_ctx_fail(ctx, code, "the slice is %s, its value %s",
                       (const char*)ShapeText(slice.out.rank, slice.out.dims),
                       (const char*)ShapeText(in[4]));
  if (hr_code code = clear(ctx, out[0])) return code;
  if (in[4]->bytes == 0) return HR_OK;
  return copy_now(ctx, walk_into(slice, out[0]->dims), in[4], out[0]);
}

hr_code prepare_gradient(void*, hr_request* r) {
  HR_APPLY_RULE(shape_from_input_0, r);
  const hr_tensor* y = r->outputs[0];
  hr_slice slice;
  if (hr_code code = hr_read_strided_slice(r, y->rank, y->dims, &slice)) return code;
  if (!all_known(r)) {
    keep_plan(r, new RunPlan{hr_slice_masks_of(r->node), true, false});
    r->compute = compute_gradient_at_run;
    return HR_OK;
  }
  if (hr_code code = does_not_fit(slice, r->inputs[4]))
    return hr_request_fail(r, code, "the slice is %s, its value %s",
                           (const char*)ShapeText(slice.out.rank, slice.out.dims),
                           (const char*)ShapeText(r->inputs[4]));
  auto* kernel = keep_plan(r, new ElementwiseKernel);
  if (elements_of(slice) > 0) {
    const std::string error =
        kernel->prepare(device_of(r), copy_element(y->dtype), walk_into(slice, y->dims));
    if (!error.empty()) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  }
  r->compute = compute_gradient;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Slice", "T=" HR_COPIED, prepare_slice).values(1, 2).shaped_by(slice_shape_inputs),
    kernel("StridedSlice", "T=" HR_COPIED, prepare_strided_slice)
        .values(1, 2, 3)
        .shaped_by(strided_shape_inputs),
    kernel("StridedSliceGrad", "T=" HR_COPIED, prepare_gradient).constant(0).values(1, 2, 3),
};

}  // namespace hr::cl
