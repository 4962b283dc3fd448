// Parts of tensors: Slice, StridedSlice, its gradient, and writing into a slice.
#include <cstring>

#include "elements.hpp"
#include "rows.hpp"
#include "shape_rules.hpp"
#include "shapes.hpp"
#include "strided_copy.hpp"
#include "strided_slice.hpp"

namespace hr {

// One dimension of the sparse specification, spread over the dimensions it stands for.
hr_code read_slice_spec(hr_request* r, int32_t rank, const int64_t* dims, const hr_tensor* begin,
                        const hr_tensor* end, const hr_tensor* strides, SliceSpec* spec) {
  const int64_t n = hr_elements(begin);
  const auto mask = [&](const char* key) { return uint64_t(hr_attr_int(r->node, key, 0)); };
  const uint64_t begin_mask = mask("begin_mask"), end_mask = mask("end_mask"),
                 ellipsis = mask("ellipsis_mask"), new_axis = mask("new_axis_mask"),
                 shrink = mask("shrink_axis_mask");
  if (hr_elements(end) != n || hr_elements(strides) != n)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "begin, end and strides have %lld, %lld and %lld elements",
                           (long long)n, (long long)hr_elements(end),
                           (long long)hr_elements(strides));
  if (ellipsis & (ellipsis - 1))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "more than one ellipsis");
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
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "%lld indices into shape of rank %d",
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
    int64_t b = int_at(begin, i), e = int_at(end, i);
    if (stride == 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "strides[%lld] must be non-zero",
                             (long long)i);
    if (shrink >> i & 1) {
      const int64_t at = b < 0 ? b + size : b;
      if (at < 0 || at >= size)
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "slice index %lld of dimension %d out of bounds", (long long)b,
                               int(d));
      if (stride < 0)
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "only stride 1 allowed on non-range indexing");
      spec->begin[d] = at;
      spec->stride[d] = 1;
      spec->length[d] = 1;
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
    spec->length[d] = span == 0 || (span < 0) != (stride < 0)
                          ? 0
                          : span / stride + (span % stride != 0 ? 1 : 0);
    keep(spec->length[d]);
    ++d;
  }
  whole_until(rank);
  if (spec->final_rank > HR_MAX_RANK)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "a slice of rank %d; at most %d",
                           int(spec->final_rank), HR_MAX_RANK);
  return HR_OK;
}

namespace {

StridedCopy* copy_of(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims, bool out) {
  int64_t whole[HR_MAX_RANK], steps[HR_MAX_RANK], packed[HR_MAX_RANK], offset = 0;
  row_major(spec.rank, dims, whole);
  row_major(spec.rank, spec.length, packed);
  for (int32_t d = 0; d < spec.rank; ++d) {
    steps[d] = whole[d] * spec.stride[d];
    offset += whole[d] * spec.begin[d];
  }
  return out ? new StridedCopy(dtype, spec.rank, spec.length, packed, steps, 0, offset)
             : new StridedCopy(dtype, spec.rank, spec.length, steps, packed, offset, 0);
}

}  // namespace

StridedCopy* copy_out_of(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims) {
  return copy_of(dtype, spec, dims, true);
}
StridedCopy* copy_into(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims) {
  return copy_of(dtype, spec, dims, false);
}

namespace {

hr_code prepare_slice(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(slice, r);
  const hr_tensor *x = r->inputs[0], *begin = r->inputs[1], *size = r->inputs[2];
  if (hr_elements(begin) != x->rank || hr_elements(size) != x->rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "begin and size have %lld and %lld elements for rank %d",
                           (long long)hr_elements(begin), (long long)hr_elements(size),
                           int(x->rank));
  SliceSpec spec;
  spec.rank = x->rank;
  for (int32_t d = 0; d < x->rank; ++d) {
    const int64_t b = int_at(begin, d), s = int_at(size, d);
    spec.begin[d] = b;
    spec.stride[d] = 1;
    spec.length[d] = s == -1 ? x->dims[d] - b : s;
    if (b < 0 || spec.length[d] < 0 || b + spec.length[d] > x->dims[d])
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "begin %lld and size %lld leave dimension %d of %s", (long long)b,
                             (long long)s, int(d), (const char*)ShapeText(x));
  }
  set_shape(r->outputs[0], x->rank, spec.length);
  return prepare_copy(r, copy_out_of(x->dtype, spec, x->dims));
}

hr_code prepare_strided_slice(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  SliceSpec spec;
  if (hr_code code = read_slice_spec(r, x->rank, x->dims, r->inputs[1], r->inputs[2],
                                     r->inputs[3], &spec))
    return code;
  set_shape(r->outputs[0], spec.final_rank, spec.final_dims);
  return prepare_copy(r, copy_out_of(x->dtype, spec, x->dims));
}

// ---- into a slice -------------------------------------------------------------------------

hr_code check_value(hr_request* r, const SliceSpec& spec, const hr_tensor* value) {
  if (value->rank == spec.final_rank &&
      std::equal(value->dims, value->dims + value->rank, spec.final_dims))
    return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "the slice is %s, its value %s",
                         (const char*)ShapeText(spec.final_rank, spec.final_dims),
                         (const char*)ShapeText(value));
}

hr_code scatter_slice(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  if (is_plain(out[0]->dtype)) std::memset(out[0]->data, 0, size_t(out[0]->bytes));
  static_cast<const StridedCopy*>(plan)->run(ctx, out[0]->data, in[4]->data);
  return HR_OK;
}

hr_code prepare_strided_slice_grad(void*, hr_request* r) {
  if (hr_code code = hr_shape_shape_from_input_0(r)) return code;
  const hr_tensor* y = r->outputs[0];
  SliceSpec spec;
  if (hr_code code = read_slice_spec(r, y->rank, y->dims, r->inputs[1], r->inputs[2],
                                     r->inputs[3], &spec))
    return code;
  if (hr_code code = check_value(r, spec, r->inputs[4])) return code;
  keep_plan(r, copy_into(y->dtype, spec, y->dims));
  r->compute = scatter_slice;
  return HR_OK;
}

hr_code update_slice(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  if (out[0]->data != in[0]->data)
    copy_elements(ctx, in[0]->dtype, hr_dtype_size(in[0]->dtype), out[0]->data, in[0]->data,
                  hr_elements(in[0]));
  static_cast<const StridedCopy*>(plan)->run(ctx, out[0]->data, in[4]->data);
  return HR_OK;
}

hr_code prepare_slice_update(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  copy_shape(x, r->outputs[0]);
  SliceSpec spec;
  if (hr_code code = read_slice_spec(r, x->rank, x->dims, r->inputs[1], r->inputs[2],
                                     r->inputs[3], &spec))
    return code;
  if (hr_code code = check_value(r, spec, r->inputs[4])) return code;
  keep_plan(r, copy_into(x->dtype, spec, x->dims));
  r->compute = update_slice;
  return HR_OK;
}

}  // namespace

HR_ROWS(slicing) = {
    row("Slice", nullptr, prepare_slice).constant(1, 2),
    row("StridedSlice", nullptr, prepare_strided_slice).constant(1, 2, 3),
    row("StridedSliceGrad", nullptr, prepare_strided_slice_grad).constant(0, 1, 2, 3),
    row("TensorStridedSliceUpdate", nullptr, prepare_slice_update).constant(1, 2, 3).reuses(0),
};
HR_ROWS_END(slicing)

}  // namespace hr
