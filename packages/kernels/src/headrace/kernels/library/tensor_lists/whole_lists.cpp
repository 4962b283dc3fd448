// Makes tensors of lists and lists of tensors: Stack, FromTensor, Gather, Scatter, Concat, Split,
// and lists of lists.
#include <algorithm>
#include <vector>

#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/poll.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/kernels.hpp"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr::tensor_lists {

// The items of a list, stacked in the order of `indices`; null: all of them.
static hr_code stack_items(hr_ctx* ctx, const TensorList* list, const hr_tensor* indices,
                           const hr_tensor* element_shape, hr_tensor* out) {
  PartialShape shape;
  if (hr_code code = read_partial_shape(ctx, element_shape, &shape)) return code;
  const PartialShape requested = shape;
  if (!shape.merge(list->element_shape()))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Tried to stack elements of a list of element shape %s with the requested "
                       "element_shape %s",
                       (const char*)PartialShapeText(list->element_shape()),
                       (const char*)PartialShapeText(requested));
  const int64_t n = indices ? hr_elements(indices) : list->length();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = indices ? int_at(indices, i) : i;
    if (at < 0 || at >= list->length())
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Trying to gather element %lld in a list with %lld elements.",
                         (long long)at, (long long)list->length());
    const PartialShape found = list->item_shape(at);
    if (!shape.merge(found))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Tried to stack elements from a list with incompatible shapes: item %lld "
                         "has the shape %s, the others %s",
                         (long long)at, (const char*)PartialShapeText(found),
                         (const char*)PartialShapeText(shape));
  }
  if (!shape.complete())
    return hr_ctx_fail(
        ctx, HR_INVALID_ARGUMENT,
        n ? "Tried to stack list which only contains uninitialized tensors and has a "
            "non-fully-defined element shape: %s"
          : "Tried to stack elements of an empty list with non-fully-defined "
            "element_shape: %s",
        (const char*)PartialShapeText(shape));
  if (shape.rank >= HR_MAX_RANK)
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "a tensor of more than %d dimensions", HR_MAX_RANK);
  out->rank = shape.rank + 1;
  out->dims[0] = n;
  std::copy(shape.dims, shape.dims + shape.rank, out->dims + 1);
  return join_items(ctx, *list, indices, nullptr, out);
}

hr_code compute_stack(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!list) return HR_INVALID_ARGUMENT;
  const int64_t n = *static_cast<int64_t*>(plan);
  if (n >= 0 && n != list->length())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Operation expected a list with %lld elements but got a list with %lld "
                       "elements.",
                       (long long)n, (long long)list->length());
  return stack_items(ctx, list, nullptr, in[1], out[0]);
}

hr_code prepare_stack(void*, hr_request* r) {
  keep_plan(r, new int64_t(hr_attr_int(r->node, "num_elements", -1)));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute_gather(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!list) return HR_INVALID_ARGUMENT;
  return stack_items(ctx, list, in[1], in[2], out[0]);
}

// ---- lists of the rows of a tensor -------------------------------------------------------------

static hr_code start_list(hr_ctx* ctx, hr_dtype dtype, const hr_tensor* element_shape, int64_t n,
                          OwnedList* list) {
  PartialShape shape;
  if (hr_code code = read_partial_shape(ctx, element_shape, &shape)) return code;
  *list = TensorList::empty(dtype, shape);
  return (*list)->append_unset(ctx, n);
}

static hr_code check_rows(hr_ctx* ctx, const hr_tensor* t) {
  if (t->rank > 0) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "Tensor must be at least a vector, but saw shape: %s",
                     (const char*)ShapeText(t));
}

hr_code compute_from_tensor(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  if (hr_code code = check_rows(ctx, in[0])) return code;
  OwnedList list;
  if (hr_code code = start_list(ctx, list_dtype(state), in[1], 0, &list)) return code;
  for (int64_t i = 0; i < in[0]->dims[0]; ++i) {
    poll_at(ctx, i);
    const hr_tensor row = rows_of(*in[0], i, i + 1, false);
    if (hr_code code = list->append(ctx, &row)) return code;
  }
  return finish_list(out[0], std::move(list));
}

