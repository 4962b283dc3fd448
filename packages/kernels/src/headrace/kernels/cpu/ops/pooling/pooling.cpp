// Maximum and average over windows in two and three dimensions, and their gradients.
#include <algorithm>
#include <memory>
#include <vector>

#include "loops/via_float.hpp"
#include "ops/pooling/max_pool_lanes.hpp"
#include "ops/pooling/pooling_loops.hpp"
#include "ops/pooling/pooling_window.hpp"
#include "processor/parallel.hpp"
#include "table/attributes.hpp"
#include "table/registration.hpp"
#include "table/shape_rules.hpp"
#include "table/shapes.hpp"

namespace hr {
namespace {

struct Plan {
  pooling::Shape s;
  bool include_batch = false;
  int32_t x = 0, dy = 0;  // inputs by number
};

HR_CLONES void maxima_float(const pooling::Shape& s, const float* x, float* y, int64_t b,
                            int64_t e) {
  pooling::maxima(s, x, y, b, e);
}
HR_CLONES void maxima_of_rows_float(const pooling::Shape& s, const float* x, float* y, int64_t b,
                                    int64_t e) {
  pooling::maxima_of_rows(s, x, y, b, e);
}
HR_CLONES void averages_float(const pooling::Shape& s, const float* x, float* y, int64_t b,
                              int64_t e) {
  pooling::averages(s, x, y, b, e);
}
HR_CLONES void average_gradient_float(const pooling::Shape& s, float* dx, const float* dy) {
  pooling::average_gradient<float>(s, dx, dy);
}

template <class T>
hr_code compute_max(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                    hr_tensor* const* outputs, void*) {
  const pooling::Shape& s = static_cast<Plan*>(plan)->s;
  const bool lanes = pooling::has_lanes(s);
  [[maybe_unused]] const auto loop = pooling::has_rows(s) ? maxima_of_rows_float : maxima_float;
  T* y = write<T>(outputs[0]);
  pooling::by_image(ctx, s, read<T>(inputs[0]),
                    [&](int64_t image, const T* x, int64_t b, int64_t e) {
                      T* to = y + image * s.out_positions() * s.channels;
                      if constexpr (std::is_same_v<T, float>) {
                        if (!lanes || !pooling::lane_maxima(s, x, to, nullptr, b, e))
                          loop(s, x, to, b, e);
                      } else {
                        pooling::maxima(s, x, to, b, e);
                      }
                    });
  return HR_OK;
}

template <class T>
hr_code compute_average(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const pooling::Shape& s = static_cast<Plan*>(plan)->s;
  T* y = write<T>(outputs[0]);
  pooling::by_image(ctx, s, read<T>(inputs[0]),
                    [&](int64_t image, const T* x, int64_t b, int64_t e) {
                      T* to = y + image * s.out_positions() * s.channels;
                      if constexpr (std::is_same_v<T, float>) averages_float(s, x, to, b, e);
                      else pooling::averages(s, x, to, b, e);
                    });
  return HR_OK;
}

template <class T>
hr_code compute_average_gradient(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                                 hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const pooling::Shape& s = p.s;
  const T* dy = read<T>(inputs[p.dy]);
  T* dx = write<T>(outputs[0]);
  const int64_t image = s.in_positions() * s.channels, out = s.out_positions() * s.channels;
  parallel_ranges(ctx, s.images, grain_of(image * int64_t(sizeof(T))), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      std::fill(dx + i * image, dx + (i + 1) * image, T(0));
      if constexpr (std::is_same_v<T, float>)
        average_gradient_float(s, dx + i * image, dy + i * out);
      else pooling::average_gradient<T>(s, dx + i * image, dy + i * out);
    }
  });
  return HR_OK;
}

// f(image, output position, first channel, width, at) for every window of the images in
// [begin, end).
template <class T, class F>
HR_INLINE void over_images(const pooling::Shape& s, const T* x, int64_t begin, int64_t end, F&& f) {
  for (int64_t i = begin; i < end; ++i) {
    pooling::over_maxima<false>(s, x + i * s.in_positions() * s.channels, 0, s.out_positions(),
                                [&](int64_t o, int64_t c, int64_t n, const Compute<T>*,
                                    const int32_t* at) HR_INLINE_LAMBDA { f(i, o, c, n, at); });
  }
}

HR_CLONES void max_gradient_float(const pooling::Shape& s, const float* x, float* dx,
                                  const float* dy) {
  std::fill_n(dx, s.in_positions() * s.channels, 0.0f);
  pooling::max_gradient(s, x, dx, dy);
}

