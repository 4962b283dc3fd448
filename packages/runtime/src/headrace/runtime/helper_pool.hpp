// Threads that help steps of the dynamic executor with their heavy units.
#pragma once
#include <omp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "lane.hpp"

namespace headrace {

class HelperPool {
 public:
  // Calls help(argument) on a pool thread as soon as one is free.
  static void submit(void (*help)(void*), void* argument) {
    HelperPool& pool = current();
    std::lock_guard<std::mutex> hold(pool.lock_);
    pool.waiting_.push_back({help, argument});
    if (pool.idle_ >= static_cast<int>(pool.waiting_.size())) {
      pool.wake_.notify_one();
    } else if (pool.threads_ < static_cast<int>(std::thread::hardware_concurrency())) {
      std::thread([&pool] { pool.serve(); }).detach();
      ++pool.threads_;
    }
  }

  // Takes back what waits for that argument. Returns how many calls will not come.
  static int withdraw(void* argument) {
    HelperPool& pool = current();
    std::lock_guard<std::mutex> hold(pool.lock_);
    int n = 0;
    for (auto it = pool.waiting_.begin(); it != pool.waiting_.end();) {
      if (it->argument == argument) {
        it = pool.waiting_.erase(it);
        ++n;
      } else {
        ++it;
      }
    }
    return n;
  }

 private:
  struct Call {
    void (*help)(void*);
    void* argument;
  };
  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Call> waiting_;
  int threads_ = 0, idle_ = 0;

  // A forked child gets a pool of its own: the parent's threads are not in it. Never freed, since
  // the threads outlive static destructors.
  static HelperPool& current() {
    static HelperPool* pool = nullptr;
    static int made_in = -1;
    static std::mutex making;
    std::lock_guard<std::mutex> hold(making);
    if (!pool || made_in != fork_generation()) {
      pool = new HelperPool();
      made_in = fork_generation();
    }
    return *pool;
  }

  void serve() {
    // Helpers work side by side; a team each would be more threads than cores.
    omp_set_num_threads(1);
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      while (waiting_.empty()) {
        ++idle_;
        wake_.wait(hold);
        --idle_;
      }
      Call call = waiting_.front();
      waiting_.pop_front();
      hold.unlock();
      {
        AtWork at_work;
        call.help(call.argument);
      }
      hold.lock();
    }
  }
};

}  // namespace headrace
