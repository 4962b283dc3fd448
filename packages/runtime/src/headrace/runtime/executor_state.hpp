// What one dynamic step keeps while it runs: frames, iterations, ready units.
#pragma once
#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "active_runs.hpp"
#include "executable.hpp"
#include "inter_op_pool.hpp"
#include "rendezvous.hpp"
#include "run.hpp"
#include "trace.hpp"

namespace headrace {

struct FrameRun;

// What a unit still waits for in one iteration.
struct UnitState {
  int32_t pending;       // inputs and control edges that have not come
  int32_t dead;          // inputs that came dead
  int32_t merged;        // 1 + the live input of a merge
};

// One iteration of one entered frame (white paper §4.4: a tag). One block of memory.
struct Iteration {
  FrameRun* frame;
  int64_t number;
  int32_t outstanding;   // units ready, running or awaited, and child frames alive
  FrameRun* children;    // entered from here
  UnitState* units;      // of the frame, by local number
  hr_tensor* slots;
};

struct Held {            // a value on its way into iterations that do not exist yet
  int32_t unit, port;
  OwnedTensor value;
  bool dead;
};

// Keeps a value for later; null: a dead one.
inline void hold(std::vector<Held>& held, int32_t unit, int32_t port, const hr_tensor* counted) {
  held.push_back({unit, port, counted ? OwnedTensor(*counted) : OwnedTensor(), counted == nullptr});
}

struct FrameRun {
  int32_t number;        // of the static frame
  FrameRun* sibling;
  Iteration* parent;     // null: the step itself
  int32_t enters_left;
  bool dead;
  int64_t oldest = 0, next_number = 0;
  std::vector<Iteration*> live;    // live[0] is iteration `oldest`
  std::vector<Held> constants;
  std::vector<Held> deferred;      // for the iteration that the window does not admit yet
};

struct Ready {
  int32_t unit;
  Iteration* iteration;
};

// A step's lock. The thread that walks a loop of light units hardly lets go of it, and a mutex
// goes to whoever runs: without a word from those who wait, a cancellation would never get it.
class StepLock {
 public:
  void lock() {
    if (mutex_.try_lock()) return;
    wanted_.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
    wanted_.fetch_sub(1, std::memory_order_relaxed);
  }
  void unlock() { mutex_.unlock(); }
  // Called by the holder: those who wait have their turn first.
  void let_others() {
    if (!wanted_.load(std::memory_order_relaxed)) return;
    mutex_.unlock();
    while (wanted_.load(std::memory_order_relaxed)) sched_yield();
    mutex_.lock();
  }
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::atomic<int32_t> wanted_{0};
};

// One step under way. Everything but the constant pointers is guarded by `lock`.
struct ExecutionState {
  Run run;                      // of units on one thread
  Run wide;                     // of the unit that has the intra-op pool
  void* plan = nullptr;         // ExecutorPlan
  void* errors = nullptr;       // a Python list: exceptions, the first one wins
  int32_t team = 1;             // threads of an intra-op team
  std::shared_ptr<InterOpPool> pool;  // for heavy units; empty: the calling thread takes all
  bool takes_long = true;       // whether the calling thread runs units that take long
  ActiveRun active;
  StepLock lock;
  std::condition_variable changed;
  std::vector<Ready> light;     // ready units for the calling thread
  std::vector<Ready> heavy;     // ready units that threads of the pool may take
  int32_t outstanding = 0;      // ready, running, awaited
  int32_t helpers = 0;          // asked for and not gone
  int32_t waiting = 0;          // threads in `changed`
  bool failed = false;
  FrameRun root;
  Iteration* root_iteration = nullptr;
  std::vector<std::vector<Iteration*>> pools;   // free iterations by static frame
  std::vector<OwnedTensor> fetched;
  std::vector<int32_t> fetch_state;             // 0 not yet, 1 there, 2 dead
  LocalRendezvous rendezvous;
  bool traced = false;
  std::vector<TraceRecord> records;
  std::vector<std::shared_ptr<Executable>> named;  // whose nodes an error or the trace names
};

// Waits for a change, 20 ms at most; the lock is held before and after.
inline void wait_for_change(ExecutionState* state) {
  std::unique_lock<std::mutex> hold(state->lock.mutex(), std::adopt_lock);
  ++state->waiting;
  state->changed.wait_for(hold, std::chrono::milliseconds(20));
  --state->waiting;
  hold.release();
}

inline Iteration* allocate_iteration(int32_t n_units, int32_t n_slots) {
  const size_t head = (sizeof(Iteration) + 15) & ~size_t(15);
  const size_t units = (sizeof(UnitState) * n_units + 15) & ~size_t(15);
  char* block = static_cast<char*>(std::malloc(head + units + sizeof(hr_tensor) * n_slots));
  if (!block) return nullptr;
  auto* it = reinterpret_cast<Iteration*>(block);
  it->units = reinterpret_cast<UnitState*>(block + head);
  it->slots = reinterpret_cast<hr_tensor*>(block + head + units);
  for (int32_t i = 0; i < n_slots; ++i) it->slots[i].owner = nullptr;
  return it;
}

}  // namespace headrace
