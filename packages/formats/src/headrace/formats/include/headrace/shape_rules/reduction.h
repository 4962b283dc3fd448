/* Reductions, bincount, argmax and top_k. */
#ifndef HEADRACE_SHAPE_RULES_REDUCTION_H
#define HEADRACE_SHAPE_RULES_REDUCTION_H

#include "algebra.h"

static inline hr_code hr_shape_reduce(hr_request* r) {
  if (!hr_known(r, 1)) {
    if (r->inputs[0]->rank == 0) return hr_set_like(r, 0, r->inputs[0]);
    return hr_depends(r);
  }
  hr_shape axes, out;
  const hr_tensor* x = r->inputs[0];
  int keep = hr_attr_bool(r->node, "keep_dims", 0) != 0;
  int gone[HR_MAX_RANK] = {0};
  HR_TRY(hr_read_ints(r, 1, &axes));
  for (int32_t i = 0; i < axes.rank; ++i) {
    int64_t at;
    HR_TRY(hr_axis(r, axes.dims[i], x->dims, x->rank, 0, &at));
    if (gone[at]) HR_BAD(r, "axis %" PRId64 " is given twice", axes.dims[i]);
    gone[at] = 1;
  }
  out.rank = 0;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (!gone[i]) hr_push(&out, x->dims[i]);
    else if (keep) hr_push(&out, 1);
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_arg_reduce(hr_request* r) {
  int64_t axis, at;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_read_int(r, 1, "dimension", &axis, &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_axis(r, axis, x->dims, x->rank, 0, &at));
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, x->dims, at);
  hr_push_all(&out, x->dims + at + 1, x->rank - at - 1);
  return hr_set(r, 0, &out);
}

/* Output 0 is a vector; an input gives its length. */
static inline hr_code hr_counted_vector(hr_request* r, int32_t input, const char* what) {
  int64_t n;
  int known;
  HR_TRY(hr_read_int(r, input, what, &n, &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_not_negative(r, n, what));
  return hr_set_vector(r, 0, n);
}

static inline hr_code hr_shape_bincount(hr_request* r) { return hr_counted_vector(r, 1, "size"); }

static inline hr_code hr_shape_histogram_fixed_width(hr_request* r) {
  return hr_counted_vector(r, 2, "nbins");
}

static inline hr_code hr_shape_dense_bincount(hr_request* r) {
  hr_text text;
  int64_t n;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_read_int(r, 1, "size", &n, &known));
  if (known) HR_TRY(hr_not_negative(r, n, "size"));
  if (x->rank > 2) HR_BAD(r, "input must have rank 0, 1 or 2, is %s", hr_show(x, &text));
  if (!known) return hr_depends(r);
  int64_t dims[2] = {x->dims[0], n};
  return x->rank == 2 ? hr_set_dims(r, 0, dims, 2) : hr_set_vector(r, 0, n);
}

static inline hr_code hr_top_k(hr_request* r, int64_t k, int known) {
  hr_text text;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_at_least(r, 0, 1, "input"));
  if (!known) return hr_depends(r);
  HR_TRY(hr_not_negative(r, k, "k"));
  if (x->dims[x->rank - 1] < k)
    HR_BAD(r, "k is %" PRId64 ", above the last dimension of %s", k, hr_show(x, &text));
  for (int32_t i = 0; i < 2; ++i) {
    hr_set_like(r, i, x);
    r->outputs[i]->dims[x->rank - 1] = k;
  }
  return HR_OK;
}

static inline hr_code hr_shape_top_k(hr_request* r) {
  return hr_top_k(r, hr_attr_int(r->node, "k", 0), 1);
}

static inline hr_code hr_shape_top_k_v2(hr_request* r) {
  int64_t k;
  int known;
  HR_TRY(hr_read_int(r, 1, "k", &k, &known));
  return hr_top_k(r, k, known);
}

static inline hr_code hr_shape_nth_element(hr_request* r) {
  hr_text text;
  int64_t n;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_at_least(r, 0, 1, "input"));
  HR_TRY(hr_read_int(r, 1, "n", &n, &known));
  if (known) {
    HR_TRY(hr_not_negative(r, n, "n"));
    if (x->dims[x->rank - 1] <= n)
      HR_BAD(r, "n is %" PRId64 ", not below the last dimension of %s", n, hr_show(x, &text));
  }
  return hr_set_dims(r, 0, x->dims, x->rank - 1);
}

#endif
