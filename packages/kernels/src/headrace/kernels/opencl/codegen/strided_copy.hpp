// Copies between two tensors, of elements that are strided in one of them or both.
#ifndef HEADRACE_OPENCL_CODEGEN_STRIDED_COPY_HPP
#define HEADRACE_OPENCL_CODEGEN_STRIDED_COPY_HPP

#include "codegen/elementwise.hpp"

namespace hr::cl {

// What copies an element of a dtype, whatever it means.
Element copy_element(hr_dtype dtype);

// From strides of the input, into a packed output of shape dims.
Walk reading_walk(int32_t rank, const int64_t* dims, const int64_t* from, int64_t from_begin = 0);
// From a packed input of shape dims, into strides of the output.
Walk writing_walk(int32_t rank, const int64_t* dims, const int64_t* to, int64_t to_begin = 0);

// A kernel that copies input 0 to output 0.
hr_code plan_copy(hr_request* request, const Walk& walk);

}  // namespace hr::cl

#endif
