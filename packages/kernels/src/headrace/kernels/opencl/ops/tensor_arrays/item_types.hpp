// Which items of TensorArrays, stacks and lists are where.
#ifndef HEADRACE_OPENCL_OPS_TENSOR_ARRAYS_ITEM_TYPES_HPP
#define HEADRACE_OPENCL_OPS_TENSOR_ARRAYS_ITEM_TYPES_HPP

#include "headrace/kernel.h"

namespace hr::cl {

inline bool is_host_item(hr_dtype dtype) {
  return dtype == HR_INT32 || dtype == HR_INT64 || dtype == HR_BOOL;
}

}  // namespace hr::cl

#define HR_DEVICE_ITEMS "float|double|half|bfloat16|int8|int16|uint8|uint16|uint32|uint64"
#define HR_HOST_ITEMS "int32|int64|bool"

#endif
