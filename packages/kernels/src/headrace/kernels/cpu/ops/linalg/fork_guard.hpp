// Keeps forks and calls of a library with threads of its own apart.
//
// OpenBLAS ends its threads before a fork; calls of other threads that wait for them then wait for
// good, in the parent (NumPy's do so, too). So a fork waits for the calls under way, and a call
// that comes during a fork waits for that. It waits a moment only: what the fork waits for next may
// be this thread.
#ifndef HEADRACE_CPU_LINALG_FORK_GUARD_HPP
#define HEADRACE_CPU_LINALG_FORK_GUARD_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define HR_FORKS 1
#endif

namespace hr {

class ForkGuard {
 public:
  ForkGuard() {
    static const bool registered = watch_forks();
    (void)registered;
    ++calls();
    for (int i = 0; forks() && i < 1000; ++i) {  // the fork may have seen no call yet
      --calls();
      pause();
      ++calls();
    }
  }
  ~ForkGuard() { --calls(); }
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  static void pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }
  static std::atomic<int64_t>& calls() {
    static std::atomic<int64_t> count{0};
    return count;
  }
  static std::atomic<int64_t>& forks() {
    static std::atomic<int64_t> count{0};
    return count;
  }
  static bool watch_forks() {
#ifdef HR_FORKS
    pthread_atfork(
        [] {
          ++forks();
          while (calls()) pause();
        },
        [] { --forks(); },
        [] {  // the other threads, and their calls, are not here
          forks() = 0;
          calls() = 0;
        });
#endif
    return true;
  }
};

}  // namespace hr

#endif
