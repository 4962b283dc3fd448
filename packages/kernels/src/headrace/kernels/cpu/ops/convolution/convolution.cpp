// Convolutions in two and three dimensions, grouped and depthwise, and their gradients.
#include <cstring>
#include <memory>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "loops/via_float.hpp"
#include "ops/convolution/convolution_plan.hpp"

namespace hr {
namespace {

using namespace convolution;

template <class T>
hr_code compute_loops(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  Ends e = ends(p, inputs, outputs);
  T *x = static_cast<T*>(e.x), *filter = static_cast<T*>(e.filter), *y = static_cast<T*>(e.y);
  switch (p.direction) {
    case Direction::forward:
      convolve<T>(ctx, p.c, x, filter, y);
      if constexpr (std::is_floating_point_v<T>) {
        if (p.epilogue_apart) finish<T>(ctx, p, inputs, y);
      }
      break;
    case Direction::to_input: convolve_to_input<T>(ctx, p.c, x, filter, y); break;
    case Direction::to_filter: convolve_to_filter<T>(ctx, p.c, x, filter, y); break;
  }
  return HR_OK;
}

hr_code compute_zero(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  hr_tensor* out = outputs[0];
  const size_t bytes = size_t(hr_elements(out) * hr_dtype_size(out->dtype));
  if (bytes) std::memset(out->data, 0, bytes);
  if (bytes && p.direction == Direction::forward && (p.epilogue.bias || p.epilogue.batch_norm)) {
    if (out->dtype == HR_DOUBLE) finish<double>(ctx, p, inputs, write<double>(out));
    else finish<float>(ctx, p, inputs, write<float>(out));
  }
  return HR_OK;
}

// x_shape and filter_shape are complete; the filter is [size..., in, out], depthwise or not.
hr_code read_convolution(hr_request* r, const hr_tensor* x, const hr_tensor* filter, bool depthwise,
                         Convolution* c) {
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
bool ignores_sizes(const hr_request* r) {
  const std::string_view op(r->node->op);
  const hr_dtype attribute = hr_attr_type(r->node, "T");  // half comes here as float
  return attribute != HR_DOUBLE && attribute != HR_HALF && op != "Conv3DBackpropInput" &&
         op != "Conv3DBackpropFilter";
}

// What only _FusedConv2D has.
hr_code check_fused_attributes(hr_request* r) {
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

// oneDNN for float where it has a sound kernel, loops for all else; nothing to compute is zeros.
void choose_compute(hr_request* r, Plan* plan, bool empty) {
  if (empty) {
    plan->epilogue_apart = true;
    r->compute = compute_zero;
  } else if (r->outputs[0]->dtype == HR_DOUBLE) {
    r->compute = compute_loops<double>;
  } else if (r->outputs[0]->dtype == HR_INT32) {
    r->compute = compute_loops<int32_t>;
  } else {
#if HR_WITH_ONEDNN
    try {
      if (overruns_scratch(plan->c))
        throw dnnl::error(dnnl_unimplemented, "strided 1x1, few channels");
      build_onednn(r, plan);
    } catch (const dnnl::error&) {
      // What oneDNN has no sound kernel for the loops can do.
      r->compute = compute_loops<float>;
      r->workspace = 0;
      if (plan->direction == Direction::forward &&
          (plan->epilogue.bias || plan->epilogue.batch_norm ||
           plan->epilogue.activation != Activation::none))
        plan->epilogue_apart = true;
    }
#else
    r->compute = compute_loops<float>;
#endif
  }
}

template <Direction direction, bool depthwise>
hr_code prepare(void*, hr_request* r) {
  auto plan = std::make_unique<Plan>();
  plan->direction = direction;
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
    r->compute = compute_zero;
    keep_plan(r, plan.release());
    return HR_OK;
  }
  const bool fused = std::string_view(r->node->op) == "_FusedConv2D";
  if (fused && (code = check_fused_attributes(r))) return code;
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
  code = read_convolution(r, &x, &filter, depthwise, &plan->c);
  if (code != HR_OK) return code;
  Convolution& c = plan->c;
  hr_tensor y{};
  set_window_shape(c.w, c.out_channels, &y);
  if (direction == Direction::forward) {
    copy_shape(&y, out);
    plan->x = 0, plan->filter = 1, plan->y = -1;
    if (fused) {
      code = read_epilogue(r, c.out_channels, &plan->epilogue);
      if (code != HR_OK) return code;
      plan->epilogue_apart = r->inputs[0]->dtype == HR_DOUBLE;
#if !HR_WITH_ONEDNN
      plan->epilogue_apart = true;
#endif
    }
  } else {
    if (!same_shape(&y, r->inputs[2]))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "out_backprop is %s, but input %s and filter %s make %s",
                             ShapeText(r->inputs[2]).text, ShapeText(&x).text,
                             ShapeText(&filter).text, ShapeText(&y).text);
    copy_shape(direction == Direction::to_input ? &x : &filter, out);
    plan->y = 2;
    plan->x = direction == Direction::to_input ? -1 : 0;
    plan->filter = direction == Direction::to_input ? 1 : -1;
  }
  const int64_t work = hr_elements(&x) * hr_elements(&y) * hr_elements(&filter);
  r->flops = 2.0 * double(hr_elements(&y)) * double(c.w.window_positions()) * double(c.in_group);
  choose_compute(r, plan.get(), work == 0);
  keep_plan(r, plan.release());
  return HR_OK;
}

constexpr auto forward = widened<prepare<Direction::forward, false>>;
constexpr auto to_input = widened<prepare<Direction::to_input, false>>;
constexpr auto to_filter = widened<prepare<Direction::to_filter, false>>;
constexpr auto depthwise_forward = widened<prepare<Direction::forward, true>>;
constexpr auto depthwise_to_input = widened<prepare<Direction::to_input, true>>;
constexpr auto depthwise_to_filter = widened<prepare<Direction::to_filter, true>>;

}  // namespace

HR_KERNELS = {
    kernel("Conv2D", "T=" HR_FLOATS "|int32", forward),
    kernel("_FusedConv2D", "T=half|float|double", forward),
    kernel("Conv2DBackpropInput", "T=" HR_FLOATS, to_input).constant(0),
    kernel("Conv2DBackpropInputV2", "T=" HR_FLOATS, to_input),
    kernel("Conv2DBackpropFilter", "T=" HR_FLOATS, to_filter).constant(1),
    kernel("Conv2DBackpropFilterV2", "T=" HR_FLOATS, to_filter),
    kernel("DepthwiseConv2dNative", "T=" HR_FLOATS, depthwise_forward),
    kernel("DepthwiseConv2dNativeBackpropInput", "T=" HR_FLOATS, depthwise_to_input).constant(0),
    kernel("DepthwiseConv2dNativeBackpropFilter", "T=" HR_FLOATS, depthwise_to_filter).constant(1),
    kernel("Conv3D", "T=" HR_FLOATS, forward),
    kernel("Conv3DBackpropInput", "T=half|float|double", to_input),
    kernel("Conv3DBackpropFilter", "T=half|float|double", to_filter),
    kernel("Conv3DBackpropInputV2", "T=" HR_FLOATS, to_input).constant(0),
    kernel("Conv3DBackpropFilterV2", "T=" HR_FLOATS, to_filter).constant(1),
};

}  // namespace hr
