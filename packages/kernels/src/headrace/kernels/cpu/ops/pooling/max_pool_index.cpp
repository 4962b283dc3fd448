// MaxPool that also stores, as a byte, the position of the first maximum in each window, and the
// gradient that reads these bytes instead of the pool's input. The runtime's window_index.pyx
// creates both.
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "loops/narrow_floats.hpp"
#include "ops/pooling/max_pool_lanes.hpp"
#include "ops/pooling/pooling_loops.hpp"
#include "ops/pooling/pooling_window.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

// Finding the index in larger windows costs what it saves.
constexpr int64_t kMostNumbers = 9;

struct Plan {
  pooling::Shape s;
  std::vector<int64_t> rows, columns;  // of a window's positions, from its corner
};

// ---- forward --------------------------------------------------------------------------------

#define HR_INDEXED_MAXIMA(name, T)                                                              \
  HR_CLONES void name(const pooling::Shape& s, const T* x, T* y, uint8_t* index, int64_t begin, \
                      int64_t end) {                                                            \
    pooling::maxima_with_index(s, x, y, index, begin, end);                                     \
  }
HR_INDEXED_MAXIMA(maxima_of_float, float)
HR_INDEXED_MAXIMA(maxima_of_double, double)
HR_INDEXED_MAXIMA(maxima_of_half, half)
HR_INDEXED_MAXIMA(maxima_of_bfloat16, bfloat16)
#undef HR_INDEXED_MAXIMA

template <class T>
hr_code compute_maxima(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  const pooling::Shape& s = static_cast<Plan*>(plan)->s;
  const bool lanes = pooling::has_lanes(s);
  T* y = write<T>(outputs[0]);
  uint8_t* index = write<uint8_t>(outputs[1]);
  pooling::by_image(ctx, s, read<T>(inputs[0]),
                    [&](int64_t image, const T* x, int64_t begin, int64_t end) {
                      const int64_t at = image * s.out_positions() * s.channels;
                      if constexpr (std::is_same_v<T, float>) {
                        if (!lanes || !pooling::lane_maxima(s, x, y + at, index + at, begin, end))
                          maxima_of_float(s, x, y + at, index + at, begin, end);
                      } else if constexpr (std::is_same_v<T, double>) {
                        maxima_of_double(s, x, y + at, index + at, begin, end);
                      } else if constexpr (std::is_same_v<T, half>) {
                        maxima_of_half(s, x, y + at, index + at, begin, end);
                      } else {
                        maxima_of_bfloat16(s, x, y + at, index + at, begin, end);
                      }
                    });
  return HR_OK;
}

// ---- backward -------------------------------------------------------------------------------

// dx: one image, zeroed. False: an index, which comes from anywhere, is not a position of its
// window or lies in the padding.
template <class T>
bool scatter_image(const Plan& p, T* dx, const T* dy, const uint8_t* index) {
  const pooling::Shape& s = p.s;
  for (int64_t i = 0; i < s.out[1]; ++i) {
    for (int64_t j = 0; j < s.out[2]; ++j, dy += s.channels, index += s.channels) {
      const int64_t top = i * s.stride[1] - s.low[1], left = j * s.stride[2] - s.low[2];
      for (int64_t c = 0; c < s.channels; ++c) {
        if (index[c] >= p.rows.size()) return false;
        const int64_t h = top + p.rows[index[c]], w = left + p.columns[index[c]];
        if (h < 0 || h >= s.in[1] || w < 0 || w >= s.in[2]) return false;
        dx[(h * s.in[2] + w) * s.channels + c] += dy[c];
      }
    }
  }
  return true;
}

template <class T>
hr_code compute_gradient(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int64_t in = p.s.in_positions() * p.s.channels, out = p.s.out_positions() * p.s.channels;
  const uint8_t* index = read<uint8_t>(inputs[1]);
  const T* dy = read<T>(inputs[2]);
  T* dx = write<T>(outputs[0]);
  const bool lanes = pooling::has_lanes(p.s);
  std::atomic<bool> inside{true};
  parallel_ranges(ctx, p.s.images, grain_of(2 * in * int64_t(sizeof(T))),
                  [&](int64_t i, int64_t end) {
                    std::vector<float> sum, grad;  // narrow floats are added as float
                    for (; i < end; ++i) {
                      T* to = dx + i * in;
                      const T* from = dy + i * out;
                      if constexpr (is_small_float<T>) {
                        grad.resize(out);
                        sum.assign(in, 0.0f);
                        widen(from, grad.data(), out);
                        if (!scatter_image(p, sum.data(), grad.data(), index + i * out))
                          inside = false;
                        narrow(sum.data(), to, in);
                      } else {
                        if constexpr (std::is_same_v<T, float>) {
                          if (lanes) {
                            pooling::lane_gradient_by_index(p.s, index + i * out, to, from);
                            continue;
                          }
                        }
                        std::fill_n(to, in, T(0));
                        if (!scatter_image(p, to, from, index + i * out)) inside = false;
                      }
                    }
                  });
  if (inside) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "index has a number that is not a position of its window");
}

// ---- prepare --------------------------------------------------------------------------------

template <bool gradient>
hr_code prepare(void*, hr_request* r) {
  auto plan = std::make_unique<Plan>();
  Window w;
  const hr_tensor& x = *r->inputs[0];  // of the gradient: only its shape
  hr_code code = read_pool(r, x.rank, x.dims, dimension_list(r->node, "ksize"),
                           dimension_list(r->node, "strides"), &w);
  if (code != HR_OK) return code;
  plan->s = pooling::shape_of(w);
  const pooling::Shape& s = plan->s;
  const int64_t numbers = s.size[1] * s.size[2];
  if (x.rank != 4 || numbers > kMostNumbers || hr_elements(&x) == 0)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no index of windows of %lld by %lld over %s",
                           (long long)s.size[1], (long long)s.size[2], ShapeText(&x).text);
  hr_tensor y{};
  set_window_shape(w, w.channels, &y);
  if (gradient) {
    for (int32_t i = 1; i < 3; ++i) {
      if (!same_shape(r->inputs[i], &y))
        return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s is %s, but the pooled input %s",
                               i == 1 ? "index" : "grad", ShapeText(r->inputs[i]).text,
                               ShapeText(&y).text);
    }
    for (int64_t i = 0; i < numbers; ++i) {
      plan->rows.push_back(i / s.size[2]);
      plan->columns.push_back(i % s.size[2]);
    }
    copy_shape(&x, r->outputs[0]);
  } else {
    copy_shape(&y, r->outputs[0]);
    copy_shape(&y, r->outputs[1]);
  }
  r->compute = with_type(r->outputs[0]->dtype, Floats{}, [](auto type) -> hr_compute {
    using T = typename decltype(type)::type;
    return gradient ? compute_gradient<T> : compute_maxima<T>;
  });
  keep_plan(r, plan.release());
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("_MaxPoolWithWindowIndex", "T=" HR_FLOATS, prepare<false>),
    kernel("_MaxPoolGradWithWindowIndex", "T=" HR_FLOATS, prepare<true>),
};

}  // namespace hr
