// Counted memory: the definition behind kernel.h's opaque hr_buffer.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "headrace/kernel.h"

struct hr_buffer {
  std::atomic<int32_t> references;
  hr_dtype elements;     // HR_STRING, HR_RESOURCE, HR_VARIANT: destroyed at the last release
  int32_t size_class;    // -1: not from the allocator's classes
  int64_t bytes;         // as asked for
  void* data;
  void (*destroy)(hr_buffer*);  // null: back to the allocator
  void* destroy_argument;
  hr_buffer* next;       // in a free list
};

namespace headrace {

inline void buffer_retain(hr_buffer* b) {
  if (b) b->references.fetch_add(1, std::memory_order_relaxed);
}
// True: that was the last reference.
inline bool buffer_drop(hr_buffer* b) {
  return b->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}
inline int32_t buffer_references(const hr_buffer* b) {
  return b->references.load(std::memory_order_acquire);
}

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
