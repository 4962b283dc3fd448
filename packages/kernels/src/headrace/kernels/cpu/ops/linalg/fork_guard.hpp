// Keeps forks apart from calls into a library that has threads of its own.
//
// OpenBLAS ends its threads before a fork. A call that waits for those threads then never returns,
// in the parent process too (NumPy's calls have the same fault). So a fork waits for running calls,
// and a call waits for a running fork. That wait is short and bounded, because the fork may in turn
// be waiting for this thread.
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
