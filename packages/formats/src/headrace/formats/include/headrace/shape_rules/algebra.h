/* Building blocks of the shape rules: shapes, messages, values of inputs, axes. */
#ifndef HEADRACE_SHAPE_RULES_ALGEBRA_H
#define HEADRACE_SHAPE_RULES_ALGEBRA_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../kernel.h"

typedef hr_code (*hr_shape_fn)(hr_request* r);

#define HR_TRY(expression)                          \
  do {                                              \
    hr_code hr_try_code = (expression);             \
    if (hr_try_code != HR_OK) return hr_try_code;   \
  } while (0)

#define HR_BAD(r, ...)                                      \
  do {                                                      \
    hr_request_fail((r), HR_INVALID_ARGUMENT, __VA_ARGS__); \
    return HR_INVALID_ARGUMENT;                             \
  } while (0)

/* Greatest number of elements read from an input. */
#define HR_MAX_INTS 64

/* A shape under construction; its rank may exceed HR_MAX_RANK. */
typedef struct hr_shape {
  int32_t rank;
  int64_t dims[HR_MAX_INTS];
} hr_shape;

typedef struct hr_text {
  char chars[HR_MAX_INTS * 21 + 4];
} hr_text;

/* ---- texts --------------------------------------------------------------------------- */

static inline const char* hr_show_dims(const int64_t* dims, int64_t n, hr_text* text) {
  char* at = text->chars;
  char* end = text->chars + sizeof text->chars;
  *at++ = '[';
  for (int64_t i = 0; i < n && end - at > 26; ++i) {
    if (dims[i] == INT64_MIN) at += snprintf(at, (size_t)(end - at), i ? ", ?" : "?");
    else at += snprintf(at, (size_t)(end - at), i ? ", %" PRId64 : "%" PRId64, dims[i]);
  }
  *at++ = ']';
  *at = 0;
  return text->chars;
}

static inline const char* hr_show(const hr_tensor* t, hr_text* text) {
  return hr_show_dims(t->dims, t->rank, text);
}

static inline const char* hr_show_shape(const hr_shape* s, hr_text* text) {
  return hr_show_dims(s->dims, s->rank, text);
}

/* ---- shapes ---------------------------------------------------------------------------- */

static inline void hr_push(hr_shape* s, int64_t d) {
  if (s->rank < HR_MAX_INTS) s->dims[s->rank++] = d;
}

static inline void hr_push_all(hr_shape* s, const int64_t* dims, int64_t n) {
  for (int64_t i = 0; i < n; ++i) hr_push(s, dims[i]);
}

static inline hr_shape hr_shape_of(const hr_tensor* t) {
  hr_shape s;
  s.rank = 0;
  hr_push_all(&s, t->dims, t->rank);
  return s;
}

static inline int hr_same_dims(const int64_t* a, const int64_t* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (a[i] != b[i]) return 0;
  return 1;
}

static inline int hr_same(const hr_tensor* a, const hr_tensor* b) {
  return a->rank == b->rank && hr_same_dims(a->dims, b->dims, a->rank);
}

/* Returns a * b for nonnegative numbers; -1 on overflow. */
static inline int64_t hr_times(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  if (a != 0 && b > INT64_MAX / a) return -1;
  return a * b;
}

static inline hr_code hr_check_rank(hr_request* r, int64_t rank) {
  if (rank > HR_MAX_RANK)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "output would have %d dimensions, above %d",
                           (int)rank, HR_MAX_RANK);
  return HR_OK;
}

/* Sets the shape of output i; fails for a shape that no memory could hold. */
static inline hr_code hr_set_dims(hr_request* r, int32_t i, const int64_t* dims, int64_t rank) {
  hr_text text;
  HR_TRY(hr_check_rank(r, rank));
  hr_tensor* out = r->outputs[i];
  int64_t n = 1;
  int empty = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (dims[d] == 0) empty = 1;
    if (dims[d] < 0) n = -1;
    if (dims[d] > 0) n = hr_times(n, dims[d]);
    out->dims[d] = dims[d];
  }
  if (n < 0 || (!empty && n > INT64_MAX / 16))
    HR_BAD(r, "output would have shape %s, too many elements", hr_show_dims(dims, rank, &text));
  out->rank = (int32_t)rank;
  return HR_OK;
}

static inline hr_code hr_set(hr_request* r, int32_t i, const hr_shape* s) {
  return hr_set_dims(r, i, s->dims, s->rank);
}

static inline hr_code hr_set_like(hr_request* r, int32_t i, const hr_tensor* t) {
  r->outputs[i]->rank = t->rank;
  memcpy(r->outputs[i]->dims, t->dims, sizeof t->dims);
  return HR_OK;
}

static inline hr_code hr_set_vector(hr_request* r, int32_t i, int64_t n) {
  return hr_set_dims(r, i, &n, 1);
}

