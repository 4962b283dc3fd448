// Max and average pooling in two and three dimensions, and their gradients.
#include <algorithm>
#include <memory>
#include <vector>

#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "loops/via_float.hpp"
#include "ops/pooling/max_pool_lanes.hpp"
#include "ops/pooling/pooling_loops.hpp"
#include "ops/pooling/pooling_window.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

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

// Writes indices of the output's dtype, int32 or int64.
struct IndexWriter {
  explicit IndexWriter(hr_tensor* to) : wide(to->dtype == HR_INT64), data(to->data) {}
  void put(int64_t at, int64_t index) const {
    if (wide) static_cast<int64_t*>(data)[at] = index;
    else static_cast<int32_t*>(data)[at] = int32_t(index);
  }
  bool wide;
  void* data;
};

template <class T>
hr_code compute_max_with_argmax(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                                hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const pooling::Shape& s = p.s;
  const int64_t image = s.in_positions() * s.channels;
  const T* x = read<T>(inputs[0]);
  T* y = write<T>(outputs[0]);
  const IndexWriter where(outputs[1]);
  parallel_ranges(
      ctx, s.images, grain_of(2 * image * int64_t(sizeof(T))), [&](int64_t b, int64_t e) {
        over_images(s, x, b, e,
                    [&](int64_t i, int64_t o, int64_t c, int64_t width, const int32_t* at) {
                      const int64_t to = (i * s.out_positions() + o) * s.channels + c;
                      const T* from = x + i * image + c;
                      const int64_t channels = s.channels;
                      const int64_t first = c + (p.include_batch ? i * image : 0);
                      for (int64_t j = 0; j < width; ++j) y[to + j] = from[at[j] * channels + j];
                      for (int64_t j = 0; j < width; ++j)
                        where.put(to + j, first + at[j] * channels + j);
                    });
      });
  return HR_OK;
}

// to_input: output[argmax] += grad; else output = grad[argmax].
template <class T, bool to_input>
hr_code compute_by_argmax(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int64_t images = p.s.images, image = p.s.in_positions() * p.s.channels;
  const int64_t out = p.s.out_positions() * p.s.channels;
  const T* grad = read<T>(inputs[1]);
  const bool wide = inputs[2]->dtype == HR_INT64;
  const void* where = inputs[2]->data;
  T* to = write<T>(outputs[0]);
  if constexpr (to_input) std::fill(to, to + images * image, T(0));
  for (int64_t i = 0; i < images; ++i) {
    for (int64_t o = i * out; o < (i + 1) * out; ++o) {
      const int64_t index =
          wide ? static_cast<const int64_t*>(where)[o] : static_cast<const int32_t*>(where)[o];
      const int64_t at = index + (p.include_batch ? 0 : i * image);
      if (at < i * image || at >= (i + 1) * image)
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                           "argmax %lld at %lld is outside its image of %lld elements",
                           (long long)index, (long long)o, (long long)image);
      if constexpr (to_input) to[at] = T(to[at] + grad[o]);
      else to[o] = grad[at];
    }
  }
  return HR_OK;
}

// ---- prepare --------------------------------------------------------------------------------

using pooling::Kind;

// Loops that compare elements by order, by equality, and that only average.
template <class T> hr_compute ordered_loop(Kind kind) {
  switch (kind) {
    case Kind::max: return compute_max<T>;
    case Kind::max_gradient: return compute_max_gradient<T>;
    case Kind::argmax: return compute_max_with_argmax<T>;
    default: return nullptr;
  }
}
template <class T> hr_compute equality_loop(Kind kind) {
  switch (kind) {
    case Kind::max_gradient: return compute_max_gradient_by_value<T>;
    case Kind::max_gradient_gradient: return compute_max_gradient_gradient<T>;
    case Kind::argmax_to_input: return compute_by_argmax<T, true>;
    default: return nullptr;
  }
}
template <class T> hr_compute average_loop(Kind kind) {
  return kind == Kind::average ? compute_average<T> : compute_average_gradient<T>;
}

