// An array of tensors that exists during one step, behind a resource handle.
//
// An item is the tensor that was written, by reference: neither a write nor a read copies it. A
// gradient array belongs to the array that it is the gradient of, under the name of a call of
// `gradients`; several writes to one of its items are summed, and what was not written is zero.
#ifndef HEADRACE_LIBRARY_TENSOR_ARRAYS_TENSOR_ARRAY_HPP
#define HEADRACE_LIBRARY_TENSOR_ARRAYS_TENSOR_ARRAY_HPP

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/kernel.h"
#include "library/held_tensor.hpp"
#include "library/partial_shape.hpp"

namespace hr {

// What the node declares.
struct TensorArrayOptions {
  hr_dtype dtype = HR_INVALID;
  PartialShape element_shape;
  bool identical_element_shapes = false;
  bool dynamic_size = false;
  bool clear_after_read = true;
};

class TensorArray : public hr_object {
 public:
  static const char kKind[];

  // Null and an error recorded where the handle, a resource or the strings of version 2, refers to
  // no array of this step. The handle keeps it alive.
  static TensorArray* of(hr_ctx* ctx, const hr_tensor* handle);

  // The caller owns the reference.
  static TensorArray* create(hr_ctx* ctx, const TensorArrayOptions& options, int64_t size,
                             std::string_view name);
  // The gradient array of that name, made at its first use; this array owns it. Its elements have
  // the shape of this array's elements behind the dimensions `prepend`.
  hr_code gradient(hr_ctx* ctx, std::string_view source, const PartialShape& prepend,
                   TensorArray** found);

  hr_dtype dtype() const { return options_.dtype; }
  const std::string& name() const { return name_; }
  bool is_gradient() const { return is_gradient_; }

  hr_code size(hr_ctx* ctx, int64_t* n);
  // The number of items that Concat joins: of a gradient, as many as Split made.
  hr_code size_to_concat(hr_ctx* ctx, int64_t* n);
  hr_code set_size_to_concat(hr_ctx* ctx, int64_t n);
  bool is_dynamic();
  // Narrows the shape that all elements must have.
  hr_code narrow(hr_ctx* ctx, const PartialShape& element_shape);

  hr_code write(hr_ctx* ctx, int64_t index, const hr_tensor* value);
  hr_code read(hr_ctx* ctx, int64_t index, HeldTensor* value);
  void close();

  void retain() { retain_object_(this); }

 private:
  struct Item {
    hr_tensor value{};  // without an owner only its shape counts: zeros
    bool written = false, read = false, cleared = false;
    bool own = false;  // no one else holds the value: it may be added to
  };

  TensorArray(hr_ctx* ctx, const TensorArrayOptions& options, std::string name);
  ~TensorArray();
  void resize(int64_t n);
  void release(const std::vector<Item>& items) const;
  hr_code check_open(hr_ctx* ctx) const;
  hr_code check_write(hr_ctx* ctx, int64_t index, const hr_tensor* value);
  hr_code add(hr_ctx* ctx, int64_t index, const hr_tensor* value);
  hr_code declare_zeros(hr_ctx* ctx, int64_t index);

  std::mutex lock_;
  TensorArrayOptions options_;
  const std::string name_;
  bool is_gradient_ = false;
  bool closed_ = false;
  int64_t size_to_concat_ = -1;
  std::vector<Item> items_;
  std::map<std::string, TensorArray*, std::less<>> gradients_;
  void (*retain_)(hr_buffer*);
  void (*release_)(hr_buffer*);
  void (*retain_object_)(hr_object*);
  void (*release_object_)(hr_object*);
};

// Makes output 0 a handle of the array: a resource, or the two strings of version 2. Takes over the
// caller's reference, also on an error.
hr_code give_handle(hr_ctx* ctx, TensorArray* array, hr_tensor* output);

// "TensorArray dtype is float but Op is trying to write dtype int32."
hr_code check_written_dtype(hr_ctx* ctx, const TensorArray* array, hr_dtype dtype);
hr_code check_read_dtype(hr_ctx* ctx, const TensorArray* array, hr_dtype dtype);

}  // namespace hr

#endif
