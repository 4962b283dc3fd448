// The kernel table of this library: the rows of all families, one after the other.
#include <vector>

#include "headrace/kernel.h"
#include "table/table.hpp"

extern "C" {
#define HR_FAMILY(family)                              \
  extern const hr_kernel* const hr_##family##_kernels; \
  extern const int hr_##family##_count;
#include "table/families.def"
#undef HR_FAMILY
}

#ifndef HR_KERNELS_VERSION
#define HR_KERNELS_VERSION "0"
#endif

const hr_kernel_table* hr_cpu_kernel_table() {
  static const std::vector<hr_kernel> rows = [] {
    std::vector<hr_kernel> all;
#define HR_FAMILY(family) \
  all.insert(all.end(), hr_##family##_kernels, hr_##family##_kernels + hr_##family##_count);
#include "table/families.def"
#undef HR_FAMILY
    return all;
  }();
  static const hr_kernel_table table = {
      sizeof(hr_kernel_table), HR_KERNEL_ABI,    "cpu", HR_KERNELS_VERSION,
      sizeof(hr_kernel),       int(rows.size()), rows.data()};
  return &table;
}
