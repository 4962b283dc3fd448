/* Array ops: shapes as values, reshapes, padding, sequences. */
#ifndef HEADRACE_SHAPE_RULES_ARRAYS_H
#define HEADRACE_SHAPE_RULES_ARRAYS_H

#include <math.h>

#include "algebra.h"

static inline hr_code hr_shape_shape(hr_request* r) {
  return hr_set_vector(r, 0, r->inputs[0]->rank);
}

static inline hr_code hr_shape_shape_n(hr_request* r) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) HR_TRY(hr_set_vector(r, i, r->inputs[i]->rank));
  return HR_OK;
}

static inline hr_code hr_shape_broadcast_args(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 1, "s0"));
  HR_TRY(hr_with_rank(r, 1, 1, "s1"));
  int64_t a = r->inputs[0]->dims[0], b = r->inputs[1]->dims[0];
  return hr_set_vector(r, 0, a > b ? a : b);
}

static inline hr_code hr_shape_broadcast_gradient_args(hr_request* r) {
  hr_text s, t;
  hr_shape shapes[2], out;
  int known[2];
  for (int32_t i = 0; i < 2; ++i) HR_TRY(hr_read_sizes(r, i, &shapes[i], &known[i]));
  if (!known[0] || !known[1]) return hr_depends(r);
  out = shapes[0];
  if (!hr_broadcast(&out, shapes[1].dims, shapes[1].rank))
    HR_BAD(r, "shapes do not broadcast: %s and %s", hr_show_shape(&shapes[0], &s),
           hr_show_shape(&shapes[1], &t));
  int same = shapes[0].rank == shapes[1].rank &&
             hr_same_dims(shapes[0].dims, shapes[1].dims, shapes[0].rank);
  for (int32_t i = 0; i < 2; ++i) {
    int64_t n = out.rank - shapes[i].rank;
    for (int32_t d = 0; d < shapes[i].rank; ++d) n += shapes[i].dims[d] == 1;
    HR_TRY(hr_set_vector(r, i, same ? 0 : n));
  }
  return HR_OK;
}

static inline hr_code hr_shape_concat_offset(hr_request* r) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) hr_set_like(r, i, r->inputs[i + 1]);
  return HR_OK;
}

static inline hr_code hr_shape_vector_unchanged(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 1, "input"));
  return hr_set_like(r, 0, r->inputs[0]);
}

static inline hr_code hr_shape_unravel_index(hr_request* r) {
  hr_text text;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_with_rank(r, 1, 1, "dims"));
  if (x->rank > 1) HR_BAD(r, "indices must have rank 0 or 1, are of shape %s", hr_show(x, &text));
  int64_t dims[2] = {r->inputs[1]->dims[0], x->dims[0]};
  return hr_set_dims(r, 0, dims, x->rank + 1);
}

static inline hr_code hr_shape_reshape(hr_request* r) {
  hr_text s, t;
  const hr_tensor *x = r->inputs[0], *given = r->inputs[1];
  hr_shape sizes;
  if (given->rank != 1) HR_BAD(r, "sizes must be a vector, are of shape %s", hr_show(given, &s));
  if (!hr_known(r, 1)) return hr_depends(r);
  HR_TRY(hr_read_ints(r, 1, &sizes));
  int32_t free_at = -1, n_free = 0;
  int64_t rest = 1, n = hr_elements(x);
  int zero = 0;
  for (int32_t i = 0; i < sizes.rank; ++i) {
    int64_t d = sizes.dims[i];
    if (d < -1) HR_BAD(r, "sizes must not be negative, are %s", hr_show_shape(&sizes, &s));
    if (d == -1) {
      free_at = i;
      ++n_free;
    } else if (d == 0) {
      zero = 1;
    } else {
      rest = hr_times(rest, d); /* -1 after an overflow */
    }
  }
  if (zero) rest = 0;
  if (n_free > 1) HR_BAD(r, "more than one size is -1 in %s", hr_show_shape(&sizes, &s));
  if (n_free && rest == 0)
    HR_BAD(r, "cannot infer -1 in %s: another size is 0", hr_show_shape(&sizes, &s));
  if (n_free ? rest < 0 || n % rest : rest != n)
    HR_BAD(r, "cannot reshape %s (%" PRId64 " elements) to %s", hr_show(x, &s), n,
           hr_show_shape(&sizes, &t));
  if (n_free) sizes.dims[free_at] = n / rest;
  return hr_set(r, 0, &sizes);
}

