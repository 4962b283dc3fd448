// Max pooling of float images over small windows, and its gradient, vectorised over channels.
#pragma once

#include "ops/pooling/pooling_loops.hpp"

namespace hr::pooling {

// Whether the functions below take such windows; others go through pooling_loops.hpp.
bool has_lanes(const Shape& s);

// y: output positions [begin, end) of one image. False: there may be NaN, which these miss, and
// the maxima are to be taken again by the loops.
// index: what maxima_with_index() writes there; null: not wanted.
bool lane_maxima(const Shape& s, const float* image, float* y, uint8_t* index, int64_t begin,
                 int64_t end);

// One image, from what lane_maxima() wrote to index.
void lane_gradient_by_index(const Shape& s, const uint8_t* index, float* dx, const float* dy);

// One image. Each window's gradient goes to the first of its maxima; NaN wins.
void lane_max_gradient(const Shape& s, const float* image, float* dx, const float* dy);

}  // namespace hr::pooling
