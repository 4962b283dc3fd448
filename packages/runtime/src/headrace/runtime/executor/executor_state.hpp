// The state of a dynamic step while it runs: frames, iterations, ready units.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "executor/trace.hpp"
#include "plan/executable.hpp"
#include "state/rendezvous.hpp"
#include "state/run.hpp"
#include "threads/active_runs.hpp"
#include "threads/inter_op_pool.hpp"

namespace headrace {

struct FrameRun;

// The inputs that a unit still waits for in one iteration.
struct UnitState {
  int32_t pending;  // missing inputs and control edges
  int32_t dead;     // inputs that are dead
  int32_t merged;   // of a merge, 1 + its live input; of a Send, whether its value has been sent
};

// One iteration of one entered frame (a tag in the white paper, §4.4), in one block of memory with
// its units and slots.
struct Iteration {
  FrameRun* frame = nullptr;
  int64_t number = 0;
  int32_t outstanding = 0;  // units that are ready, running or awaited, and live child frames
  const int32_t n_slots;
  std::unique_ptr<FrameRun> children;  // entered from here
  UnitState* units;                    // of the frame, by local number
  OwnedTensor* slots;

  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;
  ~Iteration();
  void release_slots() {
    for (int32_t i = 0; i < n_slots; ++i) slots[i].reset();
  }
  // Null: out of memory.
  static std::unique_ptr<Iteration> allocate(int32_t n_units, int32_t n_slots) noexcept {
    const size_t head = (sizeof(Iteration) + 15) & ~size_t(15);
    const size_t units = (sizeof(UnitState) * size_t(n_units) + 15) & ~size_t(15);
    void* block = std::malloc(head + units + sizeof(OwnedTensor) * size_t(n_slots));
    if (!block) return nullptr;
    char* behind = static_cast<char*>(block) + head;
    auto* slots = reinterpret_cast<OwnedTensor*>(behind + units);
    std::uninitialized_default_construct_n(slots, n_slots);
    return std::unique_ptr<Iteration>(
        new (block) Iteration(reinterpret_cast<UnitState*>(behind), slots, n_slots));
  }
  static void operator delete(void* block) { std::free(block); }

