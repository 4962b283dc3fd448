#include "library/elementwise/instruction_table.hpp"

#include <cstring>

#include "library/elementwise/instruction_list.hpp"

namespace hr::fused {
namespace {

// Values of half stay values of half.
constexpr const char* kExact[] = {"Identity", "StopGradient", "Neg",    "Abs",
                                  "Relu",     "Sign",         "Relu6",  "Maximum",
                                  "Minimum",  "ClipByValue",  "Select", "SelectV2"};

// Whose last operand is a number that the op has as an attribute, and does not round to half.
constexpr const char* kWithNumber[] = {"LeakyRelu", "LeakyReluGrad"};

constexpr int kMost = 96;

struct Table {
#define SAME(Name, operands, expression, set) \
  {#Name, operands, kSame, set, #expression, false, false, false},
#define PREDICATE(Name, operands, expression, set) \
  {#Name, operands, kPredicate, set, #expression, false, true, false},
#define ALIAS(Name, Op, operands, set) {#Name, operands, kSame, set, #Op, true, false, false},
  Instruction instructions[kMost] = {HR_ALL_SAME(SAME) HR_ALL_ALIASES(ALIAS)
                                         HR_ALL_PREDICATES(PREDICATE)  //
                                     {"Select", 3, kChoice, kAny, "a ? b : c", false, true, false},
                                     {"SelectV2", 3, kChoice, kAny, "Select", true, true, false},
                                     {"Cast", 1, kCast, kAny, "a", false, false, false}};
  int count = 0;
  Table() {
    while (count < kMost && instructions[count].name) {
      Instruction& instruction = instructions[count++];
      for (const char* name : kExact) instruction.exact |= !std::strcmp(name, instruction.name);
      for (const char* name : kWithNumber)
        instruction.takes_number |= !std::strcmp(name, instruction.name);
    }
  }
};

const Table& table() {
  static const Table created;
  return created;
}

}  // namespace

int instruction_count() { return table().count; }
const Instruction& instruction_at(int i) { return table().instructions[i]; }

const Instruction* find_instruction(const char* name, size_t size) {
  for (int i = 0; i < table().count; ++i)
    if (std::strlen(table().instructions[i].name) == size &&
        !std::memcmp(table().instructions[i].name, name, size))
      return &table().instructions[i];
  return nullptr;
}

const Instruction& without_alias(const Instruction& instruction) {
  if (!instruction.is_alias) return instruction;
  return *find_instruction(instruction.expression, std::strlen(instruction.expression));
}

std::vector<hr_fusible_op> fusible_ops() {
  std::vector<hr_fusible_op> ops;
  for (int i = 0; i < instruction_count(); ++i) {
    const char* name = instruction_at(i).name;
    ops.push_back({"_FusedElementwise", name, HR_FUSE_INSTRUCTION, name,
                   instruction_at(i).takes_number ? "alpha" : nullptr, nullptr});
  }
  for (const char* name : {"Sum", "Mean", "Max", "Min", "All", "Any"})
    ops.push_back({"_FusedReduction", name, HR_FUSE_REDUCTION, name, nullptr, nullptr});
  return ops;
}

}  // namespace hr::fused
