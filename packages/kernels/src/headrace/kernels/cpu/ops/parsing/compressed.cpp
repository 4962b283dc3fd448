// DecodeCompressed.
#include <memory>
#include <string>

#include "files/byte_source.hpp"
#include "files/disk.hpp"
#include "files/inflate.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "processor/parallel.hpp"

namespace hr::parsing {
namespace {

std::string unpacked(hr_ctx* ctx, std::string_view packed, InflateSource::Wrapper wrapper) {
  InflateSource source(std::make_unique<MemorySource>(packed), wrapper);
  std::string bytes;
  char piece[1 << 15];
  try {
    while (const size_t n = source.read(piece, sizeof piece)) {
      poll(ctx);
      bytes.append(piece, n);
    }
  } catch (const CorruptStream& error) {
    throw Failure{HR_DATA_LOSS, std::string("the string cannot be decompressed: ") + error.what};
  }
  return bytes;
}

hr_code compute_compressed(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                           hr_tensor* const* out, void*) {
  const std::string& type = *static_cast<const std::string*>(plan);
  return error_boundary(ctx, [&] {
    for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
      const std::string_view text = text_at(in[0], i);
      if (type.empty()) check(set_text(ctx, out[0], i, text));
      else if (type == "ZLIB")
        check(set_text(ctx, out[0], i, unpacked(ctx, text, InflateSource::kZlib)));
      else check(set_text(ctx, out[0], i, unpacked(ctx, text, InflateSource::kGzip)));
    }
  });
}

hr_code prepare_compressed(void*, hr_request* r) {
  const std::string type(attr_text(r->node, "compression_type"));
  if (!type.empty() && type != "ZLIB" && type != "GZIP")
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Only ZLIB, GZIP or NONE are supported compressions, not \"%s\"",
                           type.c_str());
  keep_plan(r, new std::string(type));
  HR_APPLY_RULE(unchanged, r);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("DecodeCompressed", nullptr, prepare_compressed, compute_compressed),
};

}  // namespace hr::parsing
