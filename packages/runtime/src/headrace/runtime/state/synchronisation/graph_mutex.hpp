// Mutexes that steps lock: a lock is a variant value. The mutex is free again once an op consumes
// the value, or the last holder of the value releases it, as when the step fails.
#pragma once
#include <atomic>
#include <string>

#include "state/synchronisation/waiting.hpp"

namespace headrace {

class GraphMutex : public Waitable<GraphMutex, Waiting> {
 public:
  std::string name;
  hr_code (*give_lock)(GraphMutex*, Waiting*) = nullptr;

  void unlock() {
    change([&](Waiters*) { locked_ = false; });
  }

 private:
  friend class Waitable<GraphMutex, Waiting>;
  Waiters waiting_;
  bool locked_ = false;

  Waiters& list_of(const Waiting*) { return waiting_; }
  void withdraw(Waiting*) {}
  std::string cancelled_text(const Waiting*) const {
    return "Lock acquisition cancelled: the step waited for mutex '" + name + "'";
  }

  void settle(Waiters* finished) {
    if (locked_ || waiting_.empty()) return;
    locked_ = true;
    finished->splice(finished->end(), waiting_, waiting_.begin());
  }

  hr_code complete(Waiting* w) { return give_lock(this, w); }
};

// The value of a lock; copies of the variant share it.
struct MutexLockValue {
  ObjectRef mutex;
  std::atomic<int32_t> holders{1};
  std::atomic<bool> locked{true};

  explicit MutexLockValue(hr_object* locked_mutex) : mutex(locked_mutex) {}

  // False: it was unlocked before.
  bool unlock() {
    if (!locked.exchange(false)) return false;
    reinterpret_cast<GraphMutex*>(mutex.get())->unlock();
    return true;
  }
  void release() {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    unlock();
    delete this;
  }
};

}  // namespace headrace
