#include "loops/held_tensor.hpp"

#include <algorithm>

#include "library/shapes.hpp"
#include "loops/elements.hpp"

namespace hr {

HeldTensor hold(hr_ctx* ctx, const hr_tensor* value, hr_code* code) {
  hr_tensor kept = *value;
  *code = HR_OK;
  if (value->owner) {
    ctx->api->retain(value->owner);
    return {kept, ctx->api->release};
  }
  *code = ctx->api->allocate(ctx, &kept);
  if (*code) return {};
  HeldTensor held(kept, ctx->api->release);  // released if the copy is cancelled
  copy_elements(ctx, value->dtype, hr_dtype_size(value->dtype), kept.data, value->data,
                hr_elements(value));
  return held;
}

HeldTensor zeros(hr_ctx* ctx, hr_dtype dtype, const PartialShape& shape, hr_code* code) {
  hr_tensor made{};
  made.dtype = dtype;
  set_shape(&made, shape.rank, shape.dims);
  *code = ctx->api->allocate(ctx, &made);
  if (*code) return {};
  HeldTensor held(made, ctx->api->release);
  if (is_plain(dtype)) zero_polled(ctx, held.writable());
  return held;
}

hr_tensor rows_of(const hr_tensor& t, int64_t begin, int64_t end, bool whole) {
  hr_tensor rows = t;
  const int64_t bytes = t.dims[0] ? t.bytes / t.dims[0] : 0;
  rows.data = static_cast<char*>(t.data) + begin * bytes;
  rows.bytes = (end - begin) * bytes;
  if (whole) {
    rows.dims[0] = end - begin;
  } else {
    --rows.rank;
    std::copy(t.dims + 1, t.dims + t.rank, rows.dims);
  }
  return rows;
}

}  // namespace hr
