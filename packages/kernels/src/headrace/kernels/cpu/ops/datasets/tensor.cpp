#include "ops/datasets/tensor.hpp"

#include <atomic>
#include <string>

#include "library/text.hpp"
#include "loops/elements.hpp"

namespace hr::data {
namespace {
std::atomic<const hr_ctx_api*> known_api{nullptr};
}

const hr_ctx_api* api() { return known_api.load(std::memory_order_relaxed); }
void use_api(const hr_ctx* ctx) { known_api.store(ctx->api, std::memory_order_relaxed); }

Tensor new_tensor(hr_ctx* ctx, hr_dtype dtype, int32_t rank, const int64_t* dims) {
  hr_tensor made{};
  made.dtype = dtype;
  set_shape(&made, rank, dims);
  if (ctx->api->allocate(ctx, &made) != HR_OK)
    throw Failure{HR_RESOURCE_EXHAUSTED,
                  "no memory for an element of " + std::to_string(hr_elements(&made)) + " values"};
  return Tensor(made);
}

Tensor kept(hr_ctx* ctx, const hr_tensor* input) {
  hr_tensor value = *input;
  value.owner = nullptr;
  if (ctx->api->forward(ctx, input, &value) != HR_OK)
    throw Failure{HR_RESOURCE_EXHAUSTED, "no memory for a value"};
  return Tensor(value);
}

Tensor text_tensor(hr_ctx* ctx, std::string_view text) {
  Tensor made = new_tensor(ctx, HR_STRING, {});
  if (set_text(ctx, made.get(), 0, text) != HR_OK)
    throw Failure{HR_RESOURCE_EXHAUSTED, "no memory for a string"};
  return made;
}

Tensor int_tensor(hr_ctx* ctx, int64_t value) {
  Tensor made = new_tensor(ctx, HR_INT64, {});
  *static_cast<int64_t*>(made.get()->data) = value;
  return made;
}

Tensor row_of(const Tensor& whole, int64_t i) {
  Tensor shared = whole;
  hr_tensor* row = shared.get();
  row->bytes = whole.get()->dims[0] ? whole.get()->bytes / whole.get()->dims[0] : 0;
  row->data = static_cast<char*>(row->data) + i * row->bytes;
  --row->rank;
  std::copy(whole.get()->dims + 1, whole.get()->dims + whole.get()->rank, row->dims);
  return shared;
}

void copy_to_row(hr_ctx* ctx, const Tensor& from, hr_tensor* to, int64_t i) {
  const int64_t n = from.size(), size = hr_dtype_size(to->dtype);
  copy_elements(ctx, to->dtype, size, static_cast<char*>(to->data) + i * n * size, from.get()->data,
                n);
}

std::string shape_text(int32_t rank, const int64_t* dims) {
  if (rank < 0) return "<unknown>";
  std::string text = "[";
  for (int32_t i = 0; i < rank; ++i) {
    if (i) text += ',';
    text += dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return text + "]";
}

}  // namespace hr::data