static inline hr_code hr_shape_expand_dims(hr_request* r) {
  int64_t axis, at;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_read_int(r, 1, "axis", &axis, &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_axis(r, axis, x->dims, x->rank, 1, &at));
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, x->dims, at);
  hr_push(&out, 1);
  hr_push_all(&out, x->dims + at, x->rank - at);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_squeeze(hr_request* r) {
  hr_text text;
  const int64_t* axes;
  int32_t n;
  const hr_tensor* x = r->inputs[0];
  int gone[HR_MAX_RANK] = {0};
  hr_attr_list(r->node, "squeeze_dims", &axes, &n);
  for (int32_t i = 0; i < n; ++i) {
    int64_t at;
    HR_TRY(hr_axis(r, axes[i], x->dims, x->rank, 0, &at));
    if (x->dims[at] != 1) HR_BAD(r, "dimension %" PRId64 " of %s is not 1", at, hr_show(x, &text));
    gone[at] = 1;
  }
  hr_shape out;
  out.rank = 0;
  for (int32_t i = 0; i < x->rank; ++i)
    if (n ? !gone[i] : x->dims[i] != 1) hr_push(&out, x->dims[i]);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_broadcast_to(hr_request* r) {
  hr_text s, t;
  hr_shape target;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_read_sizes(r, 1, &target, &known));
  if (!known) return hr_depends(r);
  int fits = x->rank <= target.rank;
  for (int32_t i = 1; fits && i <= x->rank; ++i) {
    int64_t d = x->dims[x->rank - i];
    fits = d == 1 || d == target.dims[target.rank - i];
  }
  if (!fits)
    HR_BAD(r, "shape %s does not broadcast to %s", hr_show(x, &s), hr_show_shape(&target, &t));
  return hr_set(r, 0, &target);
}

static inline hr_code hr_multiples(hr_request* r, hr_shape* multiples, int* known) {
  hr_text s;
  const hr_tensor *x = r->inputs[0], *given = r->inputs[1];
  if (given->rank != 1)
    HR_BAD(r, "multiples must be a vector, are of shape %s", hr_show(given, &s));
  if (given->dims[0] != x->rank)
    HR_BAD(r, "%" PRId64 " multiples do not fit %s", given->dims[0], hr_show(x, &s));
  *known = hr_known(r, 1);
  if (!*known) return HR_OK;
  HR_TRY(hr_read_ints(r, 1, multiples));
  for (int32_t i = 0; i < multiples->rank; ++i)
    if (multiples->dims[i] < 0)
      HR_BAD(r, "multiples must not be negative, are %s", hr_show_shape(multiples, &s));
  return HR_OK;
}

