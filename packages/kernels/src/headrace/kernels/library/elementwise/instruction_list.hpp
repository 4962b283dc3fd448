// The instructions of programs of elementwise ops, each with its expression over operands a, b, c
// of type T. The CPU's loops are compiled from them, and accelerators get them as the text of
// kernels.
//
// Each computes what the kernel of its op computes, bit for bit: the expressions equal those of
// unary.cpp, binary.cpp, activations.cpp, leaky_relu.cpp, comparison.cpp, select.cpp and cast.cpp.
// Integer division is not among them: division by zero is an error, and an instruction cannot fail.
// Neither is the remainder of floats: it is compute-bound, and takes a third longer in a chain.
#ifndef HEADRACE_LIBRARY_ELEMENTWISE_INSTRUCTION_LIST_HPP
#define HEADRACE_LIBRARY_ELEMENTWISE_INSTRUCTION_LIST_HPP

// X(name, operands, expression, types), all operands and the result of one type
#define HR_ALL_SAME(X)                                                                          \
  X(Identity, 1, a, kAny)                                                                       \
  X(Neg, 1, negative(a), kNumbers) X(Abs, 1, magnitude(a), kNumbers)                            \
  X(Relu, 1, a < T(0) ? T(0) : a, kNumbers)                                                     \
  X(Square, 1, times(a, a), kNumbers)                                                           \
  X(Sign, 1, a != a ? a : T((a > T(0)) - (a < T(0))), kNumbers)                                 \
  X(Sqrt, 1, std::sqrt(a), kFloats) X(Rsqrt, 1, vm::rsqrt(a), kFloats)                          \
  X(Exp, 1, vm::exp(a), kFloats) X(Expm1, 1, vm::expm1(a), kFloats)                             \
  X(Log, 1, vm::log(a), kFloats) X(Log1p, 1, vm::log1p(a), kFloats)                             \
  X(Tanh, 1, vm::tanh(a), kFloats) X(Sigmoid, 1, vm::sigmoid(a), kFloats)                       \
  X(Reciprocal, 1, T(1) / a, kFloats)                              \
  X(Relu6, 1, a < T(0) ? T(0) : (a > T(6) ? T(6) : a), kFloats)                                 \
  X(Elu, 1, a < T(0) ? vm::expm1(a) : a, kFloats)                                               \
  X(Selu, 1, a < T(0) ? T(kSeluScaleAlpha) * vm::expm1(a) : T(kSeluScale) * a, kFloats)         \
  X(Softsign, 1, a / (T(1) + std::fabs(a)), kFloats)                                            \
  X(Softplus, 1, (a > T(0) ? a : T(0)) + vm::log1p(vm::exp(-std::fabs(a))), kFloats)            \
  X(Erf, 1, std::erf(a), kFloats) X(Erfc, 1, std::erfc(a), kFloats)                             \
  X(Floor, 1, std::floor(a), kFloats) X(Ceil, 1, std::ceil(a), kFloats)                         \
  X(Rint, 1, std::nearbyint(a), kFloats)                \
  X(Sin, 1, vm::sin(a), kFloats) X(Cos, 1, vm::cos(a), kFloats)                                 \
  X(LogicalNot, 1, !a, kBools)                                                                  \
  X(Add, 2, plus(a, b), kNumbers)                             \
  X(Sub, 2, minus(a, b), kNumbers) X(Mul, 2, times(a, b), kNumbers)                             \
  X(Maximum, 2, larger(a, b), kNumbers) X(Minimum, 2, smaller(a, b), kNumbers)                  \
  X(SquaredDifference, 2, times(minus(a, b), minus(a, b)), kNumbers)                            \
  X(RealDiv, 2, a / b, kFloats)                                       \
  X(FloorDiv, 2, std::floor(a / b), kFloats) X(TruncateDiv, 2, std::trunc(a / b), kFloats)      \
  X(DivNoNan, 2, b == T(0) ? T(0) : a / b, kFloats)                                             \
  X(MulNoNan, 2, b == T(0) ? T(0) : a * b, kFloats)                                             \
  X(Pow, 2, std::pow(a, b), kFloats)                                                            \
  X(LeakyRelu, 2, a > T(0) ? a : a * b, kFloats)                                                \
  X(LeakyReluGrad, 3, b > T(0) ? a : a * c, kFloats)                                            \
  X(ReluGrad, 2, a * T(b > T(0)), kFloats)                                                      \
  X(Relu6Grad, 2, a * T(b > T(0) && b < T(6)), kFloats)                                         \
  X(EluGrad, 2, b < T(0) ? a * (b + T(1)) : a, kFloats)                                         \
  X(SeluGrad, 2, b < T(0) ? a * (b + T(kSeluScaleAlpha)) : a * T(kSeluScale), kFloats)          \
  X(SoftplusGrad, 2, a / (T(1) + vm::exp(-b)), kFloats)                                         \
  X(SoftsignGrad, 2, a / ((T(1) + std::fabs(b)) * (T(1) + std::fabs(b))), kFloats)              \
  X(SigmoidGrad, 2, times(b, times(a, minus(T(1), a))), kFloats)                                \
  X(TanhGrad, 2, times(b, minus(T(1), times(a, a))), kFloats)                                   \
  X(SqrtGrad, 2, b == T(0) ? T(0) : times(b, T(0.5)) / a, kFloats)                              \
  X(RsqrtGrad, 2, b == T(0) ? T(0) : times(times(b, T(-0.5)), times(a, times(a, a))), kFloats)  \
  X(ReciprocalGrad, 2, b == T(0) ? T(0) : negative(times(b, times(a, a))), kFloats)             \
  X(LogicalAnd, 2, a & b, kBools) X(LogicalOr, 2, a | b, kBools)                                \
  X(ClipByValue, 3, clipped(a, b, c), kNumbers)

// X(name, operands, expression, types), the result is bool
#define HR_ALL_PREDICATES(X)                                                                    \
  X(IsNan, 1, a != a, kFloats)                                                                  \
  X(IsInf, 1, std::fabs(a) == kInfinity, kFloats)                      \
  X(IsFinite, 1, std::fabs(a) < kInfinity, kFloats)                        \
  X(Equal, 2, a == b, kAny) X(NotEqual, 2, a != b, kAny)                                        \
  X(Less, 2, a < b, kNumbers) X(LessEqual, 2, a <= b, kNumbers)                                 \
  X(Greater, 2, a > b, kNumbers) X(GreaterEqual, 2, a >= b, kNumbers)

// X(name, instruction whose expression it has, operands, types)
#define HR_ALL_ALIASES(X)                                                              \
  X(StopGradient, Identity, 1, kAny)                                                   \
  X(Inv, Reciprocal, 1, kFloats) X(Round, Rint, 1, kFloats)                            \
  X(AddV2, Add, 2, kNumbers) X(AddN, Add, 2, kNumbers) X(BiasAdd, Add, 2, kNumbers)    \
  X(Div, RealDiv, 2, kFloats) X(InvGrad, ReciprocalGrad, 2, kFloats)

#endif
