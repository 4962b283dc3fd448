/* Scatters and dynamic_partition. */
#ifndef HEADRACE_SHAPE_RULES_SCATTER_H
#define HEADRACE_SHAPE_RULES_SCATTER_H

#include "algebra.h"

static inline int hr_is_joined(const hr_tensor* t, const int64_t* a, int64_t na, const int64_t* b,
                               int64_t nb) {
  return t->rank == na + nb && hr_same_dims(t->dims, a, na) && hr_same_dims(t->dims + na, b, nb);
}

static inline hr_code hr_shape_scatter(hr_request* r) {
  hr_text s, t, u;
  const hr_tensor *variable = r->inputs[0], *indices = r->inputs[1], *updates = r->inputs[2];
  HR_TRY(hr_at_least(r, 0, 1, "variable"));
  if (updates->rank &&
      !hr_is_joined(updates, indices->dims, indices->rank, variable->dims + 1, variable->rank - 1))
    HR_BAD(r, "updates %s do not fit indices %s and variable %s", hr_show(updates, &s),
           hr_show(indices, &t), hr_show(variable, &u));
  return hr_set_like(r, 0, variable);
}

static inline hr_code hr_check_updates(hr_request* r, int32_t at, const int64_t* dims, int64_t rank,
                                       int scalar) {
  hr_text s, t, u;
  const hr_tensor *indices = r->inputs[at], *updates = r->inputs[at + 1];
  HR_TRY(hr_at_least(r, at, 1, "indices"));
  int64_t depth = indices->dims[indices->rank - 1];
  if (depth > rank)
    HR_BAD(r, "indices %s reach deeper than %s", hr_show(indices, &s),
           hr_show_dims(dims, rank, &t));
  if (scalar && updates->rank == 0) return HR_OK;
  if (!hr_is_joined(updates, indices->dims, indices->rank - 1, dims + depth, rank - depth))
    HR_BAD(r, "updates %s do not fit indices %s and shape %s", hr_show(updates, &s),
           hr_show(indices, &t), hr_show_dims(dims, rank, &u));
  return HR_OK;
}

static inline hr_code hr_shape_scatter_nd(hr_request* r) {
  hr_shape shape;
  int known;
  HR_TRY(hr_read_sizes(r, 2, &shape, &known));
  if (!known) {
    HR_TRY(hr_at_least(r, 0, 1, "indices"));
    return hr_depends(r);
  }
  HR_TRY(hr_check_updates(r, 0, shape.dims, shape.rank, 0));
  return hr_set(r, 0, &shape);
}

static inline hr_code hr_shape_tensor_scatter(hr_request* r) {
  HR_TRY(hr_check_updates(r, 1, r->inputs[0]->dims, r->inputs[0]->rank, 1));
  return hr_set_like(r, 0, r->inputs[0]);
}

static inline hr_code hr_shape_dynamic_partition(hr_request* r) {
  hr_text s, t;
  const hr_tensor *data = r->inputs[0], *parts = r->inputs[1];
  if (parts->rank > data->rank || !hr_same_dims(parts->dims, data->dims, parts->rank))
    HR_BAD(r, "partitions %s are not a prefix of data %s", hr_show(parts, &s), hr_show(data, &t));
  return hr_depends(r);
}

static inline hr_code hr_shape_dynamic_stitch(hr_request* r) {
  hr_text s, t;
  int32_t half = r->node->n_inputs / 2;
  int known = 1;
  int64_t largest = -1;
  hr_shape out;
  out.rank = 0;
  hr_push(&out, 0);
  for (int32_t i = 0; i < half; ++i) {
    const hr_tensor *indices = r->inputs[i], *data = r->inputs[half + i];
    if (!hr_known(r, i)) known = 0;
    else
      for (int64_t k = 0, n = hr_elements(indices); k < n; ++k) {
        int64_t at = hr_element(indices, k);
        if (at > largest) largest = at;
      }
    if (indices->rank > data->rank || !hr_same_dims(indices->dims, data->dims, indices->rank))
      HR_BAD(r, "indices %s are not a prefix of data %s", hr_show(indices, &s), hr_show(data, &t));
    const int64_t* rest = data->dims + indices->rank;
    int64_t n = data->rank - indices->rank;
    if (i == 0) hr_push_all(&out, rest, n);
    else if (n != out.rank - 1 || !hr_same_dims(rest, out.dims + 1, n))
      HR_BAD(r, "data %d of shape %s does not end in %s", i, hr_show(data, &s),
             hr_show_dims(out.dims + 1, out.rank - 1, &t));
  }
  if (!known || largest == INT64_MAX) return hr_depends(r);
  out.dims[0] = largest + 1;
  return hr_set(r, 0, &out);
}

#endif
