// Tensors that own their memory. With a worker in the process, the memory is the runtime's.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "headrace/worker.h"

namespace headrace::distributed {

struct Memory {
  hr_code (*allocate)(hr_tensor*);
  void (*retain)(hr_buffer*);
  void (*release)(hr_buffer*);
  hr_code (*set_string)(hr_string*, const char* data, size_t size);
  hr_buffer* (*wrap)(void* data, int64_t bytes, void (*release_memory)(void*), void* argument);
};

// ---- the memory of a process without a worker, such as a client ---------------------------------

struct PlainBuffer {
  std::atomic<int64_t> references{1};
  int64_t strings = 0;  // elements that are hr_string
  void* data = nullptr;
  void (*release_memory)(void*) = nullptr;  // null: the data follows the struct
  void* argument = nullptr;
};

inline void plain_release(hr_buffer* buffer) {
  auto* plain = reinterpret_cast<PlainBuffer*>(buffer);
  if (!plain || plain->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  auto* strings = static_cast<hr_string*>(plain->data);
  for (int64_t i = 0; i < plain->strings; ++i) plain_release(strings[i].owner);
  if (plain->release_memory) plain->release_memory(plain->argument);
  plain->~PlainBuffer();
  std::free(plain);
}

inline PlainBuffer* plain_new(int64_t bytes) {
  constexpr size_t kHead = 64;
  static_assert(sizeof(PlainBuffer) <= kHead, "the data is aligned to 64 bytes");
  if (bytes < 0 || bytes > (int64_t(1) << 46)) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, kHead + size_t(bytes))) return nullptr;
  auto* made = new (memory) PlainBuffer();
  made->data = static_cast<char*>(memory) + kHead;
  return made;
}

inline const Memory* plain_memory() {
  static const Memory memory = {
      [](hr_tensor* t) -> hr_code {
        const int64_t elements = hr_elements(t);
        const int64_t size = hr_dtype_size(t->dtype);
        int64_t bytes;
        if (elements < 0 || __builtin_mul_overflow(elements, size, &bytes))
          return HR_RESOURCE_EXHAUSTED;
        PlainBuffer* made = plain_new(bytes);
        if (!made) return HR_RESOURCE_EXHAUSTED;
        if (t->dtype == HR_STRING) {
          made->strings = elements;
          std::memset(made->data, 0, size_t(bytes));
        }
        t->data = made->data;
        t->bytes = bytes;
        t->layout = 0;
        t->owner = reinterpret_cast<hr_buffer*>(made);
        return HR_OK;
      },
      [](hr_buffer* b) {
        if (b) reinterpret_cast<PlainBuffer*>(b)->references.fetch_add(1, std::memory_order_relaxed);
      },
      plain_release,
      [](hr_string* s, const char* data, size_t size) -> hr_code {
        PlainBuffer* made = nullptr;
        if (size) {
          made = plain_new(int64_t(size));
          if (!made) return HR_RESOURCE_EXHAUSTED;
          std::memcpy(made->data, data, size);
        }
        plain_release(s->owner);
        s->owner = reinterpret_cast<hr_buffer*>(made);
        s->data = made ? static_cast<const char*>(made->data) : nullptr;
        s->size = size;
        return HR_OK;
      },
      [](void* data, int64_t, void (*release_memory)(void*), void* argument) -> hr_buffer* {
        PlainBuffer* made = plain_new(0);
        if (!made) return nullptr;
        made->data = data;
        made->release_memory = release_memory;
        made->argument = argument;
        return reinterpret_cast<hr_buffer*>(made);
      },
  };
  return &memory;
}

// ---- a tensor and its reference -------------------------------------------------------------------

class Value {
 public:
  Value() = default;
  Value(Value&& other) noexcept { *this = std::move(other); }
  Value& operator=(Value&& other) noexcept {
    if (this != &other) {
      reset();
      tensor = other.tensor;
      memory = other.memory;
      exclusive = other.exclusive;
      other.memory = nullptr;
    }
    return *this;
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() { reset(); }

  // A further reference to a tensor that has an owner.
  static Value shared(const hr_tensor& tensor, const Memory* memory) {
    Value made;
    made.tensor = tensor;
    made.memory = memory;
    memory->retain(tensor.owner);
    return made;
  }
  // dtype, rank and dims of `like`; false: no memory.
  bool allocate(const hr_tensor& like, const Memory* from) {
    reset();
    tensor = like;
    tensor.owner = nullptr;
    tensor.layout = 0;
    if (from->allocate(&tensor) != HR_OK) return false;
    memory = from;
    exclusive = true;
    return true;
  }
  void take(Value& other) noexcept { *this = std::move(other); }
  bool empty() const { return !memory; }
  void reset() {
    if (memory) memory->release(tensor.owner);
    memory = nullptr;
    exclusive = false;
  }

  hr_tensor tensor{};
  const Memory* memory = nullptr;  // null: there is no value
  bool exclusive = false;          // no other reference exists
};

}  // namespace headrace::distributed
