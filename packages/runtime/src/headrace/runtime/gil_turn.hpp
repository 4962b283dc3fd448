// Two threads that run short steps in turn meet at the GIL. Who finds it taken sleeps, and waking
// costs more than the step. The holder is mostly about to leave it for its next step, so a short
// look around pays.
#pragma once
#include <atomic>
#include <chrono>

namespace headrace {

// Whether a thread came back from a step and has not begun its next: a guess at who has the GIL.
inline std::atomic<bool>& between_steps() {
  static std::atomic<bool> flag{false};
  return flag;
}

inline void gil_left() { between_steps().store(false, std::memory_order_relaxed); }
inline void gil_taken() { between_steps().store(true, std::memory_order_relaxed); }

// Waits until the GIL is likely free, 10 us at most.
inline void wait_for_gil() {
  if (!between_steps().load(std::memory_order_relaxed)) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(10);
  do {
    for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      if (!between_steps().load(std::memory_order_relaxed)) return;
    }
  } while (std::chrono::steady_clock::now() < end);
  // A wrong guess: its thread does something else. The next one need not wait for it.
  gil_left();
}

}  // namespace headrace
