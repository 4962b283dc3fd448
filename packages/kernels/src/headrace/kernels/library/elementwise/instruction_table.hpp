// The instructions of programs of elementwise ops: what they take, without their loops.
#ifndef HEADRACE_LIBRARY_ELEMENTWISE_INSTRUCTION_TABLE_HPP
#define HEADRACE_LIBRARY_ELEMENTWISE_INSTRUCTION_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headrace/kernel.h"

namespace hr::fused {

// What a value is computed as. half and bfloat16 are floats that are rounded after every
// instruction, integers below 32 bits are int32.
enum Rep { kFloat, kDouble, kInt32, kInt64, kBool, kReps };

constexpr int64_t rep_size(Rep rep) {
  return rep == kBool ? 1 : rep == kFloat || rep == kInt32 ? 4 : 8;
}

// kReps: values of this dtype take part in no program.
constexpr Rep rep_of(hr_dtype dtype) {
  switch (dtype) {
    case HR_FLOAT:
    case HR_HALF:
    case HR_BFLOAT16: return kFloat;
    case HR_DOUBLE: return kDouble;
    case HR_INT8:
    case HR_UINT8:
    case HR_INT16:
    case HR_UINT16:
    case HR_INT32: return kInt32;
    case HR_INT64: return kInt64;
    case HR_BOOL: return kBool;
    default: return kReps;
  }
}

constexpr bool is_rounded(hr_dtype dtype) { return dtype == HR_HALF || dtype == HR_BFLOAT16; }
constexpr bool is_narrow_integer(hr_dtype dtype) {
  return dtype != HR_INT32 && rep_of(dtype) == kInt32;
}
// Whether tensors hold what is computed with.
constexpr bool is_stored_as_computed(hr_dtype dtype) {
  return !is_rounded(dtype) && !is_narrow_integer(dtype);
}

// What an instruction's operands and result are.
enum Kind {
  kSame,       // all of one dtype
  kPredicate,  // operands of one dtype, the result bool
  kChoice,     // bool, then two of one dtype, which is the result's
  kCast,       // to the dtype that the instruction names
};

// The types an instruction knows.
enum Set { kFloats, kNumbers, kBools, kAny };

constexpr bool holds(Set set, int rep) {
  return set == kAny ||
         (set == kBools ? rep == kBool : rep != kBool && (set == kNumbers || rep <= kDouble));
}

constexpr int kMostOperands = 3;

struct Instruction {
  const char* name;  // the op that it computes
  int operands;      // in the order of the op's inputs; AddN takes any number
  Kind kind;
  Set set;                 // of the last operand
  const char* expression;  // over a, b and c, in C++; of an alias: its instruction's name
  bool is_alias;
  bool exact;         // the result of values of half is one without rounding
  bool takes_number;  // a number of any precision is its last operand
};

int instruction_count();
const Instruction& instruction_at(int i);
// null: unknown.
const Instruction* find_instruction(const char* name, size_t size);
// The instruction that has the expression.
const Instruction& without_alias(const Instruction& instruction);

// The ops that _FusedElementwise and _FusedReduction take in.
std::vector<hr_fusible_op> fusible_ops();

}  // namespace hr::fused

#endif
