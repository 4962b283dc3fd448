// Geometry of pooling nodes, forward and backward: attributes, shapes, and what they must satisfy.
#ifndef HEADRACE_LIBRARY_POOLING_HPP
#define HEADRACE_LIBRARY_POOLING_HPP

#include <algorithm>

#include "library/attributes.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/window.hpp"

namespace hr {

// Fills *w for an input of this shape from ksize, strides and the node's attributes.
inline hr_code read_pool(hr_request* r, int32_t rank, const int64_t* dims,
                         const PerDimension& ksize, const PerDimension& strides, Window* w) {
  if (ksize.n != rank || strides.n != rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "ksize and strides need %d values: %d and %d given", rank, ksize.n,
                           strides.n);
  const auto format = attr_text(r->node, "data_format", "NHWC");
  const bool first = format == "NCHW" || format == "NCDHW";
  const int32_t channel_axis = first ? 1 : rank - 1;
  // In two dimensions TensorFlow never looks at the stride over depth.
  if (ksize.value[0] != 1 || ksize.value[channel_axis] != 1 || strides.value[0] != 1 ||
      (rank == 5 && strides.value[channel_axis] != 1))
    return hr_request_fail(
        r, HR_UNIMPLEMENTED,
        "pooling goes over space only: ksize and strides of batch and channels must be 1");
  int64_t sizes[3] = {1, 1, 1};
  for (int32_t i = 0; i < rank - 2; ++i) {
    sizes[i] = ksize.value[i + (first ? 2 : 1)];
    if (sizes[i] < 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "window size %lld must be positive",
                             (long long)sizes[i]);
  }
  hr_code code = read_window(r, rank, dims, sizes, strides, PerDimension{}, w);
  if (code != HR_OK) return code;
  if (attr_text(r->node, "padding", "VALID") == "EXPLICIT") {
    static const char* const sides[2][2] = {{"Top", "Bottom"}, {"Left", "Right"}};
    for (int32_t i = 0; i < 2 * std::min(w->nd, 2); ++i) {
      const int64_t padding = i % 2 ? w->high[i / 2] : w->low[i / 2];
      if (padding >= w->size[i / 2])
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "%s padding %lld needs to be smaller than the window size %lld",
                               sides[i / 2][i % 2], (long long)padding, (long long)w->size[i / 2]);
    }
  }
  return HR_OK;
}

namespace pooling {

enum class Kind {
  max,
  average,
  max_gradient,
  average_gradient,
  max_gradient_gradient,
  argmax,
  argmax_to_input,
  argmax_from_input
};

// A node as its kernels see it.
struct Node {
  hr_tensor x;  // the input that is pooled, in the gradients orig_input
  hr_tensor y;  // the pooled input; of AvgPoolGrad, as many windows as the gradient has
  Window w;
  int32_t dy = 0;  // the input that is the gradient
};

inline bool is_forward(Kind kind) {
  return kind == Kind::max || kind == Kind::average || kind == Kind::argmax;
}

inline hr_code check_gradient(hr_request* r, const Node& node, const hr_tensor* grad) {
  if (same_shape(grad, &node.y)) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "grad is %s, but the pooled input %s",
                         ShapeText(grad).text, ShapeText(&node.y).text);
}

inline hr_code check_max_gradient(hr_request* r, Node* node) {
  node->dy = 2;
  copy_shape(&node->x, r->outputs[0]);
  if (!same_shape(r->inputs[1], &node->y))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Expected orig_output shape to be %s, but got %s",
                           ShapeText(&node->y).text, ShapeText(r->inputs[1]).text);
  return check_gradient(r, *node, r->inputs[2]);
}

