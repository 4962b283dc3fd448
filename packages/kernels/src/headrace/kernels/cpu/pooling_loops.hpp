// Pooling by loops over channels, which lie side by side (NCHW is pooled plane by plane).
#pragma once

#include <algorithm>
#include <cstdint>

#include "element_types.hpp"
#include "simd.hpp"
#include "window.hpp"

namespace hr::pooling {

// Always three spatial axes; `images` of [in..., channels].
struct Shape {
  int64_t images, channels;
  int64_t in[3], out[3], size[3], stride[3], low[3];
  int64_t in_positions() const { return in[0] * in[1] * in[2]; }
  int64_t out_positions() const { return out[0] * out[1] * out[2]; }
};

constexpr int64_t kChunk = 64;  // channels at a time, in registers and on the stack

// Calls f(input position) for what the window of output position o covers, in memory's order.
template <class F>
HR_INLINE void over_window(const Shape& s, int64_t o, F&& f) {
  const int64_t o2 = o % s.out[2], o1 = o / s.out[2] % s.out[1], o0 = o / s.out[2] / s.out[1];
  const int64_t b0 = o0 * s.stride[0] - s.low[0], b1 = o1 * s.stride[1] - s.low[1],
                b2 = o2 * s.stride[2] - s.low[2];
  const int64_t e0 = std::min(s.in[0], b0 + s.size[0]), e1 = std::min(s.in[1], b1 + s.size[1]),
                e2 = std::min(s.in[2], b2 + s.size[2]);
  for (int64_t i = std::max<int64_t>(0, b0); i < e0; ++i) {
    for (int64_t j = std::max<int64_t>(0, b1); j < e1; ++j) {
      for (int64_t k = std::max<int64_t>(0, b2); k < e2; ++k) f((i * s.in[1] + j) * s.in[2] + k);
    }
  }
}

// The window's maxima of `width` channels and the position of the first of each. NaN wins.
template <class T>
HR_INLINE void window_maxima(const Shape& s, const T* image, int64_t o, int64_t c, int64_t width,
                             Compute<T>* best, int32_t* at) {
  bool first = true;
  over_window(s, o, [&](int64_t p) {
    const T* x = image + p * s.channels + c;
    if (first) {
      for (int64_t j = 0; j < width; ++j) best[j] = Compute<T>(x[j]), at[j] = int32_t(p);
      first = false;
      return;
    }
    HR_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) {
      const Compute<T> v = Compute<T>(x[j]);
      const bool better = (v > best[j]) | ((v != v) & (best[j] == best[j]));
      best[j] = better ? v : best[j];
      at[j] = better ? int32_t(p) : at[j];
    }
  });
}

template <class T>
HR_INLINE void maxima(const Shape& s, const T* image, T* y, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t c = 0; c < s.channels; c += kChunk) {
      const int64_t width = std::min(kChunk, s.channels - c);
      T* to = y + o * s.channels + c;
      bool first = true;
      over_window(s, o, [&](int64_t p) {
        const T* x = image + p * s.channels + c;
        if (first) {
          for (int64_t j = 0; j < width; ++j) to[j] = x[j];
          first = false;
          return;
        }
        HR_INDEPENDENT
        for (int64_t j = 0; j < width; ++j) {
          const Compute<T> v = Compute<T>(x[j]), b = Compute<T>(to[j]);
          to[j] = (v > b) | (v != v) ? x[j] : to[j];
        }
      });
    }
  }
}

template <class T>
HR_INLINE void averages(const Shape& s, const T* image, T* y, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t c = 0; c < s.channels; c += kChunk) {
      const int64_t width = std::min(kChunk, s.channels - c);
      Compute<T> sum[kChunk] = {};
      int64_t count = 0;
      over_window(s, o, [&](int64_t p) {
        const T* x = image + p * s.channels + c;
        ++count;
        HR_INDEPENDENT
        for (int64_t j = 0; j < width; ++j) sum[j] += Compute<T>(x[j]);
      });
      for (int64_t j = 0; j < width; ++j)
        y[o * s.channels + c + j] = T(sum[j] / Compute<T>(count ? count : 1));
    }
  }
}

// dx: one image, zeroed.
template <class T>
HR_INLINE void average_gradient(const Shape& s, Compute<T>* dx, const T* dy) {
  for (int64_t o = 0; o < s.out_positions(); ++o) {
    int64_t count = 0;
    over_window(s, o, [&](int64_t) { ++count; });
    const Compute<T> scale = Compute<T>(1) / Compute<T>(count ? count : 1);
    over_window(s, o, [&](int64_t p) {
      Compute<T>* to = dx + p * s.channels;
      const T* from = dy + o * s.channels;
      HR_INDEPENDENT
      for (int64_t j = 0; j < s.channels; ++j) to[j] += Compute<T>(from[j]) * scale;
    });
  }
}

}  // namespace hr::pooling
