// Slice, StridedSlice, its gradient, and assignment to a slice.
#include <algorithm>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/slots.hpp"
#include "loops/elements.hpp"
#include "loops/strided_copy.hpp"

namespace hr {
namespace {

// ---- out of a tensor ------------------------------------------------------------------------

// Copies from a tensor of shape dims to the packed slice.
StridedCopy copy_out_of(hr_dtype dtype, const hr_slice& slice, const int64_t* dims, bool once) {
  int64_t whole[HR_MAX_RANK], steps[HR_MAX_RANK], packed[HR_MAX_RANK], offset = 0;
  row_major(slice.rank, dims, whole);
  row_major(slice.rank, slice.count, packed);
  for (int32_t d = 0; d < slice.rank; ++d) {
    steps[d] = whole[d] * slice.stride[d];
    offset += whole[d] * slice.begin[d];
  }
  return StridedCopy(dtype, slice.rank, slice.count, packed, steps, 0, offset, once);
}

// The output of a slice that is read at run: planned where its shape is known, else made now.
hr_code give_output(hr_ctx* ctx, bool by_data, const hr_slice& slice, hr_tensor* out) {
  if (!by_data) return HR_OK;
  set_shape(out, slice.out.rank, slice.out.dims);
  return ctx->api->allocate(ctx, out);
}

// Sets the shape of the output, or defers it to the run.
hr_code plan_output(hr_request* r, const hr_slice& slice) {
  return slice.depends ? hr_depends(r) : hr_set(r, 0, &slice.out);
}

// Slice whose begin is read at run; its plan says whether the shape is, too.
struct RunSlicePlan {
  bool by_data;
};

hr_code compute_slice(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  hr_slice slice;
  hr_slice_error error;
  hr_shape begin, size;
  if (hr_code code = hr_resolve_slice(in[0]->rank, in[0]->dims, hr_known_ints(in[1], &begin),
                                      hr_known_ints(in[2], &size), &slice, &error))
    return hr_ctx_fail(ctx, code, "%s", error.text);
  if (hr_code code = give_output(ctx, static_cast<RunSlicePlan*>(plan)->by_data, slice, out[0]))
    return code;
  copy_out_of(in[0]->dtype, slice, in[0]->dims, true).run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}

uint64_t slice_shape_inputs(const hr_node*, const hr_tensor* const* known) {
  const hr_tensor* size = known[2];
  if (!size) return 6;
  for (int64_t d = 0, n = hr_elements(size); d < n; ++d)
    if (int_at(size, d) == -1) return 6;  // what is left from begin on
  return 4;
}

hr_code prepare_slice(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  hr_slice slice;
  if (hr_code code = hr_read_slice(r, &slice)) return code;
  if (hr_code code = plan_output(r, slice)) return code;
  if (hr_known(r, 1) && hr_known(r, 2))
    return prepare_copy(r, new StridedCopy(copy_out_of(x->dtype, slice, x->dims, false)));
  keep_plan(r, new RunSlicePlan{slice.depends != 0});
  r->compute = compute_slice;
  return HR_OK;
}

// A StridedSlice whose begin, end or strides are known only when it runs.
struct RunStridedPlan {
  hr_slice_masks masks;
  bool by_data;
};

hr_code read_at_run(hr_ctx* ctx, const RunStridedPlan* plan, int32_t rank, const int64_t* dims,
                    const hr_tensor* const* in, hr_slice* slice) {
  hr_slice_error error;
  hr_slice_entries entries;
  hr_read_entries(in + 1, &entries);
  if (hr_code code = hr_resolve_strided_slice(&plan->masks, &entries, rank, dims, slice, &error))
    return hr_ctx_fail(ctx, code, "%s", error.text);
  return HR_OK;
}

hr_code compute_strided_slice(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                              hr_tensor* const* out, void*) {
  const auto* plan = static_cast<const RunStridedPlan*>(plan_);
  hr_slice slice;
  if (hr_code code = read_at_run(ctx, plan, in[0]->rank, in[0]->dims, in, &slice)) return code;
  if (hr_code code = give_output(ctx, plan->by_data, slice, out[0])) return code;
  copy_out_of(in[0]->dtype, slice, in[0]->dims, true).run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}

uint64_t strided_shape_inputs(const hr_node* node, const hr_tensor* const* known) {
  const hr_tensor* strides = known[3];
  if (!strides) return 14;
  const hr_slice_masks masks = hr_slice_masks_of(node);
  for (int64_t i = 0, n = std::min<int64_t>(hr_elements(strides), HR_MAX_INTS); i < n; ++i)
    if (hr_entry_depends(&masks, i, nullptr, nullptr)) return 14;
  return 8;
}

bool all_known(const hr_request* r) { return hr_known(r, 1) && hr_known(r, 2) && hr_known(r, 3); }

hr_code prepare_strided_slice(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  hr_slice slice;
  if (hr_code code = hr_read_strided_slice(r, x->rank, x->dims, &slice)) return code;
  if (hr_code code = plan_output(r, slice)) return code;
  if (all_known(r))
    return prepare_copy(r, new StridedCopy(copy_out_of(x->dtype, slice, x->dims, false)));
  keep_plan(r, new RunStridedPlan{hr_slice_masks_of(r->node), slice.depends != 0});
  r->compute = compute_strided_slice;
  return HR_OK;
}

// ---- into a slice -------------------------------------------------------------------------

bool value_fits(const hr_slice& slice, const hr_tensor* value) {
  return value->rank == slice.out.rank &&
         std::equal(value->dims, value->dims + value->rank, slice.out.dims);
}

// Whether a value is stretched to a slice; dimensions of 1 in front of the slice's may be more.
bool value_stretches(const hr_slice& slice, const hr_tensor* value) {
  for (int32_t i = 1; i <= value->rank; ++i) {
    const int64_t size = value->dims[value->rank - i];
    if (size != 1 && (i > slice.out.rank || size != slice.out.dims[slice.out.rank - i]))
      return false;
  }
  return true;
}

// From a value into the whole: with a step of 0 where one element of the value goes to many.
StridedCopy copy_into(hr_dtype dtype, const hr_slice& slice, const int64_t* dims,
                      const hr_tensor* value, bool once) {
  int64_t whole[HR_MAX_RANK], packed[HR_MAX_RANK], to[HR_MAX_RANK], from[HR_MAX_RANK], offset = 0;
  row_major(slice.rank, dims, whole);
  row_major(value->rank, value->dims, packed);
  for (int32_t d = 0; d < slice.rank; ++d) {
    to[d] = whole[d] * slice.stride[d];
    offset += whole[d] * slice.begin[d];
    const int32_t at = value->rank - slice.out.rank + slice.out_of[d];
    from[d] = slice.out_of[d] < 0 || at < 0 || value->dims[at] == 1 ? 0 : packed[at];
  }
  return StridedCopy(dtype, slice.rank, slice.count, to, from, offset, 0, once);
}

bool is_empty(const hr_slice& slice) { return product(slice.out.dims, 0, slice.out.rank) == 0; }

// stretches: for TensorStridedSliceUpdate, which broadcasts, and looks at no value of an empty
// slice.
bool takes_value(const hr_slice& slice, const hr_tensor* value, bool stretches) {
  return stretches ? is_empty(slice) || value_stretches(slice, value) : value_fits(slice, value);
}

hr_code check_value(hr_request* r, const hr_slice& slice, const hr_tensor* value, bool stretches) {
  if (takes_value(slice, value, stretches)) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "the slice is %s, its value %s",
                         (const char*)ShapeText(slice.out.rank, slice.out.dims),
                         (const char*)ShapeText(value));
}

// Writes the value into a slice of output 0 that is worked out now.
hr_code write_slice_at_run(hr_ctx* ctx, const RunStridedPlan* plan, const hr_tensor* const* in,
                           hr_tensor* out, bool stretches) {
  hr_slice slice;
  if (hr_code code = read_at_run(ctx, plan, out->rank, out->dims, in, &slice)) return code;
  if (!takes_value(slice, in[4], stretches))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the slice is %s, its value %s",
                       (const char*)ShapeText(slice.out.rank, slice.out.dims),
                       (const char*)ShapeText(in[4]));
  copy_into(out->dtype, slice, out->dims, in[4], true).run(ctx, out->data, in[4]->data);
  return HR_OK;
}

