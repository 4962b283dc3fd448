// The instructions that _FusedElementwise supports.
#ifndef HEADRACE_CPU_ELEMENTWISE_FUSED_FUSED_HPP
#define HEADRACE_CPU_ELEMENTWISE_FUSED_FUSED_HPP

namespace hr {

struct FusedInstruction {
  const char* name;       // the op that it computes
  int operands;           // in the order of the op's inputs
  const char* attribute;  // of the op, the instruction's last operand; null: none
};

int fused_instruction_count();
FusedInstruction fused_instruction(int i);

}  // namespace hr

#endif
