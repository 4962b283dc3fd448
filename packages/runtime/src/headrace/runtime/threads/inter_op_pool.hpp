// An inter-op pool: threads that each run one task at a time, first come, first served. Its size
// bounds how many long runs and heavy units compute at once.
//
// A thread inside a Python kernel may wait for another run, so it does not count: the pool starts
// another thread if tasks wait, and nested runs cannot exhaust it.
#pragma once
#include "threads/openmp.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
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

// A call that waits for a thread of a pool.
struct PoolCall {
  Work work = nullptr;
  void* argument = nullptr;
  PoolCall* next = nullptr;
  bool owned = false;  // by the pool
};

class InterOpPool : public std::enable_shared_from_this<InterOpPool> {
 public:
  InterOpPool(int size, PoolHooks hooks) : size_(size), hooks_(hooks) {}

  int size() const { return size_; }

  // Calls work(argument) on a thread of the pool. False: the pool has none, or memory is exhausted.
  bool submit(Work work, void* argument) noexcept {
    auto* call = new (std::nothrow) PoolCall{work, argument, nullptr, true};
    if (!call) return false;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (ready_for_one_more()) {
        add(call);
        return true;
      }
    }
    delete call;
    return false;
  }
  // The same without memory: the caller keeps the call until its work begins. False: the pool has
  // no thread at all.
  bool submit(PoolCall* call) noexcept {
    std::lock_guard<std::mutex> hold(lock_);
    if (!ready_for_one_more() && !threads_) return false;
    add(call);
    return true;
  }

  // Starts a thread if there is none. False: that is not possible.
  bool ready() noexcept {
    std::lock_guard<std::mutex> hold(lock_);
    return threads_ > 0 || ready_for_one_more();
  }

  // Removes the waiting tasks with that argument. Returns their number.
  int withdraw(void* argument) {
    std::lock_guard<std::mutex> hold(lock_);
    int withdrawn = 0;
    for (PoolCall** link = &first_; *link;) {
      if ((*link)->argument != argument) {
        link = &(*link)->next;
        continue;
      }
      take(link);
      ++withdrawn;
    }
    return withdrawn;
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
    if (waiting_) ready_for_one_more();
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
  struct Waited {
    Work work;
    void* argument;
    std::mutex lock;
    std::condition_variable changed;
    bool done;
  };

  std::mutex lock_;
  std::condition_variable wake_;
  PoolCall *first_ = nullptr, **last_ = &first_;
  int waiting_ = 0;
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

  void add(PoolCall* call) {
    call->next = nullptr;
    *last_ = call;
    last_ = &call->next;
    ++waiting_;
    wake_.notify_one();
  }
  // Removes a call from the queue.
  PoolCall take(PoolCall** link) {
    PoolCall* call = *link;
    const PoolCall taken = *call;
    *link = call->next;
    if (!*link) last_ = link;
    --waiting_;
    if (taken.owned) delete call;
    return taken;
  }

  // Starts a thread if all are busy and one more is allowed. False: the pool has none.
  bool ready_for_one_more() noexcept {
    if (idle_ > waiting_ || threads_ - blocked_ >= size_) return true;
    try {
      // The thread keeps the pool alive: a session may drop the pool on one of its threads.
      std::thread([self = shared_from_this()] { self->serve(); }).detach();
      ++threads_;
    } catch (const std::exception&) { return threads_ - blocked_ > 0; }  // no thread, or no memory
    return true;
  }

  void serve() {
    // The pool's threads run at the same time; a team for each would be more threads than cores.
    omp_set_num_threads(1);
    flush_denormals();
    hooks_.begin_thread();
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      while (!waiting_) {
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
      const PoolCall call = take(&first_);
      hold.unlock();
      hooks_.enter(this);
      call.work(call.argument);
      hooks_.leave();
      hold.lock();
    }
  }
};

}  // namespace headrace
