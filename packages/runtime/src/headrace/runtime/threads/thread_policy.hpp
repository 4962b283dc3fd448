// Every decision about which thread runs what, by the constants of cost_model.hpp.
//
// | expected cost of a step     | where it runs                                               |
// |-----------------------------|-------------------------------------------------------------|
// | below kHoldGil              | calling thread, which keeps the GIL                         |
// | up to kReleaseGil           | calling thread; keeps the GIL while taking it back is slow  |
// | up to kParallel             | calling thread, without the GIL                             |
// | from kParallel              | the intra-op pool, if it is free                            |
// | from kLong, otherwise       | one inter-op thread, while the caller handles signals       |
//
// A unit of a dynamic step may run on a thread of the inter-op pool from kHeavy on. From kLong on
// it never runs on the thread that handles signals.
//
// A unit up to kLong gets no team while other units fill half of the cores: steps that run at the
// same time, such as those of queue runners, then use the cores better on one thread each.
//
// A step of one segment becomes a dynamic step if its independent heavy kernels then finish earlier
// (overlap_saves): these kernels are its units.
#pragma once
#include <algorithm>
#include <cstdint>
#include <thread>

#include "threads/cost_model.hpp"

namespace headrace {

// A session may request more threads than the machine has cores, but not for 1,000,000 of them.
inline int core_count() { return std::max(1u, std::thread::hardware_concurrency()); }
inline int most_intra_op_threads() { return std::max(16, 4 * core_count()); }
inline int most_inter_op_threads() { return std::max(64, 16 * core_count()); }

inline bool others_fill_cores(int computing) { return 2 * computing >= core_count(); }

enum Weight : uint8_t {
  LIGHT,  // runs on the thread that executes the step
  HEAVY,  // worth a thread of the inter-op pool
  LONG,   // would keep signals waiting
};

inline Weight weight_of(double ns) { return ns > kLong ? LONG : ns > kHeavy ? HEAVY : LIGHT; }

// Measurements that decide whether heavy kernels of a step should run at the same time.
struct OverlapFacts {
  double wall_ns;        // duration of a run as it is
  double one_thread_ns;  // all kernels, each on one thread
  double heavy_ns;       // those from kOverlap on
  double longest_ns;     // the longest chain of these
  int threads;           // of the inter-op pool, at most one per core
};

inline int overlap_threads(int pool) { return std::min(pool, core_count()); }

inline bool overlap_saves(const OverlapFacts& step) {
  if (step.threads < 2 || step.heavy_ns - step.longest_ns < kOverlap) return false;
  const double overlapped =
      step.one_thread_ns - step.heavy_ns + std::max(step.longest_ns, step.heavy_ns / step.threads);
  return overlapped < kOverlapGain * step.wall_ns && step.wall_ns - overlapped > kOverlap;
}

enum class Place : uint8_t { kHoldGil, kBackoff, kCaller, kIntraOp, kInterOp };

struct StepFacts {
  double ns;
  bool measured;      // ns comes from a run, not from an estimate
  bool calls_python;  // or may block: such a step never keeps the GIL
  bool watched;       // the calling thread handles signals
  bool in_pool;       // the calling thread belongs to one of the pools
  int intra_op_threads;
};

inline Place place_of(const StepFacts& step) {
  if (step.intra_op_threads > 1 && step.ns > kParallel && !step.in_pool) return Place::kIntraOp;
  // An estimate may be far off: until a run is measured, the thread that handles signals only
  // waits.
  const bool is_long = step.ns >= kLong || (!step.measured && step.watched && step.ns > kHoldGil);
  if (is_long && !step.in_pool && !step.calls_python) return Place::kInterOp;
  if (step.calls_python)
    return step.ns >= kLong && !step.in_pool ? Place::kInterOp : Place::kCaller;
  if (step.ns < kHoldGil) return Place::kHoldGil;
  if (step.ns < kReleaseGil) return Place::kBackoff;
  return Place::kCaller;
}

}  // namespace headrace
