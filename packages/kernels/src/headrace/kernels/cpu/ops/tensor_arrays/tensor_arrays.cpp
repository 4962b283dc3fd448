// Registers the kernels of TensorArrays, whose items are in host memory.
#include "library/registration.hpp"
#include "library/tensor_arrays/kernels.hpp"

namespace hr::tensor_arrays {

HR_KERNELS = {
    kernel("TensorArrayV2", nullptr, prepare_creation, compute_array)
        .with_state(create_declaration, destroy_declaration),
    kernel("TensorArrayV3", nullptr, prepare_creation, compute_array)
        .with_state(create_declaration, destroy_declaration),
    kernel("TensorArrayGradV2", nullptr, prepare_creation, compute_grad)
        .with_state(create_source, destroy_source),
    kernel("TensorArrayGradV3", nullptr, prepare_creation, compute_grad)
        .with_state(create_source, destroy_source),
    kernel("TensorArrayGradWithShape", nullptr, prepare_creation, compute_grad_with_shape)
        .with_state(create_source, destroy_source),
    kernel("TensorArraySizeV2", nullptr, prepare_size, compute_size),
    kernel("TensorArraySizeV3", nullptr, prepare_size, compute_size),
    kernel("TensorArrayCloseV2", nullptr, prepare_close, compute_close),
    kernel("TensorArrayCloseV3", nullptr, prepare_close, compute_close),
    kernel("TensorArrayWriteV2", nullptr, prepare_flow, compute_write),
    kernel("TensorArrayWriteV3", nullptr, prepare_flow, compute_write),
    kernel("TensorArrayReadV2", nullptr, prepare_data_shape, compute_read).is(HR_KERNEL_DATA_SHAPE),
    kernel("TensorArrayReadV3", nullptr, prepare_data_shape, compute_read).is(HR_KERNEL_DATA_SHAPE),
    kernel("TensorArrayGatherV2", nullptr, prepare_data_shape, compute_gather)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_gather, destroy_element_shape),
    kernel("TensorArrayGatherV3", nullptr, prepare_data_shape, compute_gather)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_gather, destroy_element_shape),
    kernel("TensorArrayConcatV2", nullptr, prepare_data_shape, compute_concat)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_concat, destroy_element_shape),
    kernel("TensorArrayConcatV3", nullptr, prepare_data_shape, compute_concat)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_concat, destroy_element_shape),
    kernel("TensorArrayScatterV2", nullptr, prepare_flow, compute_scatter),
    kernel("TensorArrayScatterV3", nullptr, prepare_flow, compute_scatter),
    kernel("TensorArraySplitV2", nullptr, prepare_flow, compute_split),
    kernel("TensorArraySplitV3", nullptr, prepare_flow, compute_split),
};

}  // namespace hr::tensor_arrays
