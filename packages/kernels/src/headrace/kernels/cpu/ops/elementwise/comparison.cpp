// Comparison, logical and bitwise ops of two operands; Complex, from real and imaginary parts.
#include <cmath>
#include <cstring>

#include "library/shape_rules.hpp"
#include "loops/binary_loops.hpp"
#include "math/arithmetic.hpp"
#include "math/special_functions.hpp"

namespace hr {
namespace {

inline bool equal_strings(const hr_string& a, const hr_string& b) {
  return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
}

struct Equal : SignlessOp {
  template <class T> static HR_INLINE bool apply(T a, T b) {
    if constexpr (std::is_same_v<T, hr_string>) return equal_strings(a, b);
    else return a == b;
  }
};
struct NotEqual : SignlessOp {
  template <class T> static HR_INLINE bool apply(T a, T b) {
    if constexpr (std::is_same_v<T, hr_string>) return !equal_strings(a, b);
    else return a != b;
  }
};

#define OP(Name, Kind, Result, expression)                                    \
  struct Name : Kind {                                                        \
    template <class T> static HR_INLINE Result apply(T a, T b) { return expression; } \
  }
OP(Less, VectorOp, bool, a < b);
OP(LessEqual, VectorOp, bool, a <= b);
struct Greater : VectorOp {
  using Mirror = Less;
  template <class T> static HR_INLINE bool apply(T a, T b) { return a > b; }
};
struct GreaterEqual : VectorOp {
  using Mirror = LessEqual;
  template <class T> static HR_INLINE bool apply(T a, T b) { return a >= b; }
};
OP(And, VectorOp, bool, a& b);
OP(Or, VectorOp, bool, a | b);
OP(BitAnd, SignlessOp, T, T(a& b));
OP(BitOr, SignlessOp, T, T(a | b));
OP(BitXor, SignlessOp, T, T(a ^ b));

// Shifts by more than there are bits would be undefined: the distance is held within them.
template <class T> HR_INLINE T distance(T b) {
  constexpr T most = T(sizeof(T) * 8 - 1);
  return b < 0 ? T(0) : (b > most ? most : b);
}
OP(ShiftLeft, VectorOp, T, T(Wrapping<T>(a) << distance(b)));
OP(ShiftRight, VectorOp, T, T(a >> distance(b)));

struct MakeComplex : VectorOp {
  template <class T> static HR_INLINE std::complex<T> apply(T a, T b) { return {a, b}; }
};
struct Igamma : ScalarOp {
  template <class T> static T apply(T a, T b) { return T(igamma(a, b)); }
};
struct Igammac : ScalarOp {
  template <class T> static T apply(T a, T b) { return T(igammac(a, b)); }
};
struct IgammaGradA : ScalarOp {
  template <class T> static T apply(T a, T b) { return T(igamma_grad_a(a, b)); }
};
struct Zeta : ScalarOp {
  template <class T> static T apply(T a, T b) { return T(zeta(a, b)); }
};
struct Polygamma : ScalarOp {
  template <class T> static T apply(T a, T b) { return T(polygamma(a, b)); }
};

using Comparable = Join<NumbersAndBool, Types<hr_string>>;

template <bool equal>
hr_code compute_incompatible(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const* out,
                             void*) {
  *write<bool>(out[0]) = !equal;
  return HR_OK;
}

template <class Op> hr_code prepare_equality(void*, hr_request* r) {
  if (hr_code code = hr_shape_broadcast(r)) return code;
  if (r->outputs[0]->rank < std::max(r->inputs[0]->rank, r->inputs[1]->rank)) {
    r->compute = compute_incompatible<std::is_same_v<Op, Equal>>;  // shapes that do not broadcast
    return HR_OK;
  }
  return binary::prepare_loops(
      r, binary::loops_for<Op, Comparable>(storage_type(r->inputs[0]->dtype)));
}

// |a - b| < tolerance
struct TolerancePlan {
  int64_t n;
  double tolerance;
};

template <class T>
hr_code compute_approximate(hr_ctx*, void*, void* plan_, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const TolerancePlan*>(plan_);
  for (int64_t i = 0; i < p.n; ++i) {
    const Compute<T> a = read<T>(in[0])[i], b = read<T>(in[1])[i];
    if constexpr (is_complex<T>) write<bool>(out[0])[i] = std::abs(a - b) < p.tolerance;
    else write<bool>(out[0])[i] = double(a > b ? minus(a, b) : minus(b, a)) < p.tolerance;
  }
  return HR_OK;
}

hr_code prepare_approximate(void*, hr_request* r) {
  if (hr_code code = hr_shape_merge(r)) return code;
  keep_plan(
      r, new TolerancePlan{hr_elements(r->inputs[0]), hr_attr_float(r->node, "tolerance", 1e-5f)});
  r->compute = with_type(r->inputs[0]->dtype, Numbers{}, [](auto t) -> hr_compute {
    return compute_approximate<typename decltype(t)::type>;
  });
  return HR_OK;
}

template <class Op, class Set> constexpr KernelRegistration two(const char* op,
                                                                const char* constraint) {
  return kernel(op, constraint, binary::prepare<Op, Set>);
}

#define HR_QUANTIZED "qint8|quint8|qint16|quint16|qint32"

}  // namespace

HR_KERNELS = {
    kernel("Equal", "T=" HR_NUMBERS "|bool|string|" HR_QUANTIZED, prepare_equality<Equal>),
    kernel("NotEqual", "T=" HR_NUMBERS "|bool|string|" HR_QUANTIZED, prepare_equality<NotEqual>),
    two<Less, Reals>("Less", "T=" HR_REALS),
    two<LessEqual, Reals>("LessEqual", "T=" HR_REALS),
    two<Greater, Reals>("Greater", "T=" HR_REALS),
    two<GreaterEqual, Reals>("GreaterEqual", "T=" HR_REALS),
    kernel("ApproximateEqual", "T=" HR_NUMBERS, prepare_approximate),
    two<And, Types<bool>>("LogicalAnd", nullptr).reuses(0, 1),
    two<Or, Types<bool>>("LogicalOr", nullptr).reuses(0, 1),
    two<BitAnd, Integers>("BitwiseAnd", "T=" HR_INTEGERS).reuses(0, 1),
    two<BitOr, Integers>("BitwiseOr", "T=" HR_INTEGERS).reuses(0, 1),
    two<BitXor, Integers>("BitwiseXor", "T=" HR_INTEGERS).reuses(0, 1),
    two<ShiftLeft, Integers>("LeftShift", "T=" HR_INTEGERS).reuses(0, 1),
    two<ShiftRight, Integers>("RightShift", "T=" HR_INTEGERS).reuses(0, 1),
    two<MakeComplex, WideFloats>("Complex", "T=" HR_WIDE_FLOATS),
    two<Igamma, Floats>("Igamma", "T=" HR_FLOATS).reuses(0, 1),
    two<Igammac, Floats>("Igammac", "T=" HR_FLOATS).reuses(0, 1),
    two<IgammaGradA, WideFloats>("IgammaGradA", "T=" HR_WIDE_FLOATS).reuses(0, 1),
    two<Zeta, WideFloats>("Zeta", "T=" HR_WIDE_FLOATS).reuses(0, 1),
    two<Polygamma, WideFloats>("Polygamma", "T=" HR_WIDE_FLOATS).reuses(0, 1),
};

}  // namespace hr
