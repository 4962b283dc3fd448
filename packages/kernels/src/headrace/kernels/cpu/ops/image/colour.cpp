// Colour ops: contrast, hue, saturation, and conversions between RGB and HSV.
#include <algorithm>
#include <cmath>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/via_float.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

template <class T>
void to_hsv(const T* rgb, T* hsv) {
  const T r = rgb[0], g = rgb[1], b = rgb[2];
  const T value = std::max(r, std::max(g, b)), range = value - std::min(r, std::min(g, b));
  T hue = T(0);
  if (range > T(0)) {
    const T norm = T(1) / (T(6) * range);
    hue = r == value   ? norm * (g - b)
          : g == value ? norm * (b - r) + T(2) / T(6)
                       : norm * (r - g) + T(4) / T(6);
    if (hue < T(0)) hue += T(1);
  }
  hsv[0] = hue;
  hsv[1] = value > T(0) ? range / value : T(0);
  hsv[2] = value;
}

template <class T>
void to_rgb(const T* hsv, T* rgb) {
  const T h = hsv[0], s = hsv[1], v = hsv[2];
  auto share = [](T x) { return std::min(T(1), std::max(T(0), x)); };
  const T r = share(std::fabs(h * T(6) - T(3)) - T(1));
  const T g = share(T(2) - std::fabs(h * T(6) - T(2)));
  const T b = share(T(2) - std::fabs(h * T(6) - T(4)));
  rgb[0] = (T(1) - s + s * r) * v;
  rgb[1] = (T(1) - s + s * g) * v;
  rgb[2] = (T(1) - s + s * b) * v;
}

enum class Change { to_hsv, to_rgb, hue, saturation };

template <class T, Change change>
hr_code compute_pixels(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  const T* x = read<T>(inputs[0]);
  T* y = write<T>(outputs[0]);
  T by = T(0);
  if constexpr (change == Change::hue || change == Change::saturation)
    by = T(*read<float>(inputs[1]));
  parallel_ranges(ctx, hr_elements(inputs[0]) / 3, 4096, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      T hsv[3];
      if (change == Change::to_hsv) {
        to_hsv(x + 3 * i, hsv);
        std::copy_n(hsv, 3, y + 3 * i);
        continue;
      }
      if (change == Change::to_rgb) {
        std::copy_n(x + 3 * i, 3, hsv);
      } else {
        to_hsv(x + 3 * i, hsv);
        if (change == Change::hue) hsv[0] = hsv[0] + by - std::floor(hsv[0] + by);
        else hsv[1] = std::min(T(1), std::max(T(0), hsv[1] * by));
      }
      to_rgb(hsv, y + 3 * i);
    }
  });
  return HR_OK;
}

template <Change change>
hr_code prepare_pixels(void*, hr_request* r) {
  hr_code code = hr_shape_unchanged(r);
  if (code != HR_OK) return code;
  const hr_tensor* x = r->inputs[0];
  for (int i = 1; i < r->node->n_inputs; ++i)
    if ((code = need_scalar(r, i, i == 1 ? "the change" : "a bound"))) return code;
  if (x->rank < 1 || x->dims[x->rank - 1] != 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "the last dimension must be 3: images is %s",
                           ShapeText(x).text);
  r->compute =
      x->dtype == HR_DOUBLE ? compute_pixels<double, change> : compute_pixels<float, change>;
  return HR_OK;
}

// y = (x - mean) * factor + mean, the mean of each image and channel; V1 also clips.
template <class T, bool clip>
hr_code compute_contrast(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  const hr_tensor* x = inputs[0];
  const int64_t c = x->dims[x->rank - 1], pixels = x->dims[x->rank - 2] * x->dims[x->rank - 3];
  const int64_t images = product(x->dims, 0, x->rank - 3);
  const float factor = *read<float>(inputs[1]);
  const T* from = read<T>(x);
  float* y = write<float>(outputs[0]);
  parallel_ranges(ctx, images * c, 1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t at = i / c * pixels * c + i % c;
      double sum = 0;
      for (int64_t p = 0; p < pixels; ++p) sum += double(from[at + p * c]);
      const float mean = float(sum / double(std::max<int64_t>(1, pixels)));
      for (int64_t p = 0; p < pixels; ++p) {
        float v = (float(from[at + p * c]) - mean) * factor + mean;
        if (clip) v = std::min(*read<float>(inputs[3]), std::max(*read<float>(inputs[2]), v));
        y[at + p * c] = v;
      }
    }
  });
  return HR_OK;
}

template <bool clip>
hr_code prepare_contrast(void*, hr_request* r) {
  hr_code code = hr_shape_unchanged(r);
  if (code != HR_OK) return code;
  for (int i = 1; i < r->node->n_inputs; ++i)
    if ((code = need_scalar(r, i, i == 1 ? "contrast_factor" : "a bound"))) return code;
  if (r->inputs[0]->rank < 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "images must have at least 3 dimensions: images is %s",
                           ShapeText(r->inputs[0]).text);
  r->compute = with_type(r->inputs[0]->dtype,
                         Types<float, double, uint8_t, int8_t, int16_t, int32_t, int64_t>{},
                         [](auto type) -> hr_compute {
                           return compute_contrast<typename decltype(type)::type, clip>;
                         });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("RGBToHSV", "T=" HR_FLOATS, widened<prepare_pixels<Change::to_hsv>>).reuses(0),
    kernel("HSVToRGB", "T=" HR_FLOATS, widened<prepare_pixels<Change::to_rgb>>).reuses(0),
    kernel("AdjustHue", "T=half|float", widened<prepare_pixels<Change::hue>>).reuses(0),
    kernel("AdjustSaturation", "T=half|float", widened<prepare_pixels<Change::saturation>>)
        .reuses(0),
    kernel("AdjustContrastv2", "T=half|float", widened<prepare_contrast<false>>).reuses(0),
    kernel("AdjustContrast", nullptr, prepare_contrast<true>),
};

}  // namespace hr