void clear_plain(hr_ctx* ctx, hr_tensor* t) {
  if (is_plain(t->dtype)) zero_polled(ctx, t);
}

void copy_whole(hr_ctx* ctx, const hr_tensor* from, hr_tensor* to) {
  if (to->data != from->data)
    copy_elements(ctx, from->dtype, hr_dtype_size(from->dtype), to->data, from->data,
                  hr_elements(from));
}

hr_code scatter_slice(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  clear_plain(ctx, out[0]);
  static_cast<const StridedCopy*>(plan)->run(ctx, out[0]->data, in[4]->data);
  return HR_OK;
}

hr_code scatter_slice_at_run(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                             hr_tensor* const* out, void*) {
  clear_plain(ctx, out[0]);
  return write_slice_at_run(ctx, static_cast<const RunStridedPlan*>(plan), in, out[0], false);
}

hr_code update_slice(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  copy_whole(ctx, in[0], out[0]);
  static_cast<const StridedCopy*>(plan)->run(ctx, out[0]->data, in[4]->data);
  return HR_OK;
}

hr_code update_slice_at_run(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  copy_whole(ctx, in[0], out[0]);
  return write_slice_at_run(ctx, static_cast<const RunStridedPlan*>(plan), in, out[0], true);
}

// The slice of output 0 that input 4 is written into, planned or worked out at each run.
hr_code prepare_write(hr_request* r, hr_compute planned, hr_compute at_run, bool stretches) {
  const hr_tensor* y = r->outputs[0];
  hr_slice slice;
  if (hr_code code = hr_read_strided_slice(r, y->rank, y->dims, &slice)) return code;
  if (!all_known(r)) {
    keep_plan(r, new RunStridedPlan{hr_slice_masks_of(r->node), false});
    r->compute = at_run;
    return HR_OK;
  }
  if (hr_code code = check_value(r, slice, r->inputs[4], stretches)) return code;
  keep_plan(r, new StridedCopy(copy_into(y->dtype, slice, y->dims, r->inputs[4], false)));
  r->compute = planned;
  return HR_OK;
}

