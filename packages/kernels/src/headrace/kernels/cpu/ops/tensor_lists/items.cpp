// Registers the kernels of single items of lists in host memory. Small items are copied into the
// plan's memory where their shape is known beforehand, so that the plan does not end there.
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/kernels.hpp"
#include "ops/tensor_lists/list_values.hpp"

namespace hr::tensor_lists {
namespace {

// Up to this size an item is copied into the plan's memory; larger ones are handed on.
constexpr int64_t kMostCopied = 4096;

// Whether the input element_shape tells the shape of an item that is worth copying.
bool is_known_and_small(const hr_tensor* element_shape, hr_dtype dtype, PartialShape* shape) {
  return known_complete_shape(element_shape, shape) && shape->rank <= HR_MAX_RANK &&
         product(shape->dims, 0, shape->rank) * hr_dtype_size(dtype) <= kMostCopied;
}

// ---- PopBack -----------------------------------------------------------------------------------

// The element shape was known before the run: the output is there.
hr_code compute_pop(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const TensorList* list;
  PartialShape shape;
  if (hr_code code = last_item(ctx, state, in, &list, &shape)) return code;
  copy_item(ctx, *list, list->length() - 1, out[1]->data, out[1]->bytes);
  return finish_list(out[0], list->prefix(list->length() - 1));
}

hr_code prepare_pop(void*, hr_request* r) {
  PartialShape shape;
  if (is_known_and_small(r->inputs[1], r->outputs[1]->dtype, &shape)) {
    set_shape(r->outputs[0], {});
    set_shape(r->outputs[1], shape.rank, shape.dims);
    r->compute = compute_pop;
  } else {
    r->shape_depends_on_data = 1;
    r->compute = compute_pop_any;
  }
  return HR_OK;
}

// Where element_shape does not tell the shape of the item, the list does.
uint64_t pop_shapes(const hr_node* node, const hr_tensor* const* known) {
  PartialShape shape;
  return known[1] && is_known_and_small(known[1], node->output_dtypes[1], &shape) ? 2 : 3;
}

// ---- GetItem -----------------------------------------------------------------------------------

hr_code compute_get(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const TensorList* list;
  int64_t index;
  PartialShape shape;
  if (hr_code code = find_item(ctx, state, in, &list, &index, &shape)) return code;
  copy_item(ctx, *list, index, out[0]->data, out[0]->bytes);
  return HR_OK;
}

hr_code prepare_get(void*, hr_request* r) {
  PartialShape shape;
  if (is_known_and_small(r->inputs[2], r->outputs[0]->dtype, &shape)) {
    set_shape(r->outputs[0], shape.rank, shape.dims);
    r->compute = compute_get;
  } else {
    r->shape_depends_on_data = 1;
    r->compute = compute_get_any;
  }
  return HR_OK;
}

uint64_t get_shapes(const hr_node* node, const hr_tensor* const* known) {
  PartialShape shape;
  return known[2] && is_known_and_small(known[2], node->output_dtypes[0], &shape) ? 4 : 5;
}

}  // namespace

HR_KERNELS = {
    kernel("EmptyTensorList", nullptr, prepare_list, compute_empty)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListReserve", nullptr, prepare_list, compute_reserve)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListLength", nullptr, prepare_list, compute_length),
    kernel("TensorListPushBack", nullptr, prepare_list, compute_push)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListPopBack", nullptr, prepare_pop)
        .values(0, 1)
        .shaped_by(pop_shapes)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListGetItem", nullptr, prepare_get)
        .values(0, 2)
        .shaped_by(get_shapes)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListSetItem", nullptr, prepare_set, compute_set)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListResize", nullptr, prepare_list, compute_resize),
    kernel("TensorListElementShape", nullptr, prepare_data_shape, compute_element_shape)
        .is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr::tensor_lists
