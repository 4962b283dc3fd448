// Kernels that change variables in place.
#ifndef HEADRACE_OPENCL_CODEGEN_VARIABLE_UPDATE_HPP
#define HEADRACE_OPENCL_CODEGEN_VARIABLE_UPDATE_HPP

#include "codegen/update_rule.hpp"
#include "launch/launch.hpp"

namespace hr::cl {

// Where an op has its inputs. The variable and its slots come first; what is neither these nor
// gradient or indices is a scalar.
struct UpdateInputs {
  int32_t gradient;
  int32_t indices = -1;  // -1: none, the gradient has the variable's shape
};

// The grid of an update, and the longs that its kernel takes.
struct UpdateGrid {
  Grid grid;
  int64_t n, rows, inner, per_item;
};

// Of an update by element, where indices are null, or of rows.
UpdateGrid update_grid(const Traits& traits, const hr_tensor& var, const hr_tensor* indices,
                       bool sorted = false);

// Plans an op without outputs, or with a reference to the variable.
hr_code plan_update(hr_request* request, const UpdateRule& rule, const UpdateInputs& inputs);

}  // namespace hr::cl

#endif
