#include "ops/pooling/pooling_window.hpp"

namespace hr::pooling {

Shape shape_of(const Window& w) {
  Shape s;
  const bool first = w.channels_first;
  s.images = first ? w.batch * w.channels : w.batch;
  s.channels = first ? 1 : w.channels;
  const int32_t shift = 3 - w.nd;
  for (int32_t i = 0; i < shift; ++i)
    s.in[i] = s.out[i] = s.size[i] = s.stride[i] = 1, s.low[i] = 0;
  for (int32_t i = 0; i < w.nd; ++i) {
    s.in[i + shift] = w.in[i];
    s.out[i + shift] = w.out[i];
    s.size[i + shift] = w.size[i];
    s.stride[i + shift] = w.stride[i];
    s.low[i + shift] = w.low[i];
  }
  return s;
}

}  // namespace hr::pooling
