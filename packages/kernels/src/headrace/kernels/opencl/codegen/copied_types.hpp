// Elements that are only copied, as numbers of as many bytes.
#ifndef HEADRACE_OPENCL_CODEGEN_COPIED_TYPES_HPP
#define HEADRACE_OPENCL_CODEGEN_COPIED_TYPES_HPP

#include "headrace/kernel.h"

namespace hr::cl {

inline hr_dtype copied_as(hr_dtype dtype) {
  switch (hr_dtype_size(dtype)) {
    case 1: return HR_UINT8;
    case 2: return HR_UINT16;
    case 4: return HR_INT32;
    default: return HR_INT64;
  }
}

}  // namespace hr::cl

// int32 is left to the host, where shapes and loop counters are computed.
#define HR_COPIED_REALS "float|double|half|bfloat16|int8|int16|int64|uint8|uint16|uint32|uint64|bool"
#define HR_COPIED HR_COPIED_REALS "|complex64"

#endif
