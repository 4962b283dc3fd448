// The kernel table of this library, assembled from the registrations in ops/.
#include "table/table.hpp"

#include <vector>

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

RegisteredFusibleOps::RegisteredFusibleOps(const std::vector<hr_fusible_op>& ops) {
  fusible().insert(fusible().end(), ops.begin(), ops.end());
}

RegisteredKernels::RegisteredKernels(std::initializer_list<KernelRegistration> kernels) {
  for (KernelRegistration added : kernels) {
    added.device_type = "CPU";
    registered().push_back(added);
  }
}

}  // namespace hr

const hr_kernel_table* hr_cpu_kernel_table() {
  static const hr_kernel_table table = {
      sizeof(hr_kernel_table), HR_KERNEL_ABI,         "cpu",
      HR_KERNELS_VERSION,      sizeof(hr_kernel),     int(hr::registered().size()),
      hr::registered().data(), sizeof(hr_fusible_op), int(hr::fusible().size()),
      hr::fusible().data()};
  return &table;
}
