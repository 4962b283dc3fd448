#include "ops/image/sampling.hpp"

#include <algorithm>
#include <cfloat>

namespace hr::image {

std::vector<Taps> linear_taps(int64_t in, int64_t out, const Scale& s) {
  std::vector<Taps> taps(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float at = s.position(i), low = std::floor(at), share = at - low;
    taps[i] = {{std::max<int64_t>(int64_t(low), 0),
                std::min<int64_t>(int64_t(std::ceil(at)), in - 1), 0, 0},
               {1.0f - share, share, 0, 0}};
  }
  return taps;
}

namespace {

// Keys 1981; the ops without half_pixel_centers have always taken a = -0.75. The offset is
// rounded to a 1024th, as it always was.
float cubic(float x, float a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

}  // namespace

std::vector<Taps> cubic_taps(int64_t in, int64_t out, const Scale& s) {
  std::vector<Taps> taps(static_cast<size_t>(out));
  const float a = s.half_pixel ? -0.5f : -0.75f;
  for (int64_t i = 0; i < out; ++i) {
    const float at = s.position(i);
    const int64_t low = int64_t(std::floor(at));
    const float share = float(std::lrint((at - float(low)) * 1024)) / 1024;
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      const int64_t requested = low - 1 + k;
      taps[i].at[k] = std::min(in - 1, std::max<int64_t>(0, requested));
      taps[i].weight[k] = cubic(float(k - 1) - share, a);
      // With half pixels nothing outside the image counts.
      if (s.half_pixel && taps[i].at[k] != requested) taps[i].weight[k] = 0;
      sum += taps[i].weight[k];
    }
    if (s.half_pixel && std::fabs(sum) >= 1000.0f * FLT_MIN) {
      for (float& w : taps[i].weight) w /= sum;
    }
  }
  return taps;
}

std::vector<int64_t> nearest_taps(int64_t in, int64_t out, const Scale& s) {
  std::vector<int64_t> taps(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float at = s.half_pixel ? (float(i) + 0.5f) * s.scale : float(i) * s.scale;
    const int64_t nearest = int64_t(s.align_corners ? std::round(at) : std::floor(at));
    taps[i] = std::min(in - 1, std::max<int64_t>(0, nearest));
  }
  return taps;
}

}  // namespace hr::image
