// One row of a bilinear resize.
#pragma once

#include <cstdint>

#include "ops/image/sampling.hpp"
#include "processor/simd.hpp"

namespace hr::image {

// Where the pixels of a resized row come from.
struct LinearRow {
  const Taps* columns;
  int64_t n, channels;
  int64_t inner;  // so many first pixels need no pixel at the end of a row
};

// The number of first pixels that do not need the last one of the input row.
inline int64_t inner_pixels(const Taps* columns, int64_t n, int64_t in_width) {
  int64_t i = 0;
  while (i + 1 < n && columns[i].at[0] < in_width - 1 && columns[i].at[1] < in_width - 1) ++i;
  return i;
}

// Interpolates by differences, so that equal neighbours give exactly their value. Pixels from
// `begin` on.
template <class T>
void linear_pixels(const LinearRow& row, int64_t begin, const T* top, const T* bottom, float below,
                   float* to) {
  const int64_t c = row.channels;
  to += begin * c;
  for (int64_t j = begin; j < row.n; ++j, to += c) {
    const Taps& h = row.columns[j];
    const int64_t l = h.at[0] * c, r = h.at[1] * c;
    const float right = h.weight[1];
    for (int64_t k = 0; k < c; ++k) {
      const float tl = float(top[l + k]), tr = float(top[r + k]);
      const float bl = float(bottom[l + k]), br = float(bottom[r + k]);
      const float t = tl + (tr - tl) * right, b = bl + (br - bl) * right;
      to[k] = t + (b - t) * below;
    }
  }
}

template <class T>
void linear_row(const LinearRow& row, const T* top, const T* bottom, float below, float* to) {
  linear_pixels(row, 0, top, bottom, below, to);
}

// Pictures have three channels: a pixel is one vector of four values, with the first of the next.
template <>
void linear_row(const LinearRow& row, const uint8_t* top, const uint8_t* bottom, float below,
                float* to);
template <>
void linear_row(const LinearRow& row, const float* top, const float* bottom, float below,
                float* to);

}  // namespace hr::image