 private:
  Iteration(UnitState* units, OwnedTensor* slots, int32_t n_slots)
      : n_slots(n_slots), units(units), slots(slots) {}
  static void* operator new(size_t, void* block) { return block; }
};

struct Held {  // a value for iterations that do not exist yet
  int32_t unit, port;
  OwnedTensor value;
  bool dead;
};

// Keeps a value for a later iteration; null: a dead one. False: out of memory, and the caller still
// owns the value.
inline bool hold(std::vector<Held>& held, int32_t unit, int32_t port, OwnedTensor* value) noexcept {
  try {
    held.push_back({unit, port, OwnedTensor(), value == nullptr});
  } catch (const std::bad_alloc&) { return false; }
  if (value) held.back().value.take_from(*value);
  return true;
}

struct FrameRun {
  int32_t number = 0;  // of the static frame
  uint64_t key = 0;    // its number in rendezvous keys; 0: the step itself
  std::unique_ptr<FrameRun> sibling;
  Iteration* parent = nullptr;  // null: the step itself
  int32_t enters_left = 0;
  bool dead = false;
  int64_t oldest = 0, next_number = 0;
  std::vector<std::unique_ptr<Iteration>> live;  // live[0] is iteration `oldest`
  std::vector<Held> constants;
  std::vector<Held> deferred;  // for iterations beyond the window of parallel iterations
};

inline Iteration::~Iteration() { std::destroy_n(slots, n_slots); }

// A new first child of an iteration; null: out of memory.
inline FrameRun* add_child(Iteration* parent) noexcept {
  std::unique_ptr<FrameRun> created(new (std::nothrow) FrameRun());
  if (!created) return nullptr;
  created->parent = parent;
  created->sibling = std::move(parent->children);
  parent->children = std::move(created);
  return parent->children.get();
}
// Frees a child of an iteration.
inline void remove_child(Iteration* parent, FrameRun* child) noexcept {
  std::unique_ptr<FrameRun>* link = &parent->children;
  while (link->get() != child) link = &(*link)->sibling;
  std::unique_ptr<FrameRun> gone = std::move(*link);
  *link = std::move(gone->sibling);
}

struct Ready {
  int32_t unit;
  Iteration* iteration;
};

// The lock of a step. A thread that runs a loop of light units releases it only briefly, and a
// mutex favours the running thread. Waiting threads therefore announce themselves; otherwise a
// cancellation might never take the lock.
class StepLock {
 public:
  void lock() {
    if (mutex_.try_lock()) return;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  void unlock() { mutex_.unlock(); }
  // Called by the holder: lets waiting threads take the lock first.
  void let_others() {
    if (!waiting_.load(std::memory_order_relaxed)) return;
    mutex_.unlock();
    while (waiting_.load(std::memory_order_relaxed)) sched_yield();
    mutex_.lock();
  }
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::atomic<int32_t> waiting_{0};
};

struct ExecutionState;

// What a step has enqueued on one device.
struct DeviceWork {
  ExecutionState* state;
  hr_device* device;
  int64_t kernels = 0;      // since the last notify
  int32_t notices = 0;      // notifies that have not ended
  int64_t per_notice = 16;  // kernels from one notify to the next: enqueued ones run to their end
  int64_t asked_ns = 0;     // when the device began with what the next notice is for
  void (*poll)(void*) = nullptr;  // for signals, while the step waits
  void* poll_argument = nullptr;
  bool listed = false;  // in DeviceSteps
};

// One step in progress. `lock` guards everything except the constant pointers.
struct ExecutionState {
  Run run;   // of units on one thread
  Run wide;  // of the unit that has the intra-op pool
  // Of units on devices with memory of their own, by number; empty: the program has none. Only the
  // thread that drives the step runs such units: they enqueue, and return.
  std::vector<std::unique_ptr<Run>> on_devices;
  enum : char { UNUSED, AWAITED, BUSY };
  std::vector<DeviceWork> work;  // per device
  std::vector<char>
      busy;              // per device: whether it has work of the step whose end nothing waits for
  void* plan = nullptr;  // ExecutorPlan
  void* errors = nullptr;             // a Python list: exceptions, the first one wins
  int32_t intra_op_threads = 1;       // threads of an intra-op team
  std::shared_ptr<InterOpPool> pool;  // for heavy units; empty: the calling thread takes all
  bool takes_long = true;             // whether the calling thread may run LONG units
  ActiveRun active;
  StepLock lock;
  std::condition_variable changed;
  std::vector<Ready> light;  // ready units for the calling thread
  std::vector<Ready> heavy;  // ready units that threads of the pool may take
  int32_t outstanding = 0;   // ready, running, awaited
  int32_t pool_tasks = 0;    // tasks submitted to the pool that have not ended
  int32_t waiting = 0;       // threads in `changed`
  // A step without a thread of its own: where nothing is ready, its driver leaves it `parked`, and
  // what makes something ready calls `resume`, which must not take the step's lock.
  bool parked = false;
  void (*resume)(void*) = nullptr;
  void* resume_argument = nullptr;
  bool failed = false;
  bool partial = false;  // its caller waits for some fetches, not for its end
  FrameRun root;
  Iteration* root_iteration = nullptr;
  std::vector<std::vector<std::unique_ptr<Iteration>>> pools;  // free iterations by static frame
  size_t places = 0;  // units of live iterations: the largest number that can be ready
  std::vector<OwnedTensor> fetched;
  std::vector<int32_t> fetch_state;  // 0: missing, 1: available, 2: dead
  LocalRendezvous rendezvous;
  hr_rendezvous* between_tasks = nullptr;  // of a worker's run, for edges that a plan numbers
  // Set while a thread that must not compute for long drives the step: what is heavy waits for the
  // pool.
  bool light_only = false;
  bool traced = false;
  std::vector<TraceRecord> records;
  std::unique_ptr<DeviceTrace> device_trace;  // of a traced step with devices of their own memory
  std::vector<std::shared_ptr<Executable>>
      named;  // owners of nodes that an error or the trace names

