/* Slices: the one decoder of Slice and StridedSlice, for shape rules and kernels. */
#ifndef HEADRACE_SHAPE_RULES_SLICING_H
#define HEADRACE_SHAPE_RULES_SLICING_H

#include <stdarg.h>

#include "algebra.h"

/* The elements that a slice takes from each dimension of its input, and its shape. */
typedef struct hr_slice {
  int32_t rank; /* of the input */
  int64_t begin[HR_MAX_RANK], stride[HR_MAX_RANK], count[HR_MAX_RANK];
  int32_t out_of[HR_MAX_RANK]; /* the dimension of the output; -1: the output lacks it */
  hr_shape out;
  int32_t depends; /* the shape depends on values that are not known yet */
} hr_slice;

typedef struct hr_slice_error {
  char text[160];
} hr_slice_error;

/* Bit i of a mask belongs to entry i of begin, end and strides. */
typedef struct hr_slice_masks {
  uint64_t begin, end, ellipsis, new_axis, shrink;
} hr_slice_masks;

/* begin, end and strides: n values each, or NULL where they are not known yet. */
typedef struct hr_slice_entries {
  int64_t n;
  const int64_t *begin, *end, *strides; /* into values */
  hr_shape values[3];
} hr_slice_entries;

static inline hr_code hr_slice_fail(hr_slice_error* error, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return HR_INVALID_ARGUMENT;
}

/* Returns the value of an integer tensor of at most HR_MAX_INTS elements, or NULL. */
static inline const int64_t* hr_known_ints(const hr_tensor* t, hr_shape* values) {
  int64_t n = hr_elements(t);
  if (!t->data && n) return NULL;
  values->rank = (int32_t)n;
  for (int64_t i = 0; i < n; ++i) values->dims[i] = hr_element(t, i);
  return values->dims;
}

/* Adds a dimension of the input to a slice; out_of: -1 to remove it from the output. */
static inline void hr_slice_add(hr_slice* s, int64_t begin, int64_t stride, int64_t count,
                                int keep) {
  int32_t d = s->rank++;
  s->begin[d] = begin;
  s->stride[d] = stride;
  s->count[d] = count;
  s->out_of[d] = keep ? s->out.rank : -1;
  if (keep) hr_push(&s->out, count);
}

/* ---- Slice ------------------------------------------------------------------------------- */

/* Resolves a slice of dims; size -1 extends to the end. begin, size: NULL if not known yet. */
static inline hr_code hr_resolve_slice(int32_t rank, const int64_t* dims, const int64_t* begin,
                                       const int64_t* size, hr_slice* slice,
                                       hr_slice_error* error) {
  slice->rank = slice->out.rank = slice->depends = 0;
  for (int32_t d = 0; d < rank && size; ++d) {
    int64_t b = begin ? begin[d] : 0, s = size[d];
    if (b < 0 || b > dims[d])
      return hr_slice_fail(error, "Expected begin[%d] in [0, %" PRId64 "], but got %" PRId64,
                           (int)d, dims[d], b);
    if (s < -1 || s > dims[d] - b)
      return hr_slice_fail(error, "Expected size[%d] in [0, %" PRId64 "], but got %" PRId64, (int)d,
                           dims[d] - b, s);
    if (s < 0 && !begin) slice->depends = 1;
    hr_slice_add(slice, b, 1, s < 0 ? dims[d] - b : s, 1);
  }
  if (!size) slice->depends = 1;
  return HR_OK;
}

/* Resolves the slice of input 0 that inputs 1 and 2, begin and size, select. */
static inline hr_code hr_read_slice(hr_request* r, hr_slice* slice) {
  hr_text s, t;
  hr_shape begin, size;
  hr_slice_error error;
  const hr_tensor* const* in = r->inputs;
  for (int i = 1; i <= 2; ++i)
    if (in[i]->rank != 1 || in[i]->dims[0] != in[0]->rank)
      HR_BAD(r,
             "Expected begin and size arguments to be 1-D tensors of size %d, but got shapes %s "
             "and %s instead.",
             (int)in[0]->rank, hr_show(in[1], &s), hr_show(in[2], &t));
  if (hr_resolve_slice(in[0]->rank, in[0]->dims, hr_known_ints(in[1], &begin),
                       hr_known_ints(in[2], &size), slice, &error))
    HR_BAD(r, "%s", error.text);
  return HR_OK;
}

