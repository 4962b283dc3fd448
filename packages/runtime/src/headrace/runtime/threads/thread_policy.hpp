// The cost model, and every decision about which thread runs what. Nothing else in this package
// holds a threshold of time.
//
// | expected cost of a step     | where it runs                                              |
// |-----------------------------|------------------------------------------------------------|
// | below kHoldGil              | calling thread, which keeps the GIL                        |
// | up to kReleaseGil           | calling thread; keeps the GIL while getting it back is slow |
// | up to kParallel             | calling thread, without the GIL                            |
// | from kParallel              | the intra-op pool, where it is free                        |
// | from kLong, else            | one thread of the inter-op pool; the caller sees signals   |
//
// A unit of a dynamic step is worth another thread of the inter-op pool from kHeavy on, and never
// runs on the thread that must see signals from kLong on.
//
// A step of one segment whose independent kernels would overlap to advantage becomes a dynamic
// step, in which these kernels are units (overlap_saves).
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

namespace headrace {

constexpr double kHoldGil = 5e3;  // ns; giving up the GIL and getting it back costs 0.1 to 10 us
constexpr double kReleaseGil = 50e3;  // others that want the GIL wait no longer than this
constexpr double kHeavy = 20e3;       // waking a thread of the inter-op pool costs 5 to 20 us
constexpr double kParallel = 250e3;   // a hand-over to the intra-op pool costs 5 to 60 us
constexpr double kLong = 2e6;         // longer work keeps signals and the clock waiting
constexpr double kOverlap = 100e3;  // of a kernel, or of what overlapping saves: worth units apart
constexpr int64_t kLookUpNs = 20'000'000;  // how often a long run looks at signals

// A session of another size than the machine is legitimate; one of 1,000,000 threads is a mistake.
inline int core_count() { return std::max(1u, std::thread::hardware_concurrency()); }
inline int most_intra_op_threads() { return std::max(16, 4 * core_count()); }
inline int most_inter_op_threads() { return std::max(64, 16 * core_count()); }

// Nanoseconds that kernels of so much work take on one thread: 33 Gflop/s, 10 GB/s.
inline double expected_ns(double flops, double bytes_moved) {
  return flops * 0.03 + bytes_moved * 0.1;
}

// What an executable costs: what its kernels expect, corrected by what runs took. Racing updates
// lose a sample.
class Cost {
 public:
  double ns(double expected) const {
    const double measured = measured_.load(std::memory_order_relaxed);
    return measured > 0 ? measured : expected;
  }
  bool known() const { return measured_.load(std::memory_order_relaxed) > 0; }
  // Whether to measure this run: the first four, then one of sixteen.
  bool wants_sample() {
    const uint32_t n = runs_.load(std::memory_order_relaxed);
    runs_.store(n + 1, std::memory_order_relaxed);
    return n < 4 || n % 16 == 0;
  }
  // Follows faster runs at once and slower ones slowly: what else ran only adds, and a thread that
  // lost its core for 10 ms must not make a kernel of 1 us look heavy.
  void add_sample(double ns) {
    const double before = measured_.load(std::memory_order_relaxed);
    const double after =
        before <= 0 || ns < before ? ns : std::min(2 * before, before + (ns - before) / 4);
    measured_.store(std::max(1.0, after), std::memory_order_relaxed);
  }

 private:
  std::atomic<double> measured_{0};
  std::atomic<uint32_t> runs_{0};
};

enum Weight : uint8_t {
  LIGHT,  // runs on the thread that walks the step
  HEAVY,  // worth another thread of the inter-op pool
  LONG,   // keeps signals waiting
};

inline Weight weight_of(double ns) { return ns > kLong ? LONG : ns > kHeavy ? HEAVY : LIGHT; }

// What a step would take if its heavy kernels ran on the threads of a pool beside one another.
struct OverlapFacts {
  double wall_ns;        // what a run takes now
  double one_thread_ns;  // all kernels, each on one thread
  double heavy_ns;       // those from kOverlap on
  double longest_ns;     // the longest chain of these
  int threads;           // of the inter-op pool, on cores of their own
};

inline int overlap_threads(int pool) { return std::min(pool, core_count()); }

inline bool overlap_saves(const OverlapFacts& step) {
  if (step.threads < 2 || step.heavy_ns - step.longest_ns < kOverlap) return false;
  const double overlapped =
      step.one_thread_ns - step.heavy_ns + std::max(step.longest_ns, step.heavy_ns / step.threads);
  return overlapped < 0.8 * step.wall_ns && step.wall_ns - overlapped > kOverlap;
}

enum class Place : uint8_t { kHoldGil, kBackoff, kCaller, kIntraOp, kInterOp };

struct StepFacts {
  double ns;
  bool measured;      // ns was measured at least once
  bool calls_python;  // or may block: never holds the GIL
  bool watched;       // the calling thread is the one that sees signals
  bool in_pool;       // the calling thread belongs to one of our pools
  int intra_op_threads;
};

inline Place place_of(const StepFacts& step) {
  if (step.intra_op_threads > 1 && step.ns > kParallel && !step.in_pool) return Place::kIntraOp;
  // An estimate may be far off: until it is measured, the thread that sees signals only watches.
  const bool is_long = step.ns >= kLong || (!step.measured && step.watched && step.ns > kHoldGil);
  if (is_long && !step.in_pool && !step.calls_python) return Place::kInterOp;
  if (step.calls_python)
    return step.ns >= kLong && !step.in_pool ? Place::kInterOp : Place::kCaller;
  if (step.ns < kHoldGil) return Place::kHoldGil;
  if (step.ns < kReleaseGil) return Place::kBackoff;
  return Place::kCaller;
}

}  // namespace headrace
