// Slice, StridedSlice, its gradient, and assignment to a slice.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "loops/elements.hpp"
#include "loops/strided_copy.hpp"
#include "ops/slicing/strided_slice.hpp"
#include "table/registration.hpp"
#include "table/shape_rules.hpp"
#include "table/shapes.hpp"

namespace hr {

SliceMasks::SliceMasks(const hr_node* node)
    : begin(uint64_t(hr_attr_int(node, "begin_mask", 0))),
      end(uint64_t(hr_attr_int(node, "end_mask", 0))),
      ellipsis(uint64_t(hr_attr_int(node, "ellipsis_mask", 0))),
      new_axis(uint64_t(hr_attr_int(node, "new_axis_mask", 0))),
      shrink(uint64_t(hr_attr_int(node, "shrink_axis_mask", 0))) {}

bool slice_shape_depends(const SliceMasks& masks, int64_t entries) {
  for (int64_t i = 0; i < entries && i < 64; ++i) {
    const bool free_of_values = ((masks.ellipsis | masks.new_axis | masks.shrink) >> i & 1) ||
                                (masks.begin & masks.end) >> i & 1;
    if (!free_of_values) return true;
  }
  return false;
}

namespace {

template <class... Args>
hr_code slice_error(SliceError* error, hr_code code, const char* format, Args... args) {
  std::snprintf(error->text, sizeof error->text, format, args...);
  return code;
}

}  // namespace

// One entry of the sparse specification after the other, spread over the dimensions it stands for.
hr_code read_slice_spec(const SliceMasks& masks, int32_t rank, const int64_t* dims,
                        const hr_tensor* begin, const hr_tensor* end, const hr_tensor* strides,
                        SliceSpec* spec, SliceError* error) {
  const int64_t n = hr_elements(strides);
  const bool known = begin != nullptr && end != nullptr;
  const uint64_t begin_mask = masks.begin, end_mask = masks.end, ellipsis = masks.ellipsis,
                 new_axis = masks.new_axis, shrink = masks.shrink;
  if (!known && slice_shape_depends(masks, n)) return HR_NOT_FOUND;
  if (known && (hr_elements(begin) != n || hr_elements(end) != n))
    return slice_error(error, HR_INVALID_ARGUMENT,
                       "begin, end and strides have %lld, %lld and %lld elements",
                       (long long)hr_elements(begin), (long long)hr_elements(end), (long long)n);
  if (n > 64)
    return slice_error(error, HR_INVALID_ARGUMENT, "a slice of %lld entries", (long long)n);
  if (ellipsis & (ellipsis - 1))
    return slice_error(error, HR_INVALID_ARGUMENT, "more than one ellipsis");
  int64_t after = 0;  // dimensions that the entries behind the ellipsis take
  bool seen = false;
  int64_t taken = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (ellipsis >> i & 1) seen = true;
    else if (!(new_axis >> i & 1)) {
      ++taken;
      if (seen) ++after;
    }
  }
  if (taken > rank)
    return slice_error(error, HR_INVALID_ARGUMENT, "%lld indices into shape of rank %d",
                       (long long)taken, int(rank));
  spec->rank = rank;
  spec->final_rank = 0;
  int32_t d = 0;
  const auto keep = [&](int64_t size) {
    if (spec->final_rank < HR_MAX_RANK) spec->final_dims[spec->final_rank] = size;
    ++spec->final_rank;
  };
  const auto whole_until = [&](int32_t stop) {
    for (; d < stop; ++d) {
      spec->begin[d] = 0;
      spec->stride[d] = 1;
      spec->length[d] = dims[d];
      spec->final_of[d] = spec->final_rank;
      keep(dims[d]);
    }
  };
  for (int64_t i = 0; i < n; ++i) {
    if (ellipsis >> i & 1) {
      whole_until(rank - int32_t(after));
      continue;
    }
    if (new_axis >> i & 1) {
      keep(1);
      continue;
    }
    const int64_t size = dims[d], stride = int_at(strides, i);
    int64_t b = known ? int_at(begin, i) : 0, e = known ? int_at(end, i) : 0;
    if (stride == 0)
      return slice_error(error, HR_INVALID_ARGUMENT, "strides[%lld] must be non-zero",
                         (long long)i);
    if (shrink >> i & 1) {
      const int64_t at = b < 0 ? b + size : b;
      if (known && (at < 0 || at >= size))
        return slice_error(error, HR_INVALID_ARGUMENT,
                           "slice index %lld of dimension %d out of bounds", (long long)b, int(d));
      if (stride < 0)
        return slice_error(error, HR_INVALID_ARGUMENT,
                           "only stride 1 allowed on non-range indexing");
      spec->begin[d] = at;
      spec->stride[d] = 1;
      spec->length[d] = 1;
      spec->final_of[d] = -1;
      ++d;
      continue;
    }
    const int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
    const auto bounded = [&](int64_t x) {
      if (x < 0) x += size;
      return std::min(std::max(x, lowest), highest);
    };
    b = begin_mask >> i & 1 ? (stride > 0 ? lowest : highest) : bounded(b);
    e = end_mask >> i & 1 ? (stride > 0 ? highest : lowest) : bounded(e);
    const int64_t span = e - b;
    spec->begin[d] = b;
    spec->stride[d] = stride;
    spec->length[d] =
        span == 0 || (span < 0) != (stride < 0) ? 0 : span / stride + (span % stride != 0 ? 1 : 0);
    spec->final_of[d] = spec->final_rank;
    keep(spec->length[d]);
    ++d;
  }
  whole_until(rank);
  if (spec->final_rank > HR_MAX_RANK)
    return slice_error(error, HR_UNIMPLEMENTED, "a slice of rank %d; at most %d",
                       int(spec->final_rank), HR_MAX_RANK);
  return HR_OK;
}

