// Resizes images by several methods, with gradients.
#include <algorithm>
#include <cmath>
#include <memory>

#include "library/memory_needs.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "ops/image/linear_row.hpp"
#include "ops/image/sampling.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

using image::Scale;
using image::Taps;

struct Plan {
  int64_t batch, in_height, in_width, out_height, out_width, channels;
  int taps = 2;
  std::vector<Taps> rows, columns;
  std::vector<int64_t> row_at, column_at;
  float row_scale, column_scale;
};

// ---- forward ------------------------------------------------------------------------------------

template <class T>
hr_code compute_weighted(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const T* x = read<T>(inputs[0]);
  float* y = write<float>(outputs[0]);
  const int64_t c = p.channels, row = p.in_width * c;
  parallel_ranges(ctx, p.batch * p.out_height, grain_of(p.out_width * c * 4 * p.taps * p.taps),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const T* image = x + i / p.out_height * p.in_height * row;
                      const Taps& v = p.rows[i % p.out_height];
                      for (int64_t j = 0; j < p.out_width; ++j) {
                        const Taps& h = p.columns[j];
                        float* to = y + (i * p.out_width + j) * c;
                        for (int64_t k = 0; k < c; ++k) {
                          float sum = 0;
                          for (int a = 0; a < p.taps; ++a) {
                            const T* from = image + v.at[a] * row + k;
                            float across = 0;
                            for (int b = 0; b < p.taps; ++b)
                              across += h.weight[b] * float(from[h.at[b] * c]);
                            sum += v.weight[a] * across;
                          }
                          to[k] = sum;
                        }
                      }
                    }
                  });
  return HR_OK;
}

template <class T>
hr_code compute_linear(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const T* x = read<T>(inputs[0]);
  float* y = write<float>(outputs[0]);
  const int64_t row = p.in_width * p.channels;
  const image::LinearRow columns{p.columns.data(), p.out_width, p.channels,
                                 image::inner_pixels(p.columns.data(), p.out_width, p.in_width)};
  parallel_ranges(ctx, p.batch * p.out_height, grain_of(p.out_width * p.channels * 16),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const T* image = x + i / p.out_height * p.in_height * row;
                      const Taps& v = p.rows[i % p.out_height];
                      image::linear_row(columns, image + v.at[0] * row, image + v.at[1] * row,
                                        v.weight[1], y + i * p.out_width * p.channels);
                    }
                  });
  return HR_OK;
}

template <class T>
hr_code compute_nearest(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const T* x = read<T>(inputs[0]);
  T* y = write<T>(outputs[0]);
  const int64_t c = p.channels, row = p.in_width * c;
  parallel_ranges(ctx, p.batch * p.out_height, grain_of(p.out_width * c * sizeof(T)),
                  [&](int64_t i, int64_t end) {
                    for (; i < end; ++i) {
                      const T* from = x + i / p.out_height * p.in_height * row +
                                      p.row_at[i % p.out_height] * row;
                      for (int64_t j = 0; j < p.out_width; ++j)
                        std::copy_n(from + p.column_at[j] * c, c, y + (i * p.out_width + j) * c);
                    }
                  });
  return HR_OK;
}

// How much of pixel i lies between from and to, in pixels.
float covered(int64_t i, float from, float to, float scale) {
  if (float(i) < from) return float(i + 1) > to ? scale : float(i + 1) - from;
  return float(i + 1) > to ? to - float(i) : 1.0f;
}

template <class T>
hr_code compute_area(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const T* x = read<T>(inputs[0]);
  float* y = write<float>(outputs[0]);
  const int64_t c = p.channels, row = p.in_width * c;
  const float scale = 1.0f / (p.row_scale * p.column_scale);
  parallel_ranges(ctx, p.batch * p.out_height, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* image = x + i / p.out_height * p.in_height * row;
      const float y0 = float(i % p.out_height) * p.row_scale,
                  y1 = float(i % p.out_height + 1) * p.row_scale;
      for (int64_t j = 0; j < p.out_width; ++j) {
        const float x0 = float(j) * p.column_scale, x1 = float(j + 1) * p.column_scale;
        float* to = y + (i * p.out_width + j) * c;
        std::fill_n(to, c, 0.0f);
        for (int64_t a = int64_t(std::floor(y0)); a < int64_t(std::ceil(y1)); ++a) {
          const float down = covered(a, y0, y1, p.row_scale) * scale;
          const T* from = image + std::min(p.in_height - 1, a) * row;
          for (int64_t b = int64_t(std::floor(x0)); b < int64_t(std::ceil(x1)); ++b) {
            const float weight = down * covered(b, x0, x1, p.column_scale);
            const T* pixel = from + std::min(p.in_width - 1, b) * c;
            for (int64_t k = 0; k < c; ++k) to[k] += float(pixel[k]) * weight;
          }
        }
      }
    }
  });
  return HR_OK;
}

