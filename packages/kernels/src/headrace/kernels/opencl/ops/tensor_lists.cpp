// Registers the kernels of lists of tensors. A list that another op handles, too, such as
// TensorListScatter, is on the CPU: the placer keeps together what variants pass between.
#include "library/registration.hpp"
#include "library/tensor_lists/kernels.hpp"
#include "ops/tensor_arrays/item_types.hpp"

namespace hr::tensor_lists {
namespace {

#define HR_ITEMS HR_DEVICE_ITEMS "|" HR_HOST_ITEMS

constexpr KernelRegistration of_list(const char* op, const char* constraint, Prepare prepare,
                                     hr_compute compute) {
  return kernel(op, constraint, prepare, compute)
      .with_state(create_list_kernel, destroy_list_kernel);
}

// An item that is handed out is its own buffer.
constexpr KernelRegistration read(const char* op, const char* constraint, Prepare prepare,
                                  hr_compute compute) {
  return of_list(op, constraint, prepare, compute).is(HR_KERNEL_DATA_SHAPE);
}

}  // namespace

HR_KERNELS = {
    of_list("EmptyTensorList", "element_dtype=" HR_ITEMS, prepare_list, compute_empty).host(0, 1),
    of_list("TensorListReserve", "element_dtype=" HR_ITEMS, prepare_list, compute_reserve)
        .host(0, 1),
    kernel("TensorListLength", nullptr, prepare_list, compute_length).outputs_on_host(0),
    kernel("TensorListResize", nullptr, prepare_list, compute_resize).host(1),
    kernel("TensorListElementShape", nullptr, prepare_data_shape, compute_element_shape)
        .is(HR_KERNEL_DATA_SHAPE)
        .outputs_on_host(0),
    of_list("TensorListPushBack", "element_dtype=" HR_DEVICE_ITEMS, prepare_list, compute_push),
    of_list("TensorListPushBack", "element_dtype=" HR_HOST_ITEMS, prepare_list, compute_push)
        .host(1),
    of_list("TensorListSetItem", "element_dtype=" HR_DEVICE_ITEMS, prepare_set, compute_set)
        .host(1),
    of_list("TensorListSetItem", "element_dtype=" HR_HOST_ITEMS, prepare_set, compute_set)
        .host(1, 2),
    read("TensorListPopBack", "element_dtype=" HR_DEVICE_ITEMS, prepare_data_shape, compute_pop_any)
        .values(0, 1),
    read("TensorListPopBack", "element_dtype=" HR_HOST_ITEMS, prepare_data_shape, compute_pop_any)
        .values(0, 1)
        .outputs_on_host(1),
    read("TensorListGetItem", "element_dtype=" HR_DEVICE_ITEMS, prepare_data_shape, compute_get_any)
        .values(0, 2)
        .host(1),
    read("TensorListGetItem", "element_dtype=" HR_HOST_ITEMS, prepare_data_shape, compute_get_any)
        .values(0, 2)
        .host(1)
        .outputs_on_host(0),
    read("TensorListStack", "element_dtype=" HR_DEVICE_ITEMS, prepare_stack, compute_stack).host(1),
    read("TensorListStack", "element_dtype=" HR_HOST_ITEMS, prepare_stack, compute_stack)
        .host(1)
        .outputs_on_host(0),
    read("TensorListGather", "element_dtype=" HR_DEVICE_ITEMS, prepare_data_shape, compute_gather)
        .host(1, 2),
    read("TensorListGather", "element_dtype=" HR_HOST_ITEMS, prepare_data_shape, compute_gather)
        .host(1, 2)
        .outputs_on_host(0),
    read("TensorListConcat", "element_dtype=" HR_DEVICE_ITEMS, prepare_concat, compute_concat)
        .outputs_on_host(1),
    read("TensorListConcat", "element_dtype=" HR_HOST_ITEMS, prepare_concat, compute_concat)
        .outputs_on_host(0, 1),
    read("TensorListConcatV2", "element_dtype=" HR_DEVICE_ITEMS, prepare_data_shape,
         compute_concat_v2)
        .host(1, 2)
        .outputs_on_host(1),
    read("TensorListConcatV2", "element_dtype=" HR_HOST_ITEMS, prepare_data_shape,
         compute_concat_v2)
        .host(1, 2)
        .outputs_on_host(0, 1),
    of_list("TensorListFromTensor", "element_dtype=" HR_DEVICE_ITEMS, prepare_list,
            compute_from_tensor)
        .host(1),
    of_list("TensorListFromTensor", "element_dtype=" HR_HOST_ITEMS, prepare_list,
            compute_from_tensor)
        .host(0, 1),
    of_list("TensorListSplit", "element_dtype=" HR_DEVICE_ITEMS, prepare_list, compute_split)
        .host(1, 2),
    of_list("TensorListSplit", "element_dtype=" HR_HOST_ITEMS, prepare_list, compute_split)
        .host(0, 1, 2),
};

}  // namespace hr::tensor_lists
