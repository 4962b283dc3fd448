// The record of each node that a traced step ran.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "headrace/kernel.h"

namespace headrace {

struct TracedOutput {
  int32_t slot;
  hr_tensor shape;  // dtype, rank, dims and bytes; its memory may be gone
};

struct TraceRecord {
  void* node;                // GraphNode*
  int32_t device;            // of the program
  int32_t thread;            // thread_number() of the thread that ran it
  int64_t start_ns, end_ns;  // on the steady clock
  std::vector<TracedOutput> outputs;
};

// The times of a schedule's entries, if they are recorded.
class Clock {
 public:
  bool start(size_t n_entries) noexcept {
    times_.reset(new (std::nothrow) int64_t[2 * n_entries + 1]());
    return times_ != nullptr;
  }
  void stop() noexcept { times_.reset(); }
  int64_t* data() { return times_.get(); }

 private:
  std::unique_ptr<int64_t[]> times_;
};

// Both: false where memory is exhausted.
inline bool add_output(TraceRecord& record, int32_t slot, const hr_tensor& shape) noexcept {
  try {
    record.outputs.push_back({slot, shape});
    return true;
  } catch (const std::bad_alloc&) { return false; }
}
inline bool keep_record(std::vector<TraceRecord>& records, TraceRecord& record) noexcept {
  try {
    records.push_back(std::move(record));
    return true;
  } catch (const std::bad_alloc&) { return false; }
}

inline int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What to add to monotonic_ns() for nanoseconds since 1970.
inline int64_t wall_clock_offset_ns() {
  const int64_t wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  return wall - monotonic_ns();
}

}  // namespace headrace
