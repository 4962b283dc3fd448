// Activation functions and their gradients: Relu, Elu, Softplus, ReluGrad, ... The expressions must
// equal those of elementwise/fused/instructions.cpp, so that a fused chain gives the same results.
#include "library/elementwise/selu.hpp"
#include "loops/binary_loops.hpp"
#include "loops/unary_loops.hpp"
#include "math/arithmetic.hpp"
#include "math/vector_math.hpp"

namespace hr {
namespace {

#define FUNCTION(Name, Kind, expression)                       \
  struct Name : Kind {                                         \
    template <class T> static HR_INLINE T apply(T x) { return T(expression); } \
  }
// dy = a, the features or results = b.
#define GRADIENT(Name, Kind, expression)                          \
  struct Name : Kind {                                         \
    template <class T> static HR_INLINE T apply(T a, T b) { return T(expression); } \
  }

// Not a number stays what it is: the comparison that fails keeps x.
FUNCTION(Rectified, unary::Vector, x < T(0) ? T(0) : x);
FUNCTION(Rectified6, unary::Vector, x < T(0) ? T(0) : (x > T(6) ? T(6) : x));
FUNCTION(Exponential, unary::Vector, x < T(0) ? vm::expm1(x) : x);
FUNCTION(ScaledExponential, unary::Vector,
         x < T(0) ? T(kSeluScaleAlpha) * vm::expm1(x) : T(kSeluScale) * x);
FUNCTION(SoftPlus, unary::Vector, (x > T(0) ? x : T(0)) + vm::log1p(vm::exp(-std::fabs(x))));
FUNCTION(SoftSign, unary::Vector, x / (T(1) + std::fabs(x)));

// A product, as in TensorFlow: a gradient that is not finite shows also where the unit is off.
GRADIENT(RectifiedGradient, VectorOp, a* T(b > T(0)));
GRADIENT(Rectified6Gradient, VectorOp, a* T(b > T(0) && b < T(6)));
GRADIENT(ExponentialGradient, VectorOp, b < T(0) ? a * (b + T(1)) : a);
GRADIENT(ScaledExponentialGradient, VectorOp,
         b < T(0) ? a * (b + T(kSeluScaleAlpha)) : a * T(kSeluScale));
GRADIENT(SoftPlusGradient, VectorOp, a / (T(1) + vm::exp(-b)));
GRADIENT(SoftSignGradient, VectorOp, a / ((T(1) + std::fabs(b)) * (T(1) + std::fabs(b))));

template <class Op, class Set> constexpr KernelRegistration map(const char* op,
                                                                const char* constraint) {
  return kernel(op, constraint, unary::prepare<Op, Set>).reuses(0);
}
template <class Op, class Set> constexpr KernelRegistration gradient(const char* op,
                                                                     const char* constraint) {
  return kernel(op, constraint, binary::prepare_merged<Op, Set>).reuses(0, 1);
}

#define T_FLOATS "T=" HR_FLOATS
#define T_REALS "T=" HR_REALS

}  // namespace

HR_KERNELS = {
    map<Rectified, Reals>("Relu", T_REALS),
    map<Rectified6, Reals>("Relu6", T_REALS),
    map<Exponential, Floats>("Elu", T_FLOATS),
    map<ScaledExponential, Floats>("Selu", T_FLOATS),
    map<SoftPlus, Floats>("Softplus", T_FLOATS),
    map<SoftSign, Floats>("Softsign", T_FLOATS),
    gradient<RectifiedGradient, Reals>("ReluGrad", T_REALS),
    gradient<Rectified6Gradient, Reals>("Relu6Grad", T_REALS),
    gradient<ExponentialGradient, Floats>("EluGrad", T_FLOATS),
    gradient<ScaledExponentialGradient, Floats>("SeluGrad", T_FLOATS),
    gradient<SoftPlusGradient, Floats>("SoftplusGrad", T_FLOATS),
    gradient<SoftSignGradient, Floats>("SoftsignGrad", T_FLOATS),
};

}  // namespace hr