StridedCopy copy_out_of(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims, bool once) {
  int64_t whole[HR_MAX_RANK], steps[HR_MAX_RANK], packed[HR_MAX_RANK], offset = 0;
  row_major(spec.rank, dims, whole);
  row_major(spec.rank, spec.length, packed);
  for (int32_t d = 0; d < spec.rank; ++d) {
    steps[d] = whole[d] * spec.stride[d];
    offset += whole[d] * spec.begin[d];
  }
  return StridedCopy(dtype, spec.rank, spec.length, packed, steps, 0, offset, once);
}

namespace {

// ---- out of a tensor ------------------------------------------------------------------------

// The output of a slice that is read at run: planned where its shape is known, else made now.
hr_code give_output(hr_ctx* ctx, bool by_data, const SliceSpec& spec, hr_tensor* out) {
  if (!by_data) return HR_OK;
  set_shape(out, spec.final_rank, spec.final_dims);
  return ctx->api->allocate(ctx, out);
}

hr_code read_slice(int32_t rank, const int64_t* dims, const hr_tensor* begin, const hr_tensor* size,
                   SliceSpec* spec, SliceError* error) {
  spec->rank = spec->final_rank = rank;
  for (int32_t d = 0; d < rank; ++d) {
    const int64_t b = int_at(begin, d), s = int_at(size, d);
    spec->begin[d] = b;
    spec->stride[d] = 1;
    spec->length[d] = spec->final_dims[d] = s == -1 ? dims[d] - b : s;
    if (b < 0 || b > dims[d] || spec->length[d] < 0 || spec->length[d] > dims[d] - b)
      return slice_error(error, HR_INVALID_ARGUMENT,
                         "Expected size[%d] in [0, %lld], but got %lld (begin %lld)", int(d),
                         (long long)(dims[d] - b), (long long)s, (long long)b);
  }
  return HR_OK;
}

// Slice whose begin is read at run; its plan says whether the shape is, too.
struct RunSlicePlan {
  bool by_data;
};

hr_code compute_slice(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  SliceSpec spec;
  SliceError error;
  if (hr_code code = read_slice(in[0]->rank, in[0]->dims, in[1], in[2], &spec, &error))
    return hr_ctx_fail(ctx, code, "%s", error.text);
  if (hr_code code = give_output(ctx, static_cast<RunSlicePlan*>(plan)->by_data, spec, out[0]))
    return code;
  copy_out_of(in[0]->dtype, spec, in[0]->dims, true).run(ctx, out[0]->data, in[0]->data);
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
  const hr_tensor *x = r->inputs[0], *begin = r->inputs[1], *size = r->inputs[2];
  if (begin->rank != 1 || size->rank != 1 || begin->dims[0] != x->rank || size->dims[0] != x->rank)
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT, "begin and size have %lld and %lld elements for rank %d",
        (long long)hr_elements(begin), (long long)hr_elements(size), int(x->rank));
  SliceSpec spec;
  SliceError error;
  if (begin->data && size->data) {
    if (hr_code code = read_slice(x->rank, x->dims, begin, size, &spec, &error))
      return hr_request_fail(r, code, "%s", error.text);
    set_shape(r->outputs[0], x->rank, spec.length);
    return prepare_copy(r, new StridedCopy(copy_out_of(x->dtype, spec, x->dims, false)));
  }
  bool by_data = !size->data;
  for (int32_t d = 0; d < x->rank && !by_data; ++d) {
    spec.length[d] = int_at(size, d);
    by_data = spec.length[d] == -1;
    if (spec.length[d] < -1 || spec.length[d] > x->dims[d])
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "Expected size[%d] in [0, %lld], but got %lld",
                             int(d), (long long)x->dims[d], (long long)spec.length[d]);
  }
  if (by_data) r->shape_depends_on_data = 1;
  else set_shape(r->outputs[0], x->rank, spec.length);
  keep_plan(r, new RunSlicePlan{by_data});
  r->compute = compute_slice;
  return HR_OK;
}

