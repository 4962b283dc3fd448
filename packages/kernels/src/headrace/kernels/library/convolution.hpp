// Geometry of convolution nodes, forward and backward: attributes, shapes, and what they must
// satisfy.
#ifndef HEADRACE_LIBRARY_CONVOLUTION_HPP
#define HEADRACE_LIBRARY_CONVOLUTION_HPP

#include <algorithm>
#include <string_view>

#include "library/attributes.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/window.hpp"

namespace hr {

// A window whose filter is [size..., in_group, out] in memory, and the strides that say so.
struct Convolution {
  Window w;
  int64_t groups, in_group, out_group, out_channels;
  // Of the filter's memory; the output channels of a group are contiguous.
  int64_t filter_position, filter_in, filter_group;
};

namespace convolution {

enum class Direction { forward, to_input, to_filter };

// A node as its kernels see it.
struct Node {
  Convolution c;
  int x, filter, y;      // which of inputs..., output they are; -1: the output
  bool empty = false;    // the result has no elements, or sums none: it is zeros
  bool ignored = false;  // empty, and `c` is not set, since sizes do not matter
};

// x_shape and filter_shape are complete; the filter is [size..., in, out], depthwise or not.
inline hr_code read_convolution(hr_request* r, const hr_tensor* x, const hr_tensor* filter,
                                bool depthwise, Convolution* c) {
  if (filter->rank != x->rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "ranks differ: input is %s, filter is %s",
                           ShapeText(x).text, ShapeText(filter).text);
  const int32_t nd = x->rank - 2;
  const int64_t* dilations;
  size_t attribute = 0;
  if (r->node->api->attr_ints(r->node, "dilations", &dilations, &attribute) == HR_OK &&
      attribute != size_t(x->rank))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Sliding window dilations field must specify %d dimensions, has %d",
                           x->rank, int(attribute));
  hr_code code = read_window(r, x->rank, x->dims, filter->dims, dimension_list(r->node, "strides"),
                             dimension_list(r->node, "dilations"), &c->w);
  if (code != HR_OK) return code;
  const int64_t a = filter->dims[nd], b = filter->dims[nd + 1];
  if (depthwise) {
    if (a != c->w.channels)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "channels differ: input is %s, filter is %s",
                             ShapeText(x).text, ShapeText(filter).text);
    c->groups = a;
    c->in_group = 1;
    c->out_group = b;
    c->out_channels = a * b;
    c->filter_in = b;
    c->filter_group = b;
  } else {
    c->groups = a ? c->w.channels / a : 1;
    if (a == 0 ? c->w.channels != 0 : (c->w.channels % a || (c->groups && b % c->groups)))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "channels do not fit: input is %s, filter is %s", ShapeText(x).text,
                             ShapeText(filter).text);
    c->in_group = a;
    c->out_group = c->groups ? b / c->groups : b;
    c->out_channels = b;
    c->filter_in = b;
    c->filter_group = c->out_group;
  }
  c->filter_position = a * b;
  return HR_OK;
}

// Whether a gradient without elements, or of none, has any sizes: TensorFlow's oneDNN kernels give
// zeros before they compare sizes. They take no double, half on few processors only (those with
// avx512_fp16), and not the first version of Conv3D's.
inline bool ignores_sizes(const hr_request* r) {
  const std::string_view op(r->node->op);
  const hr_dtype attribute = hr_attr_type(r->node, "T");  // half comes here as float
  return attribute != HR_DOUBLE && attribute != HR_HALF && op != "Conv3DBackpropInput" &&
         op != "Conv3DBackpropFilter";
}

