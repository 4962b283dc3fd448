// Reads the windows of pooling nodes.
#include "ops/pooling/pooling_window.hpp"

#include "library/attributes.hpp"

namespace hr {

hr_code read_pool(hr_request* r, int32_t rank, const int64_t* dims, const PerDimension& ksize,
                  const PerDimension& strides, Window* w, pooling::Shape* s) {
  if (ksize.n != rank || strides.n != rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "ksize and strides need %d values: %d and %d given", rank, ksize.n,
                           strides.n);
  const auto format = attr_text(r->node, "data_format", "NHWC");
  const bool first = format == "NCHW" || format == "NCDHW";
  const int32_t channel_axis = first ? 1 : rank - 1;
  // In two dimensions TensorFlow never looks at the stride over depth.
  if (ksize.value[0] != 1 || ksize.value[channel_axis] != 1 || strides.value[0] != 1 ||
      (rank == 5 && strides.value[channel_axis] != 1))
    return hr_request_fail(
        r, HR_UNIMPLEMENTED,
        "pooling goes over space only: ksize and strides of batch and channels must be 1");
  int64_t sizes[3] = {1, 1, 1};
  for (int32_t i = 0; i < rank - 2; ++i) {
    sizes[i] = ksize.value[i + (first ? 2 : 1)];
    if (sizes[i] < 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "window size %lld must be positive",
                             (long long)sizes[i]);
  }
  hr_code code = read_window(r, rank, dims, sizes, strides, PerDimension{}, w);
  if (code != HR_OK) return code;
  if (attr_text(r->node, "padding", "VALID") == "EXPLICIT") {
    static const char* const sides[2][2] = {{"Top", "Bottom"}, {"Left", "Right"}};
    for (int32_t i = 0; i < 2 * std::min(w->nd, 2); ++i) {
      const int64_t padding = i % 2 ? w->high[i / 2] : w->low[i / 2];
      if (padding >= w->size[i / 2])
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "%s padding %lld needs to be smaller than the window size %lld",
                               sides[i / 2][i % 2], (long long)padding, (long long)w->size[i / 2]);
    }
  }
  s->images = first ? w->batch * w->channels : w->batch;
  s->channels = first ? 1 : w->channels;
  const int32_t shift = 3 - w->nd;
  for (int32_t i = 0; i < shift; ++i)
    s->in[i] = s->out[i] = s->size[i] = s->stride[i] = 1, s->low[i] = 0;
  for (int32_t i = 0; i < w->nd; ++i) {
    s->in[i + shift] = w->in[i];
    s->out[i + shift] = w->out[i];
    s->size[i + shift] = w->size[i];
    s->stride[i + shift] = w->stride[i];
    s->low[i + shift] = w->low[i];
  }
  return HR_OK;
}

}  // namespace hr
