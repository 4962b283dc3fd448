// The shape rules of the catalogue, for prepare functions.
#ifndef HEADRACE_CPU_SHAPE_RULES_HPP
#define HEADRACE_CPU_SHAPE_RULES_HPP

#include "headrace/kernel.h"
#include "shapes.hpp"

#if __has_include("headrace/shape_rules.h")
#include "headrace/shape_rules.h"
#else
// Until formats has them.
static inline hr_code hr_shape_unchanged(hr_request* r) {
  hr::copy_shape(r->inputs[0], r->outputs[0]);
  return HR_OK;
}
static inline hr_code hr_shape_merge(hr_request* r) {
  for (int32_t i = 1; i < r->node->n_inputs; ++i)
    if (!hr::same_shape(r->inputs[0], r->inputs[i]))
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "shapes differ: %s and %s",
                             (const char*)hr::ShapeText(r->inputs[0]),
                             (const char*)hr::ShapeText(r->inputs[i]));
  return hr_shape_unchanged(r);
}
static inline hr_code hr_shape_broadcast(hr_request* r) {
  const hr_tensor *a = r->inputs[0], *b = r->inputs[1];
  const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
  hr_tensor* out = r->outputs[0];
  out->rank = rank;
  for (int32_t d = 0; d < rank; ++d) {
    const int32_t i = d - (rank - a->rank), j = d - (rank - b->rank);
    const int64_t x = i < 0 ? 1 : a->dims[i], y = j < 0 ? 1 : b->dims[j];
    if (x != y && x != 1 && y != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "shapes do not broadcast: %s and %s",
                             (const char*)hr::ShapeText(a), (const char*)hr::ShapeText(b));
    out->dims[d] = x == 1 ? y : x;
  }
  return HR_OK;
}
#endif

#endif
