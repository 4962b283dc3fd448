// How an op changes an element of a variable and of its slots, as text.
#ifndef HEADRACE_OPENCL_CODEGEN_UPDATE_RULE_HPP
#define HEADRACE_OPENCL_CODEGEN_UPDATE_RULE_HPP

#include <string>
#include <vector>

#include "headrace/kernel.h"

namespace hr::cl {

struct UpdateRule {
  std::vector<std::string> values;   // the variable, "var", and its slots
  std::vector<std::string> scalars;  // of the op, in the order of its signature
  std::string prepare;               // statements, once a kernel
  std::string step;                  // statements that change the values by `grad`
};

// The text of the kernel "update". Its arguments: memory of the values, of the gradient, of the
// indices if the gradient is rows, of their numbers (row_order.hpp) if they are sorted, and of the
// scalars; then longs: gradients, rows of the variable, elements of a row, and what an item of a
// CPU device updates, or how many items of a GPU update a sorted row.
//
// Rows with one index are applied one after the other, in their order. An index that is out of
// range changes nothing: the host cannot be told.
struct UpdateText {
  const UpdateRule* rule;
  hr_dtype dtype;
  hr_dtype gradient = HR_INVALID;  // HR_INVALID: that of the variable
  hr_dtype indices =
      HR_INVALID;             // HR_INVALID: the gradient has an element for each of the variable
  bool one_gradient = false;  // rows are all changed by one number
  bool sorted = false;        // on a GPU: the indices, by row_order.hpp
  std::vector<hr_dtype> scalars;

  std::string text(bool cpu) const;
  static constexpr int kRowGroup = 64;    // items of a GPU that update a row
  static constexpr int kSortedRow = 256;  // the same, at most, if indices are sorted
};

}  // namespace hr::cl

#endif
