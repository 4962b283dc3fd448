// The plan of a convolution kernel, and the epilogue of its result.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gemm/epilogue.hpp"
#include "library/shapes.hpp"
#include "ops/convolution/convolution_loops.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"
#if HR_WITH_ONEDNN
#include "onednn/primitives.hpp"
#endif

namespace hr::convolution {

struct Plan : Node {
  Direction direction;
  Epilogue epilogue;
  bool epilogue_apart = false;    // not inside the convolution: a second pass
  bool activation_apart = false;  // of the epilogue, the activation alone is a second pass
#if HR_WITH_ONEDNN
  size_t factors = 0;  // where in the workspace a batch normalisation's scale and shift lie
  std::unique_ptr<onednn::Program> program;
  // The same with a Relu that is cheaper and makes NaN zero, for operands that make none.
  std::unique_ptr<onednn::Program> for_finite;
#endif
};

struct Ends {
  void *x, *filter, *y;
};
inline Ends ends(const Plan& p, const hr_tensor* const* inputs, hr_tensor* const* outputs) {
  auto at = [&](int i) { return i < 0 ? outputs[0]->data : inputs[i]->data; };
  return {at(p.x), at(p.filter), at(p.y)};
}

// y = y * scale + shift by channel.
template <class T>
void scale_and_shift(hr_ctx* ctx, T* y, const T* scale, const T* shift, const Window& w,
                     int64_t channels) {
  const int64_t inner = w.channels_first ? w.out_positions() : channels;
  const int64_t rows = w.batch * (w.channels_first ? channels : w.out_positions());
  parallel_ranges(ctx, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      T* at = y + row * inner;
                      const int64_t c = w.channels_first ? row % channels : 0;
                      for (int64_t i = 0; i < inner; ++i) {
                        const int64_t k = w.channels_first ? c : i;
                        at[i] = at[i] * scale[k] + shift[k];
                      }
                    }
                  });
}

template <class T> T normalising_scale(T gamma, T variance, const Epilogue& e) {
  return gamma / std::sqrt(variance + T(e.epsilon));
}

// What a batch normalisation with known statistics multiplies and adds: inputs 2 to 5 are its
// scale, offset, mean and variance.
template <class T>
void normalising_factors(const Epilogue& e, const hr_tensor* const* inputs, int64_t channels,
                         T* scale, T* shift) {
  const T *gamma = read<T>(inputs[2]), *beta = read<T>(inputs[3]), *mean = read<T>(inputs[4]),
          *variance = read<T>(inputs[5]);
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] = normalising_scale(gamma[c], variance[c], e);
    shift[c] = beta[c] - mean[c] * scale[c];
  }
}

template <class T> void activate(hr_ctx* ctx, const Plan& p, T* y) {
  const int64_t total = p.c.w.batch * p.c.w.out_positions() * p.c.out_channels;
  parallel_ranges(ctx, total, 16384, [&](int64_t begin, int64_t end) {
    apply_epilogue(p.epilogue, y + begin, 1, end - begin, static_cast<const T*>(nullptr));
  });
}

template <class T>
void finish(hr_ctx* ctx, const Plan& p, const hr_tensor* const* inputs, T* y) {
  const Epilogue& e = p.epilogue;
  const int64_t channels = p.c.out_channels;
  if (e.bias || e.batch_norm) {
    std::vector<T> scale(channels, T(1)), shift(channels);
    if (e.bias) std::copy_n(read<T>(inputs[2]), channels, shift.data());
    else normalising_factors(e, inputs, channels, scale.data(), shift.data());
    scale_and_shift(ctx, y, scale.data(), shift.data(), p.c.w, channels);
  }
  activate(ctx, p, y);
}

#if HR_WITH_ONEDNN
// oneDNN 3.2 writes past its scratch for these.
bool overruns_scratch(const Convolution& c);
// Sets r's compute and workspace, and p's programs.
void build_onednn(hr_request* r, Plan* p);
#endif

}  // namespace hr::convolution
