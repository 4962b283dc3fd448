// The shape rules of the catalogue, for prepare functions.
#ifndef HEADRACE_CPU_SHAPE_RULES_HPP
#define HEADRACE_CPU_SHAPE_RULES_HPP

#include "headrace/shape_rules.h"

// Applies a rule: the outputs have their shapes, or prepare ends with the rule's error.
#define HR_APPLY_RULE(name, request)                                         \
  do {                                                                       \
    if (hr_code rule_code = hr_shape_##name(request)) return rule_code;      \
  } while (0)

#endif
