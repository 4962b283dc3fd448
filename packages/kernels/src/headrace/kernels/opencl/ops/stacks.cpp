// Registers the kernels of stacks.
#include "library/stacks.hpp"

#include "library/registration.hpp"
#include "ops/tensor_arrays/item_types.hpp"

namespace hr::stacks {
namespace {

constexpr KernelRegistration push(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_data_shape, compute_push).is(HR_KERNEL_DATA_SHAPE);
}

constexpr KernelRegistration pop(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_data_shape, compute_pop).is(HR_KERNEL_DATA_SHAPE);
}

}  // namespace

HR_KERNELS = {
    kernel("StackV2", "elem_type=" HR_DEVICE_ITEMS "|" HR_HOST_ITEMS, prepare_stack, compute_stack)
        .with_state(create_declaration, destroy_declaration)
        .host(0),
    kernel("Stack", "elem_type=" HR_DEVICE_ITEMS "|" HR_HOST_ITEMS, prepare_stack,
           compute_reference)
        .with_state(create_declaration, destroy_declaration),
    push("StackPushV2", "T=" HR_DEVICE_ITEMS),
    push("StackPushV2", "T=" HR_HOST_ITEMS).host(1).outputs_on_host(0),
    push("StackPush", "T=" HR_DEVICE_ITEMS),
    push("StackPush", "T=" HR_HOST_ITEMS).host(1).outputs_on_host(0),
    pop("StackPopV2", "elem_type=" HR_DEVICE_ITEMS),
    pop("StackPopV2", "elem_type=" HR_HOST_ITEMS).outputs_on_host(0),
    pop("StackPop", "elem_type=" HR_DEVICE_ITEMS),
    pop("StackPop", "elem_type=" HR_HOST_ITEMS).outputs_on_host(0),
    kernel("StackCloseV2", nullptr, prepare_close, compute_close),
    kernel("StackClose", nullptr, prepare_close, compute_close),
};

}  // namespace hr::stacks
