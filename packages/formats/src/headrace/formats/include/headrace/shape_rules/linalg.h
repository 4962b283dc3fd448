/* Linear algebra and Fourier transforms. */
#ifndef HEADRACE_SHAPE_RULES_LINALG_H
#define HEADRACE_SHAPE_RULES_LINALG_H

#include "algebra.h"

static inline hr_code hr_check_square(hr_request* r) {
  hr_text s;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_at_least(r, 0, 2, "input"));
  if (x->dims[x->rank - 1] != x->dims[x->rank - 2])
    HR_BAD(r, "matrices must be square, are %s", hr_show(x, &s));
  return HR_OK;
}

static inline hr_code hr_shape_square(hr_request* r) {
  HR_TRY(hr_check_square(r));
  return hr_set_like(r, 0, r->inputs[0]);
}

static inline hr_code hr_shape_matrix(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 2, "input"));
  return hr_set_like(r, 0, r->inputs[0]);
}

static inline hr_code hr_shape_determinant(hr_request* r) {
  HR_TRY(hr_check_square(r));
  for (int32_t i = 0; i < r->node->n_outputs; ++i)
    HR_TRY(hr_set_dims(r, i, r->inputs[0]->dims, r->inputs[0]->rank - 2));
  return HR_OK;
}

static inline hr_code hr_shape_lu(hr_request* r) {
  HR_TRY(hr_shape_square(r));
  return hr_set_dims(r, 1, r->inputs[0]->dims, r->inputs[0]->rank - 1);
}

/* Output i has the batch dimensions of input 0 and m by n matrices. */
static inline hr_code hr_set_matrix(hr_request* r, int32_t i, int64_t m, int64_t n) {
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, r->inputs[0]->dims, r->inputs[0]->rank - 2);
  hr_push(&out, m);
  hr_push(&out, n);
  return hr_set(r, i, &out);
}

static inline hr_code hr_shape_qr(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 2, "input"));
  const hr_tensor* x = r->inputs[0];
  int64_t m = x->dims[x->rank - 2], n = x->dims[x->rank - 1];
  int64_t p = hr_attr_bool(r->node, "full_matrices", 0) ? m : m < n ? m : n;
  HR_TRY(hr_set_matrix(r, 0, m, p));
  return hr_set_matrix(r, 1, p, n);
}

static inline hr_code hr_shape_svd(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 2, "input"));
  const hr_tensor* x = r->inputs[0];
  int64_t m = x->dims[x->rank - 2], n = x->dims[x->rank - 1], p = m < n ? m : n;
  int full = hr_attr_bool(r->node, "full_matrices", 0);
  hr_shape s = hr_shape_of(x);
  s.rank -= 2;
  hr_push(&s, p);
  HR_TRY(hr_set(r, 0, &s));
  if (!hr_attr_bool(r->node, "compute_uv", 1)) {
    HR_TRY(hr_set_vector(r, 1, 0));
    return hr_set_vector(r, 2, 0);
  }
  HR_TRY(hr_set_matrix(r, 1, m, full ? m : p));
  return hr_set_matrix(r, 2, n, full ? n : p);
}

static inline hr_code hr_shape_self_adjoint_eig(hr_request* r) {
  HR_TRY(hr_check_square(r));
  int64_t n = r->inputs[0]->dims[r->inputs[0]->rank - 1];
  return hr_set_matrix(r, 0, n + 1, n);
}

static inline hr_code hr_shape_self_adjoint_eig_v2(hr_request* r) {
  HR_TRY(hr_check_square(r));
  HR_TRY(hr_set_dims(r, 0, r->inputs[0]->dims, r->inputs[0]->rank - 1));
  return hr_attr_bool(r->node, "compute_v", 1) ? hr_set_like(r, 1, r->inputs[0])
                                               : hr_set_vector(r, 1, 0);
}

static inline hr_code hr_solved(hr_request* r) {
  hr_text s, t;
  const hr_tensor *a = r->inputs[0], *b = r->inputs[1];
  if (a->dims[a->rank - 2] != b->dims[b->rank - 2])
    HR_BAD(r, "rows differ: matrix is %s, rhs is %s", hr_show(a, &s), hr_show(b, &t));
  hr_shape out = hr_shape_of(a);
  out.rank -= 2;
  if (!hr_broadcast(&out, b->dims, b->rank - 2))
    HR_BAD(r, "batch sizes do not broadcast: matrix is %s, rhs is %s", hr_show(a, &s),
           hr_show(b, &t));
  hr_push(&out, a->dims[a->rank - 1]);
  hr_push(&out, b->dims[b->rank - 1]);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_matrix_solve(hr_request* r) {
  HR_TRY(hr_check_square(r));
  HR_TRY(hr_at_least(r, 1, 2, "rhs"));
  return hr_solved(r);
}

static inline hr_code hr_shape_matrix_solve_ls(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 2, "matrix"));
  HR_TRY(hr_at_least(r, 1, 2, "rhs"));
  return hr_solved(r);
}

