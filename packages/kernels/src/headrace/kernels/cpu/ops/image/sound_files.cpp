// DecodeWav and EncodeWav.
#include <algorithm>
#include <string>

#include "files/disk.hpp"
#include "files/wav.hpp"
#include "library/memory_needs.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

struct DecodePlan {
  int64_t channels, samples;  // -1: as in the file
};

hr_code compute_decode(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const DecodePlan*>(plan);
  return error_boundary(ctx, [&] {
    const WavFile file = read_wav(text_at(in[0], 0));
    const int64_t frames = p.samples < 0 ? file.frames : p.samples;
    const int64_t channels = p.channels < 0 ? file.channels : p.channels;
    set_shape(out[0], {frames, channels});
    need_memory(frames * channels, sizeof(float));
    check(ctx->api->allocate(ctx, out[0]));
    out[1]->rank = 0;
    check(ctx->api->allocate(ctx, out[1]));
    *write<int32_t>(out[1]) = int32_t(file.rate);
    float* to = write<float>(out[0]);
    // Silence behind the end; the last channel again where the file has too few.
    for (int64_t i = 0; i < frames; ++i) {
      poll_at(ctx, i);
      for (int64_t c = 0; c < channels; ++c)
        *to++ = i < file.frames ? file.at(i, std::min(c, file.channels - 1)) : 0;
    }
  });
}

hr_code prepare_decode(void*, hr_request* r) {
  const DecodePlan plan{hr_attr_int(r->node, "desired_channels", -1),
                        hr_attr_int(r->node, "desired_samples", -1)};
  const std::pair<const char*, int64_t> sizes[] = {{"desired_channels", plan.channels},
                                                   {"desired_samples", plan.samples}};
  for (const auto& [name, size] : sizes)
    if (size < -1 || size > INT32_MAX)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s must be >= -1, got %lld", name,
                             (long long)size);
  if (hr_code code = need_scalar(r, 0, "contents")) return code;
  keep_plan(r, new DecodePlan(plan));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute_encode(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                       void*) {
  const int64_t frames = in[0]->dims[0], channels = in[0]->dims[1];
  const int32_t rate = *read<int32_t>(in[1]);
  if (rate <= 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "sample_rate must be in (0, 2^32), got: %d", rate);
  return error_boundary(ctx, [&] {
    const std::string file = wav(read<float>(in[0]), frames, channels, uint32_t(rate));
    check(set_text(ctx, out[0], 0, file));
  });
}

hr_code prepare_encode(void*, hr_request* r) {
  const hr_tensor* audio = r->inputs[0];
  if (audio->rank != 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "audio must be 2-dimensional, is %s",
                           ShapeText(audio).text);
  if (audio->dims[1] < 1 || audio->dims[1] >= 1 << 16)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "num_channels must be in (0, 2^16), got: %lld",
                           (long long)audio->dims[1]);
  if (audio->dims[0] > (int64_t(INT32_MAX) - 36) / (2 * audio->dims[1]))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "no WAV file holds sound of shape %s",
                           ShapeText(audio).text);
  if (hr_code code = need_scalar(r, 1, "sample_rate")) return code;
  return hr_shape_scalar(r);
}

}  // namespace

HR_KERNELS = {
    kernel("DecodeWav", nullptr, prepare_decode, compute_decode).is(HR_KERNEL_DATA_SHAPE),
    kernel("EncodeWav", nullptr, prepare_encode, compute_encode),
};

}  // namespace hr
