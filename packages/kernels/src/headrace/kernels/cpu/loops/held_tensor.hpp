// Tensors that a kernel keeps beyond its call: each holds a reference to its buffer.
#ifndef HEADRACE_CPU_LOOPS_HELD_TENSOR_HPP
#define HEADRACE_CPU_LOOPS_HELD_TENSOR_HPP

#include <utility>

#include "headrace/kernel.h"
#include "table/partial_shape.hpp"

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

// The value with a reference of its own; copied where it has no buffer. The code is in *code.
HeldTensor hold(hr_ctx* ctx, const hr_tensor* value, hr_code* code);

// A new tensor of zeros, empty strings, no resources or empty variants. The shape is complete.
HeldTensor zeros(hr_ctx* ctx, hr_dtype dtype, const PartialShape& shape, hr_code* code);

// Rows begin to end of a tensor, which share its memory; with `whole`, as a tensor of the same
// rank, else one row without the first dimension.
hr_tensor rows_of(const hr_tensor& t, int64_t begin, int64_t end, bool whole);

}  // namespace hr

#endif
