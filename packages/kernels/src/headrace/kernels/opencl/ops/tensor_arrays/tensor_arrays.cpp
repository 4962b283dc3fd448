// Registers the kernels of TensorArrays of version 3. Those of version 2 stay on the CPU: their
// handles are strings, by which the placer does not know what belongs together.
#include "library/registration.hpp"
#include "library/tensor_arrays/kernels.hpp"
#include "ops/tensor_arrays/item_types.hpp"

namespace hr::tensor_arrays {
namespace {

// Outputs are buffers that exist: items, and the flow that the node takes.
constexpr KernelRegistration by_data(const char* op, const char* constraint, hr_compute compute) {
  return kernel(op, constraint, prepare_data_shape, compute).is(HR_KERNEL_DATA_SHAPE);
}

}  // namespace

HR_KERNELS = {
    kernel("TensorArrayV3", "dtype=" HR_DEVICE_ITEMS "|" HR_HOST_ITEMS, prepare_creation,
           compute_array)
        .with_state(create_declaration, destroy_declaration)
        .host(0),
    kernel("TensorArrayGradV3", nullptr, prepare_creation, compute_grad)
        .with_state(create_source, destroy_source),
    kernel("TensorArrayGradWithShape", nullptr, prepare_creation, compute_grad_with_shape)
        .with_state(create_source, destroy_source)
        .host(2),
    kernel("TensorArraySizeV3", nullptr, prepare_size, compute_size).outputs_on_host(0),
    kernel("TensorArrayCloseV3", nullptr, prepare_close, compute_close),
    by_data("TensorArrayWriteV3", "T=" HR_DEVICE_ITEMS, compute_write).host(1),
    by_data("TensorArrayWriteV3", "T=" HR_HOST_ITEMS, compute_write).host(1, 2),
    by_data("TensorArrayScatterV3", "T=" HR_DEVICE_ITEMS, compute_scatter).host(1),
    by_data("TensorArrayScatterV3", "T=" HR_HOST_ITEMS, compute_scatter).host(1, 2),
    by_data("TensorArraySplitV3", "T=" HR_DEVICE_ITEMS, compute_split).host(2),
    by_data("TensorArraySplitV3", "T=" HR_HOST_ITEMS, compute_split).host(1, 2),
    by_data("TensorArrayReadV3", "dtype=" HR_DEVICE_ITEMS, compute_read).host(1),
    by_data("TensorArrayReadV3", "dtype=" HR_HOST_ITEMS, compute_read).host(1).outputs_on_host(0),
    by_data("TensorArrayGatherV3", "dtype=" HR_DEVICE_ITEMS, compute_gather)
        .with_state(create_gather, destroy_element_shape)
        .host(1),
    by_data("TensorArrayGatherV3", "dtype=" HR_HOST_ITEMS, compute_gather)
        .with_state(create_gather, destroy_element_shape)
        .host(1)
        .outputs_on_host(0),
    by_data("TensorArrayConcatV3", "dtype=" HR_DEVICE_ITEMS, compute_concat)
        .with_state(create_concat, destroy_element_shape)
        .outputs_on_host(1),
    by_data("TensorArrayConcatV3", "dtype=" HR_HOST_ITEMS, compute_concat)
        .with_state(create_concat, destroy_element_shape)
        .outputs_on_host(0, 1),
};

}  // namespace hr::tensor_arrays
