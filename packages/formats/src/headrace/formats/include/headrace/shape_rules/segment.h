/* Segment reductions. */
#ifndef HEADRACE_SHAPE_RULES_SEGMENT_H
#define HEADRACE_SHAPE_RULES_SEGMENT_H

#include "algebra.h"

static inline hr_code hr_segments_misfit(hr_request* r) {
  hr_text s, t;
  HR_BAD(r, "segment_ids %s do not fit data %s", hr_show(r->inputs[1], &s),
         hr_show(r->inputs[0], &t));
}

static inline hr_code hr_shape_segment(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 1, "data"));
  HR_TRY(hr_with_rank(r, 1, 1, "segment_ids"));
  if (r->inputs[0]->dims[0] != r->inputs[1]->dims[0]) return hr_segments_misfit(r);
  return hr_depends(r);
}

static inline hr_code hr_shape_unsorted_segment(hr_request* r) {
  const hr_tensor *data = r->inputs[0], *ids = r->inputs[1];
  int64_t n;
  int known;
  HR_TRY(hr_read_int(r, 2, "num_segments", &n, &known));
  if (known) HR_TRY(hr_not_negative(r, n, "num_segments"));
  if (ids->rank > data->rank || !hr_same_dims(ids->dims, data->dims, ids->rank))
    return hr_segments_misfit(r);
  if (!known) return hr_depends(r);
  hr_shape out;
  out.rank = 0;
  hr_push(&out, n);
  hr_push_all(&out, data->dims + ids->rank, data->rank - ids->rank);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_check_rows(hr_request* r) {
  hr_text s, t;
  HR_TRY(hr_at_least(r, 0, 1, "data"));
  HR_TRY(hr_with_rank(r, 1, 1, "indices"));
  HR_TRY(hr_with_rank(r, 2, 1, "segment_ids"));
  if (r->inputs[1]->dims[0] != r->inputs[2]->dims[0])
    HR_BAD(r, "indices %s and segment_ids %s differ", hr_show(r->inputs[1], &s),
           hr_show(r->inputs[2], &t));
  return HR_OK;
}

static inline hr_code hr_counted_rows(hr_request* r, const char* what) {
  int64_t n;
  int known;
  HR_TRY(hr_read_int(r, 3, what, &n, &known));
  if (known) HR_TRY(hr_not_negative(r, n, what));
  HR_TRY(hr_check_rows(r));
  if (!known) return hr_depends(r);
  hr_shape out = hr_shape_of(r->inputs[0]);
  out.dims[0] = n;
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_sparse_segment(hr_request* r) {
  HR_TRY(hr_check_rows(r));
  return hr_depends(r);
}

static inline hr_code hr_shape_sparse_segment_counted(hr_request* r) {
  return hr_counted_rows(r, "num_segments");
}

static inline hr_code hr_shape_sparse_segment_grad(hr_request* r) {
  return hr_counted_rows(r, "output_dim0");
}

static inline hr_code hr_shape_sparse_segment_grad_v2(hr_request* r) {
  return hr_shape_sparse_segment(r);
}

#endif
