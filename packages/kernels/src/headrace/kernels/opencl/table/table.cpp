// The kernel table of this library, assembled from the registrations in ops/.
#include "table/table.hpp"

#include <vector>

#include "discovery/devices.hpp"
#include "library/registration.hpp"

#ifndef HR_KERNELS_VERSION
#define HR_KERNELS_VERSION "0"
#endif

namespace hr {

// Filled by initialisers of other files, in any order.
static std::vector<hr_kernel>& registered() {
  static std::vector<hr_kernel> kernels;
  return kernels;
}

static std::vector<hr_fusible_op>& fusible() {
  static std::vector<hr_fusible_op> ops;
  return ops;
}

static void (*after_discovery)() = nullptr;

static hr_device* const* devices(int32_t* n) noexcept {
  *n = 0;
  try {
    const std::vector<hr_device*>& found = cl::devices();
    if (after_discovery) after_discovery();
    *n = int32_t(found.size());
    return found.data();
  } catch (...) {  // std::bad_alloc
    return nullptr;
  }
}

static const char* why_no_devices() noexcept { return cl::why_no_devices(); }

RegisteredFusibleOps::RegisteredFusibleOps(const std::vector<hr_fusible_op>& ops) {
  fusible().insert(fusible().end(), ops.begin(), ops.end());
}

RegisteredKernels::RegisteredKernels(std::initializer_list<KernelRegistration> kernels) {
  for (KernelRegistration added : kernels) {
    added.device_type = "GPU";
    registered().push_back(added);
  }
}

}  // namespace hr

const hr_kernel_table* hr_opencl_kernel_table(void (*found_devices)()) {
  hr::after_discovery = found_devices;
  static const hr_kernel_table table = {
      sizeof(hr_kernel_table), HR_KERNEL_ABI,         "opencl",
      HR_KERNELS_VERSION,      sizeof(hr_kernel),     int(hr::registered().size()),
      hr::registered().data(), sizeof(hr_fusible_op), int(hr::fusible().size()),
      hr::fusible().data(),    hr::devices,           hr::why_no_devices};
  return &table;
}
