// Arithmetic of two operands, and gradients of that form: Add, Mul, FloorMod, Pow, ...
#include "loops/binary_loops.hpp"
#include "math/arithmetic.hpp"
#include "math/vector_math.hpp"

namespace hr {
namespace {

#define OP(Name, Kind, expression)                               \
  struct Name : Kind {                                           \
    template <class T> static HR_INLINE T apply(T a, T b) {      \
      return T(expression);                                      \
    }                                                            \
  }

OP(Plus, SignlessOp, plus(a, b));
OP(Minus, SignlessOp, minus(a, b));
OP(Times, SignlessOp, times(a, b));
OP(Larger, VectorOp, larger(a, b));
OP(Smaller, VectorOp, smaller(a, b));
OP(DivideNoNan, VectorOp, b == T(0) ? T(0) : T(a / b));
OP(TimesNoNan, VectorOp, b == T(0) ? T(0) : times(a, b));
OP(SquaredDifference, SignlessOp, times(conjugate(minus(a, b)), minus(a, b)));
OP(Atan2, ScalarOp, std::atan2(a, b));
OP(NextAfter, ScalarOp, std::nextafter(a, b));
OP(DivideZeroByAny, ScalarOp, a == T(0) ? T(0) : T(a / b));

struct TimesLog : ScalarOp {
  template <class T> static T apply(T a, T b) { return a == T(0) ? T(0) : a * std::log(b); }
};
struct TimesLog1p : ScalarOp {
  template <class T> static T apply(T a, T b) {
    if constexpr (is_complex<T>) return a == T(0) ? T(0) : a * std::log(T(1) + b);
    else return a == T(0) ? T(0) : a * std::log1p(b);
  }
};

// Division. A divisor of 0 fails for integers; for floats it gives infinity or NaN.
OP(DivideFloats, VectorOp, a / b);
OP(FloorQuotientFloats, VectorOp, std::floor(a / b));
OP(TruncateQuotientFloats, VectorOp, std::trunc(a / b));
OP(FloorRemainderFloats, ScalarOp, floored_remainder(a, b));
OP(TruncateRemainderFloats, ScalarOp, std::fmod(a, b));

#define INTEGER_OP(Name, expression)                               \
  struct Name : ScalarOp {                                         \
    static constexpr const char* fault = "Integer division by zero"; \
    template <class T> static bool faulty(T, T b) { return b == 0; } \
    template <class T> static T apply(T a, T b) { return expression; } \
  }
INTEGER_OP(DivideIntegers, truncated_quotient(a, b));
INTEGER_OP(FloorQuotientIntegers, floored_quotient(a, b));
INTEGER_OP(FloorRemainderIntegers, floored_remainder(a, b));
INTEGER_OP(TruncateRemainderIntegers, truncated_remainder(a, b));

OP(PowerFloats, ScalarOp, std::pow(a, b));
struct PowerIntegers : ScalarOp {
  static constexpr const char* fault = "Integers to negative integer powers are not allowed";
  template <class T> static bool faulty(T, T b) { return b < 0; }
  template <class T> static T apply(T a, T b) { return integer_power(a, b); }
};

// Gradients, from the result y = a and the gradient dy = b.
// TensorFlow's callers conjugate y for these two, its kernels for the three after them.
OP(SigmoidGrad, VectorOp, times(b, times(a, minus(T(1), a))));
OP(TanhGrad, VectorOp, times(b, minus(T(1), times(a, a))));
// No gradient stays none, also where y is infinite or, of SqrtGrad, 0.
OP(SqrtGrad, VectorOp, b == T(0) ? T(0) : T(times(b, T(0.5)) / conjugate(a)));
OP(RsqrtGrad, VectorOp,
   b == T(0) ? T(0)
             : times(times(b, T(-0.5)), times(conjugate(a), times(conjugate(a), conjugate(a)))));
OP(ReciprocalGrad, VectorOp,
   b == T(0) ? T(0) : T(negative(times(b, times(conjugate(a), conjugate(a))))));

using FloatsAndComplexes = Join<Floats, Complexes>;

// One op for integers, another for the rest.
template <class IntegerOp, class FloatOp, class FloatSet>
hr_code prepare_division(void*, hr_request* r) {
  const hr_dtype dtype = r->inputs[0]->dtype;
  const BinaryLoops* loops = binary::loops_for<FloatOp, FloatSet>(dtype);
  return binary::prepare_broadcast(r,
                                   loops ? loops : binary::loops_for<IntegerOp, Integers>(dtype));
}

hr_code prepare_power(void*, hr_request* r) {
  const hr_dtype dtype = r->inputs[0]->dtype;
  const BinaryLoops* loops = binary::loops_for<PowerFloats, FloatsAndComplexes>(dtype);
  return binary::prepare_broadcast(r,
                                   loops ? loops : binary::loops_for<PowerIntegers, Signed>(dtype));
}

template <class Op, class Set> constexpr KernelRegistration in_place(const char* op,
                                                                     const char* constraint) {
  return kernel(op, constraint, binary::prepare<Op, Set>).reuses(0, 1);
}
template <class Op> constexpr KernelRegistration gradient(const char* op) {
  return kernel(op, "T=" HR_FLOATS "|" HR_COMPLEXES, binary::prepare_merged<Op, FloatsAndComplexes>)
      .reuses(0, 1);
}

}  // namespace

HR_KERNELS = {
    in_place<Plus, Numbers>("AddV2", "T=" HR_NUMBERS),
    in_place<Plus, Numbers>("Add", "T=" HR_NUMBERS),
    in_place<Minus, Numbers>("Sub", "T=" HR_NUMBERS),
    in_place<Times, Numbers>("Mul", "T=" HR_NUMBERS),
    in_place<TimesNoNan, FloatsAndComplexes>("MulNoNan", "T=" HR_FLOATS "|" HR_COMPLEXES),
    in_place<DivideNoNan, FloatsAndComplexes>("DivNoNan", "T=" HR_FLOATS "|" HR_COMPLEXES),
    in_place<DivideZeroByAny, FloatsAndComplexes>("Xdivy", "T=" HR_FLOATS "|" HR_COMPLEXES),
    in_place<TimesLog, FloatsAndComplexes>("Xlogy", "T=" HR_FLOATS "|" HR_COMPLEXES),
    in_place<TimesLog1p, FloatsAndComplexes>("Xlog1py", "T=" HR_FLOATS "|" HR_COMPLEXES),
    in_place<Larger, Reals>("Maximum", "T=" HR_REALS),
    in_place<Smaller, Reals>("Minimum", "T=" HR_REALS),
    in_place<SquaredDifference, Join<FloatsAndComplexes, Indices>>(
        "SquaredDifference", "T=" HR_FLOATS "|" HR_COMPLEXES "|" HR_INDICES),
    in_place<Atan2, Floats>("Atan2", "T=" HR_FLOATS),
    in_place<NextAfter, WideFloats>("NextAfter", "T=" HR_WIDE_FLOATS),
    kernel("RealDiv", "T=" HR_NUMBERS,
           prepare_division<DivideIntegers, DivideFloats, FloatsAndComplexes>)
        .reuses(0, 1),
    kernel("Div", "T=" HR_NUMBERS,
           prepare_division<DivideIntegers, DivideFloats, FloatsAndComplexes>)
        .reuses(0, 1),
    kernel("FloorDiv", "T=" HR_REALS,
           prepare_division<FloorQuotientIntegers, FloorQuotientFloats, Floats>)
        .reuses(0, 1),
    kernel("TruncateDiv", "T=" HR_REALS,
           prepare_division<DivideIntegers, TruncateQuotientFloats, Floats>)
        .reuses(0, 1),
    kernel("FloorMod", "T=" HR_REALS,
           prepare_division<FloorRemainderIntegers, FloorRemainderFloats, Floats>)
        .reuses(0, 1),
    kernel("TruncateMod", "T=" HR_FLOATS "|" HR_INDICES,
           prepare_division<TruncateRemainderIntegers, TruncateRemainderFloats, Floats>)
        .reuses(0, 1),
    kernel("Mod", "T=" HR_FLOATS "|" HR_INDICES,
           prepare_division<TruncateRemainderIntegers, TruncateRemainderFloats, Floats>)
        .reuses(0, 1),
    kernel("Pow", "T=" HR_FLOATS "|" HR_COMPLEXES "|" HR_SIGNED, prepare_power).reuses(0, 1),
    gradient<SigmoidGrad>("SigmoidGrad"),
    gradient<TanhGrad>("TanhGrad"),
    gradient<SqrtGrad>("SqrtGrad"),
    gradient<RsqrtGrad>("RsqrtGrad"),
    gradient<ReciprocalGrad>("ReciprocalGrad"),
    gradient<ReciprocalGrad>("InvGrad"),
};

}  // namespace hr
