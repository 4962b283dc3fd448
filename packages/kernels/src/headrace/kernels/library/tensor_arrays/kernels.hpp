// The kernels of TensorArrays, which each library registers for its device.
#ifndef HEADRACE_LIBRARY_TENSOR_ARRAYS_KERNELS_HPP
#define HEADRACE_LIBRARY_TENSOR_ARRAYS_KERNELS_HPP

#include <type_traits>

#include "headrace/kernel.h"

namespace hr::tensor_arrays {

// ---- states -------------------------------------------------------------------------------------

hr_code create_declaration(hr_node* node, void** state);
void destroy_declaration(void* state);
hr_code create_source(hr_node* node, void** state);
void destroy_source(void* state);
hr_code create_gather(hr_node* node, void** state);
hr_code create_concat(hr_node* node, void** state);
void destroy_element_shape(void* state);

// ---- plans --------------------------------------------------------------------------------------

hr_code prepare_creation(void*, hr_request* r);
hr_code prepare_size(void*, hr_request* r);
hr_code prepare_close(void*, hr_request* r);
hr_code prepare_flow(void*, hr_request* r);
hr_code prepare_data_shape(void*, hr_request* r);

// ---- runs ---------------------------------------------------------------------------------------

using Compute = std::remove_pointer_t<hr_compute>;
Compute compute_array;
Compute compute_grad;
Compute compute_grad_with_shape;
Compute compute_size;
Compute compute_close;
Compute compute_write;
Compute compute_read;
Compute compute_gather;
Compute compute_concat;
Compute compute_scatter;
Compute compute_split;

}  // namespace hr::tensor_arrays

#endif
