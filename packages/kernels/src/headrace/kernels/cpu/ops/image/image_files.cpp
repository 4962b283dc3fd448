// DecodeJpeg, DecodePng, DecodeGif, DecodeBmp and DecodeImage: each reads what its name says, and
// most of them the other kinds of files too, as TensorFlow's do.
#include <algorithm>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "library/attributes.hpp"
#include "library/memory_needs.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "ops/image/bmp.hpp"
#include "ops/image/decode_png.hpp"
#include "ops/image/gif.hpp"
#include "ops/image/jpeg.hpp"
#include "ops/image/jpeg_options.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

enum class Op { jpeg, png, gif, bmp, image };

struct DecodePlan {
  Op op;
  int64_t channels;
  bool animations;
  jpeg::DecodeOptions jpeg;
};

[[noreturn]] void fail(const std::string& what) { throw Failure{HR_INVALID_ARGUMENT, what}; }

bool starts(std::string_view file, std::string_view with) {
  return file.substr(0, with.size()) == with;
}

// The output, and bytes or 16-bit numbers that become its elements.
class Output {
 public:
  Output(hr_ctx* ctx, const DecodePlan& plan, hr_tensor* out) : ctx_(ctx), plan_(plan), out_(out) {}

  // Gives memory for pictures of bytes. frames: 0 for a picture without that dimension.
  uint8_t* bytes(const PictureSize& size, int64_t frames) {
    allocate(size, frames);
    if (out_->dtype == HR_UINT8) return write<uint8_t>(out_);
    bytes_.resize(size_t(hr_elements(out_)));
    return bytes_.data();
  }
  // Gives memory for a picture of the dtype, or of uint16 if that is float.
  void* samples(const PictureSize& size) {
    allocate(size, 0);
    if (out_->dtype != HR_FLOAT) return out_->data;
    samples_.resize(size_t(hr_elements(out_)));
    return samples_.data();
  }
  // Converts what was written to other memory than the output's.
  void finish() {
    constexpr float of_byte = 1.0f / 255, of_sample = 1.0f / 65535;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (out_->dtype == HR_UINT16) write<uint16_t>(out_)[i] = uint16_t(bytes_[i] * 256);
      else write<float>(out_)[i] = float(bytes_[i]) * of_byte;
    }
    for (size_t i = 0; i < samples_.size(); ++i)
      write<float>(out_)[i] = float(samples_[i]) * of_sample;
  }

 private:
  void allocate(const PictureSize& size, int64_t frames) {
    if (plan_.op == Op::gif) frames = std::max<int64_t>(frames, 1);
    if (frames) set_shape(out_, {frames, size.height, size.width, size.channels});
    else set_shape(out_, {size.height, size.width, size.channels});
    need_memory(hr_elements(out_), hr_dtype_size(out_->dtype));
    check(ctx_->api->allocate(ctx_, out_));
  }

  hr_ctx* ctx_;
  const DecodePlan& plan_;
  hr_tensor* out_;
  std::vector<uint8_t> bytes_;
  std::vector<uint16_t> samples_;
};

void need_not_bmp(const DecodePlan& plan, const char* kind, const char* function) {
  if (plan.op == Op::bmp)
    fail(std::string("Trying to decode ") + kind + " format using DecodeBmp op. Use `" + function +
         "` or `decode_image` instead.");
}

void decode_jpeg(hr_ctx* ctx, const DecodePlan& plan, std::string_view file, Output* out) {
  need_not_bmp(plan, "JPEG", "decode_jpeg");
  if (plan.channels == 4) fail("JPEG does not support 4 channels");
  jpeg::DecodeOptions options = plan.jpeg;
  options.channels = int(plan.channels);
  jpeg::with_data(file.size(), [&] {
    jpeg::decode(ctx, file, options, nullptr,
                 [&](const PictureSize& size) { return out->bytes(size, 0); });
  });
}

