// The shape rules of the catalogue, for prepare functions.
#ifndef HEADRACE_CPU_SHAPE_RULES_HPP
#define HEADRACE_CPU_SHAPE_RULES_HPP

#include "headrace/shape_rules.h"

namespace hr {

// Applies a rule whose outputs must have their shapes afterwards; rules leave them out where an
// attribute or a value does not tell.
inline hr_code known_shapes(hr_shape_fn rule, hr_request* request) {
  if (hr_code code = rule(request)) return code;
  if (!request->shape_depends_on_data) return HR_OK;
  return hr_request_fail(request, HR_INVALID_ARGUMENT,
                         "the attributes and inputs do not give the shape of the output");
}

}  // namespace hr

// Applies a rule: the outputs have their shapes, or prepare ends with an error.
#define HR_APPLY_RULE(name, request)                                                        \
  do {                                                                                      \
    if (hr_code rule_code = ::hr::known_shapes(hr_shape_##name, request)) return rule_code; \
  } while (0)

// The same for kernels that allocate their outputs where the rule does not give the shapes.
#define HR_APPLY_DATA_RULE(name, request)                               \
  do {                                                                  \
    if (hr_code rule_code = hr_shape_##name(request)) return rule_code; \
  } while (0)

#endif
