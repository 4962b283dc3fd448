// What one dynamic step keeps while it runs: frames, iterations, ready units.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "rendezvous.hpp"
#include "run.hpp"

namespace headrace {

struct FrameRun;

// One iteration of one entered frame (white paper §4.4: a tag). One block of memory.
struct Iteration {
  FrameRun* frame;
  int64_t number;
  int32_t outstanding;   // units ready, running or awaited, and child frames alive
  Iteration* next;       // in the frame's pool
  FrameRun* children;    // entered from here
  int32_t* pending;      // per unit of the frame
  int32_t* dead;         // per unit: dead inputs that came
  int32_t* merged;       // per unit: 1 + the live input of a merge
  hr_tensor* slots;
};

struct Held {            // a value on its way into iterations that do not exist yet
  int32_t unit, port;
  hr_tensor value;
  bool dead;
};

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

struct TraceRecord {
  void* node;            // GraphNode*; null: see unit
  int32_t unit;
  int32_t lane;
  int64_t start_ns, end_ns;
};

struct ExecutionState {
  Run run;
  std::mutex lock;
  std::condition_variable changed;
  std::vector<Ready> ready;
  int32_t outstanding = 0;      // ready, running, awaited
  int32_t helpers = 0;          // pool threads inside
  int32_t waiting = 0;          // threads in `changed`
  bool failed = false;
  FrameRun root;
  Iteration* root_iteration = nullptr;
  std::vector<std::vector<Iteration*>> pools;   // free iterations by static frame
  std::vector<hr_tensor> fetched;
  std::vector<int32_t> fetch_state;             // 0 not yet, 1 there, 2 dead
  LocalRendezvous rendezvous;
  bool traced = false;
  std::vector<TraceRecord> records;
};

inline int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Waits for a change, 20 ms at most; the lock is held before and after.
inline void wait_for_change(ExecutionState* state) {
  std::unique_lock<std::mutex> hold(state->lock, std::adopt_lock);
  ++state->waiting;
  state->changed.wait_for(hold, std::chrono::milliseconds(20));
  --state->waiting;
  hold.release();
}

inline Iteration* allocate_iteration(int32_t n_units, int32_t n_slots) {
  const size_t head = (sizeof(Iteration) + 15) & ~size_t(15);
  const size_t counts = (3 * sizeof(int32_t) * n_units + 15) & ~size_t(15);
  char* block = static_cast<char*>(std::malloc(head + counts + sizeof(hr_tensor) * n_slots));
  if (!block) return nullptr;
  auto* it = reinterpret_cast<Iteration*>(block);
  it->pending = reinterpret_cast<int32_t*>(block + head);
  it->dead = it->pending + n_units;
  it->merged = it->dead + n_units;
  it->slots = reinterpret_cast<hr_tensor*>(block + head + counts);
  return it;
}

}  // namespace headrace