inline hr_code check_average_gradient(hr_request* r, Node* node) {
  const hr_tensor &x = node->x, &y = node->y, *grad = r->inputs[1];
  node->dy = 1;
  const bool empty = hr_elements(grad) == 0;
  const bool own_windows =
      x.rank == 4 && grad->rank == 4 && !node->w.channels_first && grad->dims[3] == x.dims[3] &&
      (empty ||
       (grad->dims[0] == x.dims[0] && grad->dims[1] >= y.dims[1] && grad->dims[2] >= y.dims[2]));
  if (!own_windows) return check_gradient(r, *node, grad);
  // TensorFlow walks the windows that the gradient has, also those beside the image.
  if (!empty && ((grad->dims[1] - 1) * node->w.stride[0] > x.dims[1] ||
                 (grad->dims[2] - 1) * node->w.stride[1] > x.dims[2]))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "index * stride must be less than or equal to input size: grad "
                           "is %s, the input %s",
                           ShapeText(grad).text, ShapeText(&x).text);
  node->w.out[0] = empty ? 0 : grad->dims[1];
  node->w.out[1] = grad->dims[2];
  return HR_OK;
}

inline hr_code check_max_gradient_gradient(hr_request* r, Node* node) {
  node->dy = 2;
  copy_shape(&node->y, r->outputs[0]);
  if (!same_shape(r->inputs[2], &node->x))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "grad is %s, but orig_input is %s",
                           ShapeText(r->inputs[2]).text, ShapeText(&node->x).text);
  return check_gradient(r, *node, r->inputs[1]);
}

inline hr_code check_argmax_to_input(hr_request* r, Node* node) {
  if (!same_shape(r->inputs[2], &node->y))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "argmax is %s, but the pooled input %s",
                           ShapeText(r->inputs[2]).text, ShapeText(&node->y).text);
  copy_shape(&node->x, r->outputs[0]);
  return check_gradient(r, *node, r->inputs[1]);
}

inline hr_code check_argmax_from_input(hr_request* r, Node* node) {
  if (!same_shape(r->inputs[1], &node->x))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "grad is %s, but input is %s",
                           ShapeText(r->inputs[1]).text, ShapeText(&node->x).text);
  copy_shape(&node->y, r->outputs[0]);
  return check_gradient(r, *node, r->inputs[2]);
}

inline hr_code set_shapes(hr_request* r, Kind kind, Node* node) {
  switch (kind) {
    case Kind::argmax: copy_shape(&node->y, r->outputs[1]); [[fallthrough]];
    case Kind::max:
    case Kind::average: copy_shape(&node->y, r->outputs[0]); return HR_OK;
    case Kind::max_gradient: return check_max_gradient(r, node);
    case Kind::average_gradient: return check_average_gradient(r, node);
    case Kind::max_gradient_gradient: return check_max_gradient_gradient(r, node);
    case Kind::argmax_to_input: return check_argmax_to_input(r, node);
    case Kind::argmax_from_input: return check_argmax_from_input(r, node);
  }
  return HR_OK;
}

// Reads a pooling node and sets the outputs' shapes. ksize and strides are attributes, or (V2)
// constant inputs from first_vector on.
inline hr_code read_node(hr_request* r, Kind kind, int first_vector, Node* node) {
  const PerDimension ksize =
      first_vector ? dimension_list(r->inputs[first_vector]) : dimension_list(r->node, "ksize");
  const PerDimension strides = first_vector ? dimension_list(r->inputs[first_vector + 1])
                                            : dimension_list(r->node, "strides");
  node->x = *r->inputs[0];
  hr_tensor& x = node->x;
  if (is_forward(kind)) {
    const char* rule = first_vector ? "pool2d_v2" : x.rank == 5 ? "pool3d" : "pool2d";
    if (hr_code code = hr_shape_rule_by_name(rule)(r)) return code;
  }
  if (kind == Kind::average_gradient) {
    if (hr_code code = shape_of_value(r, 0, 0)) return code;
    copy_shape(r->outputs[0], &x);
  }
  if (hr_code code = read_pool(r, x.rank, x.dims, ksize, strides, &node->w)) return code;
  node->y = {};
  set_window_shape(node->w, node->w.channels, &node->y);
  return set_shapes(r, kind, node);
}

}  // namespace pooling
}  // namespace hr

#endif
