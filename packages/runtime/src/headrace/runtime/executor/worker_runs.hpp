// The runs of a worker's partitions (headrace/worker.h). Only worker_runs.pyx includes this header,
// since a static in a header exists once per extension.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "executor/executor_state.hpp"
#include "graph/graph_node.hpp"
#include "headrace/worker.h"
#include "memory/relaxed.hpp"

namespace headrace {

struct WorkerPartition {
  std::shared_ptr<void> python;  // the DynamicStep
  void* plan = nullptr;          // its ExecutorPlan
  void* owner = nullptr;         // its SessionOwner
  size_t n_frames = 0;
  bool calls_python = false;
  // The longest time that the driver of a recent run computed without waiting; 0: not known.
  Relaxed<int64_t> busy_ns{0};

  void add_time(int64_t ns) {
    const int64_t before = busy_ns.get();
    busy_ns.set(ns > before ? ns : before - before / 8 + 1);
  }
};

struct WorkerRuns;

struct WorkerRun {
  ExecutionState state;
  std::shared_ptr<WorkerPartition> partition;
  std::shared_ptr<WorkerRuns> worker;
  int64_t number = 0;
  hr_run_done done = nullptr;
  void* argument = nullptr;
  PoolCall call;                 // while it waits for a thread of a pool
  std::atomic<int32_t> pins{0};  // threads that cancel it
  uint64_t asked = 0;            // the last request to end runs that has reached it

  WorkerRun(size_t n_frames) : state(n_frames, 0) {}
};

// What a worker's capsule points to; runs in progress keep it alive.
struct WorkerRuns {
  hr_worker abi{};  // first: hr_worker* and WorkerRuns* convert
  std::weak_ptr<WorkerRuns> self;
  std::mutex lock;
  std::unordered_map<int64_t, std::shared_ptr<WorkerPartition>> partitions;
  std::unordered_multimap<int64_t, WorkerRun*> running;
  std::condition_variable ended;
  int64_t last = 0;
  uint64_t last_request = 0;
  bool closed = false;

  int64_t add(std::shared_ptr<WorkerPartition> partition) {
    std::lock_guard<std::mutex> hold(lock);
    partitions.emplace(++last, std::move(partition));
    return last;
  }
  std::shared_ptr<WorkerPartition> find(int64_t number) {
    std::lock_guard<std::mutex> hold(lock);
    auto found = partitions.find(number);
    return found == partitions.end() ? nullptr : found->second;
  }
  // Null: there is none.
  std::shared_ptr<WorkerPartition> remove(int64_t number) {
    std::lock_guard<std::mutex> hold(lock);
    auto found = partitions.find(number);
    if (found == partitions.end()) return nullptr;
    std::shared_ptr<WorkerPartition> partition = std::move(found->second);
    partitions.erase(found);
    return partition;
  }

