// The text of what a kernel computes for one element, and the types of OpenCL C in it.
#ifndef HEADRACE_OPENCL_CODEGEN_ELEMENT_HPP
#define HEADRACE_OPENCL_CODEGEN_ELEMENT_HPP

#include <string>
#include <vector>

#include "device/device.hpp"
#include "library/elementwise/instruction_table.hpp"
#include "library/elementwise/program.hpp"

namespace hr::cl {

// The type of elements in memory, "ushort" for half; null: no kernel here computes with that dtype.
const char* storage_type(hr_dtype dtype);
// The type that such elements are computed as, "float" for half.
const char* value_type(hr_dtype dtype);
// An element as a value, and a value as an element.
std::string loaded(hr_dtype dtype, const std::string& element);
std::string stored(hr_dtype dtype, const std::string& value);
// A value that half and bfloat16 are rounded to, as a value.
std::string rounded(hr_dtype dtype, const std::string& value);
// A number as a literal of its value's type.
std::string literal(hr_dtype dtype, double value);

// The option that says of which dtype the elements are, for sources that include values.cl.
std::string value_option(hr_dtype dtype);

// Null, or why the device computes nothing of that dtype.
const char* why_not(const Device& device, hr_dtype dtype);

// What is computed for one element: from values x0, x1, ... of its operands.
struct Element {
  std::string functions;         // before the kernel
  std::vector<hr_dtype> inputs;  // of x0, x1, ...
  std::string statements;        // in the kernel
  std::string result;            // a value, after the statements
  hr_dtype output = HR_INVALID;
};

// What a sum or product of values of a dtype is kept in, until the last is added.
hr_dtype total_type(hr_dtype dtype);

Element element_of(const fused::Program& program, const hr_dtype* inputs, int32_t n_inputs);
// From an expression over a, b and c, such as "fmod(a, b)"; all of one dtype.
Element element_of(const std::string& expression, hr_dtype dtype, int operands);
// A conversion. `toward_zero`: floats to narrower floats, else to the nearest.
Element cast_element(hr_dtype from, hr_dtype to, bool toward_zero);

// The definitions that expressions of the list of instructions need, for values of a type; ends
// that of the type before.
std::string arithmetic_of(fused::Rep rep);

}  // namespace hr::cl

#endif
