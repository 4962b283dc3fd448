// Runs in progress, by calling thread, and a watch thread that ends runs at their deadline and
// makes long ones check for signals. Closing a session ends its runs here.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/kernel.h"
#include "memory/buffer.hpp"
#include "memory/relaxed.hpp"
#include "threads/thread_policy.hpp"

namespace headrace {

inline int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

using CancelFlag = const Flag*;
using SignalFlag = Flag*;

// One run, on the stack of the thread that called it.
struct ActiveRun {
  // Ends the run; callable from any thread without the GIL.
  void (*end)(void* argument, hr_code code, const char* why) = nullptr;
  void* argument = nullptr;
  const void* session = nullptr;  // the session whose `close` ends the run
  const void* state = nullptr;    // the state whose reset ends the run; sessions may share one
  CancelFlag cancelled = nullptr;
  SignalFlag check_signals = nullptr;  // set by the watch if the run is long; null: no check needed
  int64_t deadline_ns = 0;             // on the steady clock; 0: none
  ActiveRun* outer = nullptr;          // the run whose Python kernel called this one
  struct RunSlot* slot = nullptr;      // of the calling thread
  bool in_pool = false;                // the calling thread belongs to one of the pools
  int32_t ticks = 0;                   // of the watch since the run began
};

// The runs of one thread, innermost first. Only the thread itself changes `top`.
struct RunSlot {
  SpinLock lock;  // held while other threads read the runs, and while one is removed
  std::atomic<ActiveRun*> top{nullptr};
  std::atomic<bool> taken{true};
  std::atomic<int32_t> pins{0};  // runs that other threads are ending
  RunSlot* next = nullptr;
};

class ActiveRuns {
 public:
  // A slot for the calling thread: one of an ended thread, or a new one.
  RunSlot* take_slot() {
    for (RunSlot* s = slots_.load(std::memory_order_acquire); s; s = s->next) {
      bool free = false;
      if (!s->taken.load(std::memory_order_relaxed) && s->taken.compare_exchange_strong(free, true))
        return s;
    }
    auto* created = new RunSlot();
    created->next = slots_.load(std::memory_order_relaxed);
    while (!slots_.compare_exchange_weak(created->next, created, std::memory_order_release)) {}
    return created;
  }

  void begin(RunSlot* slot, ActiveRun* run) {
    const int64_t deadline_ns =
        run->deadline_ns;  // once the run is listed, the watch may change it
    run->outer = slot->top.load(std::memory_order_relaxed);
    slot->top.exchange(run, std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst) ||
        (deadline_ns && deadline_ns < next_look_ns_.load(std::memory_order_relaxed)))
      wake();
  }

  // `yield` lets a thread continue that is ending this run.
  void end(RunSlot* slot, ActiveRun* run, void (*yield)()) {
    while (!slot->lock.try_lock()) yield();
    slot->top.store(run->outer, std::memory_order_relaxed);
    slot->lock.unlock();
    while (slot->pins.load(std::memory_order_acquire)) yield();
  }

