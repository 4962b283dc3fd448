// The windows of pooling nodes as three-dimensional shapes; divides pooling work by image.
#pragma once

#include <algorithm>

#include "library/pooling.hpp"
#include "ops/pooling/pooling_loops.hpp"
#include "processor/parallel.hpp"

namespace hr::pooling {

// NCHW is pooled plane by plane.
Shape shape_of(const Window& w);

// Calls body(image, its input, first output position, last) for parts of all images.
template <class T, class Body>
void by_image(hr_ctx* ctx, const Shape& s, const T* x, Body&& body) {
  const int64_t outs = s.out_positions();
  // As many output positions as are worth a thread.
  const int64_t grain =
      grain_of(s.channels * s.size[0] * s.size[1] * s.size[2] * int64_t(sizeof(T)));
  parallel_ranges(ctx, s.images * outs, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t image = begin / outs, o = begin % outs;
      const int64_t stop = std::min(outs, o + end - begin);
      body(image, x + image * s.in_positions() * s.channels, o, stop);
      begin += stop - o;
    }
  });
}

}  // namespace hr::pooling