static inline hr_code hr_depends(hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

/* ---- requirements ------------------------------------------------------------------------ */

static inline hr_code hr_with_rank(hr_request* r, int32_t i, int32_t rank, const char* what) {
  hr_text text;
  if (r->inputs[i]->rank != rank)
    HR_BAD(r, "%s must have rank %d, is %s", what, rank, hr_show(r->inputs[i], &text));
  return HR_OK;
}

static inline hr_code hr_at_least(hr_request* r, int32_t i, int64_t rank, const char* what) {
  hr_text text;
  if (r->inputs[i]->rank < rank)
    HR_BAD(r, "%s must have at least rank %d, is %s", what, (int)rank,
           hr_show(r->inputs[i], &text));
  return HR_OK;
}

/* Resolves an axis of dims; a negative one counts from the end. */
static inline hr_code hr_axis(hr_request* r, int64_t axis, const int64_t* dims, int32_t rank,
                              int32_t more, int64_t* at) {
  hr_text text;
  int32_t n = rank + more;
  *at = 0;
  if (axis < -n || axis >= n)
    HR_BAD(r, "axis %" PRId64 " is outside of %s%s", axis, hr_show_dims(dims, rank, &text),
           more ? " with one dimension more" : "");
  *at = axis < 0 ? axis + n : axis;
  return HR_OK;
}

/* ---- values of inputs ---------------------------------------------------------------------- */

static inline int64_t hr_element(const hr_tensor* t, int64_t i) {
  switch (t->dtype >= HR_REF ? t->dtype - HR_REF : t->dtype) {
    case HR_INT32: return ((const int32_t*)t->data)[i];
    case HR_INT64: return ((const int64_t*)t->data)[i];
    case HR_INT16: return ((const int16_t*)t->data)[i];
    case HR_INT8: return ((const int8_t*)t->data)[i];
    case HR_UINT8:
    case HR_BOOL: return ((const uint8_t*)t->data)[i];
    case HR_UINT16: return ((const uint16_t*)t->data)[i];
    case HR_UINT32: return ((const uint32_t*)t->data)[i];
    case HR_UINT64: return (int64_t)((const uint64_t*)t->data)[i];
    default: return 0;
  }
}

/* Returns whether the value of input i is known. */
static inline int hr_known(const hr_request* r, int32_t i) {
  return r->inputs[i]->data != NULL || hr_elements(r->inputs[i]) == 0;
}

/* Reads input i, with a known value, as a flat list. */
static inline hr_code hr_read_ints(hr_request* r, int32_t i, hr_shape* values) {
  int64_t n = hr_elements(r->inputs[i]);
  if (n > HR_MAX_INTS)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "input %d has %" PRId64 " numbers, above %d", i, n,
                           HR_MAX_INTS);
  values->rank = (int32_t)n;
  for (int64_t k = 0; k < n; ++k) values->dims[k] = hr_element(r->inputs[i], k);
  return HR_OK;
}

/* Reads input i, a scalar or one element; sets *known to whether its value is known. */
static inline hr_code hr_read_int(hr_request* r, int32_t i, const char* what, int64_t* value,
                                  int* known) {
  hr_text text;
  const hr_tensor* t = r->inputs[i];
  *known = 0;
  *value = 0;
  if (t->rank > 1 || (t->rank == 1 && t->dims[0] != 1))
    HR_BAD(r, "%s must be a scalar, is of shape %s", what, hr_show(t, &text));
  *known = t->data != NULL;
  *value = *known ? hr_element(t, 0) : 0;
  return HR_OK;
}

static inline hr_code hr_not_negative(hr_request* r, int64_t n, const char* what) {
  if (n < 0) HR_BAD(r, "%s must not be negative, is %" PRId64, what, n);
  return HR_OK;
}

/* Reads input i as a shape; sets *known to whether its value is known. */
static inline hr_code hr_read_sizes(hr_request* r, int32_t i, hr_shape* sizes, int* known) {
  hr_text text;
  const hr_tensor* t = r->inputs[i];
  sizes->rank = 0;
  *known = 0;
  if (t->rank != 1) HR_BAD(r, "sizes must be a vector, are of shape %s", hr_show(t, &text));
  *known = hr_known(r, i);
  if (!*known) return HR_OK;
  HR_TRY(hr_read_ints(r, i, sizes));
  for (int32_t k = 0; k < sizes->rank; ++k)
    if (sizes->dims[k] < 0)
      HR_BAD(r, "sizes must not be negative, are %s", hr_show_shape(sizes, &text));
  return HR_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static inline int hr_attr_is(const hr_node* node, const char* key, const char* text) {
  const char* data;
  size_t size;
  return node->api->attr_string(node, key, &data, &size) == HR_OK && size == strlen(text) &&
         memcmp(data, text, size) == 0;
}

/* Returns whether data_format is channels first. */
static inline int hr_channels_first(const hr_node* node) {
  const char* data;
  size_t size;
  return node->api->attr_string(node, "data_format", &data, &size) == HR_OK && size >= 2 &&
         data[0] == 'N' && data[1] == 'C';
}

static inline void hr_attr_list(const hr_node* node, const char* key, const int64_t** values,
                                int32_t* n) {
  size_t count = 0;
  *values = NULL;
  *n = node->api->attr_ints(node, key, values, &count) == HR_OK ? (int32_t)count : 0;
}

/* ---- broadcasting ------------------------------------------------------------------------------
 */

/* Broadcasts out with a shape; returns 0 if they do not broadcast, and out is then undefined. */
static inline int hr_broadcast(hr_shape* out, const int64_t* dims, int32_t rank) {
  if (rank > out->rank) {
    int32_t more = rank - out->rank;
    memmove(out->dims + more, out->dims, (size_t)out->rank * sizeof(int64_t));
    for (int32_t i = 0; i < more; ++i) out->dims[i] = 1;
    out->rank = rank;
  }
  int64_t* at = out->dims + (out->rank - rank);
  for (int32_t i = 0; i < rank; ++i) {
    if (at[i] == dims[i] || dims[i] == 1) continue;
    if (at[i] != 1) return 0;
    at[i] = dims[i];
  }
  return 1;
}

#endif