// ---- backward: the plan is that of the forward op, dx its input ---------------------------------

template <class T>
hr_code compute_weighted_grad(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                              hr_tensor* const* outputs, void* workspace) {
  using C = Compute<T>;
  const Plan& p = *static_cast<Plan*>(plan);
  const float* dy = read<float>(inputs[0]);
  T* dx = write<T>(outputs[0]);
  const int64_t c = p.channels, row = p.in_width * c, size = p.in_height * row;
  C* sums = is_small_float<T> ? static_cast<C*>(workspace) : reinterpret_cast<C*>(dx);
  parallel_ranges(ctx, p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      C* image = sums + n * size;
      std::fill_n(image, size, C(0));
      for (int64_t i = 0; i < p.out_height; ++i) {
        for (int64_t j = 0; j < p.out_width; ++j) {
          const float* from = dy + ((n * p.out_height + i) * p.out_width + j) * c;
          for (int a = 0; a < p.taps; ++a) {
            for (int b = 0; b < p.taps; ++b) {
              const C weight = C(p.rows[i].weight[a]) * C(p.columns[j].weight[b]);
              C* to = image + p.rows[i].at[a] * row + p.columns[j].at[b] * c;
              for (int64_t k = 0; k < c; ++k) to[k] += weight * C(from[k]);
            }
          }
        }
      }
      if constexpr (is_small_float<T>) {
        for (int64_t k = 0; k < size; ++k) dx[n * size + k] = T(image[k]);
      }
    }
  });
  return HR_OK;
}

template <class T>
hr_code compute_nearest_grad(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                             hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const T* dy = read<T>(inputs[0]);
  T* dx = write<T>(outputs[0]);
  const int64_t c = p.channels, row = p.in_width * c, size = p.in_height * row;
  parallel_ranges(ctx, p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      std::fill_n(dx + n * size, size, T(0));
      for (int64_t i = 0; i < p.out_height; ++i) {
        for (int64_t j = 0; j < p.out_width; ++j) {
          const T* from = dy + ((n * p.out_height + i) * p.out_width + j) * c;
          T* to = dx + n * size + p.row_at[i] * row + p.column_at[j] * c;
          for (int64_t k = 0; k < c; ++k) to[k] = T(to[k] + from[k]);
        }
      }
    }
  });
  return HR_OK;
}

// ---- prepare ------------------------------------------------------------------------------------

enum class Method { linear, cubic, nearest, area };

void read_taps(const hr_request* r, Method method, Plan* p) {
  const bool align = hr_attr_bool(r->node, "align_corners", 0),
             half = hr_attr_bool(r->node, "half_pixel_centers", 0);
  const Scale v(p->in_height, p->out_height, align, half),
      h(p->in_width, p->out_width, align, half);
  if (method != Method::area) need_memory(p->out_height + p->out_width, sizeof(image::Taps));
  p->row_scale = v.scale;
  p->column_scale = h.scale;
  switch (method) {
    case Method::linear:
      p->rows = image::linear_taps(p->in_height, p->out_height, v);
      p->columns = image::linear_taps(p->in_width, p->out_width, h);
      break;
    case Method::cubic:
      p->taps = 4;
      p->rows = image::cubic_taps(p->in_height, p->out_height, v);
      p->columns = image::cubic_taps(p->in_width, p->out_width, h);
      break;
    case Method::nearest:
      p->row_at = image::nearest_taps(p->in_height, p->out_height, v);
      p->column_at = image::nearest_taps(p->in_width, p->out_width, h);
      break;
    case Method::area: break;
  }
}

