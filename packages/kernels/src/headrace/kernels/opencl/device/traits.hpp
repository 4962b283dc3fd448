// What kernels need to know about a device to choose among their variants.
#ifndef HEADRACE_OPENCL_DEVICE_TRAITS_HPP
#define HEADRACE_OPENCL_DEVICE_TRAITS_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace hr::cl {

struct Traits {
  std::string platform;          // "NVIDIA CUDA"
  std::string platform_version;  // "OpenCL 3.0 CUDA 12.4.131"
  std::string name;              // "NVIDIA H200"
  std::string vendor;
  std::string driver;  // "550.54"

  // The processor is the host's: one item in each work-group, wide vectors, no barriers.
  bool is_cpu = false;
  bool nvidia = false;  // takes inline PTX

  int compute_units = 1;
  // Of float: preferred by the compiler (1 where it vectorises by itself), and of the processor.
  int preferred_vector_width = 1;
  int native_vector_width = 1;
  size_t local_memory = 0;  // bytes in each work-group
  size_t max_work_group = 1;
  size_t max_work_item[3] = {1, 1, 1};

  bool has_half = false;    // arithmetic; without it kernels still load and store half
  bool has_double = false;  // arithmetic, and any variable of the type
  bool has_int64_atomics = false;
  bool rounds_divisions = false;  // takes -cl-fp32-correctly-rounded-divide-sqrt

  int64_t memory = 0;      // bytes
  int64_t max_alloc = 0;   // bytes in one allocation
  int64_t base_align = 1;  // bytes
};

}  // namespace hr::cl

#endif
