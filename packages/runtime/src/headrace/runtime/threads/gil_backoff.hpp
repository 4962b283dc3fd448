// Whether a step of 10 to 50 us releases the GIL. Two threads that mostly run steps gain from it.
// If other threads run Python code, a step that releases the GIL waits a switch interval (5 ms) to
// take it again. Therefore steps keep the GIL for a while after a slow return, twice as long each
// time.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "threads/active_runs.hpp"

namespace headrace {

class GilBackoff {
 public:
  bool keeps_gil() const {
    const int64_t until = keep_until_ns_.load(std::memory_order_relaxed);
    return until && steady_ns() < until;
  }

  // Whether a thread has returned from a step and not begun its next: it probably holds the GIL.
  void left() { between_steps_.store(false, std::memory_order_relaxed); }
  void taken() { between_steps_.store(true, std::memory_order_relaxed); }

  // Waits up to 10 us until the GIL is probably free. A thread that finds it taken sleeps, and
  // waking costs more than the step, while the holder usually releases it soon for its next step.
  void wait_for_gil() {
    if (!between_steps_.load(std::memory_order_relaxed)) return;
    const int64_t end = steady_ns() + 10'000;
    do {
      for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (!between_steps_.load(std::memory_order_relaxed)) return;
      }
    } while (steady_ns() < end);
    left();  // a wrong guess: the thread does something else
  }

  // Records how long a step of that cost waited for the GIL.
  void returned(int64_t waited_ns, double step_ns) {
    const int64_t pause = pause_ns_.load(std::memory_order_relaxed);
    if (waited_ns > kSlowReturnNs) {
      pause_ns_.store(std::min(pause * 2, kLongestPauseNs), std::memory_order_relaxed);
      keep_until_ns_.store(steady_ns() + pause, std::memory_order_relaxed);
    } else if (waited_ns < step_ns && pause > kShortestPauseNs) {
      pause_ns_.store(pause / 2, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int64_t kSlowReturnNs = 500'000;  // a tenth of the switch interval
  static constexpr int64_t kShortestPauseNs = 100'000'000, kLongestPauseNs = 10'000'000'000;
  std::atomic<bool> between_steps_{false};
  std::atomic<int64_t> keep_until_ns_{0};
  std::atomic<int64_t> pause_ns_{kShortestPauseNs};
};

}  // namespace headrace