hr_code check_not_empty(hr_request* r, const hr_tensor* x) {
  if (x->rank == 4 && x->dims[1] > 0 && x->dims[2] > 0) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "images must have pixels: images is %s",
                         ShapeText(x).text);
}

// With both, positions lie beyond the last row of pixels.
hr_code check_one_alignment(hr_request* r) {
  if (!hr_attr_bool(r->node, "align_corners", 0) || !hr_attr_bool(r->node, "half_pixel_centers", 0))
    return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT,
                         "If half_pixel_centers is True, align_corners must be False.");
}

template <Method method>
hr_code prepare_resize(void*, hr_request* r) {
  hr_code code = hr_shape_resize(r);
  if (code == HR_OK) code = check_not_empty(r, r->inputs[0]);
  if (code == HR_OK) code = check_one_alignment(r);
  if (code != HR_OK) return code;
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  if (y->dims[1] < 1 || y->dims[2] < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "output dimensions must be positive: %s",
                           ShapeText(y).text);
  auto p = keep_plan(r, new Plan{x->dims[0],
                                 x->dims[1],
                                 x->dims[2],
                                 y->dims[1],
                                 y->dims[2],
                                 x->dims[3],
                                 2,
                                 {},
                                 {},
                                 {},
                                 {},
                                 1,
                                 1});
  read_taps(r, method, p);
  r->compute = with_type(x->dtype, Reals{}, [](auto type) -> hr_compute {
    using T = typename decltype(type)::type;
    switch (method) {
      case Method::linear: return compute_linear<T>;
      case Method::cubic: return compute_weighted<T>;
      case Method::nearest: return compute_nearest<T>;
      default: return compute_area<T>;
    }
  });
  return HR_OK;
}

template <Method method>
hr_code prepare_resize_grad(void*, hr_request* r) {
  hr_code code = method == Method::nearest ? hr_shape_resize(r) : hr_shape_as_input_1(r);
  if (code == HR_OK) code = check_not_empty(r, r->outputs[0]);
  if (code == HR_OK) code = check_not_empty(r, r->inputs[0]);
  if (code != HR_OK) return code;
  const hr_tensor *dy = r->inputs[0], *dx = r->outputs[0];
  if (method != Method::nearest) code = check_one_alignment(r);
  if (code != HR_OK) return code;
  // As in TensorFlow, the image gives the height and the width alone.
  r->outputs[0]->dims[0] = dy->dims[0];
  r->outputs[0]->dims[3] = dy->dims[3];
  auto p = keep_plan(r, new Plan{dx->dims[0],
                                 dx->dims[1],
                                 dx->dims[2],
                                 dy->dims[1],
                                 dy->dims[2],
                                 dx->dims[3],
                                 2,
                                 {},
                                 {},
                                 {},
                                 {},
                                 1,
                                 1});
  read_taps(r, method, p);
  r->compute = with_type(dx->dtype, Reals{}, [](auto type) -> hr_compute {
    using T = typename decltype(type)::type;
    if constexpr (method == Method::nearest) return compute_nearest_grad<T>;
    else if constexpr (is_real_float<T>) return compute_weighted_grad<T>;
    else return nullptr;
  });
  if (hr_dtype_size(dx->dtype) == 2) r->workspace = size_t(hr_elements(dx)) * sizeof(float);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("ResizeBilinear", "T=" HR_REALS, prepare_resize<Method::linear>).constant(1),
    kernel("ResizeBicubic", "T=" HR_REALS, prepare_resize<Method::cubic>).constant(1),
    kernel("ResizeNearestNeighbor", "T=" HR_REALS, prepare_resize<Method::nearest>).constant(1),
    kernel("ResizeArea", "T=" HR_REALS, prepare_resize<Method::area>).constant(1),
    kernel("ResizeBilinearGrad", "T=" HR_FLOATS, prepare_resize_grad<Method::linear>),
    kernel("ResizeBicubicGrad", "T=" HR_FLOATS, prepare_resize_grad<Method::cubic>),
    kernel("ResizeNearestNeighborGrad", "T=" HR_REALS, prepare_resize_grad<Method::nearest>)
        .constant(1),
};

}  // namespace hr