// What only _FusedConv2D has.
inline hr_code check_fused_attributes(hr_request* r) {
  if (r->inputs[0]->rank != 4 || r->inputs[1]->rank != 4)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Shape must be rank 4: input is %s, filter is %s",
                           ShapeText(r->inputs[0]).text, ShapeText(r->inputs[1]).text);
  const auto data = attr_text(r->node, "data_format", "NHWC"),
             filter = attr_text(r->node, "filter_format", "HWIO");
  if ((data != "NHWC" && data != "NCHW") || filter != "HWIO")
    return hr_request_fail(r, HR_UNIMPLEMENTED,
                           "data_format must be NHWC or NCHW, filter_format HWIO: they are %.*s, "
                           "%.*s",
                           int(data.size()), data.data(), int(filter.size()), filter.data());
  return HR_OK;
}

// Reads a convolution, grouped or depthwise, or one of its gradients, and sets the output's shape.
inline hr_code read_node(hr_request* r, Direction direction, bool depthwise, Node* node) {
  hr_tensor x = *r->inputs[0], filter = *r->inputs[1];
  hr_tensor* out = r->outputs[0];
  hr_code code = HR_OK;
  // Sizes come as a constant vector, or as a tensor whose shape alone counts.
  auto sizes = [&](int input, hr_tensor* shape) {
    if (r->inputs[input]->dtype != r->inputs[2]->dtype) {
      code = shape_of_value(r, input, 0);
      if (code == HR_OK) copy_shape(out, shape);
    }
  };
  if (direction == Direction::to_input) sizes(0, &x);
  if (direction == Direction::to_filter) sizes(1, &filter);
  if (code != HR_OK) return code;
  if (direction != Direction::forward &&
      (x.rank != r->inputs[2]->rank || filter.rank != r->inputs[2]->rank))
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT, "ranks differ: input is %s, filter is %s, out_backprop is %s",
        ShapeText(&x).text, ShapeText(&filter).text, ShapeText(r->inputs[2]).text);
  if (direction != Direction::forward && ignores_sizes(r) &&
      (hr_elements(&x) == 0 || hr_elements(&filter) == 0 || hr_elements(r->inputs[2]) == 0)) {
    code =
        check_window_attributes(r, x.rank, dimension_list(r->node, "strides"),
                                depthwise ? PerDimension{} : dimension_list(r->node, "dilations"));
    if (code != HR_OK) return code;
    copy_shape(direction == Direction::to_input ? &x : &filter, out);
    node->empty = node->ignored = true;
    return HR_OK;
  }
  if (std::string_view(r->node->op) == "_FusedConv2D" && (code = check_fused_attributes(r)))
    return code;
  if (direction == Direction::forward && (depthwise || hr_elements(&x)) && !hr_elements(&filter))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "filter must not have zero elements (i.e. all dimensions must be "
                           "non-zero): it is %s",
                           ShapeText(&filter).text);
  if (direction == Direction::forward) {
    const char* rule = depthwise ? "depthwise_conv2d" : x.rank == 5 ? "conv3d" : "conv2d";
    code = hr_shape_rule_by_name(rule)(r);
    if (code != HR_OK) return code;
  }
  code = read_convolution(r, &x, &filter, depthwise, &node->c);
  if (code != HR_OK) return code;
  const Convolution& c = node->c;
  hr_tensor y{};
  set_window_shape(c.w, c.out_channels, &y);
  if (direction == Direction::forward) {
    copy_shape(&y, out);
    node->x = 0, node->filter = 1, node->y = -1;
  } else {
    if (!same_shape(&y, r->inputs[2]))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "out_backprop is %s, but input %s and filter %s make %s",
                             ShapeText(r->inputs[2]).text, ShapeText(&x).text,
                             ShapeText(&filter).text, ShapeText(&y).text);
    copy_shape(direction == Direction::to_input ? &x : &filter, out);
    node->y = 2;
    node->x = direction == Direction::to_input ? -1 : 0;
    node->filter = direction == Direction::to_input ? 1 : -1;
  }
  node->empty = hr_elements(&x) == 0 || hr_elements(&y) == 0 || hr_elements(&filter) == 0;
  r->flops = 2.0 * double(hr_elements(&y)) * double(c.w.window_positions()) * double(c.in_group);
  return HR_OK;
}

}  // namespace convolution
}  // namespace hr

#endif
