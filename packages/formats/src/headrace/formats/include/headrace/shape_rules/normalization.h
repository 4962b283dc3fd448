/* Normalisation, activations over classes, and losses. */
#ifndef HEADRACE_SHAPE_RULES_NORMALIZATION_H
#define HEADRACE_SHAPE_RULES_NORMALIZATION_H

#include "algebra.h"

static inline hr_code hr_check_channels(hr_request* r, int32_t x_at, int32_t at, const char* what) {
  hr_text s, t;
  const hr_tensor* x = r->inputs[x_at];
  HR_TRY(hr_with_rank(r, at, 1, what));
  if (r->inputs[at]->dims[0] != x->dims[hr_channels_first(r->node) ? 1 : x->rank - 1])
    HR_BAD(r, "%s %s does not fit the channels of %s", what, hr_show(r->inputs[at], &s),
           hr_show(x, &t));
  return HR_OK;
}

static inline hr_code hr_check_image(hr_request* r, int32_t at) {
  hr_text s;
  if (r->inputs[at]->rank != 4 && r->inputs[at]->rank != 5)
    HR_BAD(r, "x must have rank 4 or 5, is %s", hr_show(r->inputs[at], &s));
  return HR_OK;
}

static inline hr_code hr_shape_fused_batch_norm(hr_request* r) {
  HR_TRY(hr_check_image(r, 0));
  HR_TRY(hr_check_channels(r, 0, 1, "scale"));
  HR_TRY(hr_check_channels(r, 0, 2, "offset"));
  hr_set_like(r, 0, r->inputs[0]);
  for (int32_t i = 1; i < 5; ++i) hr_set_like(r, i, r->inputs[1]);
  /* V3 has one more output, reserved for cuDNN: it stays empty. */
  return r->node->n_outputs > 5 ? hr_set_vector(r, 5, 0) : HR_OK;
}

static inline hr_code hr_shape_fused_batch_norm_grad(hr_request* r) {
  hr_text s, t;
  const hr_tensor *y = r->inputs[0], *x = r->inputs[1];
  HR_TRY(hr_check_image(r, 1));
  if (!hr_same(y, x)) HR_BAD(r, "y_backprop %s and x %s differ", hr_show(y, &s), hr_show(x, &t));
  HR_TRY(hr_check_channels(r, 1, 2, "scale"));
  hr_set_like(r, 0, x);
  hr_set_like(r, 1, r->inputs[2]);
  hr_set_like(r, 2, r->inputs[2]);
  r->outputs[3]->rank = r->outputs[4]->rank = 0;
  return HR_OK;
}

static inline hr_code hr_shape_batch_norm_global_grad(hr_request* r) {
  static const int32_t from[5] = {0, 1, 2, 1, 3};
  for (int32_t i = 0; i < 5; ++i) hr_set_like(r, i, r->inputs[from[i]]);
  return HR_OK;
}

static inline hr_code hr_shape_softmax(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 1, "logits"));
  return hr_set_like(r, 0, r->inputs[0]);
}

static inline hr_code hr_shape_softmax_cross_entropy(hr_request* r) {
  hr_text s, t;
  const hr_tensor *x = r->inputs[0], *y = r->inputs[1];
  hr_shape both = hr_shape_of(x);
  if (!hr_broadcast(&both, y->dims, y->rank))
    HR_BAD(r, "shapes do not broadcast: %s and %s", hr_show(x, &s), hr_show(y, &t));
  if (both.rank != 2) HR_BAD(r, "logits must have rank 2, is %s", hr_show_shape(&both, &s));
  HR_TRY(hr_set_dims(r, 0, both.dims, 1));
  return hr_set(r, 1, &both);
}

static inline hr_code hr_shape_sparse_softmax_cross_entropy(hr_request* r) {
  hr_text s, t;
  const hr_tensor *logits = r->inputs[0], *labels = r->inputs[1];
  HR_TRY(hr_with_rank(r, 0, 2, "logits"));
  HR_TRY(hr_with_rank(r, 1, 1, "labels"));
  if (logits->dims[0] != labels->dims[0])
    HR_BAD(r, "labels %s do not fit logits %s", hr_show(labels, &s), hr_show(logits, &t));
  hr_set_like(r, 0, labels);
  return hr_set_like(r, 1, logits);
}

static inline hr_code hr_shape_in_top_k(hr_request* r) {
  hr_text s, t;
  const hr_tensor *predictions = r->inputs[0], *targets = r->inputs[1];
  HR_TRY(hr_with_rank(r, 0, 2, "predictions"));
  HR_TRY(hr_with_rank(r, 1, 1, "targets"));
  if (predictions->dims[0] != targets->dims[0])
    HR_BAD(r, "targets %s do not fit predictions %s", hr_show(targets, &s),
           hr_show(predictions, &t));
  return hr_set_like(r, 0, targets);
}

#endif