void decode_gif(hr_ctx* ctx, const DecodePlan& plan, std::string_view file, Output* out) {
  need_not_bmp(plan, "GIF", "decode_gif");
  if (plan.channels != 0 && plan.channels != 3)
    fail("channels must be 0 or 3 for GIF, got " + std::to_string(plan.channels));
  const auto polled = [&] { poll(ctx); };
  const gif::File found = gif::read(file, polled);
  const auto n = int64_t(found.pictures.size());
  const bool all = plan.op == Op::gif || (plan.op == Op::image && plan.animations);
  if (!all && plan.op != Op::image && n > 1)
    fail("Got " + std::to_string(n) +
         " frames, but animated gifs can only be decoded by tf.io.decode_gif or "
         "tf.io.decode_image");
  uint8_t* to = out->bytes({found.height, found.width, 3}, all ? n : 0);
  gif::draw(found, all ? n : 1, to, polled);
}

void decode_file(hr_ctx* ctx, const DecodePlan& plan, std::string_view file, hr_tensor* tensor) {
  Output out(ctx, plan, tensor);
  if (file.empty()) fail("Input is empty: 0 bytes are not an image that can be read");
  if (starts(file, "\xff\xd8\xff")) {
    decode_jpeg(ctx, plan, file, &out);
  } else if (starts(file, kPngSignature.substr(0, 4))) {
    need_not_bmp(plan, "PNG", "decode_png");
    const hr_dtype dtype = tensor->dtype == HR_UINT8 ? HR_UINT8 : HR_UINT16;
    decode_png(file, plan.channels, dtype,
               [&](const PictureSize& size) { return out.samples(size); });
  } else if (starts(file, "GIF8")) {
    decode_gif(ctx, plan, file, &out);
  } else if (starts(file, "BM")) {
    static constexpr const char* kNames[] = {"DecodeJpeg", "DecodePng", "DecodeGif"};
    if (plan.op < Op::bmp)
      fail(std::string("Trying to decode BMP format using a wrong op. Use `decode_bmp` or "
                       "`decode_image` instead. Op used: ") +
           kNames[int(plan.op)]);
    decode_bmp(file, plan.channels, [&](const PictureSize& size) { return out.bytes(size, 0); });
  } else {
    fail("Unknown image file format. One of JPEG, PNG, GIF, BMP required: " +
         std::to_string(file.size()) + " bytes are not an image that can be read");
  }
  out.finish();
}

hr_code compute(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  return error_boundary(ctx, [&] {
    decode_file(ctx, *static_cast<const DecodePlan*>(plan), text_at(in[0], 0), out[0]);
  });
}

template <Op op>
hr_code prepare(void*, hr_request* r) {
  if (hr_code code = need_scalar(r, 0, "contents")) return code;
  DecodePlan plan{op,
                  hr_attr_int(r->node, "channels", 0),
                  hr_attr_bool(r->node, "expand_animations", 1) != 0,
                  {}};
  if (op == Op::jpeg) {
    if (hr_code code = jpeg::read_options(r, &plan.jpeg)) return code;
  } else if (op == Op::gif) {
    plan.channels = 3;
  } else if (plan.channels < 0 || plan.channels > 4 || plan.channels == 2) {
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "`channels` must be 0, 1, 3 or 4 but got %lld",
                           (long long)plan.channels);
  }
  keep_plan(r, new DecodePlan(plan));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("DecodeJpeg", nullptr, prepare<Op::jpeg>, compute).is(HR_KERNEL_DATA_SHAPE),
    kernel("DecodePng", nullptr, prepare<Op::png>, compute).is(HR_KERNEL_DATA_SHAPE),
    kernel("DecodeGif", nullptr, prepare<Op::gif>, compute).is(HR_KERNEL_DATA_SHAPE),
    kernel("DecodeBmp", nullptr, prepare<Op::bmp>, compute).is(HR_KERNEL_DATA_SHAPE),
    kernel("DecodeImage", nullptr, prepare<Op::image>, compute).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
