// CropAndResize and its gradients with respect to image and boxes.
#include <algorithm>
#include <cmath>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

struct Plan {
  int64_t height, width, channels, batch;  // of the image
  int64_t crop_height, crop_width, boxes;
  float outside;
  bool nearest;
};

// Where position i of n falls between two ends of a box, in pixels of an axis of that size.
float position(float from, float to, int64_t i, int64_t n, int64_t size) {
  if (n > 1)
    return from * float(size - 1) + float(i) * ((to - from) * float(size - 1) / float(n - 1));
  return 0.5f * (from + to) * float(size - 1);
}

hr_code check_indices(hr_ctx* ctx, const Plan& p, const int32_t* index) {
  for (int64_t i = 0; i < p.boxes; ++i) {
    if (index[i] < 0 || index[i] >= p.batch)
      return hr_ctx_fail(ctx, HR_OUT_OF_RANGE, "box_ind %d at %lld is outside [0, %lld)", index[i],
                         (long long)i, (long long)p.batch);
  }
  return HR_OK;
}

template <class T>
hr_code compute_crops(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int32_t* index = read<int32_t>(inputs[2]);
  hr_code code = check_indices(ctx, p, index);
  if (code != HR_OK) return code;
  const T* images = read<T>(inputs[0]);
  const float* boxes = read<float>(inputs[1]);
  float* y = write<float>(outputs[0]);
  const int64_t c = p.channels, row = p.width * c;
  parallel_ranges(
      ctx, p.boxes * p.crop_height, grain_of(p.crop_width * c * 16),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float* box = boxes + i / p.crop_height * 4;
          const T* image = images + index[i / p.crop_height] * p.height * row;
          const float v = position(box[0], box[2], i % p.crop_height, p.crop_height, p.height);
          for (int64_t j = 0; j < p.crop_width; ++j) {
            float* to = y + (i * p.crop_width + j) * c;
            const float h = position(box[1], box[3], j, p.crop_width, p.width);
            if (!(v >= 0 && v <= float(p.height - 1) && h >= 0 && h <= float(p.width - 1))) {
              std::fill_n(to, c, p.outside);
              continue;
            }
            if (p.nearest) {
              const T* from = image + int64_t(std::round(v)) * row + int64_t(std::round(h)) * c;
              for (int64_t k = 0; k < c; ++k) to[k] = float(from[k]);
              continue;
            }
            const T *top = image + int64_t(std::floor(v)) * row,
                    *bottom = image + int64_t(std::ceil(v)) * row;
            const int64_t l = int64_t(std::floor(h)) * c, r = int64_t(std::ceil(h)) * c;
            const float down = v - std::floor(v), across = h - std::floor(h);
            for (int64_t k = 0; k < c; ++k) {
              const float t = float(top[l + k]) + (float(top[r + k]) - float(top[l + k])) * across;
              const float b =
                  float(bottom[l + k]) + (float(bottom[r + k]) - float(bottom[l + k])) * across;
              to[k] = t + (b - t) * down;
            }
          }
        }
      });
  return HR_OK;
}

template <class T>
hr_code compute_to_image(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) {
  using C = Compute<T>;
  const Plan& p = *static_cast<Plan*>(plan);
  const float *dy = read<float>(inputs[0]), *boxes = read<float>(inputs[1]);
  const int32_t* index = read<int32_t>(inputs[2]);
  hr_code code = check_indices(ctx, p, index);
  if (code != HR_OK) return code;
  const int64_t c = p.channels, row = p.width * c, total = p.batch * p.height * row;
  C* sums = is_small_float<T> ? static_cast<C*>(workspace) : static_cast<C*>(outputs[0]->data);
  std::fill_n(sums, total, C(0));
  for (int64_t i = 0; i < p.boxes * p.crop_height; ++i) {
    const float* box = boxes + i / p.crop_height * 4;
    C* image = sums + index[i / p.crop_height] * p.height * row;
    const float v = position(box[0], box[2], i % p.crop_height, p.crop_height, p.height);
    if (!(v >= 0 && v <= float(p.height - 1))) continue;
    for (int64_t j = 0; j < p.crop_width; ++j) {
      const float h = position(box[1], box[3], j, p.crop_width, p.width);
      if (!(h >= 0 && h <= float(p.width - 1))) continue;
      const float* from = dy + (i * p.crop_width + j) * c;
      if (p.nearest) {
        C* to = image + int64_t(std::round(v)) * row + int64_t(std::round(h)) * c;
        for (int64_t k = 0; k < c; ++k) to[k] += C(from[k]);
        continue;
      }
      const float down = v - std::floor(v), across = h - std::floor(h);
      for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) {
          const float weight = (a ? down : 1 - down) * (b ? across : 1 - across);
          C* to = image + int64_t(a ? std::ceil(v) : std::floor(v)) * row +
                  int64_t(b ? std::ceil(h) : std::floor(h)) * c;
          for (int64_t k = 0; k < c; ++k) to[k] += C(weight * from[k]);
        }
      }
    }
  }
  if constexpr (is_small_float<T>) {
    for (int64_t i = 0; i < total; ++i) write<T>(outputs[0])[i] = T(sums[i]);
  }
  return HR_OK;
}