// A StridedSlice whose begin, end or strides are known only when it runs.
struct RunStridedPlan {
  SliceMasks masks;
  bool by_data;
};

hr_code read_at_run(hr_ctx* ctx, const RunStridedPlan* plan, int32_t rank, const int64_t* dims,
                    const hr_tensor* const* in, SliceSpec* spec) {
  SliceError error;
  if (hr_code code = read_slice_spec(plan->masks, rank, dims, in[1], in[2], in[3], spec, &error))
    return hr_ctx_fail(ctx, code, "%s", error.text);
  return HR_OK;
}

hr_code compute_strided_slice(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                              hr_tensor* const* out, void*) {
  const auto* plan = static_cast<const RunStridedPlan*>(plan_);
  SliceSpec spec;
  if (hr_code code = read_at_run(ctx, plan, in[0]->rank, in[0]->dims, in, &spec)) return code;
  if (hr_code code = give_output(ctx, plan->by_data, spec, out[0])) return code;
  copy_out_of(in[0]->dtype, spec, in[0]->dims, true).run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}

uint64_t strided_shape_inputs(const hr_node* node, const hr_tensor* const* known) {
  const hr_tensor* strides = known[3];
  if (!strides) return 14;
  return slice_shape_depends(SliceMasks(node), hr_elements(strides)) ? 14 : 8;
}

bool all_known(const hr_request* r) {
  return r->inputs[1]->data && r->inputs[2]->data && r->inputs[3]->data;
}

hr_code prepare_strided_slice(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  const SliceMasks masks(r->node);
  const bool known = all_known(r);
  SliceSpec spec;
  SliceError error;
  hr_code code = HR_NOT_FOUND;
  if (r->inputs[3]->data)
    code = read_slice_spec(masks, x->rank, x->dims, known ? r->inputs[1] : nullptr,
                           known ? r->inputs[2] : nullptr, r->inputs[3], &spec, &error);
  if (code && code != HR_NOT_FOUND) return hr_request_fail(r, code, "%s", error.text);
  if (!code) set_shape(r->outputs[0], spec.final_rank, spec.final_dims);
  if (known) return prepare_copy(r, new StridedCopy(copy_out_of(x->dtype, spec, x->dims, false)));
  if (code) r->shape_depends_on_data = 1;
  keep_plan(r, new RunStridedPlan{masks, code != HR_OK});
  r->compute = compute_strided_slice;
  return HR_OK;
}

// ---- into a slice -------------------------------------------------------------------------

bool value_fits(const SliceSpec& spec, const hr_tensor* value) {
  return value->rank == spec.final_rank &&
         std::equal(value->dims, value->dims + value->rank, spec.final_dims);
}

// Whether a value is stretched to a slice; dimensions of 1 in front of the slice's may be more.
bool value_stretches(const SliceSpec& spec, const hr_tensor* value) {
  for (int32_t i = 1; i <= value->rank; ++i) {
    const int64_t size = value->dims[value->rank - i];
    if (size != 1 && (i > spec.final_rank || size != spec.final_dims[spec.final_rank - i]))
      return false;
  }
  return true;
}

