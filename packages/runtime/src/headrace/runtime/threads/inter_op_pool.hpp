// An inter-op pool: threads that each run one task at a time, first come, first served. Its size
// bounds how many long runs and heavy units compute at once.
//
// A thread inside a Python kernel may wait for another run, so it does not count: the pool starts
// another thread if tasks wait, and nested runs cannot exhaust it.
#pragma once
#include "threads/openmp.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "memory/relaxed.hpp"
#include "threads/denormals.hpp"
#include "threads/intra_op_pool.hpp"

namespace headrace {

// Callbacks of the process state around a thread of a pool and around its work (pools.pyx).
struct PoolHooks {
  void (*begin_thread)();
  void (*end_thread)();
  void (*enter)(void* pool);
  void (*leave)();
};

class InterOpPool : public std::enable_shared_from_this<InterOpPool> {
 public:
  InterOpPool(int size, PoolHooks hooks) : size_(size), hooks_(hooks) {}

  int size() const { return size_; }

  // Calls work(argument) on a thread of the pool. False: the pool has none.
  bool submit(Work work, void* argument) {
    std::lock_guard<std::mutex> hold(lock_);
    if (!ready_for_one_more()) return false;
    waiting_.push_back({work, argument});
    wake_.notify_one();
    return true;
  }

  // Removes the waiting tasks with that argument. Returns their number.
  int withdraw(void* argument) {
    std::lock_guard<std::mutex> hold(lock_);
    const size_t before = waiting_.size();
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                  [&](const Call& call) { return call.argument == argument; }),
                   waiting_.end());
    return static_cast<int>(before - waiting_.size());
  }

  // Runs work(argument) on a thread of the pool and waits, calling poll every 20 ms. Work that has
  // not begun when `cancelled` is set never runs. False: the pool has no thread, and nothing ran.
  bool run(Work work, void* argument, const Flag* cancelled, Work poll, void* poll_argument) {
    Waited waited{work, argument, {}, {}, false};
    if (!submit(run_waited, &waited)) return false;
    std::unique_lock<std::mutex> hold(waited.lock);
    while (!waited.done) {
      if (waited.changed.wait_for(hold, std::chrono::nanoseconds(kSignalCheckNs)) ==
          std::cv_status::no_timeout)
        continue;
      hold.unlock();
      if (poll) poll(poll_argument);
      const bool withdrawn = cancelled->get() && withdraw(&waited) > 0;
      hold.lock();
      if (withdrawn) break;
    }
    return true;
  }

  // The calling thread of the pool may wait for others until end_blocking.
  void begin_blocking() {
    std::lock_guard<std::mutex> hold(lock_);
    ++blocked_;
    if (!waiting_.empty()) ready_for_one_more();
  }
  void end_blocking() {
    std::lock_guard<std::mutex> hold(lock_);
    --blocked_;
  }

  // Threads end when no task waits.
  void close() {
    std::lock_guard<std::mutex> hold(lock_);
    closed_ = true;
    wake_.notify_all();
  }

 private:
  struct Call {
    Work work;
    void* argument;
  };
  struct Waited {
    Work work;
    void* argument;
    std::mutex lock;
    std::condition_variable changed;
    bool done;
  };

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Call> waiting_;
  const int size_;
  const PoolHooks hooks_;
  int threads_ = 0, idle_ = 0, blocked_ = 0;
  bool closed_ = false;

  static void run_waited(void* argument) {
    auto* waited = static_cast<Waited*>(argument);
    waited->work(waited->argument);
    std::lock_guard<std::mutex> hold(waited->lock);
    waited->done = true;
    waited->changed.notify_one();
  }

  // Starts a thread if all are busy and one more is allowed. False: the pool has none.
  bool ready_for_one_more() {
    if (idle_ > static_cast<int>(waiting_.size()) || threads_ - blocked_ >= size_) return true;
    try {
      // The thread keeps the pool alive: a session may drop the pool on one of its threads.
      std::thread([self = shared_from_this()] { self->serve(); }).detach();
      ++threads_;
    } catch (const std::system_error&) { return threads_ - blocked_ > 0; }
    return true;
  }

  void serve() {
    // The pool's threads run at the same time; a team for each would be more threads than cores.
    omp_set_num_threads(1);
    flush_denormals();
    hooks_.begin_thread();
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      while (waiting_.empty()) {
        if (closed_ || threads_ - blocked_ > size_) {
          --threads_;
          hold.unlock();  // the end of the thread waits for the GIL, whose holder may wait for the
                          // lock
          hooks_.end_thread();
          return;
        }
        ++idle_;
        wake_.wait(hold);
        --idle_;
      }
      Call call = waiting_.front();
      waiting_.pop_front();
      hold.unlock();
      hooks_.enter(this);
      call.work(call.argument);
      hooks_.leave();
      hold.lock();
    }
  }
};

}  // namespace headrace
