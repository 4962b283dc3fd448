// GatherTree: follows the beams of a search from their last step back to the first.
#include <algorithm>
#include <atomic>
#include <utility>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

struct Tree {
  int64_t steps, batch, beams;
  const int32_t *ids, *parents, *lengths;
  int32_t end_token;
  int32_t* out;

  int64_t at(int64_t step, int64_t row, int64_t beam) const {
    return (step * batch + row) * beams + beam;
  }

  // Returns the step whose parent does not exist, and that parent, or {-1, 0}.
  std::pair<int64_t, int64_t> follow(int64_t row, int64_t beam) const {
    const int64_t length = std::min<int64_t>(steps, lengths[row]);
    int64_t from = beam;
    for (int64_t step = length - 1; step >= 0; --step) {
      out[at(step, row, beam)] = ids[at(step, row, from)];
      from = parents[at(step, row, from)];
      if (step && (from < 0 || from >= beams)) return {step - 1, from};
    }
    bool ended = false;
    for (int64_t step = 0; step < steps; ++step) {
      int32_t& id = out[at(step, row, beam)];
      if (ended || step >= length) id = end_token;
      ended |= id == end_token;
    }
    return {-1, 0};
  }
};

hr_code compute_tree(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  const int64_t* dims = in[0]->dims;
  const Tree tree{dims[0],
                  dims[1],
                  dims[2],
                  read<int32_t>(in[0]),
                  read<int32_t>(in[1]),
                  read<int32_t>(in[2]),
                  *read<int32_t>(in[3]),
                  write<int32_t>(out[0])};
  const int64_t paths = tree.batch * tree.beams;
  // The first path that is broken, in row-major order.
  std::atomic<int64_t> broken{paths};
  parallel_ranges(ctx, paths, grain_of(tree.steps * 64), [&](int64_t begin, int64_t end) {
    for (int64_t path = begin; path < end; ++path) {
      poll_at(ctx, path);
      if (tree.follow(path / tree.beams, path % tree.beams).first < 0) continue;
      int64_t first = broken.load();
      while (path < first && !broken.compare_exchange_weak(first, path)) {}
      return;
    }
  });
  if (broken == paths) return HR_OK;
  const int64_t row = broken / tree.beams, beam = broken % tree.beams;
  const auto [step, parent] = tree.follow(row, beam);
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "Saw invalid parent id %lld at (batch, time, beam) == (%lld, %lld, %lld): it "
                     "must be in [0, %lld)",
                     (long long)parent, (long long)row, (long long)step, (long long)beam,
                     (long long)tree.beams);
}

hr_code prepare_tree(void*, hr_request* r) {
  HR_APPLY_RULE(gather_tree, r);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("GatherTree", nullptr, prepare_tree, compute_tree),
};

}  // namespace hr
