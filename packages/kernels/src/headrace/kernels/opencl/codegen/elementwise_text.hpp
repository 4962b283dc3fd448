// The text of elementwise kernels, for processors of the host and for GPUs.
#ifndef HEADRACE_OPENCL_CODEGEN_ELEMENTWISE_TEXT_HPP
#define HEADRACE_OPENCL_CODEGEN_ELEMENTWISE_TEXT_HPP

#include <string>

#include "codegen/element.hpp"
#include "codegen/walk.hpp"

namespace hr::cl {

// The kernel "elementwise": memory of each operand, of the output, and a struct of sizes.
//
// CPU devices: item i computes `rows_per_item` rows, or of one row a piece. Sizes are longs: rows,
// inner, rows_per_item, pieces, piece; where any operand is strided, dims, begins and strides.
std::string cpu_elementwise_text(const Element& element, const Walk& walk);

// GPUs: item i computes `lanes` elements of a row, 1 or 4. Sizes are ints, or longs if `wide`:
// elements / lanes, inner; dims, begins and strides.
std::string gpu_elementwise_text(const Element& element, const Walk& walk, int lanes, bool wide);

}  // namespace hr::cl

#endif