// From a value into the whole: with a step of 0 where one element of the value goes to many.
StridedCopy copy_into(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims,
                      const hr_tensor* value, bool once) {
  int64_t whole[HR_MAX_RANK], packed[HR_MAX_RANK], to[HR_MAX_RANK], from[HR_MAX_RANK], offset = 0;
  row_major(spec.rank, dims, whole);
  row_major(value->rank, value->dims, packed);
  for (int32_t d = 0; d < spec.rank; ++d) {
    to[d] = whole[d] * spec.stride[d];
    offset += whole[d] * spec.begin[d];
    const int32_t at = value->rank - spec.final_rank + spec.final_of[d];
    from[d] = spec.final_of[d] < 0 || at < 0 || value->dims[at] == 1 ? 0 : packed[at];
  }
  return StridedCopy(dtype, spec.rank, spec.length, to, from, offset, 0, once);
}

bool is_empty(const SliceSpec& spec) { return product(spec.final_dims, 0, spec.final_rank) == 0; }

// stretches: for TensorStridedSliceUpdate, which broadcasts, and looks at no value of an empty
// slice.
bool takes_value(const SliceSpec& spec, const hr_tensor* value, bool stretches) {
  return stretches ? is_empty(spec) || value_stretches(spec, value) : value_fits(spec, value);
}

hr_code check_value(hr_request* r, const SliceSpec& spec, const hr_tensor* value, bool stretches) {
  if (takes_value(spec, value, stretches)) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "the slice is %s, its value %s",
                         (const char*)ShapeText(spec.final_rank, spec.final_dims),
                         (const char*)ShapeText(value));
}

// Writes the value into a slice of output 0 that is worked out now.
hr_code write_slice_at_run(hr_ctx* ctx, const RunStridedPlan* plan, const hr_tensor* const* in,
                           hr_tensor* out, bool stretches) {
  SliceSpec spec;
  if (hr_code code = read_at_run(ctx, plan, out->rank, out->dims, in, &spec)) return code;
  if (!takes_value(spec, in[4], stretches))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the slice is %s, its value %s",
                       (const char*)ShapeText(spec.final_rank, spec.final_dims),
                       (const char*)ShapeText(in[4]));
  copy_into(out->dtype, spec, out->dims, in[4], true).run(ctx, out->data, in[4]->data);
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

hr_code check_bounds(hr_request* r) {
  const hr_tensor* const* in = r->inputs;
  for (int i = 1; i <= 3; ++i)
    if (in[i]->rank != 1 || in[i]->dims[0] != in[1]->dims[0])
      return hr_request_fail(
          r, HR_INVALID_ARGUMENT,
          "Expected begin, end, and strides to be 1D equal size tensors, but got "
          "shapes %s, %s, and %s instead.",
          ShapeText(in[1]).text, ShapeText(in[2]).text, ShapeText(in[3]).text);
  return HR_OK;
}

// The slice of output 0 that input 4 is written into, planned or worked out at each run.
hr_code prepare_write(hr_request* r, hr_compute planned, hr_compute at_run, bool stretches) {
  if (hr_code code = check_bounds(r)) return code;
  const hr_tensor* y = r->outputs[0];
  const SliceMasks masks(r->node);
  if (!all_known(r)) {
    keep_plan(r, new RunStridedPlan{masks, false});
    r->compute = at_run;
    return HR_OK;
  }
  SliceSpec spec;
  SliceError error;
  if (hr_code code = read_slice_spec(masks, y->rank, y->dims, r->inputs[1], r->inputs[2],
                                     r->inputs[3], &spec, &error))
    return hr_request_fail(r, code, "%s", error.text);
  if (hr_code code = check_value(r, spec, r->inputs[4], stretches)) return code;
  keep_plan(r, new StridedCopy(copy_into(y->dtype, spec, y->dims, r->inputs[4], false)));
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

}  // namespace

HR_KERNELS = {
    kernel("Slice", nullptr, prepare_slice).values(1, 2).shaped_by(slice_shape_inputs),
    kernel("StridedSlice", nullptr, prepare_strided_slice)
        .values(1, 2, 3)
        .shaped_by(strided_shape_inputs),
    kernel("StridedSliceGrad", nullptr, prepare_strided_slice_grad).constant(0).values(1, 2, 3),
    kernel("TensorStridedSliceUpdate", nullptr, prepare_slice_update).values(1, 2, 3).reuses(0),
};

}  // namespace hr
