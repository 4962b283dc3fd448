/* Sparse tensors: indices [n, rank], values [n], shape [rank]; and strings. */
#ifndef HEADRACE_SHAPE_RULES_SPARSE_H
#define HEADRACE_SHAPE_RULES_SPARSE_H

#include "given.h"

static inline hr_code hr_shape_sparse_reshape(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 2, "input_indices"));
  HR_TRY(hr_with_rank(r, 1, 1, "input_shape"));
  HR_TRY(hr_with_rank(r, 2, 1, "new_shape"));
  int64_t dims[2] = {r->inputs[0]->dims[0], r->inputs[2]->dims[0]};
  HR_TRY(hr_set_dims(r, 0, dims, 2));
  return hr_set_like(r, 1, r->inputs[2]);
}

static inline hr_code hr_shape_sparse_concat(hr_request* r) {
  hr_text s;
  int32_t n = r->node->n_inputs / 3;
  int64_t rows = 0;
  char what[32];
  for (int32_t i = 0; i < n; ++i) {
    snprintf(what, sizeof what, "indices %d", i);
    HR_TRY(hr_with_rank(r, i, 2, what));
    rows += r->inputs[i]->dims[0];
  }
  int64_t dims[2] = {rows, r->inputs[0]->dims[1]};
  for (int32_t i = 0; i < n; ++i)
    if (r->inputs[i]->dims[1] != dims[1])
      HR_BAD(r, "indices %d %s are not of rank %" PRId64, i, hr_show(r->inputs[i], &s), dims[1]);
  HR_TRY(hr_set_dims(r, 0, dims, 2));
  HR_TRY(hr_set_vector(r, 1, rows));
  return hr_set_vector(r, 2, dims[1]);
}

static inline hr_code hr_shape_sparse_fill_empty_rows(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 2, "indices"));
  return hr_depends(r);
}

static inline hr_code hr_shape_sparse_fill_empty_rows_grad(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 1, "reverse_index_map"));
  r->outputs[1]->rank = 0;
  return hr_set_like(r, 0, r->inputs[0]);
}

static inline hr_code hr_shape_sparse_add_grad(hr_request* r) {
  HR_TRY(hr_with_rank(r, 1, 2, "a_indices"));
  HR_TRY(hr_with_rank(r, 2, 2, "b_indices"));
  HR_TRY(hr_set_vector(r, 0, r->inputs[1]->dims[0]));
  return hr_set_vector(r, 1, r->inputs[2]->dims[0]);
}

static inline hr_code hr_shape_sparse_dense_matmul(hr_request* r) {
  hr_text s, t;
  hr_shape a;
  HR_TRY(hr_with_rank(r, 3, 2, "b"));
  if (!hr_known(r, 2)) return hr_depends(r);
  HR_TRY(hr_read_ints(r, 2, &a));
  if (a.rank != 2) HR_BAD(r, "a must have rank 2, is %s", hr_show_shape(&a, &s));
  int ta = hr_attr_bool(r->node, "adjoint_a", 0) != 0;
  int tb = hr_attr_bool(r->node, "adjoint_b", 0) != 0;
  const hr_tensor* b = r->inputs[3];
  if (a.dims[!ta] != b->dims[tb])
    HR_BAD(r, "inner sizes differ: a is %s, b is %s", hr_show_shape(&a, &s), hr_show(b, &t));
  int64_t dims[2] = {a.dims[ta], b->dims[!tb]};
  return hr_set_dims(r, 0, dims, 2);
}

static inline hr_code hr_shape_vector_3(hr_request* r) { return hr_set_vector(r, 0, 3); }

static inline hr_code hr_shape_decode_csv(hr_request* r) { return hr_all_like(r, 0); }

#endif
