// The one thread that drives the process's OpenMP team, for work that wants all cores.
//
// libgomp keeps a team per driving thread; were every caller to drive its own, teams would
// outnumber the cores. Whoever finds the lane taken runs on its own thread alone.
#pragma once
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace headrace {

// How often this process came out of a fork: state made before the last one is not ours.
inline int& fork_generation_cell() {
  static int generation = 0;
  return generation;
}

// How many threads of ours compute right now: the process must not end under them.
inline std::atomic<int>& threads_at_work() {
  static std::atomic<int> count{0};
  return count;
}

class AtWork {
 public:
  AtWork() { ++threads_at_work(); }
  ~AtWork() { --threads_at_work(); }
  AtWork(const AtWork&) = delete;
};

inline int count_at_work() { return threads_at_work(); }

class Lane {
 public:
  // Runs work(argument) on the lane's thread with a team of that size and waits, calling poll
  // every 20 ms. False: the lane is taken, nothing ran.
  static bool try_run(void (*work)(void*), void* argument, int threads, void (*poll)(void*),
                      void* poll_argument) {
    Lane& lane = current();
    std::unique_lock<std::mutex> turn(lane.turn_, std::try_to_lock);
    if (!turn.owns_lock()) return false;
    std::unique_lock<std::mutex> hold(lane.lock_);
    if (!lane.started_) {
      std::thread([&lane] { lane.serve(); }).detach();
      lane.started_ = true;
    }
    lane.work_ = work;
    lane.argument_ = argument;
    lane.threads_ = threads;
    lane.done_ = false;
    lane.wake_.notify_one();
    wait(hold, lane.finished_, lane.done_, poll, poll_argument);
    return true;
  }

  // The same on a thread made for it, without a team: for long work while the lane is taken.
  static void run_beside(void (*work)(void*), void* argument, void (*poll)(void*),
                         void* poll_argument) {
    std::mutex lock;
    std::condition_variable finished;
    bool done = false;
    std::thread thread([&] {
      AtWork at_work;
      omp_set_num_threads(1);
      work(argument);
      std::lock_guard<std::mutex> hold(lock);
      done = true;
      finished.notify_one();
    });
    {
      std::unique_lock<std::mutex> hold(lock);
      wait(hold, finished, done, poll, poll_argument);
    }
    thread.join();
  }

 private:
  std::mutex turn_, lock_;
  std::condition_variable wake_, finished_;
  bool started_ = false, done_ = true;
  void (*work_)(void*) = nullptr;
  void* argument_ = nullptr;
  int threads_ = 1;

  static void wait(std::unique_lock<std::mutex>& hold, std::condition_variable& finished,
                   const bool& done, void (*poll)(void*), void* poll_argument) {
    while (!done) {
      if (finished.wait_for(hold, std::chrono::milliseconds(20)) == std::cv_status::timeout &&
          !done) {
        hold.unlock();
        poll(poll_argument);
        hold.lock();
      }
    }
  }

  // A forked child gets a lane of its own: the parent's thread is not in it. Never freed, since
  // the thread outlives static destructors.
  static Lane& current() {
    static Lane* lane = nullptr;
    static int made_in = -1;
    static std::mutex making;
    std::lock_guard<std::mutex> hold(making);
    if (!lane || made_in != fork_generation_cell()) {
      lane = new Lane();
      made_in = fork_generation_cell();
    }
    return *lane;
  }

  void serve() {
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      while (!work_) wake_.wait(hold);
      void (*work)(void*) = work_;
      work_ = nullptr;
      hold.unlock();
      omp_set_num_threads(threads_);
      {
        AtWork at_work;
        work(argument_);
      }
      hold.lock();
      done_ = true;
      finished_.notify_one();
    }
  }
};

inline int fork_generation() {
  static bool watching = [] {
    pthread_atfork(nullptr, nullptr, [] {
      ++fork_generation_cell();
      threads_at_work() = 0;
    });
    return true;
  }();
  (void)watching;
  return fork_generation_cell();
}

}  // namespace headrace
