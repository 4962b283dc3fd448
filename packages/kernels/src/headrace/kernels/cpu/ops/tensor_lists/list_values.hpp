// What the host does to the elements of lists.
#ifndef HEADRACE_CPU_OPS_TENSOR_LISTS_LIST_VALUES_HPP
#define HEADRACE_CPU_OPS_TENSOR_LISTS_LIST_VALUES_HPP

#include <cstdint>

#include "headrace/kernel.h"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr {

// Copies an item to `to`; zeros where the item is unset. The sizes must agree.
void copy_item(hr_ctx* ctx, const TensorList& list, int64_t i, void* to, int64_t bytes);

}  // namespace hr

#endif
