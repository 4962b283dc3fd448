// Joins the items of a TensorArray to one tensor, and makes items of the rows of one: Gather,
// Concat, Scatter, Split.
#include <algorithm>
#include <vector>

#include "library/poll.hpp"
#include "library/shapes.hpp"
#include "library/tensor_arrays/kernels.hpp"
#include "library/tensor_arrays/tensor_array.hpp"

namespace hr::tensor_arrays {

// ---- one tensor of all items -------------------------------------------------------------------

namespace {

hr_code create_element_shape(hr_node* node, void** state, const char* key) {
  PartialShape shape;
  if (hr_code code = read_shape_attribute(node, key, &shape)) return code;
  *state = new PartialShape(shape);
  return HR_OK;
}

}  // namespace

hr_code create_gather(hr_node* node, void** state) {
  return create_element_shape(node, state, "element_shape");
}

hr_code create_concat(hr_node* node, void** state) {
  return create_element_shape(node, state, "element_shape_except0");
}

void destroy_element_shape(void* state) { delete static_cast<PartialShape*>(state); }

hr_code prepare_data_shape(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

namespace {

// Makes out the elements of n tensors, under a shape that begins with `rows`.
hr_code join_rows(hr_ctx* ctx, const std::vector<HeldTensor>& values, int64_t rows,
                  const PartialShape& row, hr_tensor* out) {
  if (row.rank >= HR_MAX_RANK)
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "a tensor of more than %d dimensions", HR_MAX_RANK);
  out->rank = row.rank + 1;
  out->dims[0] = rows;
  std::copy(row.dims, row.dims + row.rank, out->dims + 1);
  return join_tensors(ctx, values.data(), int64_t(values.size()), out);
}

hr_code fail_empty(hr_ctx* ctx, const char* what, const PartialShape& shape, const char* action) {
  return hr_ctx_fail(ctx, HR_UNIMPLEMENTED,
                     "TensorArray has size zero, but %s %s is not fully defined. Currently only "
                     "static shapes are supported when %s zero-size TensorArrays.",
                     what, (const char*)PartialShapeText(shape), action);
}

}  // namespace

hr_code compute_gather(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const PartialShape& requested = *static_cast<const PartialShape*>(state);
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  if (hr_code code = check_read_dtype(ctx, array, out[0]->dtype)) return code;
  if (hr_code code = array->narrow(ctx, requested)) return code;
  if (in[1]->rank != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected indices to be a vector, but received shape: %s",
                       (const char*)PartialShapeText(shape_of(in[1])));
  const int64_t n = hr_elements(in[1]);
  if (n == 0) {
    if (!requested.complete()) return fail_empty(ctx, "element shape", requested, "packing");
    return join_rows(ctx, {}, 0, requested, out[0]);
  }
  std::vector<HeldTensor> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    if (hr_code code = array->read(ctx, int_at(in[1], i), &values[size_t(i)])) return code;
    const hr_tensor &first = values[0].get(), &value = values[size_t(i)].get();
    if (i == 0 && !requested.allows(&first))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "TensorArray was passed element_shape %s which does not match the Tensor "
                         "at index 0: %s",
                         (const char*)PartialShapeText(requested),
                         (const char*)PartialShapeText(shape_of(&first)));
    if (!same_shape(&first, &value))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "TensorArray has inconsistent shapes.  Index 0 has shape: %s but index "
                         "%lld has shape: %s",
                         (const char*)PartialShapeText(shape_of(&first)), (long long)i,
                         (const char*)PartialShapeText(shape_of(&value)));
  }
  return join_rows(ctx, values, n, shape_of(&values[0].get()), out[0]);
}

static PartialShape rest_of(const hr_tensor& value) {
  PartialShape rest;
  rest.rank = value.rank - 1;
  std::copy(value.dims + 1, value.dims + value.rank, rest.dims);
  return rest;
}

