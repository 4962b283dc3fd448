// Tensors that a kernel keeps beyond its call: each holds a reference to its buffer.
//
// What needs their elements is in each library, which knows the memory that they are in.
#ifndef HEADRACE_LIBRARY_HELD_TENSOR_HPP
#define HEADRACE_LIBRARY_HELD_TENSOR_HPP

#include <algorithm>
#include <utility>

#include "headrace/kernel.h"
#include "library/partial_shape.hpp"

namespace hr {

// A tensor with a reference of its own, or none (is_set is false).
class HeldTensor {
 public:
  HeldTensor() = default;
  HeldTensor(const hr_tensor& counted, void (*release)(hr_buffer*))
      : tensor_(counted), release_(release) {}
  HeldTensor(HeldTensor&& other) noexcept
      : tensor_(std::exchange(other.tensor_, hr_tensor{})), release_(other.release_) {}
  HeldTensor& operator=(HeldTensor&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~HeldTensor() {
    if (tensor_.owner) release_(tensor_.owner);
  }

  bool is_set() const { return tensor_.owner != nullptr; }
  const hr_tensor& get() const { return tensor_; }
  hr_tensor* writable() { return &tensor_; }

 private:
  hr_tensor tensor_{};
  void (*release_)(hr_buffer*) = nullptr;
};

// ---- defined by each library --------------------------------------------------------------------

// The value with a reference of its own; copied where it has no buffer. The code is in *code.
HeldTensor hold(hr_ctx* ctx, const hr_tensor* value, hr_code* code);

// A new tensor of zeros, empty strings, no resources or empty variants. The shape is complete.
HeldTensor zeros(hr_ctx* ctx, hr_dtype dtype, const PartialShape& shape, hr_code* code);

// Adds a tensor of numbers or of lists to `sum`, which has its shape.
hr_code add_to_tensor(hr_ctx* ctx, const hr_tensor& item, hr_tensor* sum);

// Makes output, whose shape is set, the elements of n tensors, one tensor after the other.
hr_code join_tensors(hr_ctx* ctx, const HeldTensor* tensors, int64_t n, hr_tensor* output);

// Whether an item of a list may lie in a block of small ones, in host memory.
bool may_be_packed(const hr_tensor& item);

// Makes output a flow, a scalar that only orders nodes: a first one, or that of an input.
hr_code start_flow(hr_ctx* ctx, hr_tensor* output);
hr_code pass_flow(hr_ctx* ctx, const hr_tensor* flow, hr_tensor* output);

// ---- the same in all
// ------------------------------------------------------------------------------

// Rows begin to end of a tensor, which share its memory; with `whole`, as a tensor of the same
// rank, else one row without the first dimension.
inline hr_tensor rows_of(const hr_tensor& t, int64_t begin, int64_t end, bool whole) {
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

// Allocates an output that is in host memory, on whatever device the kernel runs.
inline hr_code allocate_on_host(hr_ctx* ctx, hr_tensor* output) {
  return ctx->device ? ctx->api->allocate_host(ctx, output) : ctx->api->allocate(ctx, output);
}

}  // namespace hr

#endif
