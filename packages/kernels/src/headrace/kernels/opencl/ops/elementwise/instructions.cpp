// Ops that are one instruction of the list that programs are made of: Add, Exp, ReluGrad, Less, ...
#include <algorithm>
#include <cstring>

#include "codegen/elementwise.hpp"
#include "codegen/op_program.hpp"
#include "launch/launch.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

hr_code prepare_one(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  return plan_instruction(r);
}

hr_code prepare_broadcast(void*, hr_request* r) {
  HR_APPLY_RULE(broadcast, r);
  return plan_instruction(r);
}

hr_code prepare_merged(void*, hr_request* r) {
  HR_APPLY_RULE(merge, r);
  return plan_instruction(r);
}

hr_code prepare_clip(void*, hr_request* r) {
  HR_APPLY_RULE(clip_by_value, r);
  return plan_instruction(r);
}

// Shapes that do not broadcast compare as unequal, if the op is told so.
template <bool equal>
hr_code compute_incompatible(hr_ctx* ctx, void*, void*, const hr_tensor* const*,
                             hr_tensor* const* out, void*) {
  const uint8_t result = !equal;
  return fill(ctx, Out{out[0]->data}, &result, 1, 1);
}

template <bool equal> hr_code prepare_equality(void*, hr_request* r) {
  HR_APPLY_RULE(broadcast, r);
  if (r->outputs[0]->rank < std::max(r->inputs[0]->rank, r->inputs[1]->rank)) {
    r->compute = compute_incompatible<equal>;
    return HR_OK;
  }
  return plan_instruction(r);
}

// int32 is left to the host, where shapes and loop counters are computed.
#define FLOATS "T=" HR_FLOATS
#define NUMBERS FLOATS "|int64"

constexpr KernelRegistration one(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_one).reuses(0);
}
constexpr KernelRegistration two(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_broadcast).reuses(0, 1);
}
constexpr KernelRegistration gradient(const char* op) {
  return kernel(op, FLOATS, prepare_merged).reuses(0, 1);
}
constexpr KernelRegistration predicate(const char* op) { return kernel(op, FLOATS, prepare_one); }
constexpr KernelRegistration comparison(const char* op) {
  return kernel(op, NUMBERS, prepare_broadcast);
}

}  // namespace

HR_KERNELS = {
    one("Neg", NUMBERS),
    one("Abs", NUMBERS),
    one("Square", NUMBERS),
    one("Sign", NUMBERS),
    one("Sqrt", FLOATS),
    one("Rsqrt", FLOATS),
    one("Exp", FLOATS),
    one("Expm1", FLOATS),
    one("Log", FLOATS),
    one("Log1p", FLOATS),
    one("Tanh", FLOATS),
    one("Sigmoid", FLOATS),
    one("Reciprocal", FLOATS),
    one("Inv", FLOATS),
    one("Erf", FLOATS),
    one("Erfc", FLOATS),
    one("Floor", FLOATS),
    one("Ceil", FLOATS),
    one("Rint", FLOATS),
    one("Round", FLOATS),
    one("Sin", FLOATS),
    one("Cos", FLOATS),
    one("LogicalNot", nullptr),
    predicate("IsNan"),
    predicate("IsInf"),
    predicate("IsFinite"),
    two("Add", NUMBERS),
    two("AddV2", NUMBERS),
    two("Sub", NUMBERS),
    two("Mul", NUMBERS),
    two("Maximum", NUMBERS),
    two("Minimum", NUMBERS),
    two("SquaredDifference", NUMBERS),
    two("RealDiv", FLOATS),
    two("Div", FLOATS),
    two("FloorDiv", FLOATS),
    two("TruncateDiv", FLOATS),
    two("DivNoNan", FLOATS),
    two("MulNoNan", FLOATS),
    two("Pow", FLOATS),
    two("LogicalAnd", nullptr),
    two("LogicalOr", nullptr),
    comparison("Less"),
    comparison("LessEqual"),
    comparison("Greater"),
    comparison("GreaterEqual"),
    kernel("Equal", NUMBERS "|bool", prepare_equality<true>),
    kernel("NotEqual", NUMBERS "|bool", prepare_equality<false>),
    gradient("SigmoidGrad"),
    gradient("TanhGrad"),
    gradient("SqrtGrad"),
    gradient("RsqrtGrad"),
    gradient("ReciprocalGrad"),
    gradient("InvGrad"),
    kernel("ClipByValue", NUMBERS, prepare_clip).reuses(0),
};

}  // namespace hr::cl