  // HR_CANCELLED: the worker is closed; HR_RESOURCE_EXHAUSTED: there is no memory.
  hr_code enter(WorkerRun* run) noexcept {
    std::lock_guard<std::mutex> hold(lock);
    if (closed) return HR_CANCELLED;
    try {
      running.emplace(run->number, run);
    } catch (const std::bad_alloc&) { return HR_RESOURCE_EXHAUSTED; }
    run->asked = last_request;
    return HR_OK;
  }
  void close() noexcept {
    std::lock_guard<std::mutex> hold(lock);
    closed = true;
  }
  // Afterwards nobody accesses the run.
  void leave(WorkerRun* run) {
    {
      std::lock_guard<std::mutex> hold(lock);
      auto range = running.equal_range(run->number);
      for (auto it = range.first; it != range.second; ++it)
        if (it->second == run) {
          running.erase(it);
          break;
        }
      if (running.empty()) ended.notify_all();
    }
    while (run->pins.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  // A number for a request to end runs that are in progress now.
  uint64_t new_request() noexcept {
    std::lock_guard<std::mutex> hold(lock);
    return ++last_request;
  }
  // The next run of a number, of a partition, or (null, -1) of all, that a request has not reached;
  // pinned. Null: there is none.
  WorkerRun* pin_next(const WorkerPartition* partition, int64_t number, uint64_t request) noexcept {
    std::lock_guard<std::mutex> hold(lock);
    auto range =
        number >= 0 ? running.equal_range(number) : std::make_pair(running.begin(), running.end());
    for (auto entry = range.first; entry != range.second; ++entry) {
      WorkerRun* run = entry->second;
      if (run->asked >= request || (partition && run->partition.get() != partition)) continue;
      run->asked = request;
      run->pins.fetch_add(1, std::memory_order_relaxed);
      return run;
    }
    return nullptr;
  }
  // Waits for the end of all runs, which the caller has cancelled. False: some still run.
  bool wait_for_runs(int64_t milliseconds) {
    std::unique_lock<std::mutex> hold(lock);
    return ended.wait_for(hold, std::chrono::milliseconds(milliseconds),
                          [this] { return running.empty(); });
  }
};

inline void unpin(WorkerRun* run) { run->pins.fetch_sub(1, std::memory_order_release); }

inline std::shared_ptr<WorkerRuns> make_worker_runs() {
  auto made = std::make_shared<WorkerRuns>();
  made->self = made;
  return made;
}

inline WorkerRuns* runs_of(hr_worker* worker) { return reinterpret_cast<WorkerRuns*>(worker); }

// Null: out of memory.
inline WorkerRun* new_worker_run(size_t n_frames) noexcept {
  try {
    return new WorkerRun(n_frames);
  } catch (const std::bad_alloc&) { return nullptr; }
}

// What is reported of a run that is gone.
struct RunEnd {
  char node[1024] = "", message[2048 + sizeof(Run::message)] = "";

  void set_message(const char* text) noexcept {
    std::snprintf(message, sizeof message, "%s", text);
  }
  // As errors of a local session begin (step.pyx), and with the device, which may be anywhere.
  void set_message_of(const GraphNode& at, const char* text) noexcept {
    const char* op = at.op == "_ReadSlot" ? "Variable" : at.op.c_str();
    std::snprintf(node, sizeof node, "%s", at.name.c_str());
    std::snprintf(message, sizeof message, "%.255s '%.1023s'%s%.511s: %s", op, at.name.c_str(),
                  at.device.empty() ? "" : " on ", at.device.c_str(), text);
  }
};

// ---- runs that go on at the end of a thread's deliveries -------------------------------------

struct Deliveries {
  int32_t depth = 0;
  std::vector<WorkerRun*> ready;
};
inline Deliveries& deliveries() {
  thread_local Deliveries mine;
  return mine;
}

// False: the thread does not deliver, or has no memory.
inline bool defer_run(WorkerRun* run) noexcept {
  Deliveries& mine = deliveries();
  if (!mine.depth) return false;
  try {
    mine.ready.push_back(run);
    return true;
  } catch (const std::bad_alloc&) { return false; }
}
inline void begin_deliveries() { ++deliveries().depth; }
// The next deferred run of the outermost deliveries; null: none, and they are over.
inline WorkerRun* next_delivery() {
  Deliveries& mine = deliveries();
  if (mine.depth > 1 || mine.ready.empty()) {
    --mine.depth;
    return nullptr;
  }
  WorkerRun* next = mine.ready.back();
  mine.ready.pop_back();
  return next;
}

// ---- memory of others ------------------------------------------------------------------------

struct WrappedBuffer {
  hr_buffer buffer;  // first
  void (*release_memory)(void*);
  void* argument;
};

inline hr_buffer* wrap_memory(void* data, int64_t bytes, void (*release_memory)(void*),
                              void* argument) {
  auto* made = new (std::nothrow) WrappedBuffer();
  if (!made) return nullptr;
  made->buffer.references.store(1, std::memory_order_relaxed);
  made->buffer.elements = HR_UINT8;
  made->buffer.size_class = -1;
  made->buffer.bytes = bytes;
  made->buffer.data = data;
  made->buffer.next = nullptr;
  made->buffer.destroy = [](hr_buffer* buffer) {
    auto* wrapped = reinterpret_cast<WrappedBuffer*>(buffer);
    wrapped->release_memory(wrapped->argument);
    delete wrapped;
  };
  made->release_memory = release_memory;
  made->argument = argument;
  return &made->buffer;
}

}  // namespace headrace
