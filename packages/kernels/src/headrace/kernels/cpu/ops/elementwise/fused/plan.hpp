// Plans how a program of elementwise ops runs on tensors of given shapes.
#ifndef HEADRACE_CPU_ELEMENTWISE_FUSED_PLAN_HPP
#define HEADRACE_CPU_ELEMENTWISE_FUSED_PLAN_HPP

#include <vector>

#include "library/elementwise/program.hpp"
#include "loops/reduction_fold.hpp"
#include "loops/strided.hpp"
#include "ops/elementwise/fused/instructions.hpp"

namespace hr::fused {

constexpr int64_t kBlock = kFoldBlock;

// Where an operand lies, or a result goes.
struct Place {
  enum Kind {
    kNumber,  // one value, computed or converted once
    kBuffer,  // of this thread, filled for each block
    kTiled,   // of this thread, a vector repeated over more than a block
    kWhole,   // an input's own memory, as large as the result
    kRow,     // an input's own memory, a vector longer than a block
    kOne,     // an input's own memory, one value
    kOutput,
  } kind;
  int32_t index;
  int32_t size;  // bytes of a value
};

struct PlannedStep {
  Loop loop;
  int32_t operands;
  Place operand[kMostOperands];
  Place target;
  hr_dtype rounds_to;  // HR_INVALID: not
};

// An input that is converted or spread before it is computed with.
struct InputLoad {
  enum Kind { kNumber, kTile, kConvert, kConvertRow, kSpread } kind;
  int32_t input;
  hr_dtype dtype;
  int32_t from_size, to_size;
  int32_t to;    // a number or a buffer
  Walk<1> walk;  // of kSpread
};

struct Plan {
  std::vector<InputLoad> once, per_thread, per_block;
  std::vector<PlannedStep> numbers, steps;
  std::vector<Constant> constants;
  size_t inputs = 0;
  int32_t n_numbers = 0;  // constants come first
  int32_t buffers = 0;
  int64_t value_size = 4;
  int64_t n = 0;       // values that the program computes
  int64_t vector = 0;  // length of the vectors over the last dimension, or 0
  // Block b begins at b * block, or, where row is not 0, at a multiple of kBlock from its row's
  // beginning.
  int64_t block = kBlock, row = 0, blocks = 0;
  int64_t scratch = 0;           // bytes of a thread
  hr_dtype result = HR_INVALID;  // of the program
  int32_t result_buffer = -1;    // where the result must be converted or folded
  // Of a reduction:
  const Fold* fold = nullptr;
  int64_t rows = 0, length = 0;
};

// Lays the inputs and temporaries out. `values` is the shape that the program computes, n its
// elements; with `fold`, rows of `length` values are folded. False: there is nothing to compute
// with, since no operand of the last step has more than one value.
bool make_plan(const Program& program, hr_request* r, const hr_tensor* values, const Fold* fold,
               int64_t length, Plan* plan);

// Bytes of workspace for so many threads.
size_t workspace_of(const Plan& plan, int32_t threads);

hr_code compute_blocks(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace);
hr_code compute_folded(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace);

}  // namespace hr::fused

#endif
