// Values that threads share without ordering any other memory.
#pragma once
#include <cstdint>

namespace headrace {

// Reads and writes are atomic and become visible eventually. They do not publish other memory.
// Copyable, unlike std::atomic, so that vectors can contain it.
template <class T>
class Relaxed {
 public:
  Relaxed() = default;
  explicit Relaxed(T value) : value_(value) {}
  Relaxed(const Relaxed& other) : value_(other.get()) {}
  Relaxed& operator=(const Relaxed& other) {
    set(other.get());
    return *this;
  }

  T get() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  void set(T value) { __atomic_store_n(&value_, value, __ATOMIC_RELAXED); }
  // Returns the old value. All such exchanges have one order.
  T swap(T value) { return __atomic_exchange_n(&value_, value, __ATOMIC_SEQ_CST); }
  // For readers that load it atomically themselves, as kernel.h's hr_cancelled does.
  const volatile T* address() const { return &value_; }

 private:
  volatile T value_{};
};

// Set by any thread, polled by a run.
using Flag = Relaxed<int32_t>;

}  // namespace headrace
