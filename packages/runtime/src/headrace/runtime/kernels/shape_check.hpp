// Shape rules as checks, for kernels that compute the shapes of their outputs.
#pragma once
#include "headrace/kernel.h"
#include "headrace/shape_rules.h"

namespace headrace {

using ::hr_shape_fn;
using ::hr_shape_rule_by_name;

// The rule's error, if the inputs violate it; the outputs do not change.
inline hr_code check_shapes(hr_shape_fn rule, hr_request* request) noexcept {
  if (!rule) return HR_OK;
  hr_tensor before[16];
  const int32_t n = request->node->n_outputs;
  if (n > 16) return HR_OK;
  for (int32_t i = 0; i < n; ++i) before[i] = *request->outputs[i];
  const hr_code code = rule(request);
  for (int32_t i = 0; i < n; ++i) *request->outputs[i] = before[i];
  request->shape_depends_on_data = 0;
  return code;
}

}  // namespace headrace
