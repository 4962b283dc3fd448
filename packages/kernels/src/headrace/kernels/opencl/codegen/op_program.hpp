// The program of one op.
#ifndef HEADRACE_OPENCL_CODEGEN_OP_PROGRAM_HPP
#define HEADRACE_OPENCL_CODEGEN_OP_PROGRAM_HPP

#include "headrace/kernel.h"
#include "library/elementwise/program.hpp"

namespace hr::cl {

// An instruction over inputs 0, 1, ... of a dtype; bool is the first of a choice.
fused::Program program_of(const char* instruction, hr_dtype dtype);

// A sum from left to right. One of half is rounded once, when it is stored.
fused::Program program_of_sum(int32_t inputs, hr_dtype dtype);

// The program of a node whose op is an instruction, or a sum of any number of inputs.
fused::Program program_of_op(const hr_node* node);

}  // namespace hr::cl

#endif
