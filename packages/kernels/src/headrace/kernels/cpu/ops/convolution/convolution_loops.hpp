// Convolutions by plain loops, for the dtypes that oneDNN lacks: double and integers.
#pragma once

#include "headrace/kernel.h"
#include "loops/window.hpp"

namespace hr {

// A window whose filter is [size..., in_group, out] in memory, and the strides that say so.
struct Convolution {
  Window w;
  int64_t groups, in_group, out_group, out_channels;
  // Of the filter's memory; the output channels of a group are contiguous.
  int64_t filter_position, filter_in, filter_group;
};

template <class T>
void convolve(hr_ctx* ctx, const Convolution& c, const T* x, const T* filter, T* y);
template <class T>
void convolve_to_input(hr_ctx* ctx, const Convolution& c, T* x, const T* filter, const T* y);
template <class T>
void convolve_to_filter(hr_ctx* ctx, const Convolution& c, const T* x, T* filter, const T* y);

}  // namespace hr
