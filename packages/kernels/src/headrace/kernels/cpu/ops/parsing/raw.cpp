// Decodes numbers from the bytes of strings: DecodeRaw, DecodePaddedRaw.
#include <algorithm>
#include <cstring>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"

namespace hr {
namespace {

struct RawPlan {
  bool swap;
  bool padded;
};

bool machine_is_little() {
  const uint16_t one = 1;
  uint8_t first;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

// Complex numbers are two numbers, each turned round by itself.
int64_t part_size(hr_dtype dtype) {
  const int64_t size = hr_dtype_size(dtype);
  return dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128 ? size / 2 : size;
}

hr_code compute_raw(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const RawPlan*>(plan_);
  const hr_string* texts = read<hr_string>(in[0]);
  const int64_t n = hr_elements(in[0]), size = hr_dtype_size(out[0]->dtype);
  int64_t bytes = n ? int64_t(texts[0].size) : 0;
  if (p.padded) {
    bytes = int_at(in[1], 0);
    if (bytes <= 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "fixed_length (%lld) must be greater than zero.",
                         (long long)bytes);
    if (bytes % size)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "fixed_length %lld is not a multiple of %lld, the size of an element",
                         (long long)bytes, (long long)size);
  } else {
    for (int64_t i = 1; i < n; ++i)
      if (int64_t(texts[i].size) != bytes)
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                           "element %lld has %lld bytes, element 0 has %lld: all must be as long",
                           (long long)i, (long long)texts[i].size, (long long)bytes);
    if (bytes % size)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "%lld bytes are not a multiple of %lld, the size of an element",
                         (long long)bytes, (long long)size);
  }
  if (in[0]->rank == HR_MAX_RANK)
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "a result of more than %d dimensions", HR_MAX_RANK);
  copy_shape(in[0], out[0]);
  out[0]->dims[out[0]->rank++] = bytes / size;
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  for (int64_t i = 0; i < n; ++i) {
    char* to = write<char>(out[0]) + i * bytes;
    const int64_t have = std::min(bytes, int64_t(texts[i].size));
    poll(ctx);
    if (have) copy_polled(ctx, to, texts[i].data, size_t(have));
    std::memset(to + have, 0, size_t(bytes - have));
    const int64_t part = part_size(out[0]->dtype);
    for (int64_t at = 0; p.swap && part > 1 && at < bytes; at += part)
      std::reverse(to + at, to + at + part);
  }
  return HR_OK;
}

hr_code prepare_raw(void*, hr_request* r) {
  if (r->node->n_inputs == 2)
    if (hr_code code = need_scalar(r, 1, "fixed_length")) return code;
  keep_plan(r, new RawPlan{(hr_attr_bool(r->node, "little_endian", 1) != 0) != machine_is_little(),
                           r->node->n_inputs == 2});
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("DecodeRaw", nullptr, prepare_raw, compute_raw).is(HR_KERNEL_DATA_SHAPE),
    kernel("DecodePaddedRaw", nullptr, prepare_raw, compute_raw).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
