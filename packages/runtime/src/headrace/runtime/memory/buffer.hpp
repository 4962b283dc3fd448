// Counted memory: the definition behind kernel.h's opaque hr_buffer.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "headrace/kernel.h"

struct hr_buffer {
  std::atomic<int32_t> references;
  hr_dtype elements;   // HR_STRING, HR_RESOURCE, HR_VARIANT: the last release destroys them
  int32_t size_class;  // -1: not from the allocator's classes
  int64_t bytes;       // as requested
  void* data;
  void (*destroy)(hr_buffer*);  // called by the last release
  hr_buffer* next;              // in a free list
  hr_device* device;            // whose memory it is; null: the host's
};

namespace headrace {

inline void buffer_retain(hr_buffer* b) {
  if (b) b->references.fetch_add(1, std::memory_order_relaxed);
}
// True: this was the last reference.
inline bool buffer_drop(hr_buffer* b) {
  return b->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}
inline int32_t buffer_references(const hr_buffer* b) {
  return b->references.load(std::memory_order_acquire);
}
inline void buffer_release(hr_buffer* b) {
  if (b && buffer_drop(b)) b->destroy(b);
}

// A counted reference to a buffer; it owns the count that it is constructed with.
class BufferRef {
 public:
  explicit BufferRef(hr_buffer* counted) : buffer_(counted) {}
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() { buffer_release(buffer_); }
  hr_buffer* get() const { return buffer_; }

 private:
  hr_buffer* buffer_;
};

// Bytes from the C library with one reference, for values that are made once and may be kept for
// long: the allocator (buffer.pyx) serves runs. Null: out of memory.
inline hr_buffer* new_byte_buffer(size_t bytes) {
  void* memory = std::malloc(sizeof(hr_buffer) + bytes);
  if (!memory) return nullptr;
  auto* made = new (memory) hr_buffer();
  made->references.store(1, std::memory_order_relaxed);
  made->elements = HR_UINT8;
  made->size_class = -1;
  made->bytes = static_cast<int64_t>(bytes);
  made->data = made + 1;
  made->destroy = [](hr_buffer* buffer) { std::free(buffer); };
  return made;
}

// A tensor that owns a count of its memory; with a null owner it is a plain tensor.
class OwnedTensor {
 public:
  OwnedTensor() { tensor_.owner = nullptr; }
  explicit OwnedTensor(const hr_tensor& counted) : tensor_(counted) {}
  OwnedTensor(OwnedTensor&& other) noexcept : tensor_(other.tensor_) {
    other.tensor_.owner = nullptr;
  }
  OwnedTensor& operator=(OwnedTensor&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~OwnedTensor() { buffer_release(tensor_.owner); }

  hr_tensor* get() { return &tensor_; }
  const hr_tensor* get() const { return &tensor_; }
  // Takes ownership of a count; the old value is released.
  void own(const hr_tensor& counted) {
    hr_buffer* before = tensor_.owner;
    tensor_ = counted;
    buffer_release(before);
  }
  // Shares the tensor of another holder.
  void share(const hr_tensor& tensor) {
    buffer_retain(tensor.owner);
    own(tensor);
  }
  // The same for a tensor whose memory `owner` counts.
  void share(const hr_tensor& tensor, hr_buffer* owner) {
    buffer_retain(owner);
    hr_buffer* before = tensor_.owner;
    tensor_ = tensor;
    tensor_.owner = owner;
    buffer_release(before);
  }
  // Moves the value of another holder here; the old value is released.
  void take_from(OwnedTensor& other) {
    if (this != &other) own(other.take());
  }
  void reset() { buffer_release(std::exchange(tensor_.owner, nullptr)); }
  // The tensor with its count, which the caller owns from now on.
  hr_tensor take() {
    hr_tensor taken = tensor_;
    tensor_.owner = nullptr;
    return taken;
  }
  void swap(OwnedTensor& other) { std::swap(tensor_, other.tensor_); }

 private:
  hr_tensor tensor_;
};

// For code that reads the tensors without counting them.
inline hr_tensor* tensors_of(OwnedTensor* first) {
  static_assert(sizeof(OwnedTensor) == sizeof(hr_tensor) && std::is_standard_layout_v<OwnedTensor>,
                "an array of the one is read as an array of the other");
  return reinterpret_cast<hr_tensor*>(first);
}

// Tensors that own counts of their memory; up to FEW of them need no heap.
class OwnedTensors {
 public:
  OwnedTensors() = default;
  OwnedTensors(const OwnedTensors&) = delete;
  OwnedTensors& operator=(const OwnedTensors&) = delete;
  ~OwnedTensors() {
    if (first_ == few()) std::destroy_n(first_, n_);
  }

  // Call once. False: out of memory.
  bool hold(size_t n) noexcept {
    if (n <= FEW) {
      std::uninitialized_default_construct_n(few(), n);
      first_ = few();
    } else {
      many_.reset(new (std::nothrow) OwnedTensor[n]);
      first_ = many_.get();
    }
    n_ = n;
    return first_ != nullptr;
  }
  OwnedTensor* data() { return first_; }

 private:
  static constexpr size_t FEW = 16;
  alignas(OwnedTensor) unsigned char few_[FEW * sizeof(OwnedTensor)];
  std::unique_ptr<OwnedTensor[]> many_;
  OwnedTensor* first_ = nullptr;
  size_t n_ = 0;

  OwnedTensor* few() { return reinterpret_cast<OwnedTensor*>(few_); }
};

// A lock held for a few instructions.
class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }
  bool try_lock() { return !flag_.test_and_set(std::memory_order_acquire); }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

inline int32_t object_retain(hr_object* o) {
  return __atomic_add_fetch(&o->references, 1, __ATOMIC_RELAXED);
}
inline void object_release(hr_object* o) {
  if (o && __atomic_sub_fetch(&o->references, 1, __ATOMIC_ACQ_REL) == 0) o->destroy(o);
}

}  // namespace headrace
