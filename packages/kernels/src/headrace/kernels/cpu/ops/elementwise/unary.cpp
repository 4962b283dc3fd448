// Elementwise ops of one operand: Neg, Exp, Sigmoid, IsNan, Real, ...
#include "loops/unary_loops.hpp"
#include "math/arithmetic.hpp"
#include "math/special_functions.hpp"
#include "math/vector_math.hpp"

namespace hr {
namespace {

#define VECTOR(Name, expression)                                           \
  struct Name : unary::Vector {                                            \
    template <class T> static HR_INLINE auto apply(T x) { return expression; } \
  }
#define SIGNLESS(Name, expression)                                         \
  struct Name : unary::Signless {                                          \
    template <class T> static HR_INLINE auto apply(T x) { return expression; } \
  }
#define SCALAR(Name, expression)                                           \
  struct Name : unary::Scalar {                                            \
    template <class T> static auto apply(T x) { return expression; }       \
  }
// One expression for real numbers, vectorised, and another for complex ones.
#define REAL_COMPLEX(Name, real, complex)                                  \
  struct Name : unary::Vector {                                            \
    template <class T> static HR_INLINE T apply(T x) {                     \
      if constexpr (is_complex<T>) return complex;                         \
      else return real;                                                    \
    }                                                                      \
  }

VECTOR(Negative, negative(x));
SIGNLESS(Squared, times(x, x));
REAL_COMPLEX(SquareRoot, std::sqrt(x), std::sqrt(x));
REAL_COMPLEX(InverseRoot, vm::rsqrt(x), T(1) / std::sqrt(x));
REAL_COMPLEX(Exponential, vm::exp(x), std::exp(x));
REAL_COMPLEX(Logarithm, vm::log(x), std::log(x));
REAL_COMPLEX(HyperbolicTangent, vm::tanh(x), std::tanh(x));
REAL_COMPLEX(Logistic, vm::sigmoid(x), T(1) / (T(1) + std::exp(-x)));
REAL_COMPLEX(Log1p, vm::log1p(x), std::log(T(1) + x));
REAL_COMPLEX(Expm1, vm::expm1(x), std::exp(x) - T(1));
VECTOR(Floor, std::floor(x));
VECTOR(Ceil, std::ceil(x));
VECTOR(Not, !x);
SIGNLESS(Inverted, T(~x));
VECTOR(IsNan, x != x);
VECTOR(IsInf, std::fabs(x) == std::numeric_limits<T>::infinity());
VECTOR(IsFinite, std::fabs(x) <= std::numeric_limits<T>::max());
VECTOR(Conjugate, conjugate(x));
VECTOR(RealPart, x.real());
VECTOR(ImaginaryPart, x.imag());
SCALAR(Argument, std::arg(x));
SCALAR(Magnitude, std::abs(x));

struct Absolute : unary::Vector {
  template <class T> static HR_INLINE T apply(T x) {
    if constexpr (is_integer<T>) return x < 0 ? negative(x) : x;
    else return std::fabs(x);
  }
};
struct Sign : unary::Vector {
  template <class T> static HR_INLINE T apply(T x) {
    if constexpr (is_complex<T>) return x == T(0) ? T(0) : x / std::abs(x);
    else return x != x ? x : T((x > 0) - (x < 0));
  }
};
struct Reciprocal : unary::Vector {
  static constexpr const char* fault = "Integer division by zero";
  template <class T> static HR_INLINE bool faulty(T x) { return is_integer<T> && x == T(0); }
  template <class T> static HR_INLINE T apply(T x) {
    if constexpr (is_integer<T>) return truncated_quotient(T(1), x);
    else return T(1) / x;
  }
};
struct RoundToEven : unary::Vector {
  template <class T> static HR_INLINE T apply(T x) {
    if constexpr (is_integer<T>) return x;
    else if constexpr (is_complex<T>) return T(std::nearbyint(x.real()), std::nearbyint(x.imag()));
    else return std::nearbyint(x);
  }
};
struct PopulationCount : unary::Scalar {
  template <class T> static uint8_t apply(T x) {
    return uint8_t(__builtin_popcountll(std::make_unsigned_t<T>(x)));
  }
};

// Angles too large for the vectorised reduction go to the C library.
struct Sine : unary::Vector {
  template <class T> static HR_INLINE T apply(T x) {
    if constexpr (is_complex<T>) return std::sin(x);
    else return vm::sin(x);
  }
  static float exact(float x) { return std::sin(x); }
};
struct Cosine : unary::Vector {
  template <class T> static HR_INLINE T apply(T x) {
    if constexpr (is_complex<T>) return std::cos(x);
    else return vm::cos(x);
  }
  static float exact(float x) { return std::cos(x); }
};

SCALAR(Tangent, std::tan(x));
SCALAR(ArcSine, std::asin(x));
SCALAR(ArcCosine, std::acos(x));
SCALAR(ArcTangent, std::atan(x));
SCALAR(HyperbolicSine, std::sinh(x));
SCALAR(HyperbolicCosine, std::cosh(x));
SCALAR(InverseSinh, std::asinh(x));
SCALAR(InverseCosh, std::acosh(x));
SCALAR(InverseTanh, std::atanh(x));
SCALAR(ErrorFunction, std::erf(x));
SCALAR(ErrorComplement, std::erfc(x));
SCALAR(LogGamma, T(log_gamma(x)));
SCALAR(Digamma, T(digamma(x)));
SCALAR(ErrorInverse, T(erfinv(x)));
SCALAR(NormalQuantile, T(ndtri(x)));
SCALAR(BesselI0, T(bessel_i0e(x) * std::exp(std::fabs(double(x)))));
SCALAR(BesselI0e, T(bessel_i0e(x)));
SCALAR(BesselI1, T(bessel_i1e(x) * std::exp(std::fabs(double(x)))));
SCALAR(BesselI1e, T(bessel_i1e(x)));
SCALAR(BesselJ0, T(::j0(double(x))));
SCALAR(BesselJ1, T(::j1(double(x))));
SCALAR(BesselY0, T(x <= 0 ? -INFINITY : ::y0(double(x))));
SCALAR(BesselY1, T(x <= 0 ? -INFINITY : ::y1(double(x))));

using FloatsAndComplexes = Join<Floats, Complexes>;
using SignedNumbers = Join<FloatsAndComplexes, Signed>;

#define T_FLOATS "T=" HR_FLOATS
#define T_CONTINUOUS "T=" HR_FLOATS "|" HR_COMPLEXES
#define T_SIGNED T_CONTINUOUS "|" HR_SIGNED

template <class Op, class Set> constexpr KernelRegistration map(const char* op,
                                                                const char* constraint) {
  return kernel(op, constraint, unary::prepare<Op, Set>);
}
template <class Op, class Set> constexpr KernelRegistration in_place(const char* op,
                                                                     const char* constraint) {
  return map<Op, Set>(op, constraint).reuses(0);
}
template <class Op> constexpr KernelRegistration floats(const char* op) {
  return in_place<Op, Floats>(op, T_FLOATS);
}
template <class Op> constexpr KernelRegistration continuous(const char* op) {
  return in_place<Op, FloatsAndComplexes>(op, T_CONTINUOUS);
}

}  // namespace

HR_KERNELS = {
    in_place<Negative, SignedNumbers>("Neg", T_SIGNED),
    in_place<Sign, SignedNumbers>("Sign", T_SIGNED),
    in_place<RoundToEven, SignedNumbers>("Round", T_SIGNED),
    in_place<Reciprocal, SignedNumbers>("Reciprocal", T_SIGNED),
    in_place<Reciprocal, SignedNumbers>("Inv", T_SIGNED),
    in_place<Squared, Numbers>("Square", "T=" HR_NUMBERS),
    in_place<Absolute, Join<Floats, Signed>>("Abs", T_FLOATS "|" HR_SIGNED),
    continuous<SquareRoot>("Sqrt"),
    continuous<InverseRoot>("Rsqrt"),
    continuous<Exponential>("Exp"),
    continuous<Expm1>("Expm1"),
    continuous<Logarithm>("Log"),
    continuous<Log1p>("Log1p"),
    continuous<HyperbolicTangent>("Tanh"),
    continuous<Logistic>("Sigmoid"),
    continuous<Sine>("Sin"),
    continuous<Cosine>("Cos"),
    continuous<Tangent>("Tan"),
    continuous<ArcSine>("Asin"),
    continuous<ArcCosine>("Acos"),
    continuous<ArcTangent>("Atan"),
    continuous<HyperbolicSine>("Sinh"),
    continuous<HyperbolicCosine>("Cosh"),
    continuous<InverseSinh>("Asinh"),
    continuous<InverseCosh>("Acosh"),
    continuous<InverseTanh>("Atanh"),
    floats<Floor>("Floor"),
    floats<Ceil>("Ceil"),
    floats<RoundToEven>("Rint"),
    floats<ErrorFunction>("Erf"),
    floats<ErrorComplement>("Erfc"),
    floats<ErrorInverse>("Erfinv"),
    floats<NormalQuantile>("Ndtri"),
    floats<LogGamma>("Lgamma"),
    floats<Digamma>("Digamma"),
    floats<BesselI0>("BesselI0"),
    floats<BesselI0e>("BesselI0e"),
    floats<BesselI1>("BesselI1"),
    floats<BesselI1e>("BesselI1e"),
    floats<BesselJ0>("BesselJ0"),
    floats<BesselJ1>("BesselJ1"),
    floats<BesselY0>("BesselY0"),
    floats<BesselY1>("BesselY1"),
    map<IsNan, Floats>("IsNan", T_FLOATS),
    map<IsInf, Floats>("IsInf", T_FLOATS),
    map<IsFinite, Floats>("IsFinite", T_FLOATS),
    in_place<Not, Types<bool>>("LogicalNot", nullptr),
    in_place<Inverted, Integers>("Invert", "T=" HR_INTEGERS),
    map<PopulationCount, Integers>("PopulationCount", "T=" HR_INTEGERS),
    in_place<Conjugate, Complexes>("Conj", "T=" HR_COMPLEXES),
    map<RealPart, Complexes>("Real", "T=" HR_COMPLEXES),
    map<ImaginaryPart, Complexes>("Imag", "T=" HR_COMPLEXES),
    map<Argument, Complexes>("Angle", "T=" HR_COMPLEXES),
    map<Magnitude, Complexes>("ComplexAbs", "T=" HR_COMPLEXES),
};

}  // namespace hr
