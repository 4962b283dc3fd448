// The kernel table of this library.
#ifndef HEADRACE_OPENCL_TABLE_TABLE_HPP
#define HEADRACE_OPENCL_TABLE_TABLE_HPP

#include "headrace/kernel.h"

// `found_devices`, if not null, is called after the table's `devices` has looked for them.
const hr_kernel_table* hr_opencl_kernel_table(void (*found_devices)());

#endif
