// Kernels that compute each element of one output from elements of operands that broadcast to it.
//
// The text is generated for the computation, the dtypes and how each operand moves, but for no
// sizes: those are arguments, so a program serves all shapes.
#ifndef HEADRACE_OPENCL_ELEMENTWISE_ELEMENTWISE_HPP
#define HEADRACE_OPENCL_ELEMENTWISE_ELEMENTWISE_HPP

#include <vector>

#include "headrace/kernel.h"
#include "text/element.hpp"
#include "text/walk.hpp"

namespace hr::cl {

// Plans output 0 of a node, whose shape is set. Operand k of the walk, and x<k> of the element, is
// the tensor of input inputs[k]. Sets plan and compute.
hr_code plan_elementwise(hr_request* request, const Element& element, Walk walk,
                         const std::vector<int32_t>& inputs);
// The operands are all inputs, and broadcast to the output.
hr_code plan_elementwise(hr_request* request, const Element& element);

}  // namespace hr::cl

#endif
