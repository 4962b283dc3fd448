// Geometry of sliding windows, for convolution, pooling, dilation and patches.
#ifndef HEADRACE_LIBRARY_WINDOW_HPP
#define HEADRACE_LIBRARY_WINDOW_HPP

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "headrace/kernel.h"
#include "library/attributes.hpp"
#include "library/shapes.hpp"

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

// The dimension of spatial axis i in a tensor of the window's data format.
inline int32_t spatial_axis(const Window& w, int32_t i) { return i + (w.channels_first ? 2 : 1); }

struct PerDimension {
  int64_t value[10];
  int32_t n = 0;
};

// The value of a list attribute, or of a constant integer vector, by dimension of the tensor.
inline PerDimension dimension_list(const hr_node* node, const char* key) {
  PerDimension list;
  for (int64_t v : attr_ints(node, key)) {
    if (list.n < 10) list.value[list.n++] = v;
  }
  return list;
}

inline PerDimension dimension_list(const hr_tensor* vector) {
  PerDimension list;
  const int64_t n = std::min<int64_t>(10, hr_elements(vector));
  for (int64_t i = 0; vector->data && i < n; ++i) list.value[list.n++] = int_at(vector, i);
  return list;
}

// Whether a node has as many strides, dilations and paddings as its input's dimensions need.
inline hr_code check_window_attributes(hr_request* r, int32_t rank, const PerDimension& strides,
                                       const PerDimension& dilations) {
  const auto padding = attr_text(r->node, "padding", "VALID");
  if (strides.n != rank || (dilations.n && dilations.n != rank))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "strides and dilations need %d values: %d and %d given", rank, strides.n,
                           dilations.n);
  const PerDimension explicit_pads = dimension_list(r->node, "explicit_paddings");
  if (padding == "EXPLICIT" && explicit_pads.n != 2 * rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "explicit_paddings attribute must contain %d values, but got: %d",
                           2 * rank, explicit_pads.n);
  return HR_OK;
}

// Fills *w for an input of this shape from the node's data_format, padding and
// explicit_paddings; sizes are those of the window in space. strides and dilations are by
// dimension of the input (dilations may be empty). Sets the output's extent, too.
inline hr_code read_window(hr_request* r, int32_t rank, const int64_t* dims, const int64_t* sizes,
                           const PerDimension& strides, const PerDimension& dilations, Window* w) {
  const auto format = attr_text(r->node, "data_format", rank == 5 ? "NDHWC" : "NHWC");
  const auto padding = attr_text(r->node, "padding", "VALID");
  if (rank != 4 && rank != 5)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "input must have 4 or 5 dimensions: input is %s",
                           ShapeText(rank, dims).text);
  w->nd = rank - 2;
  w->channels_first = format == "NCHW" || format == "NCDHW";
  const int32_t channel_axis = w->channels_first ? 1 : rank - 1;
  w->batch = dims[0];
  w->channels = dims[channel_axis];
  if (hr_code code = check_window_attributes(r, rank, strides, dilations)) return code;
  const PerDimension explicit_pads = dimension_list(r->node, "explicit_paddings");
  const bool unused_pads = padding != "EXPLICIT" && explicit_pads.n;
  if (unused_pads && std::string_view(r->node->op).substr(0, 11) != "MaxPoolGrad")
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "explicit_paddings attribute must be empty if the padding attribute is "
                           "not EXPLICIT: %d values given",
                           explicit_pads.n);
  for (int32_t side = 0; padding == "EXPLICIT" && side < 2; ++side) {
    if (explicit_pads.value[side] || explicit_pads.value[2 * channel_axis + side])
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "Nonzero explicit padding in the batch or depth dimensions is not "
                             "supported");
  }
  for (int32_t i = 0; i < w->nd; ++i) {
    const int32_t axis = spatial_axis(*w, i);
    w->in[i] = dims[axis];
    w->size[i] = sizes[i];
    w->stride[i] = strides.value[axis];
    w->dilation[i] = dilations.n ? dilations.value[axis] : 1;
    if (w->stride[i] < 1 || w->dilation[i] < 1 || w->size[i] < 0 || w->stride[i] > INT32_MAX ||
        w->dilation[i] > INT32_MAX || w->size[i] > INT32_MAX)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "window size %lld, stride %lld and dilation %lld must be positive "
                             "and fit in 32 bits",
                             (long long)w->size[i], (long long)w->stride[i],
                             (long long)w->dilation[i]);
    const int64_t extent = (w->size[i] - 1) * w->dilation[i] + 1;
    w->low[i] = w->high[i] = 0;
    if (padding == "SAME") {
      w->out[i] = (w->in[i] + w->stride[i] - 1) / w->stride[i];
      const int64_t total =
          std::max<int64_t>(0, (w->out[i] - 1) * w->stride[i] + extent - w->in[i]);
      w->low[i] = total / 2;
      w->high[i] = total - total / 2;
      continue;
    }
    if (padding == "EXPLICIT") {
      w->low[i] = explicit_pads.value[2 * axis];
      w->high[i] = explicit_pads.value[2 * axis + 1];
      if (w->low[i] < 0 || w->high[i] < 0)
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "All elements of explicit_paddings must be nonnegative: %lld, %lld",
                               (long long)w->low[i], (long long)w->high[i]);
      if (w->low[i] > INT32_MAX || w->high[i] > INT32_MAX)  // else what follows overflows
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "explicit_paddings must fit in 32 bits: %lld, %lld",
                               (long long)w->low[i], (long long)w->high[i]);
    }
    const int64_t room = w->in[i] + w->low[i] + w->high[i] - extent;
    if (room < 0 && w->in[i] + w->low[i] + w->high[i] > 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "window of %lld does not fit into %lld with padding %lld and %lld",
                             (long long)extent, (long long)w->in[i], (long long)w->low[i],
                             (long long)w->high[i]);
    w->out[i] = room < 0 ? 0 : room / w->stride[i] + 1;
  }
  return HR_OK;
}

// The shape [batch, out..., channels] in the window's data format.
inline void set_window_shape(const Window& w, int64_t channels, hr_tensor* t) {
  t->rank = w.nd + 2;
  t->dims[0] = w.batch;
  t->dims[w.channels_first ? 1 : w.nd + 1] = channels;
  for (int32_t i = 0; i < w.nd; ++i) t->dims[spatial_axis(w, i)] = w.out[i];
}

}  // namespace hr

#endif