hr_code prepare_strided_slice_grad(void*, hr_request* r) {
  if (hr_code code = hr_shape_shape_from_input_0(r)) return code;
  return prepare_write(r, scatter_slice, scatter_slice_at_run, false);
}

hr_code prepare_slice_update(void*, hr_request* r) {
  copy_shape(r->inputs[0], r->outputs[0]);
  return prepare_write(r, update_slice, update_slice_at_run, true);
}

// ---- into a slice of a variable -------------------------------------------------------------

hr_code assign_slice(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const*,
                     void*) {
  WriteSlots<1> variable(ctx, in, in[4]->dtype);
  if (variable.code) return variable.code;
  return write_slice_at_run(ctx, static_cast<const RunStridedPlan*>(plan), in, &variable.values[0],
                            true);
}

hr_code prepare_assign_slice(void*, hr_request* r) {
  if (hr_code code = hr_check_entries(r)) return code;
  if (r->node->n_outputs) {
    // The shape of a reference may be unknown until it is written.
    r->outputs[0]->rank = -1;
    if (r->inputs[0]->rank >= 0) copy_shape(r->inputs[0], r->outputs[0]);
  }
  keep_plan(r, new RunStridedPlan{hr_slice_masks_of(r->node), false});
  r->compute = assign_slice;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Slice", nullptr, prepare_slice).values(1, 2).shaped_by(slice_shape_inputs),
    kernel("StridedSlice", nullptr, prepare_strided_slice)
        .values(1, 2, 3)
        .shaped_by(strided_shape_inputs),
    kernel("StridedSliceGrad", nullptr, prepare_strided_slice_grad).constant(0).values(1, 2, 3),
    kernel("TensorStridedSliceUpdate", nullptr, prepare_slice_update).values(1, 2, 3).reuses(0),
    kernel("StridedSliceAssign", nullptr, prepare_assign_slice),
    kernel("ResourceStridedSliceAssign", nullptr, prepare_assign_slice),
};

}  // namespace hr
