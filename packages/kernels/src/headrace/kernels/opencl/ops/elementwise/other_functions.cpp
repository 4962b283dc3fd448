// Elementwise ops that programs do not contain: Tan, Asin, FloorMod, Xlogy, ...
#include <cstring>

#include "codegen/elementwise.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

struct Function {
  const char* op;
  int operands;
  const char* expression;  // in OpenCL C, over a and b
};

constexpr Function kFunctions[] = {
    {"Tan", 1, "tan(a)"},
    {"Asin", 1, "asin(a)"},
    {"Acos", 1, "acos(a)"},
    {"Atan", 1, "atan(a)"},
    {"Sinh", 1, "sinh(a)"},
    {"Cosh", 1, "cosh(a)"},
    {"Asinh", 1, "asinh(a)"},
    {"Acosh", 1, "acosh(a)"},
    {"Atanh", 1, "atanh(a)"},
    {"Lgamma", 1, "lgamma(a)"},
    {"Atan2", 2, "atan2(a, b)"},
    {"FloorMod", 2, "fmod(a, b) != 0 && (fmod(a, b) < 0) != (b < 0) ? fmod(a, b) + b : fmod(a, b)"},
    {"Mod", 2, "fmod(a, b)"},
    {"TruncateMod", 2, "fmod(a, b)"},
    {"Xdivy", 2, "a == T(0) ? T(0) : a / b"},
    {"Xlogy", 2, "a == T(0) ? T(0) : a * log(b)"},
    {"Xlog1py", 2, "a == T(0) ? T(0) : a * log1p(b)"},
};

const Function& function_of(const hr_node* node) {
  for (const Function& function : kFunctions)
    if (!std::strcmp(function.op, node->op)) return function;
  return kFunctions[0];
}

hr_code prepare(void*, hr_request* r) {
  const Function& function = function_of(r->node);
  if (function.operands == 1) HR_APPLY_RULE(unchanged, r);
  else HR_APPLY_RULE(broadcast, r);
  return plan_elementwise(r,
                          element_of(function.expression, r->inputs[0]->dtype, function.operands));
}

constexpr KernelRegistration one(const char* op) {
  return kernel(op, "T=" HR_FLOATS, prepare).reuses(0);
}
constexpr KernelRegistration two(const char* op) {
  return kernel(op, "T=" HR_FLOATS, prepare).reuses(0, 1);
}

}  // namespace

HR_KERNELS = {
    one("Tan"),   one("Asin"),        one("Acos"),  one("Atan"),   one("Sinh"),    one("Cosh"),
    one("Asinh"), one("Acosh"),       one("Atanh"), one("Lgamma"), two("Atan2"),   two("FloorMod"),
    two("Mod"),   two("TruncateMod"), two("Xdivy"), two("Xlogy"),  two("Xlog1py"),
};

}  // namespace hr::cl
