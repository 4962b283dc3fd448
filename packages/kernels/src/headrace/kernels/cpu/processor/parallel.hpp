// Divides a loop among the threads of the intra-op pool (OpenMP) if it is large enough.
#ifndef HEADRACE_CPU_PROCESSOR_PARALLEL_HPP
#define HEADRACE_CPU_PROCESSOR_PARALLEL_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "headrace/kernel.h"
#include "library/poll.hpp"
#include "library/variable_updates.hpp"

namespace hr {

// A thread's least share of simple arithmetic: over this many bytes it takes about 5 us, which
// is what waking the pool costs.
constexpr int64_t kGrainBytes = 256 * 1024;

// Iterations a thread should at least have, if one touches that many bytes.
inline int64_t grain_of(int64_t bytes_per_iteration) {
  return std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, bytes_per_iteration));
}

// A thread of the pool is in the middle of the updates of the thread that it helps.
class HelpsUpdates {
 public:
  explicit HelpsUpdates(int updates) : before_(std::exchange(updates_of_thread(), updates)) {}
  ~HelpsUpdates() { updates_of_thread() = before_; }
  HelpsUpdates(const HelpsUpdates&) = delete;

 private:
  const int before_;
};

// How many elements a simple loop handles in about 10 ms: after so many it polls.
constexpr int64_t kElementsBetweenPolls = 4 << 20;

// An exception must not leave a parallel region: the first is kept and thrown after it.
class ThrownInPool {
 public:
  void keep() noexcept {
    if (!taken_.exchange(true)) first_ = std::current_exception();
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr first_;
};

// Where piece `i` of `pieces` begins; the product with total itself might overflow.
inline int64_t piece_start(int64_t total, int64_t i, int64_t pieces) {
  return total / pieces * i + total % pieces * i / pieces;
}

// What parallel_ranges calls, compiled once: a template would compile every loop four times, for
// one thread and several, and for whole stretches and the rest. In parallel.cpp.
using RangeBody = void (*)(void* body, int64_t begin, int64_t end);
void run_ranges(hr_ctx* ctx, int64_t total, int64_t grain, RangeBody call, void* body);

// body(begin, end) over [0, total): one piece per thread, none smaller than grain, each of which
// polls. body is called several times by a thread where the piece is long: what it sums up per
// thread goes on from what is there.
template <class Body>
inline void parallel_ranges(hr_ctx* ctx, int64_t total, int64_t grain, Body&& body) {
  using Function = std::remove_reference_t<Body>;
  run_ranges(
      ctx, total, grain,
      [](void* f, int64_t begin, int64_t end) { (*static_cast<Function*>(f))(begin, end); },
      const_cast<std::remove_const_t<Function>*>(&body));
}

// As parallel_ranges, for iterations that take long: each thread looks at the cancellation of the
// step after every `step` of them. body is called many times a thread.
template <class Body>
inline void parallel_polled(hr_ctx* ctx, int64_t total, int64_t grain, int64_t step, Body&& body) {
  parallel_ranges(ctx, total, grain, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += step) {
      poll(ctx);
      body(begin, std::min(end, begin + step));
    }
  });
}

// As above, with pieces that begin at multiples of `block` (a power of two suits caches).
template <class Body>
inline void parallel_blocks(hr_ctx* ctx, int64_t total, int64_t block, int64_t grain, Body&& body) {
  const int64_t blocks = (total + block - 1) / block;
  parallel_ranges(
      ctx, blocks, std::max<int64_t>(1, grain / block),
      [&](int64_t begin, int64_t end) { body(begin * block, std::min(total, end * block)); });
}

// body(task, thread) for each of n_tasks, on at most `threads` threads, which take the tasks one by
// one: a thread that loses its core to something else leaves the rest to the others. False: the
// step was cancelled, and some tasks were left out.
template <class Body>
inline bool parallel_tasks(hr_ctx* ctx, int64_t n_tasks, int64_t threads, Body&& body) {
  std::atomic<int64_t> next{0};
  std::atomic<bool> all{true};
  const int updates = updates_of_thread();
  const auto take = [&](int64_t thread) {
    const HelpsUpdates helps(updates);
    for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < n_tasks;) {
      if (ctx->cancelled && should_end(ctx)) {
        all = false;
        return;
      }
      body(task, thread);
    }
  };
#ifdef _OPENMP
  const int64_t members = std::min<int64_t>({ctx->threads, threads, n_tasks});
  if (members > 1) {
#pragma omp parallel num_threads(int(members))
    take(omp_get_thread_num());
    return all;
  }
#endif
  take(0);
  return all;
}

// The most threads that parallel_ranges will use: to size per-thread scratch.
inline int64_t most_threads(const hr_ctx* ctx) { return std::max<int32_t>(1, ctx->threads); }

inline int this_thread() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

}  // namespace hr

#endif
