// Pairs of instructions of a program that run as one loop.
#ifndef HEADRACE_CPU_ELEMENTWISE_FUSED_PAIRS_HPP
#define HEADRACE_CPU_ELEMENTWISE_FUSED_PAIRS_HPP

#include "ops/elementwise/fused/instructions.hpp"

namespace hr::fused {

// Of floats: second(first(a, b), c), or where `turned` second(c, first(a, b)). Bit k of moves:
// operand k has n values. null: no loop computes both.
Loop pair_loop(const char* first, const char* second, bool turned, int moves);

}  // namespace hr::fused

#endif