// Sets items by index to the rows of a tensor.
static hr_code scatter(hr_ctx* ctx, OwnedList list, const hr_tensor* t, const hr_tensor* indices,
                       const hr_tensor* out) {
  hr_code code = HR_OK;
  for (int64_t i = 0; i < hr_elements(indices) && !code; ++i) {
    const int64_t at = int_at(indices, i);
    if (at < 0 || at >= list->length()) {
      code =
          hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                      "TensorListScatter: Trying to scatter at index %lld in list with size %lld",
                      (long long)at, (long long)list->length());
      break;
    }
    const hr_tensor row = rows_of(*t, i, i + 1, false);
    code = list->set(ctx, at, &row);
  }
  return code ? code : finish_list(out, std::move(list));
}

static hr_code check_scatter(hr_ctx* ctx, const hr_tensor* t, const hr_tensor* indices) {
  if (hr_code code = check_rows(ctx, t)) return code;
  if (indices->rank != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected indices to be a vector, but received shape: %s",
                       (const char*)ShapeText(indices));
  if (hr_elements(indices) == t->dims[0]) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "Invalid number of rows in input tensor. Expected %lld (number of elements in "
                     "indices). Received: %lld",
                     (long long)hr_elements(indices), (long long)t->dims[0]);
}

hr_code compute_scatter(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  if (hr_code code = check_scatter(ctx, in[0], in[1])) return code;
  int64_t n = -1;
  if (in[3]) {
    if (hr_elements(in[3]) != 1)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "num_elements must be a scalar");
    n = int_at(in[3], 0);
    if (n < -1)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "TensorListScatter expects num_elements >= -1, found: %lld", (long long)n);
  }
  int64_t most = -1;
  for (int64_t i = 0; i < hr_elements(in[1]); ++i) most = std::max(most, int_at(in[1], i));
  if (n < 0) n = most + 1;
  OwnedList list;
  if (hr_code code = start_list(ctx, list_dtype(state), in[2], n, &list)) return code;
  return scatter(ctx, std::move(list), in[0], in[1], out[0]);
}

hr_code compute_scatter_v1(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* in,
                           hr_tensor* const* out, void* workspace) {
  const hr_tensor* const inputs[4] = {in[0], in[1], in[2], nullptr};
  return compute_scatter(ctx, state, plan, inputs, out, workspace);
}

hr_code compute_scatter_into(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                             hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!list) return HR_INVALID_ARGUMENT;
  if (hr_code code = check_scatter(ctx, in[1], in[2])) return code;
  int64_t n = list->length();
  for (int64_t i = 0; i < hr_elements(in[2]); ++i) n = std::max(n, int_at(in[2], i) + 1);
  OwnedList changed = list->resized(ctx, n);
  return changed ? scatter(ctx, std::move(changed), in[1], in[2], out[0]) : HR_RESOURCE_EXHAUSTED;
}

// ---- Concat and Split --------------------------------------------------------------------------

static hr_code concat(hr_ctx* ctx, const TensorList* list, PartialShape shape,
                      const hr_tensor* leading, hr_tensor* const* out) {
  if (shape.rank < 0) shape = list->element_shape();
  PartialShape rows = shape;  // of an item without its first dimension
  const int64_t n = list->length();
  std::vector<int64_t> lengths;
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    PartialShape item = list->item_shape(i);
    if (!list->is_set(i) && leading && i < hr_elements(leading) && item.rank > 0)
      item.dims[0] = int_at(leading, i);
    if (item.rank == 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Concat saw a scalar shape at index %lld but requires at least vectors.",
                         (long long)i);
    if (!item.complete())
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "List contains uninitialized element at index %lld but leading_dims has "
                         "no size for it.",
                         (long long)i);
    lengths.push_back(item.dims[0]);
    if (__builtin_add_overflow(total, item.dims[0], &total))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "The sizes of the first dimension add up to more than 2^63 at index %lld.",
                         (long long)i);
    item.dims[0] = -1;
    if (rows.rank > 0) rows.dims[0] = -1;
    if (!rows.merge(item))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Tried to concat tensors with unequal shapes: %s vs %s",
                         (const char*)PartialShapeText(rows), (const char*)PartialShapeText(item));
  }
  if (rows.rank > 0) rows.dims[0] = total;
  if (rows.rank == 0 || !rows.complete())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "All except the first dimension must be fully defined when concating an "
                       "empty tensor list. element_shape: %s",
                       (const char*)PartialShapeText(shape));
  set_shape(out[0], rows.rank, rows.dims);
  set_shape(out[1], {n});
  if (hr_code code = allocate_on_host(ctx, out[1])) return code;
  std::copy(lengths.begin(), lengths.end(), write<int64_t>(out[1]));
  return join_items(ctx, *list, nullptr, lengths.data(), out[0]);
}

