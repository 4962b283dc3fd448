/* Sliding windows: convolution, pooling, patches; and biases. */
#ifndef HEADRACE_SHAPE_RULES_WINDOWS_H
#define HEADRACE_SHAPE_RULES_WINDOWS_H

#include <math.h>

#include "algebra.h"

enum { HR_VALID = 0, HR_SAME = 1, HR_EXPLICIT = 2 };

static inline int hr_padding(const hr_node* node) {
  return hr_attr_is(node, "padding", "SAME")       ? HR_SAME
         : hr_attr_is(node, "padding", "EXPLICIT") ? HR_EXPLICIT
                                                   : HR_VALID;
}

/* Number of window positions along a dimension of size n. */
static inline hr_code hr_window_count(hr_request* r, int64_t n, int64_t size, int64_t stride,
                                      int64_t rate, int padding, int64_t before_after,
                                      int64_t* places) {
  if (padding == HR_SAME) {
    *places = n / stride + (n % stride != 0);
    return HR_OK;
  }
  if (size > INT32_MAX || rate > INT32_MAX)
    HR_BAD(r, "window of %" PRId64 " and dilation %" PRId64 " must fit in 32 bits", size, rate);
  int64_t reach = (size - 1) * rate + 1;
  int64_t room = n + before_after - reach;
  if (room < 0)
    HR_BAD(r, "window of %" PRId64 " does not fit a size of %" PRId64, reach, n + before_after);
  *places = room / stride + 1;
  return HR_OK;
}

/* Padding before the first element, and after the last (*after). */
static inline int64_t hr_padding_before(int64_t n, int64_t size, int64_t stride, int64_t rate,
                                        int64_t places, int64_t* after) {
  int64_t all = (places - 1) * stride + (size - 1) * rate + 1 - n;
  if (all < 0) all = 0;
  if (after) *after = all - all / 2;
  return all / 2;
}

static inline hr_code hr_check_positive(hr_request* r, const char* name, const int64_t* values,
                                        int32_t n, int32_t rank) {
  hr_text s;
  if (n != rank)
    HR_BAD(r, "%s must be %d numbers, are %s", name, rank, hr_show_dims(values, n, &s));
  for (int32_t i = 0; i < n; ++i)
    if (values[i] < 1) HR_BAD(r, "%s must be positive, are %s", name, hr_show_dims(values, n, &s));
  return HR_OK;
}

static inline hr_code hr_positive_list(hr_request* r, const char* name, int32_t rank,
                                       const int64_t** values) {
  int32_t n;
  hr_attr_list(r->node, name, values, &n);
  return hr_check_positive(r, name, *values, n, rank);
}

static inline hr_code hr_explicit_paddings(hr_request* r, int padding, int32_t rank,
                                           const int64_t** values) {
  hr_text s;
  int32_t n;
  hr_attr_list(r->node, "explicit_paddings", values, &n);
  if (padding == HR_EXPLICIT && n != 2 * rank)
    HR_BAD(r, "explicit_paddings must be %d numbers, are %s", 2 * rank,
           hr_show_dims(*values, n, &s));
  if (padding != HR_EXPLICIT && n)
    HR_BAD(r,
           "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT, "
           "is %s",
           hr_show_dims(*values, n, &s));
  for (int32_t i = 0; i < n; ++i) /* larger values would overflow in sums */
    if ((*values)[i] > INT32_MAX)
      HR_BAD(r, "explicit_paddings must fit in 32 bits, are %s", hr_show_dims(*values, n, &s));
  return HR_OK;
}

