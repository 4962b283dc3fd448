// DecodeAndCropJpeg, ExtractJpegShape, EncodeJpeg, EncodeJpegVariableQuality.
#include <string>

#include "files/disk.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "ops/image/jpeg.hpp"
#include "ops/image/jpeg_options.hpp"

namespace hr::jpeg {
namespace {

hr_code prepare_crop(void*, hr_request* r) {
  DecodeOptions options;
  if (hr_code code = read_options(r, &options)) return code;
  if (hr_code code = need_scalar(r, 0, "contents")) return code;
  if (r->inputs[1]->rank != 1 || r->inputs[1]->dims[0] != 4)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "crop_window must have four elements");
  keep_plan(r, new DecodeOptions(options));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute_crop(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  const std::string_view file = text_at(in[0], 0);
  const auto& options = *static_cast<const DecodeOptions*>(plan);
  return error_boundary(ctx, [&] {
    const auto* sizes = read<int32_t>(in[1]);
    const Window window{sizes[0], sizes[1], sizes[2], sizes[3]};
    with_data(file.size(), [&] {
      decode(ctx, file, options, &window, [&](const Size& size) {
        set_shape(out[0], {size.height, size.width, size.channels});
        check(ctx->api->allocate(ctx, out[0]));
        return write<uint8_t>(out[0]);
      });
    });
  });
}

hr_code compute_shape(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  const std::string_view file = text_at(in[0], 0);
  return error_boundary(ctx, [&] {
    with_data(file.size(), [&] {
      const Size size = size_of(file);
      const int64_t sizes[] = {size.height, size.width, size.channels};
      for (int i = 0; i < 3; ++i)
        if (out[0]->dtype == HR_INT32) write<int32_t>(out[0])[i] = int32_t(sizes[i]);
        else write<int64_t>(out[0])[i] = sizes[i];
    });
  });
}

hr_code prepare_shape(void*, hr_request* r) {
  if (hr_code code = need_scalar(r, 0, "contents")) return code;
  set_shape(r->outputs[0], {3});
  return HR_OK;
}

// ---- encoding -----------------------------------------------------------------------------------

struct EncodePlan {
  EncodeOptions options;
  std::string xmp_metadata;
  Size size;
};

hr_code prepare_size(hr_request* r, EncodePlan* plan) {
  const hr_tensor* image = r->inputs[0];
  if (image->rank != 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "image must be 3-dimensional, its shape is %s",
                           ShapeText(image).text);
  plan->size = {image->dims[0], image->dims[1], image->dims[2]};
  if (plan->size.channels != 1 && plan->size.channels != 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "image must have 1 or 3 channels, got %lld",
                           (long long)plan->size.channels);
  if (plan->size.height <= 0 || plan->size.width <= 0 || plan->size.height > 65500 ||
      plan->size.width > 65500)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "JPEG compression of an image of shape %s: sizes are from 1 to 65500",
                           ShapeText(image).text);
  return HR_OK;
}

hr_code prepare_encode(void*, hr_request* r) {
  const hr_node* node = r->node;
  EncodePlan plan;
  if (hr_code code = prepare_size(r, &plan)) return code;
  const std::string_view format = attr_text(node, "format");
  if ((format == "grayscale" && plan.size.channels != 1) ||
      (format == "rgb" && plan.size.channels != 3))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "format '%s' expects %d channels, got %lld",
                           std::string(format).c_str(), format == "rgb" ? 3 : 1,
                           (long long)plan.size.channels);
  EncodeOptions& o = plan.options;
  o.quality = int(hr_attr_int(node, "quality", 95));
  if (o.quality < 0 || o.quality > 100)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "quality must be in [0,100], got %d", o.quality);
  for (const char* key : {"x_density", "y_density"}) {
    const int64_t density = hr_attr_int(node, key, 300);
    if (density != int32_t(density))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "Attr %s has value %lld out of range for an int32", key,
                             (long long)density);
  }
  o.progressive = hr_attr_bool(node, "progressive", 0) != 0;
  o.optimize_size = hr_attr_bool(node, "optimize_size", 0) != 0;
  o.chroma_downsampling = hr_attr_bool(node, "chroma_downsampling", 1) != 0;
  o.density_unit = attr_text(node, "density_unit", "in") == "cm" ? 2 : 1;
  o.x_density = int(hr_attr_int(node, "x_density", 300));
  o.y_density = int(hr_attr_int(node, "y_density", 300));
  plan.xmp_metadata = std::string(attr_text(node, "xmp_metadata"));
  keep_plan(r, new EncodePlan(plan));
  return hr_shape_scalar(r);
}

hr_code prepare_variable(void*, hr_request* r) {
  EncodePlan plan;
  if (hr_code code = prepare_size(r, &plan)) return code;
  if (hr_code code = need_scalar(r, 1, "quality")) return code;
  keep_plan(r, new EncodePlan(plan));
  return hr_shape_scalar(r);
}

hr_code compute_encode(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const EncodePlan*>(plan);
  return error_boundary(ctx, [&] {
    EncodeOptions options = p.options;
    options.xmp_metadata = p.xmp_metadata;
    check(set_text(ctx, out[0], 0, encode(ctx, read<uint8_t>(in[0]), p.size, options)));
  });
}

hr_code compute_variable(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const EncodePlan*>(plan);
  return error_boundary(ctx, [&] {
    EncodeOptions options;
    options.quality = *read<int32_t>(in[1]);
    if (options.quality < 0 || options.quality > 100)
      throw Failure{HR_INVALID_ARGUMENT,
                    "quality must be in [0,100], got " + std::to_string(options.quality)};
    check(set_text(ctx, out[0], 0, encode(ctx, read<uint8_t>(in[0]), p.size, options)));
  });
}

}  // namespace

HR_KERNELS = {
    kernel("DecodeAndCropJpeg", nullptr, prepare_crop, compute_crop).is(HR_KERNEL_DATA_SHAPE),
    kernel("ExtractJpegShape", nullptr, prepare_shape, compute_shape),
    kernel("EncodeJpeg", nullptr, prepare_encode, compute_encode),
    kernel("EncodeJpegVariableQuality", nullptr, prepare_variable, compute_variable),
};

}  // namespace hr::jpeg
