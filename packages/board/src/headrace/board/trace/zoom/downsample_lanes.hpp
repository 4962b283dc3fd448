// Reduces lanes of slices to pixels in one pass; downsample.py does the same with NumPy, ten times
// slower.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace headrace_board {

struct SliceColumns {
  const int64_t* start;
  const int64_t* end;
  const int64_t* scheduled;
  const int32_t* op;
  const uint8_t* kind;
  const uint8_t* critical;  // may be null
};

struct ItemColumns {
  std::vector<int32_t> lane, op;
  std::vector<int64_t> start, end, slice, count, busy, wait, critical;
  std::vector<uint8_t> kind;
};

class LaneDownsampler {
 public:
  LaneDownsampler(SliceColumns of, double t0, double pixel_ns, int32_t ops, uint8_t merged)
      : of_(of), t0_(t0), pixel_ns_(pixel_ns), merged_(merged), total_(ops, 0), longest_(ops, -1),
        who_(ops, 0) {}

  void reduce(int32_t lane, int64_t low, int64_t high, ItemColumns& to) {
    int64_t first = low;
    double pixel = 0;
    bool alone = false;
    for (int64_t i = low; i < high; i++) {
      const double own = std::floor((static_cast<double>(of_.start[i]) - t0_) / pixel_ns_);
      const bool wide = static_cast<double>(of_.end[i] - of_.start[i]) >= pixel_ns_;
      if (i > low && (own != pixel || wide || alone)) {
        flush(lane, first, i, to);
        first = i;
      }
      pixel = own;
      alone = wide;
    }
    if (high > low) flush(lane, first, high, to);
  }

 private:
  void flush(int32_t lane, int64_t first, int64_t last, ItemColumns& to) {
    int64_t busy = 0, critical = 0, shown = first;
    int32_t op = of_.op[first];
    for (int64_t i = first; i < last; i++) {
      const int64_t took = of_.end[i] - of_.start[i];
      busy += took;
      if (of_.critical != nullptr && of_.critical[i]) critical += took;
      if (last - first == 1) break;
      const int32_t own = of_.op[i];
      if (longest_[own] < 0) touched_.push_back(own);
      total_[own] += took;
      if (took > longest_[own]) {
        longest_[own] = took;
        who_[own] = i;
      }
    }
    if (last - first > 1) {
      // Of equal ops the lowest number; if all have zero duration, the op of the first slice.
      for (const int32_t own : touched_) {
        if (total_[own] > total_[op] || (total_[own] == total_[op] && total_[own] > 0 && own < op))
          op = own;
      }
      shown = who_[op];
      for (const int32_t own : touched_) {
        total_[own] = 0;
        longest_[own] = -1;
      }
      touched_.clear();
    }
    const bool one = last - first == 1;
    to.lane.push_back(lane);
    to.op.push_back(op);
    to.start.push_back(of_.start[first]);
    to.end.push_back(of_.end[last - 1]);
    to.slice.push_back(shown);
    to.count.push_back(last - first);
    to.busy.push_back(busy);
    to.wait.push_back(one ? of_.start[first] - of_.scheduled[first] : 0);
    to.critical.push_back(critical);
    to.kind.push_back(one ? of_.kind[first] : merged_);
  }

  SliceColumns of_;
  double t0_, pixel_ns_;
  uint8_t merged_;
  std::vector<int64_t> total_, longest_, who_;
  std::vector<int32_t> touched_;
};

}  // namespace headrace_board
