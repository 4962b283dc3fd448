// The shape rules of the catalogue, for prepare functions.
#ifndef HEADRACE_CPU_SHAPE_RULES_HPP
#define HEADRACE_CPU_SHAPE_RULES_HPP

#if __has_include("headrace/shape_rules.h")
#include "headrace/shape_rules.h"
#define HR_APPLY_RULE(name, request) \
  if (hr_code rule_code = hr_shape_##name(request)) return rule_code
#else
#include "shape_rules_stopgap.hpp"
#define HR_APPLY_RULE(name, request) (void)0
#endif

#endif
