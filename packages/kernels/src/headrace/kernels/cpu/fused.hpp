// The instructions that _FusedElementwise understands.
#ifndef HEADRACE_CPU_FUSED_HPP
#define HEADRACE_CPU_FUSED_HPP

namespace hr {

struct FusedInstruction {
  const char* name;  // the op that it computes
  int operands;      // 1 or 2, in the order of the op's inputs
};

extern const FusedInstruction* const fused_instructions;
extern const int fused_instruction_count;

}  // namespace hr

#endif
