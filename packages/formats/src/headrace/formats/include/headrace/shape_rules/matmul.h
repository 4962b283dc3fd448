/* Matrix products. */
#ifndef HEADRACE_SHAPE_RULES_MATMUL_H
#define HEADRACE_SHAPE_RULES_MATMUL_H

#include "algebra.h"

static inline hr_code hr_shape_matmul(hr_request* r) {
  hr_text s, t;
  HR_TRY(hr_with_rank(r, 0, 2, "a"));
  HR_TRY(hr_with_rank(r, 1, 2, "b"));
  const hr_tensor *a = r->inputs[0], *b = r->inputs[1];
  int ta = hr_attr_bool(r->node, "transpose_a", 0) != 0;
  int tb = hr_attr_bool(r->node, "transpose_b", 0) != 0;
  if (a->dims[!ta] != b->dims[tb])
    HR_BAD(r, "inner sizes differ: a is %s, b is %s", hr_show(a, &s), hr_show(b, &t));
  int64_t dims[2] = {a->dims[ta], b->dims[!tb]};
  return hr_set_dims(r, 0, dims, 2);
}

static inline hr_code hr_shape_batch_matmul(hr_request* r) {
  hr_text s, t;
  HR_TRY(hr_at_least(r, 0, 2, "x"));
  HR_TRY(hr_at_least(r, 1, 2, "y"));
  const hr_tensor *x = r->inputs[0], *y = r->inputs[1];
  const int64_t *xm = x->dims + x->rank - 2, *ym = y->dims + y->rank - 2;
  int ax = hr_attr_bool(r->node, "adj_x", 0) != 0, ay = hr_attr_bool(r->node, "adj_y", 0) != 0;
  if (xm[!ax] != ym[ay])
    HR_BAD(r, "inner sizes differ: x is %s, y is %s", hr_show(x, &s), hr_show(y, &t));
  hr_shape out;
  out.rank = 0;
  hr_push_all(&out, x->dims, x->rank - 2);
  if (!hr_broadcast(&out, y->dims, y->rank - 2))
    HR_BAD(r, "batch sizes do not broadcast: x is %s, y is %s", hr_show(x, &s), hr_show(y, &t));
  hr_push(&out, xm[ax]);
  hr_push(&out, ym[!ay]);
  return hr_set(r, 0, &out);
}

/* ---- einsum ---------------------------------------------------------------------------- */

#define HR_EINSUM_DOTS '.'

/* Reads one term up to `stop` or the end, without spaces and with "..." as one '.'. Returns the
 * number of labels, or -1 after an error. */
static inline int hr_einsum_term(hr_request* r, const char* eq, size_t size, size_t* at,
                                 char* labels, int room, hr_code* code) {
  int n = 0, dots = 0;
  for (; *at < size && eq[*at] != ',' && !(eq[*at] == '-' && *at + 1 < size && eq[*at + 1] == '>');
       ++*at) {
    char c = eq[*at];
    if (c == ' ') continue;
    if (c == '.' && !dots && *at + 2 < size && eq[*at + 1] == '.' && eq[*at + 2] == '.') {
      dots = 1;
      *at += 2;
      c = HR_EINSUM_DOTS;
    } else if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      *code = hr_request_fail(r, HR_INVALID_ARGUMENT, "'%c' in equation '%.*s' is not a label", c,
                              (int)size, eq);
      return -1;
    }
    if (n == room) {
      *code = hr_request_fail(r, HR_UNIMPLEMENTED, "equation '%.*s' has a term of over %d labels",
                              (int)size, eq, room);
      return -1;
    }
    labels[n++] = c;
  }
  return n;
}

static inline hr_code hr_shape_einsum(hr_request* r) {
  hr_text s, t;
  const char* eq;
  size_t size, at = 0;
  HR_TRY(r->node->api->attr_string(r->node, "equation", &eq, &size));
  const int len = (int)size;
  char labels[32];
  hr_code code = HR_OK;
  int64_t found[128];
  int in_some[128] = {0};
  for (int i = 0; i < 128; ++i) found[i] = -1;
  hr_shape dots;
  dots.rank = 0;

  /* Parse the whole equation before checking shapes. */
  int terms = 0, arrow = 0;
  for (;;) {
    int n = hr_einsum_term(r, eq, size, &at, labels, 32, &code);
    if (n < 0) return code;
    for (int k = 0; k < n; ++k) in_some[(int)labels[k]] = 1;
    ++terms;
    if (at < size && eq[at] == ',') {
      ++at;
      continue;
    }
    arrow = at < size;
    break;
  }
  if (!arrow) HR_BAD(r, "equation '%.*s' has no '->'", len, eq);
  at += 2;
  char output[32];
  int n_output = hr_einsum_term(r, eq, size, &at, output, 32, &code);
  if (n_output < 0) return code;
  if (at < size) HR_BAD(r, "'%c' in equation '%.*s' is not a label", eq[at], len, eq);
  for (int k = 0; k < n_output; ++k) {
    if (output[k] != HR_EINSUM_DOTS && !in_some[(int)output[k]])
      HR_BAD(r, "label '%c' of the output of '%.*s' is in no input", output[k], len, eq);
    for (int j = k + 1; j < n_output; ++j)
      if (output[j] == output[k])
        HR_BAD(r, "label '%c' stands twice in the output of '%.*s'", output[k], len, eq);
  }
  if (terms != r->node->n_inputs)
    HR_BAD(r, "equation '%.*s' has %d terms for %d inputs", len, eq, terms, r->node->n_inputs);

  at = 0;
  for (int i = 0; i < terms; ++i, ++at) {
    int n = hr_einsum_term(r, eq, size, &at, labels, 32, &code), has_dots = 0;
    for (int k = 0; k < n; ++k) has_dots |= labels[k] == HR_EINSUM_DOTS;
    const hr_tensor* x = r->inputs[i];
    int spread = has_dots ? x->rank - n + 1 : 0;
    if (spread < 0 || (!has_dots && n != x->rank))
      HR_BAD(r, "input %d of '%.*s' does not fit shape %s", i, len, eq, hr_show(x, &s));
    for (int k = 0, d = 0; k < n; ++k) {
      if (labels[k] == HR_EINSUM_DOTS) {
        hr_shape before = dots;
        if (!hr_broadcast(&dots, x->dims + d, spread))
          HR_BAD(r, "shapes do not broadcast: %s and %s", hr_show_shape(&before, &s),
                 hr_show_dims(x->dims + d, spread, &t));
        d += spread;
        continue;
      }
      int64_t* known = &found[(int)labels[k]];
      if (*known >= 0 && *known != x->dims[d])
        HR_BAD(r, "label '%c' of '%.*s' has sizes %" PRId64 " and %" PRId64, labels[k], len, eq,
               *known, x->dims[d]);
      *known = x->dims[d++];
    }
  }
  hr_shape out;
  out.rank = 0;
  for (int k = 0; k < n_output; ++k) {
    if (output[k] == HR_EINSUM_DOTS) hr_push_all(&out, dots.dims, dots.rank);
    else hr_push(&out, found[(int)output[k]]);
  }
  return hr_set(r, 0, &out);
}

#endif
