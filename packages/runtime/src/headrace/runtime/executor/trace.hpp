// The record of each node that a traced step ran.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "headrace/kernel.h"

namespace headrace {

struct TracedOutput {
  int32_t slot;
  hr_tensor shape;  // dtype, rank, dims and bytes; its memory may be gone
};

struct TraceRecord {
  void* node = nullptr;      // GraphNode*
  int32_t device;            // of the program
  int32_t thread;            // thread_number() of the thread that ran or enqueued it
  int64_t start_ns, end_ns;  // on the steady clock
  std::vector<TracedOutput> outputs;
  bool on_stream = false;  // the device's own time, not that of the thread that enqueued it
  std::string what;        // the piece of work, if on_stream
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

inline int64_t wall_clock_offset_ns();

// The work that devices did for a traced step, which they report from threads of their own.
class DeviceTrace {
 public:
  DeviceTrace() {
    abi_.abi.size = sizeof(hr_profile);
    abi_.abi.entry = 0;
    abi_.abi.add = [](hr_profile* profile, int32_t entry, const char* what, int64_t start_ns,
                      int64_t end_ns, int64_t) {
      reinterpret_cast<Abi*>(profile)->self->add(entry, what, start_ns, end_ns);
    };
    abi_.self = this;
  }
  DeviceTrace(const DeviceTrace&) = delete;
  DeviceTrace& operator=(const DeviceTrace&) = delete;

  hr_profile* abi() { return &abi_.abi; }
  // The number of the first of n new entries, whose records the caller sets; -1: out of memory.
  int32_t reserve(size_t n) noexcept {
    std::lock_guard<std::mutex> hold(lock_);
    const size_t first = entries_.size();
    try {
      entries_.resize(first + n);
    } catch (const std::bad_alloc&) { return -1; }
    return int32_t(first);
  }
  TraceRecord& entry(int32_t number) { return entries_[size_t(number)]; }

  // Adds a record for each piece of work; the devices have ended theirs. False: out of memory.
  bool finish(std::vector<TraceRecord>& records) noexcept {
    const int64_t offset = wall_clock_offset_ns();
    std::lock_guard<std::mutex> hold(lock_);
    try {
      for (const Work& work : works_) {
        if (size_t(work.entry) >= entries_.size() || !entries_[size_t(work.entry)].node) continue;
        records.push_back(entries_[size_t(work.entry)]);
        records.back().start_ns = work.start_ns - offset;
        records.back().end_ns = work.end_ns - offset;
        records.back().on_stream = true;
        records.back().what = work.what;
      }
    } catch (const std::bad_alloc&) { return false; }
    return true;
  }

 private:
  struct Work {
    int32_t entry;
    std::string what;
    int64_t start_ns, end_ns;
  };
  struct Abi {
    hr_profile abi;  // first: a pointer to it is one to the struct
    DeviceTrace* self;
  };
  Abi abi_;
  std::mutex lock_;
  std::deque<TraceRecord> entries_;  // references stay
  std::vector<Work> works_;

  void add(int32_t entry, const char* what, int64_t start_ns, int64_t end_ns) noexcept {
    std::lock_guard<std::mutex> hold(lock_);
    try {
      works_.push_back({entry, what ? what : "", start_ns, end_ns});
    } catch (const std::bad_alloc&) {}  // the trace lacks it
  }
};

inline int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What to add to monotonic_ns() for nanoseconds since 1970: of some pairs of readings, the one that
// nothing came between.
inline int64_t wall_clock_offset_ns() {
  int64_t offset = 0, closest = INT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const int64_t before = monotonic_ns();
    const int64_t wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
    const int64_t apart = monotonic_ns() - before;
    if (apart >= closest) continue;
    closest = apart;
    offset = wall - before - apart / 2;
  }
  return offset;
}

}  // namespace headrace
