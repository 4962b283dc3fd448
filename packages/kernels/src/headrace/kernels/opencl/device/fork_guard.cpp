#include "device/fork_guard.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace hr::cl {

namespace {
std::atomic<bool> is_lost{false};
}

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, [] { is_lost.store(true); }); });
}

bool devices_are_lost() { return is_lost.load(std::memory_order_relaxed); }

}  // namespace hr::cl