static inline hr_code hr_shape_tile(hr_request* r) {
  hr_shape out;
  int known;
  HR_TRY(hr_multiples(r, &out, &known));
  if (!known) return hr_depends(r);
  for (int32_t i = 0; i < out.rank; ++i) out.dims[i] = hr_times(out.dims[i], r->inputs[0]->dims[i]);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_tile_grad(hr_request* r) {
  hr_shape out;
  int known;
  HR_TRY(hr_multiples(r, &out, &known));
  if (!known) return hr_depends(r);
  for (int32_t i = 0; i < out.rank; ++i) {
    if (out.dims[i] == 0) return hr_depends(r);
    out.dims[i] = r->inputs[0]->dims[i] / out.dims[i];
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_transpose(hr_request* r) {
  hr_text s, t;
  const hr_tensor* x = r->inputs[0];
  hr_shape order, out;
  if (r->inputs[1]->rank != 1)
    HR_BAD(r, "permutation must be a vector, is of shape %s", hr_show(r->inputs[1], &s));
  if (!hr_known(r, 1)) return x->rank < 2 ? hr_set_like(r, 0, x) : hr_depends(r);
  HR_TRY(hr_read_ints(r, 1, &order));
  int seen[HR_MAX_RANK] = {0};
  int fits = order.rank == x->rank;
  out.rank = 0;
  for (int32_t i = 0; fits && i < order.rank; ++i) {
    int64_t d = order.dims[i];
    if (d < 0) d += x->rank;
    fits = d >= 0 && d < x->rank && !seen[d];
    if (fits) {
      seen[d] = 1;
      hr_push(&out, x->dims[d]);
    }
  }
  if (!fits) HR_BAD(r, "permutation %s does not fit %s", hr_show_shape(&order, &s), hr_show(x, &t));
  return hr_set(r, 0, &out);
}

/* ---- space to batch, space to depth ------------------------------------------------------- */

/* Block sizes, and the padding or cropping at each end of the spatial dimensions. */
static inline hr_code hr_read_blocks(hr_request* r, int nd, const char* what, hr_shape* blocks,
                                     hr_shape* amounts, int* blocks_known, int* amounts_known) {
  hr_text s;
  const int32_t at = nd ? 2 : 1;
  const hr_tensor* given = r->inputs[at];
  blocks->rank = 2;
  blocks->dims[0] = blocks->dims[1] = nd ? 1 : hr_attr_int(r->node, "block_size", 0);
  *blocks_known = 1;
  if (nd) {
    HR_TRY(hr_with_rank(r, 1, 1, "block_shape"));
    *blocks_known = hr_known(r, 1);
    if (*blocks_known) HR_TRY(hr_read_ints(r, 1, blocks));
  }
  int64_t n = nd ? r->inputs[1]->dims[0] : 2;
  if (given->rank != 2 || given->dims[0] != n || given->dims[1] != 2)
    HR_BAD(r, "%s must have shape [%" PRId64 ", 2], have %s", what, n, hr_show(given, &s));
  amounts->rank = 0;
  *amounts_known = hr_known(r, at);
  if (*amounts_known) HR_TRY(hr_read_ints(r, at, amounts));
  for (int32_t i = 0; i < amounts->rank; ++i)
    if (amounts->dims[i] < 0)
      HR_BAD(r, "%s must not be negative, are %s", what, hr_show_shape(amounts, &s));
  if (!*blocks_known) return HR_OK;
  for (int32_t i = 0; i < blocks->rank; ++i)
    if (blocks->dims[i] < 1)
      HR_BAD(r, "blocks must be at least 1, are %s", hr_show_shape(blocks, &s));
  return hr_at_least(r, 0, blocks->rank + 1, "input");
}

static inline hr_code hr_space_to_batch(hr_request* r, int nd) {
  hr_text s;
  hr_shape blocks, pads, out;
  int known, pads_known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_read_blocks(r, nd, "paddings", &blocks, &pads, &known, &pads_known));
  if (!known || !pads_known) return hr_depends(r);
  out = hr_shape_of(x);
  for (int32_t i = 0; i < blocks.rank; ++i) {
    int64_t block = blocks.dims[i];
    int64_t padded = x->dims[i + 1] + pads.dims[2 * i] + pads.dims[2 * i + 1];
    if (padded % block)
      HR_BAD(r, "dimension %d of %s, padded to %" PRId64 ", is not a multiple of %" PRId64, i + 1,
             hr_show(x, &s), padded, block);
    out.dims[i + 1] = padded / block;
    out.dims[0] = hr_times(out.dims[0], block);
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_batch_to_space(hr_request* r, int nd) {
  hr_text s, t;
  hr_shape blocks, crops, out;
  int known, crops_known;
  int64_t many = 1;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_read_blocks(r, nd, "crops", &blocks, &crops, &known, &crops_known));
  if (!known) return hr_depends(r);
  for (int32_t i = 0; i < blocks.rank; ++i) many = hr_times(many, blocks.dims[i]);
  if (many < 1 || x->dims[0] % many)
    HR_BAD(r, "batch of %s is not a multiple of %" PRId64 ", the size of a block", hr_show(x, &s),
           many);
  if (!crops_known) return hr_depends(r);
  out = hr_shape_of(x);
  out.dims[0] /= many;
  for (int32_t i = 0; i < blocks.rank; ++i) {
    int64_t whole = hr_times(x->dims[i + 1], blocks.dims[i]);
    out.dims[i + 1] = whole - crops.dims[2 * i] - crops.dims[2 * i + 1];
    if (whole >= 0 && out.dims[i + 1] < 0)
      HR_BAD(r, "crops %s are larger than %s", hr_show_shape(&crops, &s), hr_show(x, &t));
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_space_to_batch(hr_request* r) { return hr_space_to_batch(r, 0); }
static inline hr_code hr_shape_space_to_batch_nd(hr_request* r) { return hr_space_to_batch(r, 1); }
static inline hr_code hr_shape_batch_to_space(hr_request* r) { return hr_batch_to_space(r, 0); }
static inline hr_code hr_shape_batch_to_space_nd(hr_request* r) { return hr_batch_to_space(r, 1); }

static inline hr_code hr_shape_space_to_depth(hr_request* r) {
  hr_text s;
  const hr_tensor* x = r->inputs[0];
  if (hr_attr_is(r->node, "data_format", "NCHW_VECT_C")) return hr_depends(r);
  HR_TRY(hr_with_rank(r, 0, 4, "input"));
  int64_t block = hr_attr_int(r->node, "block_size", 1);
  int h = hr_channels_first(r->node) ? 2 : 1, c = h == 2 ? 1 : 3;
  hr_shape out = hr_shape_of(x);
  if (block < 1 || x->dims[h] % block || x->dims[h + 1] % block)
    HR_BAD(r, "height and width of %s are not multiples of %" PRId64, hr_show(x, &s), block);
  out.dims[h] /= block;
  out.dims[h + 1] /= block;
  out.dims[c] = hr_times(out.dims[c], hr_times(block, block));
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_depth_to_space(hr_request* r) {
  hr_text s;
  const hr_tensor* x = r->inputs[0];
  if (hr_attr_is(r->node, "data_format", "NCHW_VECT_C")) return hr_depends(r);
  HR_TRY(hr_with_rank(r, 0, 4, "input"));
  int64_t block = hr_attr_int(r->node, "block_size", 1), area = hr_times(block, block);
  int h = hr_channels_first(r->node) ? 2 : 1, c = h == 2 ? 1 : 3;
  hr_shape out = hr_shape_of(x);
  if (area < 1 || x->dims[c] % area)
    HR_BAD(r, "depth of %s is not a multiple of %" PRId64, hr_show(x, &s), area);
  out.dims[h] = hr_times(out.dims[h], block);
  out.dims[h + 1] = hr_times(out.dims[h + 1], block);
  out.dims[c] /= area;
  return hr_set(r, 0, &out);
}

/* ---- padding, sequences, one_hot, diagonals -------------------------------------------------- */

static inline hr_code hr_read_paddings(hr_request* r, hr_shape* pads, int* known) {
  hr_text s, t;
  const hr_tensor *x = r->inputs[0], *given = r->inputs[1];
  if (given->rank != 2 || given->dims[1] != 2)
    HR_BAD(r, "paddings must have shape [n, 2], have %s", hr_show(given, &s));
  if (given->dims[0] != x->rank)
    HR_BAD(r, "paddings of shape %s do not fit %s", hr_show(given, &s), hr_show(x, &t));
  *known = hr_known(r, 1);
  if (!*known) return HR_OK;
  HR_TRY(hr_read_ints(r, 1, pads));
  for (int32_t i = 0; i < pads->rank; ++i)
    if (pads->dims[i] < 0)
      HR_BAD(r, "paddings must not be negative, are %s", hr_show_shape(pads, &s));
  return HR_OK;
}

static inline hr_code hr_shape_pad(hr_request* r) {
  hr_shape pads, out = hr_shape_of(r->inputs[0]);
  int known;
  HR_TRY(hr_read_paddings(r, &pads, &known));
  if (!known) return out.rank ? hr_depends(r) : hr_set(r, 0, &out);
  for (int32_t i = 0; i < out.rank; ++i) {
    int64_t before = pads.dims[2 * i], after = pads.dims[2 * i + 1];
    int64_t limit = INT64_MAX - out.dims[i];
    out.dims[i] = before > limit || after > limit - before ? -1 : out.dims[i] + before + after;
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_pad_grad(hr_request* r) {
  hr_text s, t;
  hr_shape pads, out = hr_shape_of(r->inputs[0]);
  int known;
  HR_TRY(hr_read_paddings(r, &pads, &known));
  if (!known) return out.rank ? hr_depends(r) : hr_set(r, 0, &out);
  for (int32_t i = 0; i < out.rank; ++i) {
    out.dims[i] -= pads.dims[2 * i];
    if (out.dims[i] >= 0) out.dims[i] -= pads.dims[2 * i + 1];
    if (out.dims[i] < 0)
      HR_BAD(r, "paddings %s are larger than %s", hr_show_shape(&pads, &s),
             hr_show(r->inputs[0], &t));
  }
  return hr_set(r, 0, &out);
}

static inline double hr_real(const hr_tensor* t) {
  return t->dtype == HR_FLOAT    ? (double)*(const float*)t->data
         : t->dtype == HR_DOUBLE ? *(const double*)t->data
                                 : (double)hr_element(t, 0);
}

static inline hr_code hr_shape_range(hr_request* r) {
  static const char* const names[3] = {"start", "limit", "delta"};
  hr_text s;
  for (int32_t i = 0; i < 3; ++i)
    if (r->inputs[i]->rank != 0)
      HR_BAD(r, "%s must be a scalar, is of shape %s", names[i], hr_show(r->inputs[i], &s));
  const hr_tensor *start = r->inputs[0], *limit = r->inputs[1], *delta = r->inputs[2];
  hr_dtype dtype = start->dtype;
  if (dtype == HR_HALF || dtype == HR_BFLOAT16) return hr_depends(r);
  if (delta->data && hr_real(delta) == 0) HR_BAD(r, "delta must not be 0");
  if (!start->data || !limit->data || !delta->data) return hr_depends(r);
  int64_t n;
  if (dtype == HR_FLOAT || dtype == HR_DOUBLE) {
    double a = hr_real(start), b = hr_real(limit), d = hr_real(delta);
    if (d > 0 ? b < a : b > a) HR_BAD(r, "delta leads away from the limit");
    double steps =
        dtype == HR_DOUBLE ? fabs((b - a) / d) : (double)fabsf(((float)b - (float)a) / (float)d);
    if (!(steps < 9e18)) HR_BAD(r, "the range is endless");
    n = (int64_t)ceil(steps);
  } else {
    int64_t a = hr_element(start, 0), b = hr_element(limit, 0), d = hr_element(delta, 0);
    if (d > 0 ? b < a : b > a) HR_BAD(r, "delta leads away from the limit");
    uint64_t way = d > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
    uint64_t step = d > 0 ? (uint64_t)d : 0 - (uint64_t)d;
    n = (int64_t)(way / step + (way % step != 0));
  }
  return hr_set_vector(r, 0, n);
}

static inline hr_code hr_shape_linspace(hr_request* r) {
  int64_t n;
  int known;
  HR_TRY(hr_read_int(r, 2, "num", &n, &known));
  if (!known) return hr_depends(r);
  if (n < 1) HR_BAD(r, "num must be above 0, is %" PRId64, n);
  return hr_set_vector(r, 0, n);
}

static inline hr_code hr_shape_one_hot(hr_request* r) {
  int64_t depth, at;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_read_int(r, 1, "depth", &depth, &known));
  if (known) HR_TRY(hr_not_negative(r, depth, "depth"));
  HR_TRY(hr_axis(r, hr_attr_int(r->node, "axis", -1), x->dims, x->rank, 1, &at));
  if (!known) return hr_depends(r);
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, x->dims, at);
  hr_push(&out, depth);
  hr_push_all(&out, x->dims + at, x->rank - at);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_diag(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 1, "diagonal"));
  hr_shape out = hr_shape_of(r->inputs[0]);
  hr_push_all(&out, r->inputs[0]->dims, r->inputs[0]->rank);
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_diag_part(hr_request* r) {
  hr_text s;
  const hr_tensor* x = r->inputs[0];
  int32_t half = x->rank / 2;
  if (x->rank % 2 || x->rank == 0) HR_BAD(r, "input must have an even rank, is %s", hr_show(x, &s));
  if (!hr_same_dims(x->dims, x->dims + half, half))
    HR_BAD(r, "the halves of %s differ", hr_show(x, &s));
  return hr_set_dims(r, 0, x->dims, half);
}

/* ---- sets of values: the shapes depend on the values --------------------------------------- */

static inline hr_code hr_shape_unique(hr_request* r) {
  hr_text s;
  hr_shape axis;
  axis.rank = 0;
  if (r->node->n_inputs > 1) {
    if (!hr_known(r, 1)) return hr_depends(r);
    HR_TRY(hr_read_ints(r, 1, &axis));
    if (axis.rank > 1)
      HR_BAD(r, "axis must be one number or none, is %s", hr_show_shape(&axis, &s));
  }
  if (axis.rank == 0) {
    HR_TRY(hr_with_rank(r, 0, 1, "input"));
  } else {
    int64_t at;
    HR_TRY(hr_axis(r, axis.dims[0], r->inputs[0]->dims, r->inputs[0]->rank, 0, &at));
  }
  return hr_depends(r);
}

static inline hr_code hr_shape_where(hr_request* r) { return hr_depends(r); }

static inline hr_code hr_shape_list_diff(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 1, "x"));
  HR_TRY(hr_with_rank(r, 1, 1, "y"));
  return hr_depends(r);
}

#endif
