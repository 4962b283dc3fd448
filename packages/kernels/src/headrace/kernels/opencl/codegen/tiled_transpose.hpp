// Transpositions in tiles, which read and write memory in pieces of whole cache lines.
#ifndef HEADRACE_OPENCL_CODEGEN_TILED_TRANSPOSE_HPP
#define HEADRACE_OPENCL_CODEGEN_TILED_TRANSPOSE_HPP

#include "codegen/walk.hpp"
#include "device/device.hpp"
#include "headrace/kernel.h"

namespace hr::cl {

// Whether a copy of one strided operand to a packed output is a transposition of enough elements:
// the operand is packed along another dimension than the last.
bool is_tiled_transpose(const Device& device, const Walk& walk);

// Plans the copy of input 0 to output 0.
hr_code plan_tiled_transpose(hr_request* request, const Walk& walk);

}  // namespace hr::cl

#endif
