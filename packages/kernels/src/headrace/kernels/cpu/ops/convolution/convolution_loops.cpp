#include "ops/convolution/convolution_loops.hpp"

#include <algorithm>

#include "processor/parallel.hpp"

namespace hr {
namespace {

// Element strides of an activation tensor.
struct Strides {
  int64_t batch, space, channel;
  Strides(const Window& w, int64_t positions, int64_t channels)
      : batch(positions * channels), space(w.channels_first ? 1 : channels),
        channel(w.channels_first ? positions : 1) {}
};

// The input position that output position o and window position q meet, or -1 in the padding.
int64_t input_position(const Window& w, int64_t o, int64_t q) {
  int64_t at = 0, step = 1;
  for (int32_t i = w.nd; i-- > 0;) {
    const int64_t p = (o % w.out[i]) * w.stride[i] - w.low[i] + (q % w.size[i]) * w.dilation[i];
    if (p < 0 || p >= w.in[i]) return -1;
    at += p * step;
    step *= w.in[i];
    o /= w.out[i];
    q /= w.size[i];
  }
  return at;
}

}  // namespace

template <class T>
void convolve(hr_ctx* ctx, const Convolution& c, const T* x, const T* filter, T* y) {
  const Window& w = c.w;
  const int64_t outs = w.out_positions(), windows = w.window_positions();
  const Strides xs(w, w.in_positions(), w.channels), ys(w, outs, c.out_channels);
  const int64_t work = windows * c.in_group * c.out_channels;
  parallel_ranges(ctx, w.batch * outs, std::max<int64_t>(1, 65536 / (work + 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      poll(ctx);
                      const int64_t n = i / outs, o = i % outs;
                      T* to = y + n * ys.batch + o * ys.space;
                      for (int64_t j = 0; j < c.out_channels; ++j) to[j * ys.channel] = T(0);
                      for (int64_t q = 0; q < windows; ++q) {
                        const int64_t p = input_position(w, o, q);
                        if (p < 0) continue;
                        const T* from = x + n * xs.batch + p * xs.space;
                        for (int64_t g = 0; g < c.groups; ++g) {
                          for (int64_t a = 0; a < c.in_group; ++a) {
                            const T v = from[(g * c.in_group + a) * xs.channel];
                            const T* f = filter + q * c.filter_position + a * c.filter_in +
                                         g * c.filter_group;
                            T* t = to + g * c.out_group * ys.channel;
                            if (ys.channel == 1) {
                              for (int64_t j = 0; j < c.out_group; ++j) t[j] += v * f[j];
                            } else {
                              for (int64_t j = 0; j < c.out_group; ++j)
                                t[j * ys.channel] += v * f[j];
                            }
                          }
                        }
                      }
                    }
                  });
}

template <class T>
void convolve_to_input(hr_ctx* ctx, const Convolution& c, T* x, const T* filter, const T* y) {
  const Window& w = c.w;
  const int64_t outs = w.out_positions(), windows = w.window_positions();
  const Strides xs(w, w.in_positions(), w.channels), ys(w, outs, c.out_channels);
  parallel_ranges(ctx, w.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      std::fill(x + n * xs.batch, x + (n + 1) * xs.batch, T(0));
      for (int64_t o = 0; o < outs; ++o) {
        poll(ctx);
        const T* from = y + n * ys.batch + o * ys.space;
        for (int64_t q = 0; q < windows; ++q) {
          const int64_t p = input_position(w, o, q);
          if (p < 0) continue;
          T* to = x + n * xs.batch + p * xs.space;
          for (int64_t g = 0; g < c.groups; ++g) {
            for (int64_t a = 0; a < c.in_group; ++a) {
              const T* f = filter + q * c.filter_position + a * c.filter_in + g * c.filter_group;
              const T* t = from + g * c.out_group * ys.channel;
              T sum = T(0);
              for (int64_t j = 0; j < c.out_group; ++j) sum += t[j * ys.channel] * f[j];
              to[(g * c.in_group + a) * xs.channel] += sum;
            }
          }
        }
      }
    }
  });
}

template <class T>
void convolve_to_filter(hr_ctx* ctx, const Convolution& c, const T* x, T* filter, const T* y) {
  const Window& w = c.w;
  const int64_t outs = w.out_positions(), windows = w.window_positions();
  const Strides xs(w, w.in_positions(), w.channels), ys(w, outs, c.out_channels);
  // A thread owns whole filter positions, so that no two add into one element.
  parallel_ranges(ctx, windows * c.in_group, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t q = i / c.in_group, a = i % c.in_group;
      for (int64_t g = 0; g < c.groups; ++g) {
        T* f = filter + q * c.filter_position + a * c.filter_in + g * c.filter_group;
        std::fill(f, f + c.out_group, T(0));
      }
      for (int64_t o = 0; o < outs; ++o) {
        const int64_t p = input_position(w, o, q);
        if (p < 0) continue;
        poll(ctx);
        for (int64_t n = 0; n < w.batch; ++n) {
          const T* from = x + n * xs.batch + p * xs.space;
          const T* t = y + n * ys.batch + o * ys.space;
          for (int64_t g = 0; g < c.groups; ++g) {
            const T v = from[(g * c.in_group + a) * xs.channel];
            T* f = filter + q * c.filter_position + a * c.filter_in + g * c.filter_group;
            const T* u = t + g * c.out_group * ys.channel;
            for (int64_t j = 0; j < c.out_group; ++j) f[j] += v * u[j * ys.channel];
          }
        }
      }
    }
  });
}

#define HR_CONVOLUTION_LOOPS(T)                                                            \
  template void convolve<T>(hr_ctx*, const Convolution&, const T*, const T*, T*);          \
  template void convolve_to_input<T>(hr_ctx*, const Convolution&, T*, const T*, const T*); \
  template void convolve_to_filter<T>(hr_ctx*, const Convolution&, const T*, T*, const T*);
HR_CONVOLUTION_LOOPS(float)
HR_CONVOLUTION_LOOPS(double)
HR_CONVOLUTION_LOOPS(int32_t)

}  // namespace hr
