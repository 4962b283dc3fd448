// TopK: the largest elements of each row.
#include <algorithm>

#include "codegen/element.hpp"
#include "launch/sequence.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

struct Rows {
  int64_t rows;
  int32_t n, k;
};

const Kernel* top_kernel(hr_request* r, const std::string& more, const char* function,
                         std::string* error) {
  return find_kernel(
      device_of(r), "top_k.cl",
      value_option(r->inputs[0]->dtype) + " -DI=" + storage_type(r->outputs[1]->dtype) + more,
      function, error);
}

// On a processor: an item for each row, with a heap of the k first ones.
bool add_heaps(hr_request* r, const Rows& s, Sequence* to, std::string* error) {
  const Kernel* kernel = top_kernel(r, "", "top_k", error);
  if (!kernel) return false;
  to->add(*kernel, Grid::of(size_t(s.rows), 1), Place::input(0), Place::output(0), Place::output(1),
          to->reserve(s.rows * s.k * int64_t(sizeof(int32_t))), s.n, s.k);
  return true;
}

// How many pieces each row is cut into where there are too few rows for the device.
int32_t pieces_of(const Traits& traits, const Rows& s) {
  constexpr int64_t kLeast = 4096, kMost = 512;  // elements of a piece; pieces
  const int64_t wanted = 8 * int64_t(traits.compute_units) / s.rows;
  return int32_t(std::clamp<int64_t>(std::min(wanted, s.n / kLeast), 1, kMost));
}

// On a GPU, with small k: a work-group for each row, or for each piece of one, and then for the
// candidates that those leave.
bool add_rounds(hr_request* r, const Rows& s, Sequence* to, std::string* error) {
  constexpr int32_t kLeast = 32;
  const Traits& traits = device_of(r).traits;
  const auto most = int32_t(std::min<size_t>(256, traits.max_work_group));
  int32_t group = kLeast;
  while (group < s.n && 2 * group <= most) group *= 2;
  const std::string defines = " -DGROUP=" + std::to_string(group);
  const Kernel* top = top_kernel(r, defines, "top_k", error);
  if (!top) return false;
  const auto groups = [&](int64_t count) { return Grid::of(size_t(count * group), size_t(group)); };
  const int32_t pieces = pieces_of(traits, s);
  Place numbers = Place::input(0);
  if (pieces > 1) {
    const Kernel* of_pieces = top_kernel(r, defines, "top_of_pieces", error);
    if (!of_pieces) return false;
    numbers = to->reserve(s.rows * pieces * s.k * int64_t(sizeof(int32_t)));
    to->add(*of_pieces, groups(s.rows * pieces), Place::input(0), numbers, s.n, s.k, pieces,
            (s.n + pieces - 1) / pieces);
  }
  to->add(*top, groups(s.rows), Place::input(0), Place::output(0), Place::output(1), numbers, s.n,
          s.k, pieces > 1 ? pieces * s.k : 0);
  return true;
}

// On a GPU, with large k: sorts the rows, within blocks in local memory.
bool add_sort(hr_request* r, const Rows& s, Sequence* to, std::string* error) {
  const Traits& traits = device_of(r).traits;
  int32_t width = 2;
  while (width < s.n) width *= 2;
  constexpr int64_t kPlace = 12;  // bytes of local memory: a key and a number
  int32_t block = std::min(width, 2048);
  while (block > 2 && block * kPlace > int64_t(traits.local_memory)) block /= 2;
  int32_t group = std::min(block / 2, 256);
  while (group > 1 && size_t(group) > traits.max_work_group) group /= 2;
  const std::string defines =
      " -DBLOCK=" + std::to_string(block) + " -DGROUP=" + std::to_string(group);
  const Kernel* blocks = top_kernel(r, defines, "order_blocks", error);
  const Kernel* pair = blocks ? top_kernel(r, defines, "order_pairs", error) : nullptr;
  const Kernel* take = pair ? top_kernel(r, defines, "take_first", error) : nullptr;
  if (!take) return false;
  const int64_t all = s.rows * width, results = s.rows * s.k;
  const Place order = to->reserve(all * int64_t(sizeof(int32_t)));
  const auto add_blocks = [&](int32_t first, int32_t last) {
    to->add(*blocks, Grid::of(size_t(all / block * group), size_t(group)), Place::input(0), order,
            s.n, width, first, last);
  };
  constexpr size_t kGroup = 256;
  add_blocks(2, block);
  for (int64_t run = 2 * int64_t(block); run <= width; run *= 2) {
    for (int64_t distance = run / 2; distance >= block; distance /= 2)
      to->add(*pair, Grid::of(size_t(all / 2), kGroup), Place::input(0), order, all / 2, s.n, width,
              int32_t(run), int32_t(distance));
    add_blocks(int32_t(run), int32_t(run));
  }
  to->add(*take, Grid::of(size_t(results), kGroup), Place::input(0), Place::output(0),
          Place::output(1), order, results, s.n, s.k, width);
  return true;
}

hr_code prepare_top(void*, hr_request* r) {
  if (r->node->n_inputs == 2) HR_APPLY_RULE(top_k_v2, r);
  else HR_APPLY_RULE(top_k, r);
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  if (const char* why = why_not(device_of(r), x->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  const int64_t n = x->dims[x->rank - 1];
  constexpr int64_t kMost = int64_t(1) << 30;  // a power of two
  if (n > kMost)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "rows of %lld elements: at most %lld", (long long)n,
                           (long long)kMost);
  auto sequence = std::make_unique<Sequence>();
  if (hr_elements(y) == 0) return run_sequence(r, std::move(sequence));
  const Rows s{product(x->dims, 0, x->rank - 1), int32_t(n), int32_t(y->dims[y->rank - 1])};
  constexpr int32_t kFew = 32;
  const auto add = device_of(r).traits.is_cpu ? add_heaps : s.k <= kFew ? add_rounds : add_sort;
  std::string error;
  if (!add(r, s, sequence.get(), &error))
    return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  return run_sequence(r, std::move(sequence));
}

#define TYPES "T=" HR_FLOATS "|int64"

}  // namespace

HR_KERNELS = {
    kernel("TopKV2", TYPES ";index_type=int32|int64|int16", prepare_top).constant(1),
    kernel("TopK", TYPES, prepare_top),
};

}  // namespace hr::cl