template <class T>
hr_code compute_max_gradient(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                             hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const bool lanes = pooling::has_lanes(p.s);
  const int64_t image = p.s.in_positions() * p.s.channels;
  const int64_t out = p.s.out_positions() * p.s.channels;
  const T *x = read<T>(inputs[0]), *dy = read<T>(inputs[p.dy]);
  T* dx = write<T>(outputs[0]);
  parallel_ranges(ctx, p.s.images, grain_of(2 * image * int64_t(sizeof(T))),
                  [&](int64_t i, int64_t end) {
                    for (; i < end; ++i) {
                      if constexpr (std::is_same_v<T, float>) {
                        (lanes ? pooling::lane_max_gradient : max_gradient_float)(
                            p.s, x + i * image, dx + i * image, dy + i * out);
                      } else {
                        std::fill_n(dx + i * image, image, T(0));
                        pooling::max_gradient(p.s, x + i * image, dx + i * image, dy + i * out);
                      }
                    }
                  });
  return HR_OK;
}

// In three dimensions: to every element of each window that equals orig_output.
template <class T>
hr_code compute_max_gradient_by_value(hr_ctx* ctx, void*, void* plan,
                                      const hr_tensor* const* inputs, hr_tensor* const* outputs,
                                      void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int64_t c = p.s.channels, image = p.s.in_positions() * c, out = p.s.out_positions() * c;
  const T *x = read<T>(inputs[0]), *y = read<T>(inputs[1]), *dy = read<T>(inputs[p.dy]);
  T* dx = write<T>(outputs[0]);
  parallel_ranges(
      ctx, p.s.images, grain_of(2 * image * int64_t(sizeof(T))), [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          T* to = dx + i * image;
          const T* from = dy + i * out;
          std::fill_n(to, image, T(0));
          pooling::over_equal(p.s, x + i * image, y + i * out,
                              [&](bool hit, int64_t at, int64_t o, int64_t j) HR_INLINE_LAMBDA {
                                T& sum = to[at * c + j];
                                sum = hit ? T(sum + from[o * c + j]) : sum;
                              });
        }
      });
  return HR_OK;
}

// The gradient of the gradient: what arrived at the first element of each window that equals
// orig_output; zero where none does.
template <class T>
hr_code compute_max_gradient_gradient(hr_ctx* ctx, void*, void* plan,
                                      const hr_tensor* const* inputs, hr_tensor* const* outputs,
                                      void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const pooling::Shape& s = p.s;
  const int64_t c = s.channels, image = s.in_positions() * c, pooled = s.out_positions() * c;
  const T *x = read<T>(inputs[0]), *y = read<T>(inputs[1]), *grad = read<T>(inputs[p.dy]);
  T* out = write<T>(outputs[0]);
  parallel_ranges(
      ctx, s.images, grain_of(2 * image * int64_t(sizeof(T))), [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          T* to = out + i * pooled;
          const T* from = grad + i * image;
          std::fill_n(to, pooled, T(0));
          pooling::over_first_equal(
              s, x + i * image, y + i * pooled,
              [&](bool hit, int64_t at, int64_t o, int64_t j)
                  HR_INLINE_LAMBDA { to[o * c + j] = hit ? from[at * c + j] : to[o * c + j]; });
        }
      });
  return HR_OK;
}

template <class T, class Index>
hr_code compute_max_with_argmax(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                                hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const pooling::Shape& s = p.s;
  const int64_t image = s.in_positions() * s.channels;
  const T* x = read<T>(inputs[0]);
  T* y = write<T>(outputs[0]);
  Index* where = write<Index>(outputs[1]);
  parallel_ranges(
      ctx, s.images, grain_of(2 * image * int64_t(sizeof(T))), [&](int64_t b, int64_t e) {
        over_images(s, x, b, e,
                    [&](int64_t i, int64_t o, int64_t c, int64_t width, const int32_t* at) {
                      for (int64_t j = 0; j < width; ++j) {
                        const int64_t to = (i * s.out_positions() + o) * s.channels + c + j;
                        const int64_t from = at[j] * s.channels + c + j;
                        y[to] = x[i * image + from];
                        where[to] = Index(from + (p.include_batch ? i * image : 0));
                      }
                    });
      });
  return HR_OK;
}

