// Divides a range of elements into pieces and polls for the step's cancellation between them.
#ifndef HEADRACE_CPU_PROCESSOR_POLLED_STRETCH_HPP
#define HEADRACE_CPU_PROCESSOR_POLLED_STRETCH_HPP

#include <algorithm>
#include <cstdint>

#include "processor/parallel.hpp"

namespace hr {

// Some functions take 20 us an element, so a piece takes 0.2 s at most; the cheapest take 1 us a
// piece, of which the look is nothing.
constexpr int64_t kStretch = 8192;

// body(begin, end) for the pieces of [begin, end).
template <class Body>
inline void in_polled_pieces(const hr_ctx* ctx, int64_t begin, int64_t end, Body&& body) {
  for (; end - begin > kStretch; begin += kStretch) {
    body(begin, begin + kStretch);
    poll(ctx);
  }
  body(begin, end);
}

}  // namespace hr

#endif
