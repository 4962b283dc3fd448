// The instructions of _FusedElementwise and _FusedReduction, as loops over blocks.
#ifndef HEADRACE_CPU_ELEMENTWISE_FUSED_INSTRUCTIONS_HPP
#define HEADRACE_CPU_ELEMENTWISE_FUSED_INSTRUCTIONS_HPP

#include "library/elementwise/instruction_table.hpp"

namespace hr::fused {

// in[k] has one value where bit k of the loop's index is 0, else n.
using Loop = void (*)(const void* const* in, void* out, int64_t n);
struct Loops {
  Loop by_moves[1 << kMostOperands];
};

// The loops of an instruction that is no cast; `rep`, which its set holds, of the last operand.
const Loops& loops_of(const Instruction& instruction, Rep rep);
Loop cast_loop(Rep from, Rep to);

// In place: to the nearest half or bfloat16.
void round_block(hr_dtype dtype, float* values, int64_t n);
// From and to the memory of tensors whose dtype is not stored as it is computed.
void load_block(hr_dtype dtype, const void* from, void* to, int64_t n);
void store_block(hr_dtype dtype, const float* from, void* to, int64_t n);

}  // namespace hr::fused

#endif
