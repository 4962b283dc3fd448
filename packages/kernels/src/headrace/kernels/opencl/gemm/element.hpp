// The element types of matrix products, convolutions and pooling: what sources/gemm/cpu_block.cl
// and sources/gemm/gpu_elements.cl can be compiled for.
#ifndef HEADRACE_OPENCL_GEMM_ELEMENT_HPP
#define HEADRACE_OPENCL_GEMM_ELEMENT_HPP

#include <string>

#include "device/device.hpp"
#include "headrace/kernel.h"
#include "launch/launch.hpp"
#include "library/dtype_names.hpp"

namespace hr::cl {

struct GemmElement {
  int64_t bytes;       // in memory
  int64_t real_bytes;  // in registers: half is computed as float
  int32_t lanes;       // of a vector of the CPU family
  const char* define;

  // Bytes of one of several parts of a sum, and the define of kernels that write such parts, which
  // are not rounded to half before they are added up.
  int64_t part_bytes() const { return real_bytes; }
  const char* part_define(int64_t parts) const {
    return parts > 1 && bytes != real_bytes ? " -DPARTS" : "";
  }
};

// Fails where the device lacks the type.
inline hr_code element_of(hr_request* r, hr_dtype dtype, GemmElement* element) {
  switch (dtype) {
    case HR_FLOAT: *element = {4, 4, 16, ""}; return HR_OK;
    case HR_HALF: *element = {2, 4, 16, "-DT_HALF "}; return HR_OK;
    case HR_DOUBLE:
      if (!device_of(r).traits.has_double)
        return hr_request_fail(r, HR_UNIMPLEMENTED, "%s has no arithmetic on double",
                               device_of(r).traits.name.c_str());
      *element = {8, 8, 8, "-DT_DOUBLE "};
      return HR_OK;
    default:
      return hr_request_fail(r, HR_UNIMPLEMENTED, "no OpenCL kernel of %s for %s", r->node->op,
                             dtype_name(dtype));
  }
}

// Finds a kernel, or fails.
inline hr_code find(hr_request* r, const char* file, const std::string& defines,
                    const char* function, const Kernel** kernel) {
  std::string error;
  *kernel = find_kernel(device_of(r), file, defines, function, &error);
  return *kernel ? HR_OK : hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
}

// Sizes are int in these kernels.
inline bool fits_int(int64_t n) { return n <= INT32_MAX; }

inline int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

}  // namespace hr::cl

#endif
