// The folds of Sum, Mean, Max, ... for kernels that compute their input block by block.
#ifndef HEADRACE_CPU_LOOPS_REDUCTION_FOLD_HPP
#define HEADRACE_CPU_LOOPS_REDUCTION_FOLD_HPP

#include <cstdint>
#include <string_view>

#include "headrace/kernel.h"

namespace hr {

// The results are those of the reduction's own kernel, bit for bit, if it is called as that folds:
// in blocks of kFoldBlock elements from the beginning of each row, and where everything is reduced
// to one number, in chunks of kBlocksOfChunk blocks.
constexpr int64_t kFoldBlock = 1024, kBlocksOfChunk = 64;

struct Fold {
  int64_t total_size;
  // A whole row of at most one block.
  void (*row)(const void* x, int64_t n, void* out);
  void (*block)(const void* x, int64_t n, void* total);
  // Folds totals[0...n) from left to right, from the start value.
  void (*combine)(const void* totals, int64_t n, void* total);
  // As combine, beginning with the first.
  void (*combine_chunks)(const void* totals, int64_t n, void* total);
  void (*finish)(const void* total, int64_t n, void* out);
};

// null: that op does not fold that dtype here.
const Fold* fold_of(std::string_view op, hr_dtype dtype);

}  // namespace hr

#endif
