#include "processor/parallel.hpp"

namespace hr {
namespace {

// After so many grains a loop polls: some 10 ms even where each page is touched for the first time.
constexpr int64_t kGrainsBetweenPolls = 64;

// [begin, end) in stretches, after each of which the loop polls. An iteration that is a grain alone
// may take long: each is a stretch then.
void in_polled_stretches(const hr_ctx* ctx, int64_t begin, int64_t end, int64_t grain,
                         RangeBody call, void* body) {
  const int64_t step =
      grain <= 1 ? 1 : std::min(grain, INT64_MAX / kGrainsBetweenPolls) * kGrainsBetweenPolls;
  for (; end - begin > step; begin += step) {
    call(body, begin, begin + step);
    poll(ctx);
  }
  if (begin < end) call(body, begin, end);
}

}  // namespace

void run_ranges(hr_ctx* ctx, int64_t total, int64_t grain, RangeBody call, void* body) {
#ifdef _OPENMP
  const int64_t pieces = std::min<int64_t>(ctx->threads, total / std::max<int64_t>(1, grain));
  if (pieces > 1) {
    ThrownInPool thrown;
    const int updates = updates_of_thread();
#pragma omp parallel num_threads(int(pieces))
    {
      const HelpsUpdates helps(updates);
      const int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
      const int64_t begin = piece_start(total, me, threads);
      const int64_t end = piece_start(total, me + 1, threads);
      try {
        in_polled_stretches(ctx, begin, end, grain, call, body);
      } catch (...) { thrown.keep(); }
    }
    thrown.rethrow();
    return;
  }
#endif
  in_polled_stretches(ctx, 0, total, grain, call, body);
}

}  // namespace hr
