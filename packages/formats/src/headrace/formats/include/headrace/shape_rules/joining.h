/* Concatenating, stacking and splitting tensors. */
#ifndef HEADRACE_SHAPE_RULES_JOINING_H
#define HEADRACE_SHAPE_RULES_JOINING_H

#include "algebra.h"

/* Concatenates inputs first to last along an axis that may be unknown. */
static inline hr_code hr_concat(hr_request* r, int32_t first, int32_t n, int64_t axis, int known) {
  hr_text s, t;
  const hr_tensor* x = r->inputs[first];
  int64_t at, joined = 0;
  for (int32_t i = 0; i < n; ++i) {
    const hr_tensor* y = r->inputs[first + i];
    if (y->rank == 0) HR_BAD(r, "values must have at least rank 1, value %d is []", i);
    if (y->rank != x->rank)
      HR_BAD(r, "ranks differ: value 0 is %s, value %d is %s", hr_show(x, &s), i, hr_show(y, &t));
  }
  if (!known) return hr_depends(r);
  HR_TRY(hr_axis(r, axis, x->dims, x->rank, 0, &at));
  for (int32_t i = 0; i < n; ++i) {
    const hr_tensor* y = r->inputs[first + i];
    if (!hr_same_dims(x->dims, y->dims, at) ||
        !hr_same_dims(x->dims + at + 1, y->dims + at + 1, x->rank - at - 1))
      HR_BAD(r, "shapes differ outside of axis %" PRId64 ": value 0 is %s, value %d is %s", at,
             hr_show(x, &s), i, hr_show(y, &t));
    joined = y->dims[at] > INT64_MAX - joined ? INT64_MAX : joined + y->dims[at];
  }
  hr_shape out = hr_shape_of(x);
  out.dims[at] = joined;
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_concat(hr_request* r) {
  int64_t axis;
  int known;
  HR_TRY(hr_read_int(r, 0, "concat_dim", &axis, &known));
  return hr_concat(r, 1, r->node->n_inputs - 1, axis, known);
}

static inline hr_code hr_shape_concat_v2(hr_request* r) {
  int64_t axis;
  int known;
  HR_TRY(hr_read_int(r, r->node->n_inputs - 1, "axis", &axis, &known));
  return hr_concat(r, 0, r->node->n_inputs - 1, axis, known);
}

static inline hr_code hr_shape_pack(hr_request* r) {
  hr_text s, t;
  int64_t at;
  const hr_tensor* x = r->inputs[0];
  for (int32_t i = 1; i < r->node->n_inputs; ++i)
    if (!hr_same(x, r->inputs[i]))
      HR_BAD(r, "shapes differ: input 0 is %s, input %d is %s", hr_show(x, &s), i,
             hr_show(r->inputs[i], &t));
  HR_TRY(hr_axis(r, hr_attr_int(r->node, "axis", 0), x->dims, x->rank, 1, &at));
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, x->dims, at);
  hr_push(&out, r->node->n_inputs);
  hr_push_all(&out, x->dims + at, x->rank - at);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_unpack(hr_request* r) {
  hr_text s;
  int64_t at;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_axis(r, hr_attr_int(r->node, "axis", 0), x->dims, x->rank, 0, &at));
  if (x->dims[at] != r->node->n_outputs)
    HR_BAD(r, "dimension %" PRId64 " of %s is not num, %d", at, hr_show(x, &s), r->node->n_outputs);
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, x->dims, at);
  hr_push_all(&out, x->dims + at + 1, x->rank - at - 1);
  for (int32_t i = 0; i < r->node->n_outputs; ++i) HR_TRY(hr_set(r, i, &out));
  return HR_OK;
}

static inline hr_code hr_shape_split(hr_request* r) {
  hr_text s;
  int64_t axis, at;
  int known;
  const hr_tensor* x = r->inputs[1];
  int32_t n = r->node->n_outputs;
  HR_TRY(hr_read_int(r, 0, "split_dim", &axis, &known));
  HR_TRY(hr_at_least(r, 1, 1, "value"));
  if (!known) return hr_depends(r);
  HR_TRY(hr_axis(r, axis, x->dims, x->rank, 0, &at));
  if (x->dims[at] % n)
    HR_BAD(r, "dimension %" PRId64 " of %s is not a multiple of num_split, %d", at, hr_show(x, &s),
           n);
  hr_shape out = hr_shape_of(x);
  out.dims[at] /= n;
  for (int32_t i = 0; i < n; ++i) HR_TRY(hr_set(r, i, &out));
  return HR_OK;
}

static inline hr_code hr_shape_split_v(hr_request* r) {
  hr_text s, t;
  int64_t axis, at, rest = 0;
  int known;
  const hr_tensor* x = r->inputs[0];
  int32_t n = r->node->n_outputs, free_at = -1, n_free = 0;
  const int64_t given_n = hr_elements(r->inputs[1]);
  HR_TRY(hr_read_int(r, 2, "split_dim", &axis, &known));
  HR_TRY(hr_at_least(r, 0, 1, "value"));
  int sizes_known = hr_known(r, 1);
  if (sizes_known && given_n != n) {
    hr_shape sizes;
    HR_TRY(hr_read_ints(r, 1, &sizes));
    HR_BAD(r, "sizes %s are not num_split, %d", hr_show_shape(&sizes, &s), n);
  }
  if (!known) return hr_depends(r);
  HR_TRY(hr_axis(r, axis, x->dims, x->rank, 0, &at));
  if (!sizes_known) return n == 1 ? hr_set_like(r, 0, x) : hr_depends(r);
  int bad = 0;
  for (int32_t i = 0; i < n; ++i) {
    int64_t size = hr_element(r->inputs[1], i);
    if (size == -1) {
      free_at = i;
      ++n_free;
    } else if (size < 0 || size > INT64_MAX - rest) {
      bad = 1;
    } else {
      rest += size;
    }
  }
  if (bad || n_free > 1 || (n_free ? rest > x->dims[at] : rest != x->dims[at])) {
    hr_shape sizes;
    HR_TRY(hr_read_ints(r, 1, &sizes));
    HR_BAD(r, "sizes %s do not add up to dimension %" PRId64 " of %s", hr_show_shape(&sizes, &s),
           at, hr_show(x, &t));
  }
  for (int32_t i = 0; i < n; ++i) {
    hr_set_like(r, i, x);
    r->outputs[i]->dims[at] = i == free_at ? x->dims[at] - rest : hr_element(r->inputs[1], i);
  }
  return HR_OK;
}

#endif
