// Registers the kernels of stacks, whose items are in host memory.
#include "library/stacks.hpp"

#include "library/registration.hpp"

namespace hr::stacks {

HR_KERNELS = {
    kernel("StackV2", nullptr, prepare_stack, compute_stack)
        .with_state(create_declaration, destroy_declaration),
    kernel("Stack", nullptr, prepare_stack, compute_reference)
        .with_state(create_declaration, destroy_declaration),
    kernel("StackPush", nullptr, prepare_data_shape, compute_push).is(HR_KERNEL_DATA_SHAPE),
    kernel("StackPop", nullptr, prepare_data_shape, compute_pop).is(HR_KERNEL_DATA_SHAPE),
    kernel("StackClose", nullptr, prepare_close, compute_close),
    kernel("StackPushV2", nullptr, prepare_data_shape, compute_push).is(HR_KERNEL_DATA_SHAPE),
    kernel("StackPopV2", nullptr, prepare_data_shape, compute_pop).is(HR_KERNEL_DATA_SHAPE),
    kernel("StackCloseV2", nullptr, prepare_close, compute_close),
};

}  // namespace hr::stacks