static inline hr_code hr_shape_slice(hr_request* r) {
  hr_slice slice;
  HR_TRY(hr_read_slice(r, &slice));
  return slice.depends ? hr_depends(r) : hr_set(r, 0, &slice.out);
}

/* ---- StridedSlice ------------------------------------------------------------------------ */

static inline hr_slice_masks hr_slice_masks_of(const hr_node* node) {
  hr_slice_masks masks;
  masks.begin = (uint64_t)hr_attr_int(node, "begin_mask", 0);
  masks.end = (uint64_t)hr_attr_int(node, "end_mask", 0);
  masks.ellipsis = (uint64_t)hr_attr_int(node, "ellipsis_mask", 0);
  masks.new_axis = (uint64_t)hr_attr_int(node, "new_axis_mask", 0);
  masks.shrink = (uint64_t)hr_attr_int(node, "shrink_axis_mask", 0);
  return masks;
}

/* Reads t[0] to t[2]: begin, end and strides, vectors of one length up to HR_MAX_INTS. */
static inline void hr_read_entries(const hr_tensor* const* t, hr_slice_entries* entries) {
  entries->n = hr_elements(t[0]);
  entries->begin = hr_known_ints(t[0], &entries->values[0]);
  entries->end = hr_known_ints(t[1], &entries->values[1]);
  entries->strides = hr_known_ints(t[2], &entries->values[2]);
}

/* Checks the shapes of begin, end and strides, inputs 1 to 3. */
static inline hr_code hr_check_entries(hr_request* r) {
  hr_text s, t, u;
  const hr_tensor* const* in = r->inputs;
  for (int i = 1; i <= 3; ++i)
    if (in[i]->rank != 1 || in[i]->dims[0] != in[1]->dims[0])
      HR_BAD(r,
             "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, %s, "
             "and %s instead.",
             hr_show(in[1], &s), hr_show(in[2], &t), hr_show(in[3], &u));
  if (in[1]->dims[0] > HR_MAX_INTS)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "a slice of %" PRId64 " indices, above %d",
                           in[1]->dims[0], HR_MAX_INTS);
  return HR_OK;
}

/* Returns whether begin and end, or one of them, decide how many elements entry i takes. */
static inline int hr_entry_depends(const hr_slice_masks* masks, int64_t i, const int64_t* begin,
                                   const int64_t* end) {
  if ((masks->ellipsis | masks->new_axis | masks->shrink) >> i & 1) return 0;
  return (!begin && !(masks->begin >> i & 1)) || (!end && !(masks->end >> i & 1));
}

static inline int64_t hr_clamp(int64_t i, int64_t d, int64_t low, int64_t high) {
  if (i < 0) i += d;
  return i < low ? low : i > high ? high : i;
}