// to_input: output[argmax] += grad; else output = grad[argmax].
template <class T, class Index, bool to_input>
hr_code compute_by_argmax(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int64_t images = p.s.images, image = p.s.in_positions() * p.s.channels;
  const int64_t out = p.s.out_positions() * p.s.channels;
  const T* grad = read<T>(inputs[1]);
  const Index* where = read<Index>(inputs[2]);
  T* to = write<T>(outputs[0]);
  if (to_input) std::fill(to, to + images * image, T(0));
  for (int64_t i = 0; i < images; ++i) {
    for (int64_t o = i * out; o < (i + 1) * out; ++o) {
      const int64_t at = int64_t(where[o]) + (p.include_batch ? 0 : i * image);
      if (at < i * image || at >= (i + 1) * image)
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                           "argmax %lld at %lld is outside its image of %lld elements",
                           (long long)where[o], (long long)o, (long long)image);
      if (to_input) to[at] = T(to[at] + grad[o]);
      else to[o] = grad[at];
    }
  }
  return HR_OK;
}

// ---- prepare --------------------------------------------------------------------------------

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

template <Kind kind, int first_vector = 0>
hr_code prepare(void*, hr_request* r) {
  auto plan = std::make_unique<Plan>();
  Window w;
  // ksize and strides are attributes, or (V2) constant inputs from first_vector on.
  const PerDimension ksize =
      first_vector ? dimension_list(r->inputs[first_vector]) : dimension_list(r->node, "ksize");
  const PerDimension strides = first_vector ? dimension_list(r->inputs[first_vector + 1])
                                            : dimension_list(r->node, "strides");
  hr_tensor x = *r->inputs[0];
  if (kind == Kind::max || kind == Kind::average || kind == Kind::argmax) {
    const char* rule = first_vector ? "pool2d_v2" : x.rank == 5 ? "pool3d" : "pool2d";
    hr_code code = hr_shape_rule_by_name(rule)(r);
    if (code != HR_OK) return code;
  }
  if (kind == Kind::average_gradient) {
    hr_code code = shape_of_value(r, 0, 0);
    if (code != HR_OK) return code;
    copy_shape(r->outputs[0], &x);
  }
  hr_code code = read_pool(r, x.rank, x.dims, ksize, strides, &w, &plan->s);
  if (code != HR_OK) return code;
  hr_tensor y{};
  set_window_shape(w, w.channels, &y);
  plan->include_batch = hr_attr_bool(r->node, "include_batch_in_index", 0);
  const hr_tensor* grad = nullptr;  // must have y's shape
  switch (kind) {
    case Kind::max:
    case Kind::average: copy_shape(&y, r->outputs[0]); break;
    case Kind::argmax:
      copy_shape(&y, r->outputs[0]);
      copy_shape(&y, r->outputs[1]);
      break;
    case Kind::max_gradient:
      plan->dy = 2;
      grad = r->inputs[2];
      copy_shape(&x, r->outputs[0]);
      if (!same_shape(r->inputs[1], &y))
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "Expected orig_output shape to be %s, but got %s",
                               ShapeText(&y).text, ShapeText(r->inputs[1]).text);
      break;
    case Kind::average_gradient:
      plan->dy = 1;
      grad = r->inputs[1];
      if (x.rank == 4 && grad->rank == 4 && !w.channels_first && grad->dims[3] == x.dims[3] &&
          (hr_elements(grad) == 0 || (grad->dims[0] == x.dims[0] && grad->dims[1] >= y.dims[1] &&
                                      grad->dims[2] >= y.dims[2]))) {
        // TensorFlow walks the windows that the gradient has, also those beside the image.
        if (hr_elements(grad) && ((grad->dims[1] - 1) * plan->s.stride[1] > x.dims[1] ||
                                  (grad->dims[2] - 1) * plan->s.stride[2] > x.dims[2]))
          return hr_request_fail(r, HR_INVALID_ARGUMENT,
                                 "index * stride must be less than or equal to input size: grad "
                                 "is %s, the input %s",
                                 ShapeText(grad).text, ShapeText(&x).text);
        plan->s.out[1] = grad->dims[1], plan->s.out[2] = grad->dims[2];
        if (hr_elements(grad) == 0) plan->s.out[1] = 0;
        grad = nullptr;
      }
      break;
    case Kind::max_gradient_gradient:
      plan->dy = 2;
      grad = r->inputs[1];
      copy_shape(&y, r->outputs[0]);
      if (!same_shape(r->inputs[2], &x))
        return hr_request_fail(r, HR_INVALID_ARGUMENT, "grad is %s, but orig_input is %s",
                               ShapeText(r->inputs[2]).text, ShapeText(&x).text);
      break;
    case Kind::argmax_to_input:
    case Kind::argmax_from_input:
      grad = r->inputs[kind == Kind::argmax_to_input ? 1 : 2];
      if (kind == Kind::argmax_from_input && !same_shape(r->inputs[1], &x))
        return hr_request_fail(r, HR_INVALID_ARGUMENT, "grad is %s, but input is %s",
                               ShapeText(r->inputs[1]).text, ShapeText(&x).text);
      if (kind == Kind::argmax_to_input && !same_shape(r->inputs[2], &y))
        return hr_request_fail(r, HR_INVALID_ARGUMENT, "argmax is %s, but the pooled input %s",
                               ShapeText(r->inputs[2]).text, ShapeText(&y).text);
      copy_shape(kind == Kind::argmax_to_input ? &x : &y, r->outputs[0]);
      break;
  }
  if (grad && !same_shape(grad, &y))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "grad is %s, but the pooled input %s",
                           ShapeText(grad).text, ShapeText(&y).text);
  const bool wide = r->node->n_outputs > 1 ? r->outputs[1]->dtype == HR_INT64
                                           : r->inputs[r->node->n_inputs - 1]->dtype == HR_INT64;
  r->compute = with_type(r->outputs[0]->dtype, Reals{}, [&](auto type) -> hr_compute {
    using T = typename decltype(type)::type;
    if constexpr (kind == Kind::max) return compute_max<T>;
    if constexpr (kind == Kind::max_gradient)
      return x.rank == 5 ? compute_max_gradient_by_value<T> : compute_max_gradient<T>;
    if constexpr (kind == Kind::max_gradient_gradient) return compute_max_gradient_gradient<T>;
    if constexpr (kind == Kind::argmax)
      return wide ? compute_max_with_argmax<T, int64_t> : compute_max_with_argmax<T, int32_t>;
    if constexpr (kind == Kind::argmax_to_input)
      return wide ? compute_by_argmax<T, int64_t, true> : compute_by_argmax<T, int32_t, true>;
    if constexpr (kind == Kind::argmax_from_input)
      return wide ? compute_by_argmax<T, int64_t, false> : compute_by_argmax<T, int32_t, false>;
    if constexpr (std::is_floating_point_v<T>) {
      if constexpr (kind == Kind::average) return compute_average<T>;
      if constexpr (kind == Kind::average_gradient) return compute_average_gradient<T>;
    }
    return nullptr;
  });
  if (!r->compute)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no pooling of dtype %d", r->outputs[0]->dtype);
  keep_plan(r, plan.release());
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("MaxPool", "T=" HR_REALS, prepare<Kind::max>),
    kernel("MaxPoolV2", "T=" HR_REALS, prepare<Kind::max, 1>).constant(1, 2),
    kernel("MaxPoolGrad", "T=" HR_REALS, widened<prepare<Kind::max_gradient>>),
    kernel("MaxPoolGradV2", "T=" HR_REALS, widened<prepare<Kind::max_gradient, 3>>).constant(3, 4),
    kernel("MaxPoolGradGrad", "T=" HR_REALS, prepare<Kind::max_gradient_gradient>),
    kernel("MaxPoolGradGradV2", "T=" HR_REALS, prepare<Kind::max_gradient_gradient, 3>)
        .constant(3, 4),
    kernel("MaxPoolWithArgmax", "T=" HR_REALS, prepare<Kind::argmax>),
    kernel("MaxPoolGradWithArgmax", "T=" HR_REALS, prepare<Kind::argmax_to_input>),
    kernel("MaxPoolGradGradWithArgmax", "T=" HR_REALS, prepare<Kind::argmax_from_input>),
    kernel("MaxPool3D", "T=" HR_REALS, prepare<Kind::max>),
    kernel("MaxPool3DGrad", "T=half|bfloat16|float;TInput=half|bfloat16|float",
           widened<prepare<Kind::max_gradient>>),
    kernel("MaxPool3DGradGrad", "T=" HR_REALS, prepare<Kind::max_gradient_gradient>),
    kernel("AvgPool", "T=" HR_FLOATS, widened<prepare<Kind::average>>),
    kernel("AvgPoolGrad", "T=" HR_FLOATS, widened<prepare<Kind::average_gradient>>).constant(0),
    kernel("AvgPool3D", "T=" HR_FLOATS, widened<prepare<Kind::average>>),
    kernel("AvgPool3DGrad", "T=" HR_FLOATS, widened<prepare<Kind::average_gradient>>).constant(0),
};

}  // namespace hr
