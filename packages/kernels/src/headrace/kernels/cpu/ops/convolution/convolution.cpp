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
  if (hr_code code = read_node(r, direction, depthwise, plan.get())) return code;
  if (plan->ignored) {
    r->compute = compute_zero;
    keep_plan(r, plan.release());
    return HR_OK;
  }
  if (std::string_view(r->node->op) == "_FusedConv2D") {
    if (hr_code code = read_epilogue(r, plan->c.out_channels, &plan->epilogue)) return code;
    plan->epilogue_apart = r->inputs[0]->dtype == HR_DOUBLE;
#if !HR_WITH_ONEDNN
    plan->epilogue_apart = true;
#endif
  }
  choose_compute(r, plan.get(), plan->empty);
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