hr_code compute_concat(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!list) return HR_INVALID_ARGUMENT;
  return concat(ctx, list, *static_cast<PartialShape*>(plan), nullptr, out);
}

hr_code prepare_concat(void*, hr_request* r) {
  PartialShape shape;
  if (hr_code code = read_shape_attribute(r->node, "element_shape", &shape)) return code;
  keep_plan(r, new PartialShape(shape));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute_concat_v2(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!list) return HR_INVALID_ARGUMENT;
  PartialShape shape;
  if (hr_code code = read_partial_shape(ctx, in[1], &shape)) return code;
  return concat(ctx, list, shape, in[2], out);
}

hr_code compute_split(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  if (hr_code code = check_rows(ctx, in[0])) return code;
  const int64_t n = hr_elements(in[2]);
  if (in[2]->rank != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected lengths to be a vector, received shape: %s",
                       (const char*)ShapeText(in[2]));
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t length = int_at(in[2], i);
    if (length < 0 || length > in[0]->dims[0] - total)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         length < 0
                             ? "Invalid value in lengths: %lld"
                             : "Attempting to slice [%lld, ...] beyond the rows of the tensor",
                         (long long)length);
    total += length;
  }
  if (total != in[0]->dims[0])
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Unused values in tensor. Length of tensor: %lld Values used: %lld",
                       (long long)in[0]->dims[0], (long long)total);
  OwnedList list;
  if (hr_code code = start_list(ctx, list_dtype(state), in[1], 0, &list)) return code;
  int64_t begin = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t end = begin + int_at(in[2], i);
    const hr_tensor rows = rows_of(*in[0], begin, end, true);
    begin = end;
    if (hr_code code = list->append(ctx, &rows)) return code;
  }
  return finish_list(out[0], std::move(list));
}

// ---- tensors of lists --------------------------------------------------------------------------

static hr_tensor scalar_at(const hr_tensor* t, int64_t i) {
  hr_tensor one = *t;
  one.rank = 0;
  one.bytes = int64_t(sizeof(hr_variant));
  one.data = static_cast<hr_variant*>(t->data) + i;
  return one;
}

hr_code prepare_like_first(void*, hr_request* r) {
  copy_shape(r->inputs[0], r->outputs[0]);
  return HR_OK;
}

hr_code compute_push_batch(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                           hr_tensor* const* out, void*) {
  if (hr_code code = check_rows(ctx, in[1])) return code;
  if (in[0]->rank != 1 || in[0]->dims[0] != in[1]->dims[0])
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected tensor.shape[0] == input_handles.size, but saw %lld vs. %lld",
                       (long long)in[1]->dims[0], (long long)hr_elements(in[0]));
  for (int64_t i = 0; i < in[0]->dims[0]; ++i) {
    const hr_tensor handle = scalar_at(in[0], i), to = scalar_at(out[0], i);
    const TensorList* list = TensorList::of(ctx, &handle, list_dtype(state));
    if (!list) return HR_INVALID_ARGUMENT;
    const hr_tensor row = rows_of(*in[1], i, i + 1, false);
    if (hr_code code = finish_list(&to, list->with(ctx, &row))) return code;
  }
  return HR_OK;
}

hr_code compute_concat_lists(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                             hr_tensor* const* out, void*) {
  if (!same_shape(in[0], in[1]))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "input_a and input_b must have the same shape: %s vs. %s",
                       (const char*)ShapeText(in[0]), (const char*)ShapeText(in[1]));
  for (int64_t i = 0; i < hr_elements(in[0]); ++i) {
    const hr_tensor first = scalar_at(in[0], i), second = scalar_at(in[1], i);
    const hr_tensor to = scalar_at(out[0], i);
    const TensorList* a = TensorList::of(ctx, &first, list_dtype(state));
    const TensorList* b = a ? TensorList::of(ctx, &second, list_dtype(state)) : nullptr;
    if (!b) return HR_INVALID_ARGUMENT;
    OwnedList joined = a->resized(ctx, a->length());
    if (!joined) return HR_RESOURCE_EXHAUSTED;
    if (hr_code code = joined->extend(ctx, *b)) return code;
    if (hr_code code = finish_list(&to, std::move(joined))) return code;
  }
  return HR_OK;
}

}  // namespace hr::tensor_lists
