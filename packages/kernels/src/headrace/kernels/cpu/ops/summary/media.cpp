// ImageSummary and AudioSummary, as PNG and WAV files in Summary messages.
#include <algorithm>
#include <cmath>
#include <vector>

#include "files/png.hpp"
#include "files/wav.hpp"
#include "ops/summary/summary_message.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

using protobuf::Message;

// ---- pictures -----------------------------------------------------------------------------------

struct ImagePlan {
  int64_t most;
  uint8_t bad[4];  // the colour of pixels that are not finite
};

// Pixels as bytes: non-negative ones scaled so that the largest is 255, signed ones about 128.
template <class T>
void shown(const T* image, int64_t pixels, int64_t channels, const uint8_t* bad, uint8_t* to) {
  auto value = [&](int64_t i) { return double(Compute<T>(image[i])); };
  auto finite = [&](int64_t p) {
    bool all = true;
    for (int64_t k = 0; k < channels; ++k) all &= std::isfinite(value(p * channels + k));
    return all;
  };
  double low = 0, high = 0;
  bool any = false;
  for (int64_t p = 0; p < pixels; ++p) {
    if (!finite(p)) continue;
    for (int64_t i = p * channels; i < (p + 1) * channels; ++i) {
      low = any ? std::min(low, value(i)) : value(i);
      high = any ? std::max(high, value(i)) : value(i);
      any = true;
    }
  }
  const double largest = low < 0 ? std::max(-low, std::fabs(high)) : high;
  const double scale = largest < 1e-6 ? 0 : (low < 0 ? 127 : 255) / largest;
  const double offset = low < 0 ? 128 : 0;
  for (int64_t p = 0; p < pixels; ++p) {
    const bool good = finite(p);
    for (int64_t k = 0; k < channels; ++k)
      to[p * channels + k] = good ? uint8_t(value(p * channels + k) * scale + offset) : bad[k];
  }
}

template <class T>
hr_code compute_image(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const auto& p = *static_cast<const ImagePlan*>(plan);
  const int64_t* dims = inputs[1]->dims;
  const int64_t pixels = dims[1] * dims[2], size = pixels * dims[3];
  std::vector<uint8_t> bytes(std::is_same_v<T, uint8_t> ? 0 : size_t(size));
  summary::Summary created;
  for (int64_t i = 0; i < std::min(p.most, dims[0]); ++i) {
    const T* image = read<T>(inputs[1]) + i * size;
    const void* octets = image;
    if constexpr (!std::is_same_v<T, uint8_t>) {
      shown(image, pixels, dims[3], p.bad, bytes.data());
      octets = bytes.data();
    }
    created.add(
        Message()
            .text(summary::kTag, summary::numbered(text_at(inputs[0], 0), "/image", p.most, i))
            .always(summary::kImage, Message()
                                         .number(1, uint64_t(dims[1]))
                                         .number(2, uint64_t(dims[2]))
                                         .number(3, uint64_t(dims[3]))
                                         .text(4, png(octets, dims[1], dims[2], dims[3], 1))));
  }
  return created.give(ctx, outputs[0]);
}

hr_code prepare_image(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[1];
  if (x->rank != 4 || (x->dims[3] != 1 && x->dims[3] != 3 && x->dims[3] != 4))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Tensor must be 4-D with last dim 1, 3, or 4, not %s",
                           ShapeText(x).text);
  if (x->dims[1] == 0 || x->dims[2] == 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "input tensor must have non-zero dims. Found: %s.", ShapeText(x).text);
  if (x->dims[1] >= int64_t(1) << 31 || x->dims[2] >= int64_t(1) << 31)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "no PNG file holds an image of shape %s",
                           ShapeText(x).text);
  ImagePlan plan{hr_attr_int(r->node, "max_images", 3), {}};
  const hr_tensor* bad = nullptr;
  if (r->node->api->attr_tensor(r->node, "bad_color", &bad) != HR_OK || bad->dtype != HR_UINT8 ||
      bad->rank != 1 || bad->dims[0] < x->dims[3])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "expected 'bad_color' to be uint8 of at least %lld elements",
                           (long long)x->dims[3]);
  std::copy_n(read<uint8_t>(bad), x->dims[3], plan.bad);
  keep_plan(r, new ImagePlan(plan));
  r->compute = with_type(
      x->dtype, Types<uint8_t, float, half, double>{},
      [](auto type) -> hr_compute { return compute_image<typename decltype(type)::type>; });
  return summary::prepare_tagged(r);
}

// ---- sounds -------------------------------------------------------------------------------------

struct AudioPlan {
  int64_t most;
  float rate;
};

hr_code compute_audio(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const auto& p = *static_cast<const AudioPlan*>(plan);
  const hr_tensor* x = inputs[1];
  const float rate = p.rate > 0 ? p.rate : *read<float>(inputs[2]);
  if (!(rate > 0) || rate > 4e9f)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "sample_rate must be positive, got %g",
                       double(rate));
  const int64_t frames = x->dims[1], channels = x->rank == 3 ? x->dims[2] : 1;
  summary::Summary created;
  for (int64_t i = 0; i < std::min(p.most, x->dims[0]); ++i) {
    const float* clip = read<float>(x) + i * frames * channels;
    created.add(
        Message()
            .text(summary::kTag, summary::numbered(text_at(inputs[0], 0), "/audio", p.most, i))
            .always(summary::kAudio,
                    Message()
                        .real(1, rate)
                        .number(2, uint64_t(channels))
                        .number(3, uint64_t(frames))
                        .text(4, wav(clip, frames, channels, uint32_t(std::nearbyint(rate))))
                        .text(5, "audio/wav")));
  }
  return created.give(ctx, outputs[0]);
}

hr_code prepare_audio(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[1];
  if (x->rank != 2 && x->rank != 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "sound must be [batch, frames] or [batch, frames, channels], is %s",
                           ShapeText(x).text);
  AudioPlan plan{hr_attr_int(r->node, "max_outputs", 3), 0};
  if (r->node->n_inputs == 3) {
    if (hr_code code = need_scalar(r, 2, "sample_rate")) return code;
  } else {
    plan.rate = hr_attr_float(r->node, "sample_rate", 0);
    if (!(plan.rate > 0))
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "sample_rate must be positive, got %g",
                             double(plan.rate));
  }
  keep_plan(r, new AudioPlan(plan));
  return summary::prepare_tagged(r);
}

}  // namespace

HR_KERNELS = {
    kernel("ImageSummary", "T=uint8|float|half|double", prepare_image),
    kernel("AudioSummary", nullptr, prepare_audio, compute_audio),
    kernel("AudioSummaryV2", nullptr, prepare_audio, compute_audio),
};

}  // namespace hr
