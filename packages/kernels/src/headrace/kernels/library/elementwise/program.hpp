// A program of elementwise ops, as _FusedElementwise and _FusedReduction carry it.
//
// Each line is "Op target operand...". Operands are inputs i0, i1, ..., earlier targets t0, t1, ...
// and constants c<number>; "Cast target operand dtype" names the dtype to cast to. The last target
// is the result. _FusedReduction ends the program with a line such as "Sum o t3".
#ifndef HEADRACE_LIBRARY_ELEMENTWISE_PROGRAM_HPP
#define HEADRACE_LIBRARY_ELEMENTWISE_PROGRAM_HPP

#include <string>
#include <vector>

#include "library/elementwise/instruction_table.hpp"

namespace hr::fused {

struct Operand {
  enum From { kInput, kTemporary, kConstant } from;
  int32_t index;
};

struct Step {
  const Instruction* instruction;
  Rep rep;  // of the last operand
  int32_t operands;
  Operand operand[kMostOperands];
  hr_dtype result;  // of temporary `target`
  bool rounds;      // the result, to half or bfloat16
  int32_t target;
};

struct Constant {
  double value;
  hr_dtype dtype;
};

struct Program {
  std::vector<Step> steps;
  std::vector<Constant> constants;
  std::vector<hr_dtype> temporaries;
  std::string reduction;   // the op that closes it, or empty
  int64_t value_size = 4;  // bytes of the widest value
};

// Reads the attribute "program" of a node; an error is left on the node.
hr_code read_program(hr_node* node, bool reduces, Program* program);

}  // namespace hr::fused

#endif
