// The intra-op pool: the one OpenMP team of the process, and the one thread that drives it.
//
// libgomp keeps a team per driving thread. If every caller drove one, there would be more threads
// than cores, and a child forked by a caller would have a team without threads. Callers that find
// the pool busy run on one thread.
#pragma once
#include "threads/openmp.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "threads/denormals.hpp"
#include "threads/thread_policy.hpp"

namespace headrace {

using Work = void (*)(void*);

// Waits for a flag under `hold`; calls poll, if there is one, every 20 ms without the lock.
template <class Done>
void wait_polling(std::unique_lock<std::mutex>& hold, std::condition_variable& changed, Work poll,
                  void* poll_argument, const Done& done) {
  while (!done()) {
    if (!poll) {
      changed.wait(hold);
    } else if (changed.wait_for(hold, std::chrono::nanoseconds(kSignalCheckNs)) ==
                   std::cv_status::timeout &&
               !done()) {
      hold.unlock();
      poll(poll_argument);
      hold.lock();
    }
  }
}

// The number of threads that the system can start in addition to those that run: libgomp ends the
// process if it gets fewer than it requests.
inline int startable_threads(int requested) {
  std::mutex lock;
  std::condition_variable changed;
  bool over = false;
  std::vector<std::thread> started;
  try {
    started.reserve(static_cast<size_t>(requested));
    while (static_cast<int>(started.size()) < requested)
      started.emplace_back([&] {
        std::unique_lock<std::mutex> hold(lock);
        changed.wait(hold, [&] { return over; });
      });
  } catch (const std::exception&) {  // system_error, bad_alloc: no more
  }
  {
    std::lock_guard<std::mutex> hold(lock);
    over = true;
    changed.notify_all();
  }
  for (std::thread& thread : started) thread.join();
  return static_cast<int>(started.size());
}

class IntraOpPool {
 public:
  // Runs work(argument) with a team of that size and waits. False: the pool is busy or has no
  // thread, and nothing ran.
  bool try_run(Work work, void* argument, int threads, Work poll, void* poll_argument) {
    std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) return false;
    std::unique_lock<std::mutex> hold(lock_);
    if (!started_ && !start()) return false;
    work_ = work;
    argument_ = argument;
    threads_ = threads;
    done_ = false;
    wake_.notify_one();
    wait_polling(hold, finished_, poll, poll_argument, [this] { return done_; });
    return true;
  }

  // Starts the thread, if there is none, and waits until it has allocated its initial memory.
  void begin() {
    std::unique_lock<std::mutex> hold(lock_);
    if (started_ || start()) finished_.wait(hold, [this] { return ready_; });
  }

  // Set by the owner of the process state: the first call on the thread, and the calls around work.
  void (*begin_thread)() = nullptr;
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;

 private:
  std::mutex turn_, lock_;
  std::condition_variable wake_, finished_;
  bool started_ = false, ready_ = false, done_ = true;
  Work work_ = nullptr;
  void* argument_ = nullptr;
  int threads_ = 1;

  bool start() {
    try {
      std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) { return false; }
    return started_ = true;
  }

  void serve() {
    flush_denormals();  // the team's threads inherit it
    begin_thread();
    std::unique_lock<std::mutex> hold(lock_);
    ready_ = true;
    finished_.notify_all();
    for (;;) {
      while (!work_) wake_.wait(hold);
      Work work = work_;
      work_ = nullptr;
      hold.unlock();
      omp_set_num_threads(threads_);
      enter();
      work(argument_);
      leave();
      hold.lock();
      done_ = true;
      finished_.notify_one();
    }
  }
};

}  // namespace headrace
