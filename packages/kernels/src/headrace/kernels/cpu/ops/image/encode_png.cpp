// EncodePng: encodes images as PNG files.
#include <string>

#include "files/png.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"

namespace hr {
namespace {

hr_code compute_encode(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  const hr_tensor* x = inputs[0];
  const int32_t rank = x->rank;
  const int64_t height = x->dims[rank - 3], width = x->dims[rank - 2], depth = x->dims[rank - 1];
  const int64_t size = height * width * depth * hr_dtype_size(x->dtype);
  for (int64_t i = 0, n = hr_elements(outputs[0]); i < n; ++i) {
    const std::string created = png(static_cast<const char*>(x->data) + i * size, height, width,
                                    depth, int(hr_dtype_size(x->dtype)));
    if (hr_code code = set_text(ctx, outputs[0], i, created)) return code;
  }
  return HR_OK;
}

hr_code prepare_encode(void*, hr_request* r) {
  HR_APPLY_RULE(encode_png, r);
  const hr_tensor* x = r->inputs[0];
  if (x->dims[x->rank - 1] < 1 || x->dims[x->rank - 1] > 4)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "image must be [..., height, width, 1 to 4 channels], is %s",
                           ShapeText(x).text);
  const int64_t height = x->dims[x->rank - 3], width = x->dims[x->rank - 2];
  if (!height || !width || height >= int64_t(1) << 31 || width >= int64_t(1) << 31)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "no PNG file holds an image of shape %s",
                           ShapeText(x).text);
  const int64_t level = hr_attr_int(r->node, "compression", -1);
  if (level < -1 || level > 9)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "compression should be in [-1, 9], is %lld",
                           (long long)level);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("EncodePng", "T=uint8|uint16", prepare_encode, compute_encode),
};

}  // namespace hr
