// The input pixels and weights that make up an output pixel of a resized image, along one axis.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace hr::image {

// How output positions map to input positions.
struct Scale {
  float scale;
  bool align_corners, half_pixel;
  Scale(int64_t in, int64_t out, bool align, bool half)
      : scale(align && out > 1 ? float(in - 1) / float(out - 1) : float(in) / float(out)),
        align_corners(align), half_pixel(half) {}
  float position(int64_t i) const {
    return half_pixel ? (float(i) + 0.5f) * scale - 0.5f : float(i) * scale;
  }
};

// A weighted sum of up to four input positions.
struct Taps {
  int64_t at[4];
  float weight[4];
};

std::vector<Taps> linear_taps(int64_t in, int64_t out, const Scale& s);
std::vector<Taps> cubic_taps(int64_t in, int64_t out, const Scale& s);
std::vector<int64_t> nearest_taps(int64_t in, int64_t out, const Scale& s);

}  // namespace hr::image