hr_compute loop_of(Kind kind, bool three_dimensional, hr_dtype dtype) {
  const bool ordered = kind == Kind::max || kind == Kind::argmax ||
                       (kind == Kind::max_gradient && !three_dimensional);
  if (kind == Kind::argmax_from_input)
    return with_size(hr_dtype_size(dtype), [](auto t) -> hr_compute {
      return compute_by_argmax<typename decltype(t)::type, false>;
    });
  if (kind == Kind::average || kind == Kind::average_gradient)
    return with_type(dtype, WideFloats{}, [&](auto t) -> hr_compute {
      return average_loop<typename decltype(t)::type>(kind);
    });
  if (ordered)
    return with_type(dtype, Join<WideFloats, Integers>{}, [&](auto t) -> hr_compute {
      return ordered_loop<typename decltype(t)::type>(kind);
    });
  // Integers are equal, and add up, whatever their sign.
  return with_type(as_unsigned(dtype), Join<WideFloats, Unsigned>{}, [&](auto t) -> hr_compute {
    return equality_loop<typename decltype(t)::type>(kind);
  });
}

hr_code prepare_pool(hr_request* r, Kind kind, int first_vector) {
  auto plan = std::make_unique<Plan>();
  pooling::Node node;
  if (hr_code code = pooling::read_node(r, kind, first_vector, &node)) return code;
  plan->s = pooling::shape_of(node.w);
  plan->dy = node.dy;
  plan->include_batch = hr_attr_bool(r->node, "include_batch_in_index", 0);
  r->compute = loop_of(kind, node.x.rank == 5, r->outputs[0]->dtype);
  if (!r->compute)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no pooling of dtype %s",
                           dtype_name(r->outputs[0]->dtype));
  keep_plan(r, plan.release());
  return HR_OK;
}

template <Kind kind, int first_vector = 0> hr_code prepare(void*, hr_request* r) {
  return prepare_pool(r, kind, first_vector);
}

}  // namespace

HR_KERNELS = {
    kernel("MaxPool", "T=" HR_REALS, widened<prepare<Kind::max>>),
    kernel("MaxPoolV2", "T=" HR_REALS, widened<prepare<Kind::max, 1>>).constant(1, 2),
    kernel("MaxPoolGrad", "T=" HR_REALS, widened<prepare<Kind::max_gradient>>),
    kernel("MaxPoolGradV2", "T=" HR_REALS, widened<prepare<Kind::max_gradient, 3>>).constant(3, 4),
    kernel("MaxPoolGradGrad", "T=" HR_REALS, widened<prepare<Kind::max_gradient_gradient>>),
    kernel("MaxPoolGradGradV2", "T=" HR_REALS, widened<prepare<Kind::max_gradient_gradient, 3>>)
        .constant(3, 4),
    kernel("MaxPoolWithArgmax", "T=" HR_REALS, widened<prepare<Kind::argmax>>),
    kernel("MaxPoolGradWithArgmax", "T=" HR_REALS, widened<prepare<Kind::argmax_to_input>>),
    kernel("MaxPoolGradGradWithArgmax", "T=" HR_REALS, prepare<Kind::argmax_from_input>),
    kernel("MaxPool3D", "T=" HR_REALS, widened<prepare<Kind::max>>),
    kernel("MaxPool3DGrad", "T=half|bfloat16|float;TInput=half|bfloat16|float",
           widened<prepare<Kind::max_gradient>>),
    kernel("MaxPool3DGradGrad", "T=" HR_REALS, widened<prepare<Kind::max_gradient_gradient>>),
    kernel("AvgPool", "T=" HR_FLOATS, widened<prepare<Kind::average>>),
    kernel("AvgPoolGrad", "T=" HR_FLOATS, widened<prepare<Kind::average_gradient>>).constant(0),
    kernel("AvgPool3D", "T=" HR_FLOATS, widened<prepare<Kind::average>>),
    kernel("AvgPool3DGrad", "T=" HR_FLOATS, widened<prepare<Kind::average_gradient>>).constant(0),
};

}  // namespace hr
