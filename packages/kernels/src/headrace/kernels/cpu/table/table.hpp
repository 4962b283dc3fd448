// The kernel table of this library.
#ifndef HEADRACE_CPU_TABLE_TABLE_HPP
#define HEADRACE_CPU_TABLE_TABLE_HPP

#include "headrace/kernel.h"

const hr_kernel_table* hr_cpu_kernel_table();

#endif
