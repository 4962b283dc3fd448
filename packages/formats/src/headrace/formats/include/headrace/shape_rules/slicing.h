/* Slices. */
#ifndef HEADRACE_SHAPE_RULES_SLICING_H
#define HEADRACE_SHAPE_RULES_SLICING_H

#include "algebra.h"

static inline hr_code hr_shape_slice(hr_request* r) {
  hr_text s, t, u;
  hr_shape begin, size, out;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_with_rank(r, 1, 1, "begin"));
  HR_TRY(hr_with_rank(r, 2, 1, "size"));
  for (int32_t i = 1; i < 3; ++i)
    if (r->inputs[i]->dims[0] != x->rank)
      HR_BAD(r, "begin or size of %" PRId64 " numbers does not fit %s", r->inputs[i]->dims[0],
             hr_show(x, &s));
  if (!hr_known(r, 2)) return hr_depends(r);
  HR_TRY(hr_read_ints(r, 2, &size));
  if (!hr_known(r, 1)) {
    for (int32_t i = 0; i < size.rank; ++i)
      if (size.dims[i] < 0) return hr_depends(r);
    return hr_set(r, 0, &size);
  }
  HR_TRY(hr_read_ints(r, 1, &begin));
  out.rank = 0;
  for (int32_t i = 0; i < x->rank; ++i) {
    int64_t d = x->dims[i], b = begin.dims[i], n = size.dims[i];
    if (b < 0 || b > d || n < -1 || n > d - b)
      HR_BAD(r, "begin %s and size %s do not fit %s", hr_show_shape(&begin, &s),
             hr_show_shape(&size, &t), hr_show(x, &u));
    hr_push(&out, n < 0 ? d - b : n);
  }
  return hr_set(r, 0, &out);
}

/* One resolved dimension of a strided slice; kernels use it too. */
typedef struct hr_interval {
  int64_t dim; /* of the input; -1: a new axis of size 1 */
  int64_t begin, stride, count;
  int32_t shrink; /* the output lacks the dimension */
} hr_interval;

typedef struct hr_intervals {
  int32_t n;
  hr_interval at[2 * HR_MAX_INTS];
} hr_intervals;

static inline int64_t hr_clamp(int64_t i, int64_t d, int64_t low, int64_t high) {
  if (i < 0) i += d;
  return i < low ? low : i > high ? high : i;
}

static inline void hr_push_whole(hr_intervals* all, const int64_t* dims, int64_t at) {
  hr_interval whole = {at, 0, 1, dims[at], 0};
  all->at[all->n++] = whole;
}

/* Resolves begin, end, strides and masks (inputs 1 to 3) for the shape dims: the shape of input 0
 * of StridedSlice, the value of input 0 of StridedSliceGrad. Sets *known to 0 if a value is
 * unknown. */
static inline hr_code hr_strided_intervals(hr_request* r, const int64_t* dims, int32_t rank,
                                           int32_t first, hr_intervals* all, int* known) {
  hr_text s;
  static const char* const names[3] = {"begin", "end", "strides"};
  hr_shape value[3];
  const hr_node* node = r->node;
  *known = 0;
  all->n = 0;
  for (int32_t i = 0; i < 3; ++i) HR_TRY(hr_with_rank(r, first + i, 1, names[i]));
  int64_t n = r->inputs[first]->dims[0];
  if (n != r->inputs[first + 1]->dims[0] || n != r->inputs[first + 2]->dims[0])
    HR_BAD(r, "begin, end and strides differ in length: %" PRId64 ", %" PRId64 ", %" PRId64, n,
           r->inputs[first + 1]->dims[0], r->inputs[first + 2]->dims[0]);
  *known = 1;
  for (int32_t i = 0; i < 3; ++i) {
    *known = *known && hr_known(r, first + i);
    if (hr_known(r, first + i)) HR_TRY(hr_read_ints(r, first + i, &value[i]));
  }
  if (!*known) return HR_OK;
  int64_t begin_mask = hr_attr_int(node, "begin_mask", 0);
  int64_t end_mask = hr_attr_int(node, "end_mask", 0);
  int64_t ellipsis = hr_attr_int(node, "ellipsis_mask", 0);
  int64_t new_axis = hr_attr_int(node, "new_axis_mask", 0);
  int64_t shrink = hr_attr_int(node, "shrink_axis_mask", 0);
  int64_t low_bits = n >= 63 ? INT64_MAX : ((int64_t)1 << n) - 1;
  if (ellipsis & low_bits & (ellipsis - 1)) HR_BAD(r, "more than one ellipsis");
  int64_t at_ellipsis = n, used = 0;
  for (int64_t i = n; i-- > 0;)
    if (ellipsis >> i & 1) at_ellipsis = i;
  for (int64_t i = 0; i < n; ++i) used += i != at_ellipsis && !(new_axis >> i & 1);
  if (used > rank)
    HR_BAD(r, "too many indices, %" PRId64 ", for %s", used, hr_show_dims(dims, rank, &s));
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i == at_ellipsis) {
      for (int64_t k = 0; k < rank - used; ++k) hr_push_whole(all, dims, at++);
      continue;
    }
    if (new_axis >> i & 1) {
      hr_interval added = {-1, 0, 1, 1, 0};
      all->at[all->n++] = added;
      continue;
    }
    int64_t d = dims[at], begin = value[0].dims[i], end = value[1].dims[i];
    int64_t stride = value[2].dims[i];
    int from_start = (begin_mask >> i & 1) != 0, to_end = (end_mask >> i & 1) != 0;
    hr_interval one = {at, 0, stride, 1, (int32_t)(shrink >> i & 1)};
    if (stride == 0) HR_BAD(r, "strides[%" PRId64 "] must not be 0", i);
    if (one.shrink) {
      if (stride < 0)
        HR_BAD(r, "strides[%" PRId64 "] must be positive, since one element is taken", i);
      /* begin_mask is ignored for a shrunk axis. */
      if (begin < -d || begin >= d)
        HR_BAD(r, "index %" PRId64 " of dimension %" PRId64 " is outside of %s", begin, at,
               hr_show_dims(dims, rank, &s));
      one.begin = begin < 0 ? begin + d : begin;
    } else {
      int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? d : d - 1;
      one.begin = from_start ? (stride > 0 ? low : high) : hr_clamp(begin, d, low, high);
      int64_t last = to_end ? (stride > 0 ? high : low) : hr_clamp(end, d, low, high);
      uint64_t way = stride > 0 ? (uint64_t)(last - one.begin) : (uint64_t)(one.begin - last);
      uint64_t step = stride > 0 ? (uint64_t)stride : 0 - (uint64_t)stride;
      int empty = stride > 0 ? last <= one.begin : last >= one.begin;
      one.count = empty ? 0 : (int64_t)((way - 1) / step + 1);
    }
    all->at[all->n++] = one;
    ++at;
  }
  for (; at < rank; ++at) hr_push_whole(all, dims, at);
  return HR_OK;
}

static inline hr_code hr_shape_strided_slice(hr_request* r) {
  hr_intervals all;
  int known;
  hr_shape out;
  HR_TRY(hr_strided_intervals(r, r->inputs[0]->dims, r->inputs[0]->rank, 1, &all, &known));
  if (!known) return hr_depends(r);
  out.rank = 0;
  for (int32_t i = 0; i < all.n; ++i)
    if (!all.at[i].shrink) hr_push(&out, all.at[i].count);
  return hr_set(r, 0, &out);
}

#endif
