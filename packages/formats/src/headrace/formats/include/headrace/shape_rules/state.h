/* Variables and control flow. */
#ifndef HEADRACE_SHAPE_RULES_STATE_H
#define HEADRACE_SHAPE_RULES_STATE_H

#include "given.h"

static inline hr_code hr_check_value(hr_request* r) {
  hr_text s, t;
  if (!hr_same(r->inputs[0], r->inputs[1]))
    HR_BAD(r, "value %s does not fit variable %s", hr_show(r->inputs[1], &s),
           hr_show(r->inputs[0], &t));
  return HR_OK;
}

static inline hr_code hr_shape_assign(hr_request* r) {
  if (hr_attr_bool(r->node, "validate_shape", 1)) HR_TRY(hr_check_value(r));
  return hr_set_like(r, 0, r->inputs[1]);
}

static inline hr_code hr_shape_assign_update(hr_request* r) {
  HR_TRY(hr_check_value(r));
  return hr_set_like(r, 0, r->inputs[0]);
}

static inline hr_code hr_shape_switch(hr_request* r) { return hr_all_like(r, 0); }

static inline hr_code hr_shape_tensor_array(hr_request* r) {
  r->outputs[1]->rank = 0;
  return hr_set_vector(r, 0, 2);
}

#endif
