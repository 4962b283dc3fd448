// The instructions of _FusedElementwise and _FusedReduction, as loops over blocks.
#ifndef HEADRACE_CPU_ELEMENTWISE_FUSED_INSTRUCTIONS_HPP
#define HEADRACE_CPU_ELEMENTWISE_FUSED_INSTRUCTIONS_HPP

#include "headrace/kernel.h"
#include "table/element_types.hpp"

namespace hr::fused {

// What a block of values consists of. half and bfloat16 are floats that are rounded after every
// instruction, integers below 32 bits are int32.
enum Rep { kFloat, kDouble, kInt32, kInt64, kBool, kReps };

template <int rep> struct RepType;
template <> struct RepType<kFloat> {
  using type = float;
};
template <> struct RepType<kDouble> {
  using type = double;
};
template <> struct RepType<kInt32> {
  using type = int32_t;
};
template <> struct RepType<kInt64> {
  using type = int64_t;
};
template <> struct RepType<kBool> {
  using type = bool;
};

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
// Whether tensors hold what blocks hold.
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

constexpr int kMostOperands = 3;

// in[k] has one value where bit k of the loop's index is 0, else n.
using Loop = void (*)(const void* const* in, void* out, int64_t n);
struct Loops {
  Loop by_moves[1 << kMostOperands];
};

struct Instruction {
  const char* name;  // the op that it computes
  int operands;      // in the order of the op's inputs; AddN takes any number
  Kind kind;
  bool exact;                  // the result of values of half is one without rounding
  const Loops* by_rep[kReps];  // of the last operand; null: no such instruction
  bool takes_number = false;   // a number of any precision is its last operand
};

// null: unknown.
const Instruction* find_instruction(const char* name, size_t size);
Loop cast_loop(Rep from, Rep to);

// In place: to the nearest half or bfloat16.
void round_block(hr_dtype dtype, float* values, int64_t n);
// From and to the memory of tensors whose dtype is not stored as it is computed.
void load_block(hr_dtype dtype, const void* from, void* to, int64_t n);
void store_block(hr_dtype dtype, const float* from, void* to, int64_t n);

}  // namespace hr::fused

#endif
