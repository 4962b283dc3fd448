// The cost model: what kernels are expected to take, and from which time on work moves elsewhere.
//
// All constants of time in this package are here, each with the cost that it was measured against
// (AMD EPYC, two cores). thread_policy.hpp makes the decisions.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace headrace {

// ---- what work costs

// Time per floating-point operation on one thread. 33 Gflop/s is a cautious mean: a product of two
// 500 x 500 float matrices reaches 119 Gflop/s, most other kernels far less.
constexpr double kNsPerFlop = 0.03;
// Time per byte that one thread reads or writes. 10 GB/s is cautious as well: copying 64 MiB
// reaches 63 GB/s on an idle machine, but kernels share the memory bus.
constexpr double kNsPerByte = 0.1;

// Time of calling a kernel, whatever it computes.
constexpr double kNsPerKernel = 100;
// Time of calling a kernel in Python, with the GIL.
constexpr double kNsPerPythonKernel = 20e3;

// ---- what passes between devices

// Between two devices of one process: a reference, and a thread that wakes.
constexpr double kNsBetweenDevices = 20e3;
// Between two tasks: a frame, two threads that wake, and the bytes at 2 GB/s. Between hosts both
// differ by more than ten times: ConfigProto.experimental.transfer_... has them.
constexpr double kNsBetweenTasks = 100e3;
constexpr double kNsPerByteBetweenTasks = 0.5;
// What a transfer takes of the time of either device.
constexpr double kNsToSend = 1e3;
constexpr double kNsToSendToTask = 5e3;
// A placement over several devices is used only if it is expected to take less than this share of
// the time on the first ones: estimates are that wrong.
constexpr double kPlacementGain = 0.9;

// ---- where work runs, in nanoseconds of one thread

// Shorter steps keep the GIL. To release it and take it again costs 0.1 us without contention and
// up to 10 us when another thread waits for it.
constexpr double kHoldGil = 5e3;
// Longer steps always release the GIL, so that other Python threads wait no longer than this.
// CPython's own switch interval is 5 ms.
constexpr double kReleaseGil = 50e3;
// Shorter units run on the thread that executes a dynamic step. To wake a thread of the inter-op
// pool costs 5 to 20 us.
constexpr double kHeavy = 20e3;
// Shorter work runs on one thread. To hand work to the intra-op pool and wait for it costs 5 to
// 60 us, depending on whether its threads still spin.
constexpr double kParallel = 250e3;
// Longer work never runs on the thread that handles signals and timeouts: they would wait for it.
constexpr double kLong = 2e6;
// Kernels from this time on are worth units of their own, and so is a saving of this size, since
// the dynamic executor wakes threads for them (kHeavy).
constexpr double kOverlap = 100e3;
// A step becomes a dynamic one only if it is expected to take less than this share of its time:
// two decompositions that run at the same time are 1.1 to 1.96 times as fast.
constexpr double kOverlapGain = 0.8;
// A team of threads is used for work below kLong only if it takes less than this share of the time
// of one thread: it keeps other programs from its cores.
constexpr double kTeamGain = 0.9;
// A long run handles signals this often: Ctrl-C then seems immediate.
constexpr int64_t kSignalCheckNs = 20'000'000;

// Expected time of kernels on one thread.
inline double expected_ns(double flops, double bytes_moved) {
  return flops * kNsPerFlop + bytes_moved * kNsPerByte;
}

// ---- measured costs

// The first runs are all measured, and then one of each kSampleEvery: two clock reads cost 44 ns.
constexpr uint32_t kFirstSamples = 4;
constexpr uint32_t kSampleEvery = 16;

// The cost of an executable: what its kernels expect until a run is measured. A race between two
// updates loses one sample.
class Cost {
 public:
  double ns(double expected) const {
    const double measured = measured_.load(std::memory_order_relaxed);
    return measured > 0 ? measured : expected;
  }
  bool known() const { return measured_.load(std::memory_order_relaxed) > 0; }
  // Whether this run is to be measured.
  bool wants_sample() {
    const uint32_t n = runs_.load(std::memory_order_relaxed);
    runs_.store(n + 1, std::memory_order_relaxed);
    return n < kFirstSamples || n % kSampleEvery == 0;
  }
  // Adopts faster runs at once and slower ones gradually: other load only adds time, and a thread
  // that loses its core for 10 ms must not make a kernel of 1 us look heavy.
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

}  // namespace headrace
