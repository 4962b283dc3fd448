#include "library/held_tensor.hpp"

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

bool may_be_packed(const hr_tensor& item) { return is_plain(item.dtype); }

hr_code join_tensors(hr_ctx* ctx, const HeldTensor* tensors, int64_t n, hr_tensor* output) {
  if (hr_code code = ctx->api->allocate(ctx, output)) return code;
  char* to = static_cast<char*>(output->data);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    const hr_tensor& value = tensors[i].get();
    const int64_t size = hr_dtype_size(value.dtype), elements = hr_elements(&value);
    copy_elements(ctx, value.dtype, size, to, value.data, elements);
    to += elements * size;
  }
  return HR_OK;
}

hr_code start_flow(hr_ctx*, hr_tensor* output) {
  *write<float>(output) = 0;
  return HR_OK;
}

hr_code pass_flow(hr_ctx*, const hr_tensor* flow, hr_tensor* output) {
  *write<float>(output) = *read<float>(flow);
  return HR_OK;
}

}  // namespace hr
