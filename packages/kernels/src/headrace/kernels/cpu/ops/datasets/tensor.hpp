// Tensors with their own memory, outside of steps: the components of an element of a dataset.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "files/disk.hpp"
#include "headrace/kernel.h"
#include "library/shapes.hpp"

namespace hr::data {

// The runtime's functions; set before any element exists.
const hr_ctx_api* api();
void use_api(const hr_ctx* ctx);

class Tensor {
 public:
  Tensor() : t_{} {}
  // Takes a count.
  explicit Tensor(const hr_tensor& counted) : t_(counted) {}
  Tensor(const Tensor& other) : t_(other.t_) {
    if (t_.owner) api()->retain(t_.owner);
  }
  Tensor(Tensor&& other) noexcept : t_(other.t_) { other.t_.owner = nullptr; }
  Tensor& operator=(Tensor other) noexcept {
    std::swap(t_, other.t_);
    return *this;
  }
  ~Tensor() {
    if (t_.owner) api()->release(t_.owner);
  }

  const hr_tensor* get() const { return &t_; }
  hr_tensor* get() { return &t_; }
  hr_tensor take() {
    hr_tensor taken = t_;
    t_.owner = nullptr;
    return taken;
  }
  hr_dtype dtype() const { return t_.dtype; }
  int64_t size() const { return hr_elements(&t_); }

 private:
  hr_tensor t_;
};

using Element = std::vector<Tensor>;

// These throw Failure if there is no memory. New strings, resources and variants are empty.
Tensor new_tensor(hr_ctx* ctx, hr_dtype dtype, int32_t rank, const int64_t* dims);
inline Tensor new_tensor(hr_ctx* ctx, hr_dtype dtype, std::initializer_list<int64_t> dims) {
  return new_tensor(ctx, dtype, int32_t(dims.size()), dims.begin());
}
// The value of a kernel's input, which outlives the call.
Tensor kept(hr_ctx* ctx, const hr_tensor* input);
Tensor text_tensor(hr_ctx* ctx, std::string_view text);
Tensor int_tensor(hr_ctx* ctx, int64_t value);

// Row i of the first dimension; it shares the memory.
Tensor row_of(const Tensor& whole, int64_t i);
// Copies a tensor into row i of a larger one.
void copy_to_row(hr_ctx* ctx, const Tensor& from, hr_tensor* to, int64_t i);

// "[2,?]" or "<unknown>", as TensorFlow writes shapes.
std::string shape_text(int32_t rank, const int64_t* dims);
inline std::string shape_text(const hr_tensor* t) { return shape_text(t->rank, t->dims); }

[[noreturn]] inline void invalid(const std::string& text) {
  throw Failure{HR_INVALID_ARGUMENT, text};
}

}  // namespace hr::data
