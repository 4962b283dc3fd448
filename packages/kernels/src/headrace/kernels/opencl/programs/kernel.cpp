#include "programs/kernel.hpp"

#include <utility>

#include "api/loader.hpp"

namespace hr::cl {

Kernel::Kernel(Device& device, cl_kernel kernel, std::string function)
    : device(device), kernel(kernel), function(std::move(function)) {
  cl_uint n = 0;
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, nullptr);
  arguments.resize(n);
  clGetKernelWorkGroupInfo(kernel, device.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof max_work_group,
                           &max_work_group, nullptr);
  cl_ulong bytes = 0;
  clGetKernelWorkGroupInfo(kernel, device.id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes,
                           nullptr);
  local_memory = bytes;
}

}  // namespace hr::cl
