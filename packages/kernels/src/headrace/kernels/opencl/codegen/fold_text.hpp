// The folds of Sum, Mean, Max, ... as text.
#ifndef HEADRACE_OPENCL_CODEGEN_FOLD_TEXT_HPP
#define HEADRACE_OPENCL_CODEGEN_FOLD_TEXT_HPP

#include <string_view>

#include "codegen/reduction.hpp"

namespace hr::cl {

// "Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm", "All", "Any" or "L2Loss" of values x of
// a dtype. Without memory and x; the result goes to `out`.
Folding fold_of(const Device& device, std::string_view op, hr_dtype dtype);

// The same operation, of elements of input 0 to output 0.
Folding fold_of_input(const Device& device, std::string_view op, hr_dtype dtype);

// Plans the operation of input 0 over some of its dimensions; the shape of output 0 is set.
hr_code plan_fold(hr_request* request, std::string_view op, const bool* reduced);

}  // namespace hr::cl

#endif
