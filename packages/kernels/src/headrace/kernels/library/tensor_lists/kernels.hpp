// The kernels of lists, which each library registers for its device.
#ifndef HEADRACE_LIBRARY_TENSOR_LISTS_KERNELS_HPP
#define HEADRACE_LIBRARY_TENSOR_LISTS_KERNELS_HPP

#include <type_traits>

#include "headrace/kernel.h"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr::tensor_lists {

// The last item, or that of an index, which the inputs of PopBack and GetItem name.
hr_code last_item(hr_ctx* ctx, void* state, const hr_tensor* const* in, const TensorList** list,
                  PartialShape* shape);
hr_code find_item(hr_ctx* ctx, void* state, const hr_tensor* const* in, const TensorList** list,
                  int64_t* index, PartialShape* shape);

hr_code prepare_set(void*, hr_request* r);
hr_code prepare_data_shape(void*, hr_request* r);
hr_code prepare_stack(void*, hr_request* r);
hr_code prepare_concat(void*, hr_request* r);
hr_code prepare_like_first(void*, hr_request* r);

using Compute = std::remove_pointer_t<hr_compute>;
Compute compute_empty;
Compute compute_reserve;
Compute compute_length;
Compute compute_push;
Compute compute_pop_any;  // hands out the item itself
Compute compute_get_any;
Compute compute_set;
Compute compute_resize;
Compute compute_element_shape;
Compute compute_stack;
Compute compute_gather;
Compute compute_from_tensor;
Compute compute_scatter;
Compute compute_scatter_v1;
Compute compute_scatter_into;
Compute compute_concat;
Compute compute_concat_v2;
Compute compute_split;
Compute compute_push_batch;
Compute compute_concat_lists;

}  // namespace hr::tensor_lists

#endif
