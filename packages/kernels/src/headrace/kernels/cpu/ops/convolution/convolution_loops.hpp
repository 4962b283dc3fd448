// Convolutions by plain loops, for the dtypes that oneDNN lacks: double and integers.
#pragma once

#include "headrace/kernel.h"
#include "library/convolution.hpp"

namespace hr {

template <class T>
void convolve(hr_ctx* ctx, const Convolution& c, const T* x, const T* filter, T* y);
template <class T>
void convolve_to_input(hr_ctx* ctx, const Convolution& c, T* x, const T* filter, const T* y);
template <class T>
void convolve_to_filter(hr_ctx* ctx, const Convolution& c, const T* x, T* filter, const T* y);

}  // namespace hr