  ExecutionState(size_t n_frames, size_t n_fetches)
      : pools(n_frames), fetched(n_fetches), fetch_state(n_fetches) {}
};

// False: out of memory.
inline bool add_device_runs(ExecutionState* state, size_t n) noexcept {
  try {
    state->busy.assign(n, 0);
    state->work.assign(n, DeviceWork{state, nullptr});
    while (state->on_devices.size() < n) state->on_devices.push_back(std::make_unique<Run>());
    if (state->traced) state->device_trace = std::make_unique<DeviceTrace>();
    return true;
  } catch (const std::bad_alloc&) { return false; }
}

// As vector::reserve, doubling.
template <class T>
inline void reserve(std::vector<T>& items, size_t n) {
  if (items.capacity() < n) items.reserve(n < 2 * items.capacity() ? 2 * items.capacity() : n);
}

// Something has become ready, or the step is over; called with the lock.
inline void wake(ExecutionState* state) {
  if (state->waiting) state->changed.notify_all();
  else if (state->parked) {
    state->parked = false;
    state->resume(state->resume_argument);
  }
}

// Waits for a change or the deadline; the lock is held before and after. The thread that handles
// Ctrl-C looks for it every 20 ms. Others wait longer: many waiting steps must not keep the
// processor, or Python's lock, busy.
inline void wait_for_change(ExecutionState* state, bool handles_signals) {
  using std::chrono::nanoseconds;
  constexpr int64_t kMostNs = 1000000000, kLeastNs = 1000000;
  int64_t ns = handles_signals ? 20 * kLeastNs : kMostNs;
  if (state->run.deadline_ns)
    ns = std::max(kLeastNs, std::min(ns, state->run.deadline_ns - monotonic_ns()));
  std::unique_lock<std::mutex> hold(state->lock.mutex(), std::adopt_lock);
  ++state->waiting;
  state->changed.wait_for(hold, nanoseconds(ns));
  --state->waiting;
  hold.release();
}

// The frame's next iteration, recycled or new. Null: out of memory. This reserves room for all
// units that may become ready in it and for its return to the free list, so that propagation needs
// no memory.
inline Iteration* add_iteration(ExecutionState* state, FrameRun* frame, int32_t n_units,
                                int32_t n_slots) noexcept {
  auto& pool = state->pools[size_t(frame->number)];
  try {
    reserve(frame->live, frame->live.size() + 1);
    reserve(state->light, state->places + size_t(n_units));
    reserve(state->heavy, state->places + size_t(n_units));
    std::unique_ptr<Iteration> created;
    if (pool.empty()) {
      created = Iteration::allocate(n_units, n_slots);
      if (!created) return nullptr;
      reserve(pool, frame->live.size() + 1);
    } else {
      created = std::move(pool.back());
      pool.pop_back();
    }
    created->frame = frame;
    created->number = frame->next_number++;
    created->outstanding = 0;
    state->places += size_t(n_units);
    frame->live.push_back(std::move(created));
    return frame->live.back().get();
  } catch (const std::bad_alloc&) { return nullptr; }
}
// Puts the frame's oldest iteration, which is over, into the free list.
inline void end_oldest(ExecutionState* state, FrameRun* frame, int32_t n_units) noexcept {
  std::unique_ptr<Iteration> over = std::move(frame->live.front());
  frame->live.erase(frame->live.begin());
  ++frame->oldest;
  over->release_slots();
  state->places -= size_t(n_units);
  auto& pool = state->pools[size_t(frame->number)];
  if (pool.size() < pool.capacity()) pool.push_back(std::move(over));
}

// Keeps an executable whose nodes an error names. Without memory for that, the error names none.
inline void keep_named(ExecutionState* state,
                       const std::shared_ptr<Executable>& executable) noexcept {
  state->lock.lock();
  try {
    state->named.push_back(executable);
  } catch (const std::bad_alloc&) {
    state->run.failed.store(nullptr);
    state->wide.failed.store(nullptr);
  }
  state->lock.unlock();
}

}  // namespace headrace