/* Resolves entry i, a range or an index, in the next dimension of the input, of size d. */
static inline hr_code hr_resolve_entry(const hr_slice_masks* masks, const hr_slice_entries* e,
                                       int64_t i, int64_t d, hr_slice* slice,
                                       hr_slice_error* error) {
  int64_t stride = e->strides ? e->strides[i] : 1;
  if (stride == 0) return hr_slice_fail(error, "strides[%d] must be non-zero", (int)slice->rank);
  if (masks->shrink >> i & 1) {
    int64_t at = e->begin ? e->begin[i] : 0; /* begin_mask is ignored for an index */
    if (stride < 0) return hr_slice_fail(error, "only stride 1 allowed on non-range indexing.");
    if (e->begin && (at < -d || at >= d))
      return hr_slice_fail(error, "slice index %" PRId64 " of dimension %d out of bounds.", at,
                           (int)slice->rank);
    hr_slice_add(slice, at < 0 ? at + d : at, 1, 1, 0);
    return HR_OK;
  }
  if (!e->strides || hr_entry_depends(masks, i, e->begin, e->end)) {
    slice->depends = 1;
    hr_slice_add(slice, 0, stride, 0, 1);
    return HR_OK;
  }
  int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? d : d - 1;
  int64_t first = stride > 0 ? low : high, last = stride > 0 ? high : low;
  if (!(masks->begin >> i & 1)) first = hr_clamp(e->begin[i], d, low, high);
  if (!(masks->end >> i & 1)) last = hr_clamp(e->end[i], d, low, high);
  uint64_t way = stride > 0 ? (uint64_t)(last - first) : (uint64_t)(first - last);
  uint64_t step = stride > 0 ? (uint64_t)stride : 0 - (uint64_t)stride;
  int empty = stride > 0 ? last <= first : last >= first;
  hr_slice_add(slice, first, stride, empty ? 0 : (int64_t)((way - 1) / step + 1), 1);
  return HR_OK;
}

/* Resolves a strided slice of dims. Where values are not known yet, the errors of the known ones
 * are reported, and slice->depends says whether the shape is complete. */
static inline hr_code hr_resolve_strided_slice(const hr_slice_masks* masks,
                                               const hr_slice_entries* entries, int32_t rank,
                                               const int64_t* dims, hr_slice* slice,
                                               hr_slice_error* error) {
  int64_t n = entries->n, at_ellipsis = n, used = 0;
  slice->rank = slice->out.rank = slice->depends = 0;
  if (masks->ellipsis & (masks->ellipsis - 1))
    return hr_slice_fail(error, "Multiple ellipses in slice spec not allowed");
  for (int64_t i = n; i-- > 0;)
    if (masks->ellipsis >> i & 1) at_ellipsis = i;
  /* A new axis has no dimension of the input; if both bits are set, the ellipsis counts. */
  for (int64_t i = 0; i < n; ++i) used += i != at_ellipsis && !(masks->new_axis >> i & 1);
  if (used > rank)
    return hr_slice_fail(error, "Index out of range using input dim %d; input has only %d dims",
                         (int)rank, (int)rank);
  for (int64_t i = 0; i < n; ++i) {
    if (i == at_ellipsis) {
      for (int64_t k = 0; k < rank - used; ++k) hr_slice_add(slice, 0, 1, dims[slice->rank], 1);
    } else if (masks->new_axis >> i & 1) {
      hr_push(&slice->out, 1);
    } else {
      HR_TRY(hr_resolve_entry(masks, entries, i, dims[slice->rank], slice, error));
    }
  }
  while (slice->rank < rank) hr_slice_add(slice, 0, 1, dims[slice->rank], 1);
  return HR_OK;
}

/* Resolves the strided slice of dims that inputs 1 to 3, begin, end and strides, select. */
static inline hr_code hr_read_strided_slice(hr_request* r, int32_t rank, const int64_t* dims,
                                            hr_slice* slice) {
  hr_slice_error error;
  hr_slice_entries entries;
  hr_slice_masks masks = hr_slice_masks_of(r->node);
  HR_TRY(hr_check_entries(r));
  hr_read_entries(r->inputs + 1, &entries);
  if (hr_resolve_strided_slice(&masks, &entries, rank, dims, slice, &error))
    HR_BAD(r, "%s", error.text);
  return hr_check_rank(r, slice->out.rank);
}

static inline hr_code hr_shape_strided_slice(hr_request* r) {
  hr_slice slice;
  HR_TRY(hr_read_strided_slice(r, r->inputs[0]->rank, r->inputs[0]->dims, &slice));
  return slice.depends ? hr_depends(r) : hr_set(r, 0, &slice.out);
}

#endif