  // The thread ends, perhaps within a run: at exit, Python ends daemon threads that request the
  // GIL. The run is on the stack of the thread and ends with it. The thread that is ending this run
  // may be a daemon thread as well, so the wait is bounded.
  void leave(RunSlot* slot) {
    slot->lock.lock();
    slot->top.store(nullptr, std::memory_order_relaxed);
    slot->lock.unlock();
    for (int i = 0; i < 1000 && slot->pins.load(std::memory_order_acquire); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    slot->taken.store(false, std::memory_order_release);
  }

  // Ends the runs of a session, or all that use a state. Returns their number.
  int end_of(const void* owner, hr_code code, const char* why) {
    return end_where([&](const ActiveRun& r) { return r.session == owner || r.state == owner; },
                     code, why);
  }

  // Called in a forked child, which has neither the watch nor other threads.
  void forked(RunSlot* mine) {
    for (RunSlot* s = slots_.load(); s; s = s->next) {
      s->lock.unlock();
      s->pins.store(0);
      if (s != mine) {
        s->top.store(nullptr);
        s->taken.store(false);
      }
    }
    watching_ = false;
    woken_ = false;
    asleep_ = true;
    // The parent's watch may have waited on the old condition variable: notifying it in the child
    // could wait for that thread for good.
    wake_ = new std::condition_variable();
  }
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  void (*begin_thread)() = nullptr;  // set by the owner: first call on the watch thread

 private:
  std::atomic<RunSlot*> slots_{nullptr};
  std::mutex lock_;                                                // of what follows
  std::condition_variable* wake_ = new std::condition_variable();  // never freed, like this object
  bool watching_ = false, woken_ = false;
  std::atomic<bool> asleep_{true};
  std::atomic<int64_t> next_look_ns_{0};

  // Calls f(run, slot) for each run under way.
  template <class F>
  void each(const F& f) {
    for (RunSlot* s = slots_.load(std::memory_order_acquire); s; s = s->next) {
      if (!s->top.load(std::memory_order_seq_cst)) continue;
      s->lock.lock();
      for (ActiveRun* r = s->top.load(std::memory_order_acquire); r; r = r->outer) f(*r, *s);
      s->lock.unlock();
    }
  }

  // Runs are ended without the slot's lock, since `end` may call into queues and wait for the GIL.
  template <class Where>
  int end_where(const Where& where, hr_code code, const char* why) {
    std::vector<std::pair<ActiveRun*, RunSlot*>> found;
    each([&](ActiveRun& r, RunSlot& slot) {
      if (!where(r)) return;
      slot.pins.fetch_add(1, std::memory_order_relaxed);
      found.emplace_back(&r, &slot);
    });
    for (auto& [r, slot] : found) {
      r->end(r->argument, code, why);
      slot->pins.fetch_sub(1, std::memory_order_release);
    }
    return static_cast<int>(found.size());
  }

  void wake() {
    std::lock_guard<std::mutex> hold(lock_);
    asleep_ = false;
    woken_ = true;
    if (!watching_) {
      try {
        std::thread([this] {
          begin_thread();
          watch();
        }).detach();
        watching_ = true;
      } catch (const std::system_error&) {
        asleep_ = true;  // the next run tries again to start it
      }
    }
    wake_->notify_one();
  }

  void watch() {
    int quiet = 0;
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      int64_t next = steady_ns() + kSignalCheckNs;
      bool any = false;
      hold.unlock();
      const int64_t now = steady_ns();
      bool expired = false;
      each([&](ActiveRun& r, RunSlot&) {
        any = true;
        if (++r.ticks > 1 && r.check_signals) r.check_signals->set(1);
        if (!r.deadline_ns) return;
        if (r.deadline_ns <= now) expired = true;
        else if (r.deadline_ns < next) next = r.deadline_ns;
      });
      if (expired)
        end_where(
            [&](ActiveRun& r) {
              if (!r.deadline_ns || r.deadline_ns > now) return false;
              r.deadline_ns = 0;
              return true;
            },
            HR_DEADLINE_EXCEEDED, "the run took longer than its timeout");
      hold.lock();
      quiet = any ? 0 : quiet + 1;
      if (quiet > 50) {  // no run in progress for a second
        asleep_.store(true, std::memory_order_seq_cst);
        bool begun = false;
        each([&](ActiveRun&, RunSlot&) { begun = true; });
        if (!begun) {
          next_look_ns_ = 0;
          wake_->wait(hold, [&] { return woken_ || !asleep_; });
        }
        asleep_ = false;
        quiet = 0;
      } else if (!woken_) {
        next_look_ns_.store(next, std::memory_order_relaxed);
        const int64_t left = next - steady_ns();
        if (left > 0) wake_->wait_for(hold, std::chrono::nanoseconds(left));
      }
      woken_ = false;
    }
  }
};

}  // namespace headrace
