// Tensors that own their memory. With a worker in the process, the memory is the runtime's.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
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

  bool operator==(const Memory& o) const {
    return allocate == o.allocate && retain == o.retain && release == o.release &&
           set_string == o.set_string && wrap == o.wrap;
  }
};

// The memory of a worker. It lives as long as the process: values outlive endpoints and workers.
// Workers of one runtime have the same, so that tensors pass between them by reference.
inline const Memory* worker_memory(const hr_worker& worker) {
  static std::mutex lock;
  static auto* known = new std::deque<Memory>();
  const Memory memory{worker.allocate, worker.retain, worker.release, worker.set_string,
                      worker.wrap};
  std::lock_guard<std::mutex> hold(lock);
  for (const Memory& other : *known)
    if (other == memory) return &other;
  known->push_back(memory);
  return &known->back();
}

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

// A buffer of bytes that need no alignment.
inline PlainBuffer* plain_text(const char* data, size_t size) {
  if (size > size_t(1) << 46) return nullptr;
  void* memory = std::malloc(sizeof(PlainBuffer) + size);
  if (!memory) return nullptr;
  auto* made = new (memory) PlainBuffer();
  made->data = made + 1;
  std::memcpy(made->data, data, size);
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
        if (b)
          reinterpret_cast<PlainBuffer*>(b)->references.fetch_add(1, std::memory_order_relaxed);
      },
      plain_release,
      [](hr_string* s, const char* data, size_t size) -> hr_code {
        PlainBuffer* made = nullptr;
        if (size && !(made = plain_text(data, size))) return HR_RESOURCE_EXHAUSTED;
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

// ---- a tensor and its reference
// -------------------------------------------------------------------

class Value {
 public:
  Value() = default;
  Value(Value&& other) noexcept { *this = std::move(other); }
  Value& operator=(Value&& other) noexcept {
    if (this != &other) {
      reset();
      tensor = other.tensor;
      memory = std::exchange(other.memory, nullptr);
      exclusive = std::exchange(other.exclusive, false);
    }
    return *this;
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() { reset(); }

  // A further reference to a tensor that has an owner.
  static Value shared(const hr_tensor& tensor, const Memory* memory) noexcept {
    Value made;
    made.tensor = tensor;
    made.memory = memory;
    memory->retain(tensor.owner);
    return made;
  }
  // The same where the receiver has another kind of memory; empty: no memory.
  static Value shared_into(const hr_tensor& tensor, const Memory* from, const Memory* to) noexcept {
    if (from == to) return shared(tensor, to);
    return tensor.dtype == HR_STRING ? copied_strings(tensor, to) : wrapped(tensor, from, to);
  }
  // dtype, rank and dims of `like`; false: no memory.
  bool allocate(const hr_tensor& like, const Memory* from) noexcept {
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
  void reset() noexcept {
    if (memory) memory->release(tensor.owner);
    memory = nullptr;
    exclusive = false;
  }

  hr_tensor tensor{};
  const Memory* memory = nullptr;  // null: there is no value
  bool exclusive = false;          // no other reference exists

 private:
  static Value wrapped(const hr_tensor& tensor, const Memory* from, const Memory* to) noexcept {
    Value made;
    auto* kept = new (std::nothrow) Value(shared(tensor, from));
    if (!kept) return made;
    hr_buffer* owner = to->wrap(
        tensor.data, tensor.bytes, [](void* argument) { delete static_cast<Value*>(argument); },
        kept);
    if (!owner) {
      delete kept;
      return made;
    }
    made.tensor = tensor;
    made.tensor.owner = owner;
    made.memory = to;
    return made;
  }
  static Value copied_strings(const hr_tensor& tensor, const Memory* to) noexcept {
    Value made;
    if (!made.allocate(tensor, to)) return made;
    auto* from = static_cast<const hr_string*>(tensor.data);
    auto* strings = static_cast<hr_string*>(made.tensor.data);
    for (int64_t i = 0, n = hr_elements(&tensor); i < n; ++i)
      if (to->set_string(&strings[i], from[i].data, from[i].size) != HR_OK) {
        made.reset();
        break;
      }
    return made;
  }
};

}  // namespace headrace::distributed
