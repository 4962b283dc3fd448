#include "device/fork_guard.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace hr::cl {

namespace {
std::atomic<bool> is_lost{false}, is_reported{false};

void lose() {
  is_lost.store(true);
  is_reported.store(false);
}
}  // namespace

void watch_forks() {
  // A fork that has begun does not call what is registered meanwhile: its child knows by the number
  // of the process, before it meets anything that a thread of its parent held.
  static std::atomic<pid_t> watching{0};
  const pid_t self = ::getpid();
  pid_t found = 0;
  if (!watching.compare_exchange_strong(found, self) && found != self) {
    if (!is_lost.load()) lose();
    return;
  }
  static std::once_flag once;
  std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, lose); });
}

bool reports_loss() { return !is_reported.exchange(true); }

bool devices_are_lost() { return is_lost.load(std::memory_order_relaxed); }

}  // namespace hr::cl
