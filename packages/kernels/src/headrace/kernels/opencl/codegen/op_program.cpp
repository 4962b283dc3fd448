#include "codegen/op_program.hpp"

#include <cstring>

namespace hr::cl {

using fused::Operand;
using fused::Program;
using fused::Step;

namespace {

Step step_of(const fused::Instruction& instruction, hr_dtype dtype) {
  Step step{};
  step.instruction = &instruction;
  step.rep = fused::rep_of(dtype);
  step.operands = instruction.operands;
  step.result = instruction.kind == fused::kPredicate ? HR_BOOL : dtype;
  for (int32_t k = 0; k < step.operands; ++k) step.operand[k] = {Operand::kInput, k};
  return step;
}

}  // namespace

Program program_of(const char* instruction, hr_dtype dtype) {
  Program program;
  program.steps.push_back(
      step_of(*fused::find_instruction(instruction, std::strlen(instruction)), dtype));
  return program;
}

Program program_of_sum(int32_t inputs, hr_dtype dtype) {
  if (inputs == 1) return program_of("Identity", dtype);
  Program program;
  for (int32_t i = 1; i < inputs; ++i) {
    Step step = step_of(*fused::find_instruction("Add", 3), dtype);
    if (i > 1) step.operand[0] = {Operand::kTemporary, i - 2};
    step.operand[1] = {Operand::kInput, i};
    step.target = i - 1;
    program.steps.push_back(step);
  }
  return program;
}

Program program_of_op(const hr_node* node) {
  const hr_dtype dtype = node->input_dtypes[node->n_inputs - 1];
  if (!std::strcmp(node->op, "AddN") || !std::strcmp(node->op, "AccumulateNV2"))
    return program_of_sum(node->n_inputs, dtype);
  Program program = program_of(node->op, dtype);
  Step& step = program.steps[0];
  if (step.instruction->takes_number) {
    program.constants.push_back({hr_attr_float(node, "alpha", 0.2f), HR_FLOAT});
    step.operand[step.operands - 1] = {Operand::kConstant, 0};
  }
  return program;
}

}  // namespace hr::cl
