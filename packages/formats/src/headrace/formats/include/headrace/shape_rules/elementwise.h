/* Element-wise ops. */
#ifndef HEADRACE_SHAPE_RULES_ELEMENTWISE_H
#define HEADRACE_SHAPE_RULES_ELEMENTWISE_H

#include "algebra.h"

static inline hr_code hr_shape_broadcast(hr_request* r) {
  hr_text a, b;
  hr_shape out = hr_shape_of(r->inputs[0]);
  for (int32_t i = 1; i < r->node->n_inputs; ++i) {
    hr_shape before = out;
    const hr_tensor* x = r->inputs[i];
    if (!hr_broadcast(&out, x->dims, x->rank)) {
      if (hr_attr_bool(r->node, "incompatible_shape_error", 1))
        HR_BAD(r, "shapes do not broadcast: %s and %s", hr_show_shape(&before, &a), hr_show(x, &b));
      r->outputs[0]->rank = 0;
      return HR_OK;
    }
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_must_match(hr_request* r, int32_t i, int32_t j) {
  hr_text a, b;
  if (!hr_same(r->inputs[i], r->inputs[j]))
    HR_BAD(r, "shapes differ: input %d is %s, input %d is %s", i, hr_show(r->inputs[i], &a), j,
           hr_show(r->inputs[j], &b));
  return HR_OK;
}

static inline hr_code hr_shape_merge(hr_request* r) {
  for (int32_t i = 1; i < r->node->n_inputs; ++i) HR_TRY(hr_must_match(r, 0, i));
  for (int32_t i = 0; i < r->node->n_outputs; ++i) hr_set_like(r, i, r->inputs[0]);
  return HR_OK;
}

static inline hr_code hr_shape_merge_or_scalar(hr_request* r) {
  int32_t first = -1;
  for (int32_t i = 0; i < r->node->n_inputs; ++i) {
    if (r->inputs[i]->rank == 0) continue;
    if (first < 0) first = i;
    else HR_TRY(hr_must_match(r, first, i));
  }
  if (first < 0) r->outputs[0]->rank = 0;
  else hr_set_like(r, 0, r->inputs[first]);
  return HR_OK;
}

static inline hr_code hr_shape_select(hr_request* r) {
  hr_text a, b;
  HR_TRY(hr_must_match(r, 1, 2));
  const hr_tensor *c = r->inputs[0], *x = r->inputs[1];
  int fits =
      c->rank == 0 || hr_same(c, x) || (c->rank == 1 && x->rank > 0 && c->dims[0] == x->dims[0]);
  if (!fits) HR_BAD(r, "condition %s fits no values of shape %s", hr_show(c, &a), hr_show(x, &b));
  return hr_set_like(r, 0, x);
}

static inline hr_code hr_shape_clip_by_value(hr_request* r) {
  hr_text a, b;
  const hr_tensor* x = r->inputs[0];
  for (int32_t i = 1; i < 3; ++i)
    if (r->inputs[i]->rank != 0 && !hr_same(r->inputs[i], x))
      HR_BAD(r, "input %d must be a scalar or of shape %s, is %s", i, hr_show(x, &a),
             hr_show(r->inputs[i], &b));
  return hr_set_like(r, 0, x);
}

static inline hr_code hr_shape_bitcast(hr_request* r) {
  hr_text a;
  const hr_tensor* x = r->inputs[0];
  int64_t before = hr_dtype_size(hr_attr_type(r->node, "T"));
  int64_t after = hr_dtype_size(hr_attr_type(r->node, "type"));
  hr_shape out = hr_shape_of(x);
  if (before > after && after) {
    hr_push(&out, before / after);
  } else if (before < after && before) {
    if (x->rank == 0 || x->dims[x->rank - 1] != after / before)
      HR_BAD(r, "the last dimension must be %" PRId64 ", is of shape %s", after / before,
             hr_show(x, &a));
    --out.rank;
  }
  return hr_set(r, 0, &out);
}

#endif