hr_code compute_concat(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const PartialShape& requested = *static_cast<const PartialShape*>(state);
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  if (hr_code code = check_read_dtype(ctx, array, out[0]->dtype)) return code;
  int64_t n;
  if (hr_code code = array->size_to_concat(ctx, &n)) return code;
  set_shape(out[1], {n});
  if (hr_code code = allocate_on_host(ctx, out[1])) return code;
  if (n == 0) {
    if (!requested.complete())
      return fail_empty(ctx, "element_shape_except0", requested, "concatenating");
    return join_rows(ctx, {}, 0, requested, out[0]);
  }
  std::vector<HeldTensor> values(static_cast<size_t>(n));
  PartialShape rest;
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    if (hr_code code = array->read(ctx, i, &values[size_t(i)])) return code;
    const hr_tensor& value = values[size_t(i)].get();
    if (value.rank == 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Concat saw a scalar shape at index %lld but requires at least vectors.  "
                         "Did you mean to call pack?",
                         (long long)i);
    const PartialShape its = rest_of(value);
    if (i == 0) {
      rest = its;
      PartialShape merged = its;
      if (!merged.merge(requested))
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                           "TensorArray was passed element_shape_except0 %s but index 0 has "
                           "(excepting dimension 0) shape: %s which does not match.",
                           (const char*)PartialShapeText(requested),
                           (const char*)PartialShapeText(its));
    }
    if (its.rank != rest.rank || !std::equal(its.dims, its.dims + its.rank, rest.dims))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension "
                         "0) shape: %s but index %lld has (excepting dimension 0) shape: %s",
                         (const char*)PartialShapeText(rest), (long long)i,
                         (const char*)PartialShapeText(its));
    write<int64_t>(out[1])[i] = value.dims[0];
    if (__builtin_add_overflow(total, value.dims[0], &total))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "The sizes of the first dimension add up to more than 2^63 at index %lld.",
                         (long long)i);
  }
  return join_rows(ctx, values, total, rest, out[0]);
}

// ---- items of the rows of a tensor -------------------------------------------------------------

hr_code prepare_flow(void*, hr_request* r) {
  set_shape(r->outputs[0], {});
  return HR_OK;
}

hr_code compute_scatter(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const hr_tensor *indices = in[1], *value = in[2];
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  if (hr_code code = check_written_dtype(ctx, array, value->dtype)) return code;
  if (value->rank == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Input value for unpack must be at least a vector but received shape: []");
  if (indices->rank != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected indices to be a vector, but received shape: %s",
                       (const char*)PartialShapeText(shape_of(indices)));
  const int64_t n = hr_elements(indices);
  if (n != value->dims[0])
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected len(indices) == values.shape[0], but saw: %lld vs. %lld",
                       (long long)n, (long long)value->dims[0]);
  int64_t size, most = -1;
  if (hr_code code = array->size(ctx, &size)) return code;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, int_at(indices, i));
  if (most >= size && !array->is_dynamic())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Max scatter index must be < array size (%lld vs. %lld)", (long long)most,
                       (long long)size);
  hr_code code;
  const HeldTensor held = hold(ctx, value, &code);
  for (int64_t i = 0; i < n && !code; ++i) {
    poll_at(ctx, i);
    const hr_tensor row = rows_of(held.get(), i, i + 1, false);
    code = array->write(ctx, int_at(indices, i), &row);
  }
  return code ? code : pass_flow(ctx, in[3], out[0]);
}

static hr_code check_lengths(hr_ctx* ctx, const hr_tensor* value, const hr_tensor* lengths) {
  if (lengths->rank != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected lengths to be a vector, received shape: %s",
                       (const char*)PartialShapeText(shape_of(lengths)));
  if (value->rank == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected value to be at least a vector, but received shape: []");
  int64_t total = 0;
  for (int64_t i = 0; i < hr_elements(lengths); ++i) {
    const int64_t length = int_at(lengths, i);
    if (length < 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Expected lengths to be non-negative, but lengths[%lld] is %lld",
                         (long long)i, (long long)length);
    if (__builtin_add_overflow(total, length, &total)) total = -1;
    if (total < 0) break;
  }
  if (total == value->dims[0]) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "Expected sum of lengths to be equal to values.shape[0], but sum of lengths "
                     "is %lld and value's shape is: %s",
                     (long long)total, (const char*)PartialShapeText(shape_of(value)));
}

hr_code compute_split(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  const hr_tensor *value = in[1], *lengths = in[2];
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  if (hr_code code = check_lengths(ctx, value, lengths)) return code;
  const int64_t n = hr_elements(lengths);
  int64_t size;
  if (hr_code code = array->size(ctx, &size)) return code;
  if (array->is_dynamic()) size = std::max(size, n);
  if (size != n)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray's size is not equal to the size of lengths (%lld vs. %lld), "
                       "and the TensorArray is not marked as dynamically resizeable",
                       (long long)size, (long long)n);
  if (hr_code code = check_written_dtype(ctx, array, value->dtype)) return code;
  if (hr_code code = array->set_size_to_concat(ctx, n)) return code;
  hr_code code;
  const HeldTensor held = hold(ctx, value, &code);
  int64_t begin = 0;
  for (int64_t i = 0; i < n && !code; ++i) {
    poll_at(ctx, i);
    const int64_t end = begin + int_at(lengths, i);
    const hr_tensor rows = rows_of(held.get(), begin, end, true);
    begin = end;
    code = array->write(ctx, i, &rows);
  }
  return code ? code : pass_flow(ctx, in[3], out[0]);
}

}  // namespace hr::tensor_arrays