/* ---- diagonals ----------------------------------------------------------------------------- */

static inline hr_code hr_shape_matrix_diag(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 1, "diagonal"));
  hr_shape out = hr_shape_of(r->inputs[0]);
  hr_push(&out, out.dims[out.rank - 1]);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_matrix_diag_part(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 2, "input"));
  hr_shape out = hr_shape_of(r->inputs[0]);
  int64_t n = out.dims[--out.rank];
  if (n < out.dims[out.rank - 1]) out.dims[out.rank - 1] = n;
  return hr_set(r, 0, &out);
}

/* The lowest and the highest diagonal, from input 1. */
static inline hr_code hr_read_band(hr_request* r, int64_t* low, int64_t* high, int* known) {
  hr_text s;
  hr_shape k;
  *low = *high = 0;
  *known = hr_known(r, 1);
  if (!*known) return HR_OK;
  HR_TRY(hr_read_ints(r, 1, &k));
  if (k.rank < 1 || k.rank > 2 || k.dims[0] > k.dims[k.rank - 1])
    HR_BAD(r, "k must be one diagonal or the lowest and the highest, is %s", hr_show_shape(&k, &s));
  *low = k.dims[0];
  *high = k.dims[k.rank - 1];
  return HR_OK;
}

static inline hr_code hr_shape_matrix_diag_part_v2(hr_request* r) {
  hr_text s;
  int64_t band[2];
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_at_least(r, 0, 2, "input"));
  HR_TRY(hr_read_band(r, &band[0], &band[1], &known));
  if (!known) return hr_depends(r);
  int64_t m = x->dims[x->rank - 2], n = x->dims[x->rank - 1];
  for (int i = 0; i < 2; ++i)
    if (band[i] != 0 && (-m >= band[i] || band[i] >= n))
      HR_BAD(r, "diagonal %" PRId64 " is outside of %s", band[i], hr_show(x, &s));
  int64_t down = m + (band[1] < 0 ? band[1] : 0), across = n - (band[0] > 0 ? band[0] : 0);
  hr_shape out = hr_shape_of(x);
  out.rank -= 2;
  if (band[0] != band[1]) hr_push(&out, band[1] - band[0] + 1);
  hr_push(&out, down < across ? down : across);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_matrix_diag_v2(hr_request* r) {
  hr_text s;
  int64_t low, high;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_at_least(r, 0, 1, "diagonal"));
  HR_TRY(hr_read_band(r, &low, &high, &known));
  if (!known) return hr_depends(r);
  hr_shape out = hr_shape_of(x);
  int64_t length = out.dims[--out.rank];
  if (low != high) {
    HR_TRY(hr_at_least(r, 0, 2, "diagonal"));
    if (out.dims[--out.rank] != high - low + 1)
      HR_BAD(r, "diagonals %s are not the %" PRId64 " that k says", hr_show(x, &s), high - low + 1);
  }
  if (!hr_known(r, 2) || !hr_known(r, 3)) return hr_depends(r);
  int64_t m = hr_element(r->inputs[2], 0), n = hr_element(r->inputs[3], 0);
  int64_t least_m = length - (high < 0 ? high : 0), least_n = length + (low > 0 ? low : 0);
  if (m == -1 && n == -1) m = n = least_m > least_n ? least_m : least_n;
  if (m == -1) m = least_m;
  if (n == -1) n = least_n;
  if (m < least_m || n < least_n || (m != least_m && n != least_n))
    HR_BAD(r, "diagonals %s do not fit matrices of [%" PRId64 ", %" PRId64 "]", hr_show(x, &s), m,
           n);
  hr_push(&out, m);
  hr_push(&out, n);
  return hr_set(r, 0, &out);
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */

static inline hr_code hr_fft(hr_request* r, int half) {
  hr_text s;
  hr_shape length, out;
  HR_TRY(hr_with_rank(r, 1, 1, "fft_length"));
  int64_t rank = r->inputs[1]->dims[0];
  HR_TRY(hr_at_least(r, 0, rank, "input"));
  if (!hr_known(r, 1)) return hr_depends(r);
  HR_TRY(hr_read_ints(r, 1, &length));
  out = hr_shape_of(r->inputs[0]);
  out.rank -= (int32_t)rank;
  for (int32_t i = 0; i < rank; ++i) {
    if (length.dims[i] < 0)
      HR_BAD(r, "fft_length must not be negative, is %s", hr_show_shape(&length, &s));
    hr_push(&out,
            half && i == rank - 1 && length.dims[i] ? length.dims[i] / 2 + 1 : length.dims[i]);
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_rfft(hr_request* r) { return hr_fft(r, 1); }
static inline hr_code hr_shape_irfft(hr_request* r) { return hr_fft(r, 0); }

#endif
