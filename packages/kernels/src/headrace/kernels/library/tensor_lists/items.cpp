// Creates lists, and pushes, pops, reads and changes their items.
#include <algorithm>
#include <limits>
#include <utility>

#include "library/dtype_names.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/kernels.hpp"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr::tensor_lists {
namespace {

// An argument that is one integer.
hr_code read_int(hr_ctx* ctx, const hr_tensor* value, const char* name, int64_t* number) {
  if (hr_elements(value) != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s must be a scalar, its shape is %s", name,
                       (const char*)ShapeText(value));
  *number = int_at(value, 0);
  return HR_OK;
}

}  // namespace

hr_code compute_empty(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  PartialShape shape;
  if (hr_code code = read_partial_shape(ctx, in[0], &shape)) return code;
  int64_t most;
  if (hr_code code = read_int(ctx, in[1], "max_num_elements", &most)) return code;
  return finish_list(out[0], TensorList::empty(list_dtype(state), shape, most));
}

hr_code compute_reserve(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  PartialShape shape;
  if (hr_code code = read_partial_shape(ctx, in[0], &shape)) return code;
  int64_t n;
  if (hr_code code = read_int(ctx, in[1], "num_elements", &n)) return code;
  if (n < 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "The num_elements to reserve must be a non negative number, but got %lld",
                       (long long)n);
  OwnedList list = TensorList::empty(list_dtype(state), shape);
  if (hr_code code = list->append_unset(ctx, n)) return code;
  return finish_list(out[0], std::move(list));
}

hr_code compute_length(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                       void*) {
  const TensorList* list = TensorList::of(ctx, in[0], HR_INVALID);
  if (!list) return HR_INVALID_ARGUMENT;
  *write<int32_t>(out[0]) = int32_t(list->length());
  return HR_OK;
}

hr_code compute_push(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!list) return HR_INVALID_ARGUMENT;
  if (list->length() >= std::numeric_limits<int32_t>::max())
    return hr_ctx_fail(ctx, HR_RESOURCE_EXHAUSTED, "Tried to push item into a full list");
  if (list->most() >= 0 && list->length() >= list->most())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Tried to push item into a full list list size: %lld max_num_elements: %lld",
                       (long long)list->length(), (long long)list->most());
  return finish_list(out[0], list->with(ctx, in[1]));
}

// ---- reading one item --------------------------------------------------------------------------

namespace {

hr_code hand_out_item(hr_ctx* ctx, const TensorList* list, int64_t i, const PartialShape& shape,
                      hr_tensor* output) {
  if (list->is_set(i)) return list->forward_item(ctx, i, output);
  hr_code code;
  const HeldTensor made = zeros(ctx, list->dtype(), shape, &code);
  return code ? code : ctx->api->forward(ctx, &made.get(), output);
}

}  // namespace

// ---- PopBack -----------------------------------------------------------------------------------

hr_code last_item(hr_ctx* ctx, void* state, const hr_tensor* const* in, const TensorList** list,
                  PartialShape* shape) {
  *list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!*list) return HR_INVALID_ARGUMENT;
  if ((*list)->length() == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Trying to pop from an empty list.");
  return shape_of_item(ctx, *list, (*list)->length() - 1, in[1], shape);
}

hr_code compute_pop_any(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const TensorList* list;
  PartialShape shape;
  if (hr_code code = last_item(ctx, state, in, &list, &shape)) return code;
  set_shape(out[0], {});
  if (hr_code code = allocate_on_host(ctx, out[0])) return code;
  if (hr_code code = hand_out_item(ctx, list, list->length() - 1, shape, out[1])) return code;
  return finish_list(out[0], list->prefix(list->length() - 1));
}

// ---- GetItem -----------------------------------------------------------------------------------

hr_code find_item(hr_ctx* ctx, void* state, const hr_tensor* const* in, const TensorList** list,
                  int64_t* index, PartialShape* shape) {
  *list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!*list) return HR_INVALID_ARGUMENT;
  if (hr_code code = read_int(ctx, in[1], "index", index)) return code;
  if (*index < 0 || *index >= (*list)->length())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Trying to access element %lld in a list with %lld elements.",
                       (long long)*index, (long long)(*list)->length());
  return shape_of_item(ctx, *list, *index, in[2], shape);
}

hr_code compute_get_any(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const TensorList* list;
  int64_t index;
  PartialShape shape;
  if (hr_code code = find_item(ctx, state, in, &list, &index, &shape)) return code;
  return hand_out_item(ctx, list, index, shape, out[0]);
}

// ---- SetItem and Resize ------------------------------------------------------------------------

hr_code compute_set(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], list_dtype(state));
  if (!list) return HR_INVALID_ARGUMENT;
  int64_t index;
  if (hr_code code = read_int(ctx, in[1], "index", &index)) return code;
  const int64_t n = list->length();
  if (index < 0 || (index >= n && !plan))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Trying to modify element %lld in a list with %lld elements.",
                       (long long)index, (long long)n);
  OwnedList changed = list->resized(ctx, std::max(n, index + 1));
  if (!changed) return HR_RESOURCE_EXHAUSTED;
  if (hr_code code = changed->set(ctx, index, in[2])) return code;
  return finish_list(out[0], std::move(changed));
}

hr_code prepare_set(void*, hr_request* r) {
  static char grows;
  if (hr_attr_bool(r->node, "resize_if_index_out_of_bounds", 0)) r->plan = &grows;
  set_shape(r->outputs[0], {});
  return HR_OK;
}

hr_code compute_resize(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                       void*) {
  const TensorList* list = TensorList::of(ctx, in[0], HR_INVALID);
  if (!list) return HR_INVALID_ARGUMENT;
  int64_t n;
  if (hr_code code = read_int(ctx, in[1], "size", &n)) return code;
  if (n < 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorListSlice expects size to be non-negative. Got: %lld", (long long)n);
  return finish_list(out[0], list->resized(ctx, n));
}

hr_code compute_element_shape(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                              hr_tensor* const* out, void*) {
  const TensorList* list = TensorList::of(ctx, in[0], HR_INVALID);
  if (!list) return HR_INVALID_ARGUMENT;
  const PartialShape& shape = list->element_shape();
  if (shape.rank < 0) set_shape(out[0], {});
  else set_shape(out[0], {shape.rank});
  if (hr_code code = allocate_on_host(ctx, out[0])) return code;
  for (int32_t i = 0; i < std::max(1, shape.rank); ++i) {
    if (shape.rank == 0) break;
    const int64_t size = shape.rank < 0 ? -1 : shape.dims[i];
    if (out[0]->dtype == HR_INT32) write<int32_t>(out[0])[i] = int32_t(size);
    else write<int64_t>(out[0])[i] = size;
  }
  return HR_OK;
}

hr_code prepare_data_shape(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace hr::tensor_lists