template <class T>
hr_code compute_to_boxes(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const float *dy = read<float>(inputs[0]), *boxes = read<float>(inputs[2]);
  const T* images = read<T>(inputs[1]);
  const int32_t* index = read<int32_t>(inputs[3]);
  hr_code code = check_indices(ctx, p, index);
  if (code != HR_OK) return code;
  const int64_t c = p.channels, row = p.width * c;
  float* out = write<float>(outputs[0]);
  for (int64_t n = 0; n < p.boxes; ++n) {
    const float* box = boxes + n * 4;
    const T* image = images + index[n] * p.height * row;
    const float tall = float(p.height - 1), wide = float(p.width - 1);
    double sums[4] = {};
    for (int64_t i = 0; i < p.crop_height; ++i) {
      const float v = position(box[0], box[2], i, p.crop_height, p.height);
      if (!(v >= 0 && v <= tall)) continue;
      for (int64_t j = 0; j < p.crop_width; ++j) {
        const float h = position(box[1], box[3], j, p.crop_width, p.width);
        if (!(h >= 0 && h <= wide)) continue;
        const T *top = image + int64_t(std::floor(v)) * row,
                *bottom = image + int64_t(std::ceil(v)) * row;
        const int64_t l = int64_t(std::floor(h)) * c, r = int64_t(std::ceil(h)) * c;
        const float down = v - std::floor(v), across = h - std::floor(h);
        for (int64_t k = 0; k < c; ++k) {
          const float g = dy[((n * p.crop_height + i) * p.crop_width + j) * c + k];
          const float tl = float(top[l + k]), tr = float(top[r + k]), bl = float(bottom[l + k]),
                      br = float(bottom[r + k]);
          const double by_v = g * ((1 - across) * (bl - tl) + across * (br - tr));
          const double by_h = g * ((1 - down) * (tr - tl) + down * (br - bl));
          const double i1 = p.crop_height > 1 ? double(i) / double(p.crop_height - 1) : 0.5;
          const double j1 = p.crop_width > 1 ? double(j) / double(p.crop_width - 1) : 0.5;
          sums[0] += by_v * tall * (1 - i1);
          sums[2] += by_v * tall * i1;
          sums[1] += by_h * wide * (1 - j1);
          sums[3] += by_h * wide * j1;
        }
      }
    }
    for (int k = 0; k < 4; ++k) out[n * 4 + k] = float(sums[k]);
  }
  return HR_OK;
}

hr_code check_boxes(hr_request* r, const hr_tensor* boxes, const hr_tensor* index) {
  if (boxes->rank == 2 && boxes->dims[1] == 4 && index->rank == 1 &&
      index->dims[0] == boxes->dims[0])
    return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT,
                         "boxes must be [n, 4] and box_ind [n]: boxes is %s, box_ind is %s",
                         ShapeText(boxes).text, ShapeText(index).text);
}

bool is_nearest(const hr_request* r) {
  return attr_text(r->node, "method", "bilinear") == "nearest";
}

hr_code prepare_crops(void*, hr_request* r) {
  hr_code code = check_boxes(r, r->inputs[1], r->inputs[2]);
  if (code == HR_OK) code = hr_shape_crop_and_resize(r);
  if (code != HR_OK) return code;
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  if (y->dims[1] < 1 || y->dims[2] < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "crop dimensions must be positive: crops are %s",
                           ShapeText(y).text);
  keep_plan(r,
            new Plan{x->dims[1], x->dims[2], x->dims[3], x->dims[0], y->dims[1], y->dims[2],
                     y->dims[0], hr_attr_float(r->node, "extrapolation_value", 0), is_nearest(r)});
  r->compute = with_type(x->dtype, Reals{}, [](auto type) -> hr_compute {
    return compute_crops<typename decltype(type)::type>;
  });
  return HR_OK;
}

hr_code prepare_to_image(void*, hr_request* r) {
  hr_code code = check_boxes(r, r->inputs[1], r->inputs[2]);
  if (code == HR_OK) code = hr_shape_shape_from_input_3(r);
  if (code != HR_OK) return code;
  const hr_tensor *dy = r->inputs[0], *dx = r->outputs[0];
  if (dx->rank != 4 || dy->rank != 4 || dy->dims[3] != dx->dims[3] ||
      dy->dims[0] != r->inputs[1]->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "grads do not fit: grads is %s, the image %s, boxes is %s",
                           ShapeText(dy).text, ShapeText(dx).text, ShapeText(r->inputs[1]).text);
  keep_plan(r, new Plan{dx->dims[1], dx->dims[2], dx->dims[3], dx->dims[0], dy->dims[1],
                        dy->dims[2], dy->dims[0], 0, is_nearest(r)});
  if (hr_dtype_size(dx->dtype) == 2) r->workspace = size_t(hr_elements(dx)) * sizeof(float);
  r->compute = with_type(dx->dtype, Floats{}, [](auto type) -> hr_compute {
    return compute_to_image<typename decltype(type)::type>;
  });
  return HR_OK;
}

hr_code prepare_to_boxes(void*, hr_request* r) {
  hr_code code = check_boxes(r, r->inputs[2], r->inputs[3]);
  if (code == HR_OK) code = hr_shape_as_input_2(r);
  if (code != HR_OK) return code;
  const hr_tensor *dy = r->inputs[0], *x = r->inputs[1];
  if (x->rank != 4 || dy->rank != 4 || dy->dims[3] != x->dims[3] ||
      dy->dims[0] != r->inputs[2]->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "grads do not fit: grads is %s, image is %s, boxes is %s",
                           ShapeText(dy).text, ShapeText(x).text, ShapeText(r->inputs[2]).text);
  keep_plan(r, new Plan{x->dims[1], x->dims[2], x->dims[3], x->dims[0], dy->dims[1], dy->dims[2],
                        dy->dims[0], 0, false});
  r->compute = with_type(x->dtype, Reals{}, [](auto type) -> hr_compute {
    return compute_to_boxes<typename decltype(type)::type>;
  });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("CropAndResize", "T=" HR_REALS, prepare_crops).constant(3),
    kernel("CropAndResizeGradImage", "T=" HR_FLOATS, prepare_to_image).constant(3),
    kernel("CropAndResizeGradBoxes", "T=" HR_REALS, prepare_to_boxes),
};

}  // namespace hr
