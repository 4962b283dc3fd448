/* Random numbers and samples. */
#ifndef HEADRACE_SHAPE_RULES_RANDOM_H
#define HEADRACE_SHAPE_RULES_RANDOM_H

#include "algebra.h"

static inline hr_code hr_size_rank(hr_request* r, const hr_shape* sizes, int32_t rank,
                                   const char* what) {
  hr_text s;
  if (sizes->rank != rank)
    HR_BAD(r, "%s must have rank %d, is %s", what, rank, hr_show_shape(sizes, &s));
  return HR_OK;
}

static inline hr_code hr_shape_random_crop(hr_request* r) {
  hr_shape sizes;
  int known;
  HR_TRY(hr_with_rank(r, 0, 3, "image"));
  HR_TRY(hr_read_sizes(r, 1, &sizes, &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_size_rank(r, &sizes, 2, "size"));
  hr_push(&sizes, r->inputs[0]->dims[2]);
  return hr_set(r, 0, &sizes);
}

static inline hr_code hr_shape_random_gamma(hr_request* r) {
  hr_shape sizes;
  int known;
  HR_TRY(hr_read_sizes(r, 0, &sizes, &known));
  if (!known) return hr_depends(r);
  hr_push_all(&sizes, r->inputs[1]->dims, r->inputs[1]->rank);
  return hr_set(r, 0, &sizes);
}

static inline hr_code hr_shape_multinomial(hr_request* r) {
  int64_t dims[2];
  int known;
  HR_TRY(hr_with_rank(r, 0, 2, "logits"));
  HR_TRY(hr_read_int(r, 1, "num_samples", &dims[1], &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_not_negative(r, dims[1], "num_samples"));
  dims[0] = r->inputs[0]->dims[0];
  return hr_set_dims(r, 0, dims, 2);
}

static inline hr_code hr_shape_candidate_sampler(hr_request* r) {
  hr_text s;
  int64_t n_true = hr_attr_int(r->node, "num_true", 0), n = hr_attr_int(r->node, "num_sampled", 0);
  HR_TRY(hr_with_rank(r, 0, 2, "true_classes"));
  if (r->inputs[0]->dims[1] != n_true)
    HR_BAD(r, "true_classes %s have not num_true, %" PRId64 ", columns", hr_show(r->inputs[0], &s),
           n_true);
  HR_TRY(hr_set_vector(r, 0, n));
  hr_set_like(r, 1, r->inputs[0]);
  return hr_set_vector(r, 2, n);
}

static inline hr_code hr_shape_ctc_loss(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 3, "inputs"));
  HR_TRY(hr_set_vector(r, 0, r->inputs[0]->dims[1]));
  return hr_set_like(r, 1, r->inputs[0]);
}

static inline hr_code hr_shape_ctc_decoder(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 3, "inputs"));
  return hr_depends(r);
}

#endif
