/* Clustering: nearest centers, and points that become centers. */
#ifndef HEADRACE_SHAPE_RULES_CLUSTERING_H
#define HEADRACE_SHAPE_RULES_CLUSTERING_H

#include "algebra.h"

static inline hr_code hr_shape_nearest_neighbors(hr_request* r) {
  int64_t k;
  int known;
  HR_TRY(hr_with_rank(r, 0, 2, "points"));
  HR_TRY(hr_with_rank(r, 1, 2, "centers"));
  HR_TRY(hr_with_rank(r, 2, 0, "k"));
  const int64_t *points = r->inputs[0]->dims, *centers = r->inputs[1]->dims;
  if (points[1] != centers[1])
    HR_BAD(r, "Expected point_dimensions == center_dimensions: %" PRId64 " vs %" PRId64 ".",
           points[1], centers[1]);
  HR_TRY(hr_read_int(r, 2, "k", &k, &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_not_negative(r, k, "k"));
  const int64_t dims[2] = {points[0], k < centers[0] ? k : centers[0]};
  HR_TRY(hr_set_dims(r, 0, dims, 2));
  return hr_set_dims(r, 1, dims, 2);
}

static inline hr_code hr_shape_sampled_points(hr_request* r) {
  int64_t n;
  int known;
  HR_TRY(hr_with_rank(r, 0, 2, "points"));
  HR_TRY(hr_with_rank(r, 1, 0, "num_to_sample"));
  HR_TRY(hr_with_rank(r, 2, 0, "seed"));
  HR_TRY(hr_with_rank(r, 3, 0, "num_retries_per_sample"));
  HR_TRY(hr_read_int(r, 1, "num_to_sample", &n, &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_not_negative(r, n, "num_to_sample"));
  const int64_t dims[2] = {n, r->inputs[0]->dims[1]};
  return hr_set_dims(r, 0, dims, 2);
}

static inline hr_code hr_shape_chosen_point(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 1, "distances"));
  HR_TRY(hr_with_rank(r, 1, 0, "seed"));
  return hr_set_dims(r, 0, NULL, 0);
}

#endif