static inline hr_code hr_convolution(hr_request* r, int32_t space, int depthwise) {
  static const int64_t ones[5] = {1, 1, 1, 1, 1};
  hr_text s, t;
  const int32_t rank = space + 2;
  const hr_tensor *x = r->inputs[0], *f = r->inputs[1];
  const int64_t *strides, *rates, *explicit_paddings;
  size_t n_rates = 0;
  HR_TRY(hr_with_rank(r, 0, rank, "input"));
  HR_TRY(hr_with_rank(r, 1, rank, "filter"));
  HR_TRY(hr_positive_list(r, "strides", rank, &strides));
  if (r->node->api->attr_ints(r->node, "dilations", &rates, &n_rates) == HR_OK)
    HR_TRY(hr_check_positive(r, "dilations", rates, (int32_t)n_rates, rank));
  else rates = ones;
  int32_t c = hr_channels_first(r->node) ? 1 : rank - 1, first = c == 1 ? 2 : 1;
  if (strides[0] != 1 || strides[c] != 1)
    HR_BAD(r, "strides over batch and depth must be 1, are %s", hr_show_dims(strides, rank, &s));
  if (rates[0] != 1 || rates[c] != 1)
    HR_BAD(r, "dilations over batch and depth must be 1, are %s", hr_show_dims(rates, rank, &s));
  int64_t depth = x->dims[c], taken = f->dims[space];
  if (depthwise) {
    if (depth != taken)
      HR_BAD(r, "depths differ: input is %s, filter is %s", hr_show(x, &s), hr_show(f, &t));
  } else if (taken == 0 || depth % taken) {
    HR_BAD(r, "depth of input %s is not a multiple of that of filter %s", hr_show(x, &s),
           hr_show(f, &t));
  }
  int padding = hr_padding(r->node);
  HR_TRY(hr_explicit_paddings(r, padding, rank, &explicit_paddings));
  hr_shape out = hr_shape_of(x);
  for (int32_t i = 0; i < space; ++i) {
    int32_t d = first + i;
    int64_t more =
        padding == HR_EXPLICIT ? explicit_paddings[2 * d] + explicit_paddings[2 * d + 1] : 0;
    HR_TRY(hr_window_count(r, x->dims[d], f->dims[i], strides[d], rates[d], padding, more,
                           &out.dims[d]));
  }
  out.dims[c] = depthwise ? hr_times(f->dims[space + 1], taken) : f->dims[space + 1];
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_conv2d(hr_request* r) { return hr_convolution(r, 2, 0); }
static inline hr_code hr_shape_conv3d(hr_request* r) { return hr_convolution(r, 3, 0); }
static inline hr_code hr_shape_depthwise_conv2d(hr_request* r) { return hr_convolution(r, 2, 1); }

static inline hr_code hr_shape_dilation2d(hr_request* r) {
  hr_text s, t;
  const hr_tensor *x = r->inputs[0], *f = r->inputs[1];
  const int64_t *strides, *rates;
  HR_TRY(hr_with_rank(r, 0, 4, "input"));
  HR_TRY(hr_with_rank(r, 1, 3, "filter"));
  HR_TRY(hr_positive_list(r, "strides", 4, &strides));
  HR_TRY(hr_positive_list(r, "rates", 4, &rates));
  if (x->dims[3] != f->dims[2])
    HR_BAD(r, "depths differ: input is %s, filter is %s", hr_show(x, &s), hr_show(f, &t));
  hr_shape out = hr_shape_of(x);
  for (int32_t i = 1; i < 3; ++i)
    HR_TRY(hr_window_count(r, x->dims[i], f->dims[i - 1], strides[i], rates[i], hr_padding(r->node),
                           0, &out.dims[i]));
  return hr_set(r, 0, &out);
}

static inline hr_code hr_patches(hr_request* r, int32_t rank, const char* what, int has_rates) {
  static const int64_t ones[5] = {1, 1, 1, 1, 1};
  const hr_tensor* x = r->inputs[0];
  const int64_t *sizes, *strides, *rates = ones;
  HR_TRY(hr_with_rank(r, 0, rank, what));
  HR_TRY(hr_positive_list(r, "ksizes", rank, &sizes));
  HR_TRY(hr_positive_list(r, "strides", rank, &strides));
  if (has_rates) HR_TRY(hr_positive_list(r, "rates", rank, &rates));
  hr_shape out = hr_shape_of(x);
  for (int32_t i = 1; i < rank - 1; ++i) {
    HR_TRY(hr_window_count(r, x->dims[i], sizes[i], strides[i], rates[i], hr_padding(r->node), 0,
                           &out.dims[i]));
    out.dims[rank - 1] = hr_times(out.dims[rank - 1], sizes[i]);
  }
  return hr_set(r, 0, &out);
}

static inline hr_code hr_shape_extract_image_patches(hr_request* r) {
  return hr_patches(r, 4, "images", 1);
}
static inline hr_code hr_shape_extract_volume_patches(hr_request* r) {
  return hr_patches(r, 5, "input", 0);
}

static inline hr_code hr_pool(hr_request* r, int32_t rank, const int64_t* sizes,
                              const int64_t* strides) {
  hr_text s, t;
  const hr_tensor* x = r->inputs[0];
  const int64_t* explicit_paddings;
  int32_t c = hr_channels_first(r->node) ? 1 : rank - 1;
  if (sizes[0] != 1 || strides[0] != 1)
    HR_BAD(r, "windows over the batch must be 1: ksize is %s, strides are %s",
           hr_show_dims(sizes, rank, &s), hr_show_dims(strides, rank, &t));
  int padding = hr_padding(r->node);
  HR_TRY(hr_explicit_paddings(r, padding, rank, &explicit_paddings));
  hr_shape out = hr_shape_of(x);
  for (int32_t i = 1; i < rank; ++i) {
    if (i == c && sizes[i] == 1 && strides[i] == 1) continue;
    int64_t more =
        padding == HR_EXPLICIT ? explicit_paddings[2 * i] + explicit_paddings[2 * i + 1] : 0;
    HR_TRY(hr_window_count(r, x->dims[i], sizes[i], strides[i], 1, padding, more, &out.dims[i]));
  }
  for (int32_t i = 0; i < r->node->n_outputs; ++i) HR_TRY(hr_set(r, i, &out));
  return HR_OK;
}

static inline hr_code hr_pool_of(hr_request* r, int32_t rank) {
  const int64_t *sizes, *strides;
  HR_TRY(hr_positive_list(r, "ksize", rank, &sizes));
  HR_TRY(hr_positive_list(r, "strides", rank, &strides));
  HR_TRY(hr_with_rank(r, 0, rank, "input"));
  return hr_pool(r, rank, sizes, strides);
}

static inline hr_code hr_shape_pool2d(hr_request* r) { return hr_pool_of(r, 4); }
static inline hr_code hr_shape_pool3d(hr_request* r) { return hr_pool_of(r, 5); }

static inline hr_code hr_shape_pool2d_v2(hr_request* r) {
  static const char* const names[3] = {"", "ksize", "strides"};
  hr_shape values[3];
  HR_TRY(hr_with_rank(r, 0, 4, "input"));
  for (int32_t i = 1; i < 3; ++i) {
    HR_TRY(hr_with_rank(r, i, 1, names[i]));
    if (!hr_known(r, i)) continue;
    HR_TRY(hr_read_ints(r, i, &values[i]));
    HR_TRY(hr_check_positive(r, names[i], values[i].dims, values[i].rank, 4));
  }
  if (!hr_known(r, 1) || !hr_known(r, 2)) return hr_depends(r);
  return hr_pool(r, 4, values[1].dims, values[2].dims);
}

static inline hr_code hr_shape_fractional_pool(hr_request* r) {
  const float* ratios = NULL;
  size_t n = 0;
  HR_TRY(hr_with_rank(r, 0, 4, "value"));
  r->node->api->attr_floats(r->node, "pooling_ratio", &ratios, &n);
  if (n != 4) HR_BAD(r, "pooling_ratio must be 4 numbers, is %d", (int)n);
  hr_shape out = hr_shape_of(r->inputs[0]);
  for (int32_t i = 0; i < 4; ++i) out.dims[i] = (int64_t)floorf((float)out.dims[i] / ratios[i]);
  HR_TRY(hr_set(r, 0, &out));
  HR_TRY(hr_set_vector(r, 1, out.dims[1] + 1));
  return hr_set_vector(r, 2, out.dims[2] + 1);
}

static inline hr_code hr_shape_bias_add(hr_request* r) {
  hr_text s, t;
  const hr_tensor *x = r->inputs[0], *bias = r->inputs[1];
  HR_TRY(hr_with_rank(r, 1, 1, "bias"));
  HR_TRY(hr_at_least(r, 0, 2, "value"));
  if (x->dims[hr_channels_first(r->node) ? 1 : x->rank - 1] != bias->dims[0])
    HR_BAD(r, "bias %s does not fit value %s", hr_show(bias, &s), hr_show(x, &t));
  return hr_set_like(r, 0, x);
}

static inline hr_code hr_shape_bias_add_grad(hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_at_least(r, 0, 2, "out_backprop"));
  return hr_set_vector(r, 0, x->dims[hr_channels_first(r->node) ? 1 : x->rank - 1]);
}

#endif
