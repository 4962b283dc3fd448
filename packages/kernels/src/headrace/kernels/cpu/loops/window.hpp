// Geometry of sliding windows, for convolution, pooling, dilation and patches.
#pragma once

#include <cstdint>

#include "headrace/kernel.h"

namespace hr {

// Two or three spatial dimensions, in the order in which memory has them.
struct Window {
  int32_t nd = 2;
  bool channels_first = false;
  int64_t batch = 0, channels = 0;
  int64_t in[3], out[3], size[3], stride[3], dilation[3], low[3], high[3];

  int64_t in_positions() const { return positions(in); }
  int64_t out_positions() const { return positions(out); }
  int64_t window_positions() const { return positions(size); }
  int64_t positions(const int64_t* of) const {
    int64_t n = 1;
    for (int32_t i = 0; i < nd; ++i) n *= of[i];
    return n;
  }
};

// The value of a list attribute, or of a constant integer vector, by dimension of the tensor.
struct PerDimension {
  int64_t value[10];
  int32_t n = 0;
};
PerDimension dimension_list(const hr_node* node, const char* key);
PerDimension dimension_list(const hr_tensor* vector);

// Whether a node has as many strides, dilations and paddings as its input's dimensions need.
hr_code check_window_attributes(hr_request* request, int32_t rank, const PerDimension& strides,
                                const PerDimension& dilations);

// Fills *w for an input of this shape from the node's data_format, padding and
// explicit_paddings; sizes are those of the window in space. strides and dilations are by
// dimension of the input (dilations may be empty). Sets the output's extent, too.
hr_code read_window(hr_request* request, int32_t rank, const int64_t* dims, const int64_t* sizes,
                    const PerDimension& strides, const PerDimension& dilations, Window* w);

// The shape [batch, out..., channels] in the window's data format.
void set_window_shape(const Window& w, int64_t channels, hr_tensor* t);

// The dimension of spatial axis i in a tensor of the window's data format.
inline int32_t spatial_axis(const Window& w, int32_t i) { return i + (w.channels_first ? 2 : 1); }

}  // namespace hr
