// The shape rules of the catalogue, for prepare functions.
#ifndef HEADRACE_LIBRARY_SHAPE_RULES_HPP
#define HEADRACE_LIBRARY_SHAPE_RULES_HPP

#include "headrace/shape_rules.h"
#include "library/shapes.hpp"

namespace hr {

// Applies a rule whose outputs must have their shapes afterwards; rules leave them out where an
// attribute or a value does not determine.
inline hr_code known_shapes(hr_shape_fn rule, hr_request* request) {
  if (hr_code code = rule(request)) return code;
  if (!request->shape_depends_on_data) return HR_OK;
  return hr_request_fail(request, HR_INVALID_ARGUMENT,
                         "the attributes and inputs do not give the shape of the output");
}

// Sets an output's shape from the value of an integer vector, a constant input.
inline hr_code shape_of_value(hr_request* r, int input, int output) {
  const hr_tensor* t = r->inputs[input];
  const int64_t rank = hr_elements(t);
  if (rank > HR_MAX_RANK || !t->data)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "no shape of %lld dimensions: at most %d",
                           (long long)rank, HR_MAX_RANK);
  r->outputs[output]->rank = int32_t(rank);
  for (int64_t i = 0; i < rank; ++i) {
    r->outputs[output]->dims[i] = int_at(t, i);
    if (int_at(t, i) < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "dimension %lld of the shape is negative: %lld", (long long)i,
                             (long long)int_at(t, i));
  }
  return HR_OK;
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
