/* Output shapes that are constant, or equal to an input's shape, an input's value or an attribute.
 */
#ifndef HEADRACE_SHAPE_RULES_GIVEN_H
#define HEADRACE_SHAPE_RULES_GIVEN_H

#include "algebra.h"

static inline hr_code hr_shape_no_output(hr_request* r) {
  (void)r;
  return HR_OK;
}

/* The shape depends on input values or a resource: only the kernel knows it. */
static inline hr_code hr_shape_unknown(hr_request* r) { return hr_depends(r); }

static inline hr_code hr_shape_scalar(hr_request* r) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) r->outputs[i]->rank = 0;
  return HR_OK;
}

static inline hr_code hr_shape_ref_handle(hr_request* r) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) HR_TRY(hr_set_vector(r, i, 2));
  return HR_OK;
}

static inline hr_code hr_all_like(hr_request* r, int32_t input) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) hr_set_like(r, i, r->inputs[input]);
  return HR_OK;
}

static inline hr_code hr_shape_unchanged(hr_request* r) { return hr_all_like(r, 0); }
static inline hr_code hr_shape_as_input_1(hr_request* r) { return hr_all_like(r, 1); }
static inline hr_code hr_shape_as_input_2(hr_request* r) { return hr_all_like(r, 2); }
static inline hr_code hr_shape_as_input_3(hr_request* r) { return hr_all_like(r, 3); }

static inline hr_code hr_shape_each_unchanged(hr_request* r) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) hr_set_like(r, i, r->inputs[i]);
  return HR_OK;
}

static inline hr_code hr_shape_from_input(hr_request* r, int32_t input) {
  hr_shape sizes;
  int known;
  HR_TRY(hr_read_sizes(r, input, &sizes, &known));
  if (!known) return hr_depends(r);
  for (int32_t i = 0; i < r->node->n_outputs; ++i) HR_TRY(hr_set(r, i, &sizes));
  return HR_OK;
}

static inline hr_code hr_shape_shape_from_input_0(hr_request* r) {
  return hr_shape_from_input(r, 0);
}
static inline hr_code hr_shape_shape_from_input_1(hr_request* r) {
  return hr_shape_from_input(r, 1);
}
static inline hr_code hr_shape_shape_from_input_3(hr_request* r) {
  return hr_shape_from_input(r, 3);
}

static inline hr_code hr_shape_attr_shape(hr_request* r) {
  int32_t rank = -1;
  const int64_t* dims = NULL;
  if (r->node->api->attr_shape(r->node, "shape", &rank, &dims) != HR_OK || rank < 0)
    return hr_depends(r);
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] < 0) return hr_depends(r);
  return hr_set_dims(r, 0, dims, rank);
}

static inline hr_code hr_shape_const(hr_request* r) {
  const hr_tensor* value = NULL;
  HR_TRY(r->node->api->attr_tensor(r->node, "value", &value));
  return hr_set_like(r, 0, value);
}

/* The shape of the input, which must be compatible with the attribute. */
static inline hr_code hr_shape_ensure_shape(hr_request* r) {
  hr_text a, b;
  int32_t rank = -1;
  const int64_t* dims = NULL;
  const hr_tensor* x = r->inputs[0];
  if (r->node->api->attr_shape(r->node, "shape", &rank, &dims) == HR_OK && rank >= 0) {
    int fits = rank == x->rank;
    hr_shape declared;
    declared.rank = 0;
    for (int32_t i = 0; i < rank; ++i) {
      fits = fits && (dims[i] < 0 || dims[i] == x->dims[i]);
      hr_push(&declared, dims[i] < 0 ? INT64_MIN : dims[i]);
    }
    if (!fits)
      HR_BAD(r, "shape is %s, not of the declared %s", hr_show(x, &a),
             hr_show_shape(&declared, &b));
  }
  return hr_set_like(r, 0, x);
}

static inline hr_code hr_shape_placeholder_with_default(hr_request* r) {
  return hr_shape_ensure_shape(r);
}

#endif
