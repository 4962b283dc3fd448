/* Gathers. */
#ifndef HEADRACE_SHAPE_RULES_GATHER_H
#define HEADRACE_SHAPE_RULES_GATHER_H

#include "algebra.h"

static inline hr_code hr_gather(hr_request* r, int64_t axis, int known, int64_t batch) {
  hr_text s, t;
  int64_t at;
  const hr_tensor *params = r->inputs[0], *indices = r->inputs[1];
  HR_TRY(hr_at_least(r, 0, 1, "params"));
  if (batch < 0) batch += indices->rank;
  if (batch < 0 || batch > indices->rank)
    HR_BAD(r, "batch_dims is outside of indices %s", hr_show(indices, &s));
  if (!known) return hr_depends(r);
  HR_TRY(hr_axis(r, axis, params->dims, params->rank, 0, &at));
  if (batch > at) HR_BAD(r, "batch_dims, %" PRId64 ", is above axis, %" PRId64, batch, at);
  if (!hr_same_dims(params->dims, indices->dims, batch))
    HR_BAD(r, "batch sizes differ: params is %s, indices is %s", hr_show(params, &s),
           hr_show(indices, &t));
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, params->dims, at);
  hr_push_all(&out, indices->dims + batch, indices->rank - batch);
  hr_push_all(&out, params->dims + at + 1, params->rank - at - 1);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_gather(hr_request* r) { return hr_gather(r, 0, 1, 0); }

static inline hr_code hr_shape_gather_v2(hr_request* r) {
  int64_t axis;
  int known;
  HR_TRY(hr_read_int(r, 2, "axis", &axis, &known));
  return hr_gather(r, axis, known, hr_attr_int(r->node, "batch_dims", 0));
}

static inline hr_code hr_shape_gather_nd(hr_request* r) {
  hr_text s, t;
  const hr_tensor *params = r->inputs[0], *indices = r->inputs[1];
  HR_TRY(hr_at_least(r, 1, 1, "indices"));
  int64_t depth = indices->dims[indices->rank - 1];
  if (depth > params->rank)
    HR_BAD(r, "indices %s reach deeper than params %s", hr_show(indices, &s), hr_show(params, &t));
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, indices->dims, indices->rank - 1);
  hr_push_all(&out, params->dims + depth, params->rank - depth);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_gather_tree(hr_request* r) {
  hr_text s, t;
  HR_TRY(hr_with_rank(r, 0, 3, "step_ids"));
  HR_TRY(hr_with_rank(r, 1, 3, "parent_ids"));
  HR_TRY(hr_with_rank(r, 2, 1, "max_sequence_lengths"));
  HR_TRY(hr_with_rank(r, 3, 0, "end_token"));
  const hr_tensor *ids = r->inputs[0], *parents = r->inputs[1], *lengths = r->inputs[2];
  if (!hr_same(ids, parents))
    HR_BAD(r, "step_ids.shape must match parent_ids.shape, but shapes are: %s and %s",
           hr_show(ids, &s), hr_show(parents, &t));
  if (ids->dims[1] != lengths->dims[0])
    HR_BAD(r,
           "batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match, "
           "but shapes are: %s and %s",
           hr_show(ids, &s), hr_show(lengths, &t));
  return hr_set_like(r, 0, ids);
}

#endif
