// A kernel function of a compiled program, on one device.
#ifndef HEADRACE_OPENCL_PROGRAMS_KERNEL_HPP
#define HEADRACE_OPENCL_PROGRAMS_KERNEL_HPP

#include <mutex>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace hr::cl {

class Kernel {
 public:
  Kernel(Device& device, cl_kernel kernel, std::string function);
  Kernel(const Kernel&) = delete;

  Device& device;
  const cl_kernel kernel;
  const std::string function;
  size_t max_work_group = 1;
  size_t local_memory = 0;

  // Arguments belong to the kernel until it is enqueued, so a thread sets them and enqueues under
  // this lock. What is set already need not be set again.
  mutable std::mutex mutex;
  struct Set {
    uint64_t id = 0;  // of the root; 0: a value, or nothing
    std::string value;
  };
  mutable std::vector<Set> arguments;
};

}  // namespace hr::cl

#endif
