// The geometry of a window as kernels take it: `window` of sources/convolution/window.cl.
#ifndef HEADRACE_OPENCL_OPS_CONVOLUTION_WINDOW_ARGUMENT_HPP
#define HEADRACE_OPENCL_OPS_CONVOLUTION_WINDOW_ARGUMENT_HPP

#include <cstdint>

#include "library/window.hpp"

namespace hr::cl {

struct WindowArgument {
  int32_t batch;
  int32_t in_h, in_w, in_pitch;
  int32_t out_h, out_w, out_pitch;
  int32_t depth, columns;
  int32_t size_h, size_w, stride_h, stride_w, low_h, low_w, dilation_h, dilation_w;
};

// Of a window in two dimensions over x [.., in_pitch] that makes y [.., out_pitch].
inline WindowArgument window_argument(const Window& w, int64_t in_pitch, int64_t out_pitch) {
  return {int32_t(w.batch),
          int32_t(w.in[0]),
          int32_t(w.in[1]),
          int32_t(in_pitch),
          int32_t(w.out[0]),
          int32_t(w.out[1]),
          int32_t(out_pitch),
          1,
          1,
          int32_t(w.size[0]),
          int32_t(w.size[1]),
          int32_t(w.stride[0]),
          int32_t(w.stride[1]),
          int32_t(w.low[0]),
          int32_t(w.low[1]),
          int32_t(w.dilation[0]),
          int32_t(w.dilation[1])};
}

// Kernels count pixels, and elements of an image and of a filter, in int.
inline bool fits_kernels(const Window& w, int64_t out_channels) {
  constexpr int64_t kMost = INT32_MAX;
  auto product_fits = [&](int64_t a, int64_t b) { return b == 0 || a <= kMost / b; };
  const int64_t in = w.in[0] * w.in[1], out = w.out[0] * w.out[1], size = w.size[0] * w.size[1];
  auto reach = [&](int i) { return w.in[i] + w.low[i] + w.high[i]; };
  return w.nd == 2 && product_fits(w.in[0], w.in[1]) && product_fits(w.out[0], w.out[1]) &&
         product_fits(in, w.batch) && product_fits(out, w.batch) && product_fits(in, w.channels) &&
         product_fits(out, out_channels) && product_fits(size, w.channels) &&
         product_fits(size * w.channels, out_channels) && reach(0) < (1 << 28) &&
         reach(1) < (1 << 28) && w.size[0] < (1 << 14) && w.size[1] < (1 << 14) &&
         product_fits(w.size[0], w.dilation[0]) && product_fits(w.size[1], w.dilation[1]);
}

}  // namespace hr::cl

#endif
