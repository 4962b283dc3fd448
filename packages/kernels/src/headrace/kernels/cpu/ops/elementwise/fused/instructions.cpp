// Each instruction computes what the kernel of its op computes, bit for bit: the expressions equal
// those of unary.cpp, binary.cpp, activations.cpp, leaky_relu.cpp, comparison.cpp, select.cpp and
// cast.cpp. Integer division is not among them: division by zero is an error, and an instruction
// cannot fail. Neither is the remainder of floats: it is compute-bound, and takes a third longer in
// a chain.
#include "ops/elementwise/fused/instructions.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "loops/narrow_floats.hpp"
#include "math/arithmetic.hpp"
#include "math/vector_math.hpp"
#include "ops/activations/selu.hpp"
#include "ops/elementwise/fused/fused.hpp"
#include "processor/simd.hpp"

namespace hr {
namespace fused {
namespace {

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

#define HR_ALL_PREDICATES(X)                                                                    \
  X(IsNan, 1, a != a, kFloats)                                                                  \
  X(IsInf, 1, std::fabs(a) == std::numeric_limits<T>::infinity(), kFloats)                      \
  X(IsFinite, 1, std::fabs(a) <= std::numeric_limits<T>::max(), kFloats)                        \
  X(Equal, 2, a == b, kAny) X(NotEqual, 2, a != b, kAny)                                        \
  X(Less, 2, a < b, kNumbers) X(LessEqual, 2, a <= b, kNumbers)                                 \
  X(Greater, 2, a > b, kNumbers) X(GreaterEqual, 2, a >= b, kNumbers)

// Ops that compute what another one does, by its loops.
#define HR_ALL_ALIASES(X)                                                              \
  X(StopGradient, Identity, 1, kAny)                                                   \
  X(Inv, Reciprocal, 1, kFloats) X(Round, Rint, 1, kFloats)                            \
  X(AddV2, Add, 2, kNumbers) X(AddN, Add, 2, kNumbers) X(BiasAdd, Add, 2, kNumbers)    \
  X(Div, RealDiv, 2, kFloats) X(InvGrad, ReciprocalGrad, 2, kFloats)

// Values of half stay values of half.
constexpr const char* kExact[] = {"Identity", "StopGradient", "Neg",    "Abs",
                                  "Relu",     "Sign",         "Relu6",  "Maximum",
                                  "Minimum",  "ClipByValue",  "Select", "SelectV2"};

// Whose last operand is a number that the op has as an attribute, and does not round to half.
constexpr const char* kWithNumber[] = {"LeakyRelu", "LeakyReluGrad"};

enum Set { kFloats, kNumbers, kBools, kAny };

template <class T> HR_INLINE T magnitude(T x) {
  if constexpr (is_integer<T>) return x < 0 ? negative(x) : x;
  else return std::fabs(x);
}

// As ClipByValue has it: the lower bound wins over the upper, a bound that is NaN is none.
template <class T> HR_INLINE T clipped(T x, T low, T high) {
  const T below = high < x ? high : x;
  return below < low ? low : below;
}

#define OP1(expression, Result) \
  template <class T> static HR_INLINE Result apply(T a) { return expression; }
#define OP2(expression, Result) \
  template <class T> static HR_INLINE Result apply(T a, T b) { return expression; }
#define OP3(expression, Result) \
  template <class T> static HR_INLINE Result apply(T a, T b, T c) { return expression; }
#define SAME(Name, operands, expression, set) \
  struct Name##Op { OP##operands(expression, T) };
#define PREDICATE(Name, operands, expression, set) \
  struct Name##Op { OP##operands(expression, bool) };
HR_ALL_SAME(SAME)
HR_ALL_PREDICATES(PREDICATE)
struct ChoiceOp {
  template <class T> static HR_INLINE T apply(uint8_t c, T a, T b) { return c ? a : b; }
};

// ---- loops
// ----------------------------------------------------------------------------------------

template <class Op, class A, class R> HR_CLONES void one(const A* a, R* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i]);
}
// Of angles too large for the vectorised reduction, and there only, the C library's.
template <class Op> constexpr bool is_angular = false;
template <> constexpr bool is_angular<SinOp> = true;
template <> constexpr bool is_angular<CosOp> = true;
template <class Op> float exact(float angle) {
  if constexpr (std::is_same_v<Op, SinOp>) return std::sin(angle);
  else return std::cos(angle);
}

template <class Op, class A, class R, bool a_moves, bool b_moves>
HR_CLONES void two(const A* a, const A* b, R* out, int64_t n) {
  if constexpr (std::is_same_v<A, R>) {
    HR_INDEPENDENT
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[a_moves ? i : 0], b[b_moves ? i : 0]);
  } else {  // bytes from wider elements: four vectors at a time as it is
    HR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[a_moves ? i : 0], b[b_moves ? i : 0]);
  }
}
template <class Op, class A, class B, bool a_moves, bool b_moves, bool c_moves>
HR_CLONES void three(const A* a, const B* b, const B* c, B* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    out[i] = Op::apply(a[a_moves ? i : 0], b[b_moves ? i : 0], c[c_moves ? i : 0]);
}

// a > b is b < a, by its loop.
template <class Op> struct MirrorOf {
  using type = void;
};
template <> struct MirrorOf<GreaterOp> {
  using type = LessOp;
};
template <> struct MirrorOf<GreaterEqualOp> {
  using type = LessEqualOp;
};

template <class T> const T* at(const void* const* in, int k) {
  return static_cast<const T*>(in[k]);
}

// The loop of an op whose operands are As..., for the operands that `moves` says.
template <class Op, class R, class... As> struct LoopOf {
  template <int moves> static void call(const void* const* in, void* out, int64_t n) {
    constexpr bool a = moves & 1, b = moves & 2, c = moves & 4;
    R* to = static_cast<R*>(out);
    if constexpr (is_angular<Op> && std::is_same_v<R, float>) {
      vm::of_angles(at<float>(in, 0), to, n, one<Op, float, float>, exact<Op>);
    } else if constexpr (sizeof...(As) == 1) {
      one<Op, As..., R>(at<As...>(in, 0), to, n);
    } else if constexpr (sizeof...(As) == 2) {
      [&](auto first, auto) {
        using A = typename decltype(first)::type;
        using Mirror = typename MirrorOf<Op>::type;
        if constexpr (std::is_void_v<Mirror>)
          two<Op, A, R, a, b>(at<A>(in, 0), at<A>(in, 1), to, n);
        else two<Mirror, A, R, b, a>(at<A>(in, 1), at<A>(in, 0), to, n);
      }(Type<As>{}...);
    } else {
      [&](auto first, auto second, auto) {
        using A = typename decltype(first)::type;
        using B = typename decltype(second)::type;
        three<Op, A, B, a, b, c>(at<A>(in, 0), at<B>(in, 1), at<B>(in, 2), to, n);
      }(Type<As>{}...);
    }
  }
};

template <class Op, class R, class... As> const Loops* loops() {
  using L = LoopOf<Op, R, As...>;
  if constexpr (sizeof...(As) == 1) {
    static const Loops table = {{nullptr, L::template call<1>}};
    return &table;
  } else if constexpr (sizeof...(As) == 2) {
    static const Loops table = {
        {nullptr, L::template call<1>, L::template call<2>, L::template call<3>}};
    return &table;
  } else {
    static const Loops table = {{nullptr, L::template call<1>, L::template call<2>,
                                 L::template call<3>, L::template call<4>, L::template call<5>,
                                 L::template call<6>, L::template call<7>}};
    return &table;
  }
}

constexpr bool holds(Set set, int rep) {
  return set == kAny ||
         (set == kBools ? rep == kBool : rep != kBool && (set == kNumbers || rep <= kDouble));
}

template <class Op, int operands, Set set, bool predicate, int rep> const Loops* loops_of() {
  if constexpr (holds(set, rep)) {
    using T = typename RepType<rep>::type;
    using R = std::conditional_t<predicate, bool, T>;
    if constexpr (operands == 1) return loops<Op, R, T>();
    else if constexpr (operands == 2) return loops<Op, R, T, T>();
    else return loops<Op, R, T, T, T>();
  } else {
    return nullptr;
  }
}
template <int rep> const Loops* choices() {
  using T = typename RepType<rep>::type;
  return loops<ChoiceOp, T, uint8_t, T, T>();
}

#define BY_REP(Name, operands, set, predicate)                       \
  {loops_of<Name##Op, operands, set, predicate, 0>(),                \
   loops_of<Name##Op, operands, set, predicate, 1>(),                \
   loops_of<Name##Op, operands, set, predicate, 2>(),                \
   loops_of<Name##Op, operands, set, predicate, 3>(),                \
   loops_of<Name##Op, operands, set, predicate, 4>()}
#define SAME_ENTRY(Name, operands, expression, set) \
  {#Name, operands, kSame, false, BY_REP(Name, operands, set, false)},
#define ALIAS_ENTRY(Name, Op, operands, set) \
  {#Name, operands, kSame, false, BY_REP(Op, operands, set, false)},
#define PREDICATE_ENTRY(Name, operands, expression, set) \
  {#Name, operands, kPredicate, true, BY_REP(Name, operands, set, true)},
#define CHOICE_ENTRY(Name) \
  {#Name, 3, kChoice, true, {choices<0>(), choices<1>(), choices<2>(), choices<3>(), choices<4>()}}

struct Table {
  Instruction instructions[96] = {HR_ALL_SAME(SAME_ENTRY) HR_ALL_ALIASES(ALIAS_ENTRY)
                                      HR_ALL_PREDICATES(PREDICATE_ENTRY) CHOICE_ENTRY(Select),
                                  CHOICE_ENTRY(SelectV2),
                                  {"Cast", 1, kCast, false, {}}};
  int count = 0;
  Table() {
    while (count < 96 && instructions[count].name) {
      for (const char* name : kExact)
        if (!std::strcmp(name, instructions[count].name)) instructions[count].exact = true;
      for (const char* name : kWithNumber)
        if (!std::strcmp(name, instructions[count].name)) instructions[count].takes_number = true;
      ++count;
    }
  }
};

const Table& table() {
  static const Table created;
  return created;
}

// ---- conversions
// ------------------------------------------------------------------------------------

// As cast.cpp converts: floats to integers by way of signed ones, as processors do.
template <class From, class To> HR_CLONES void convert(const From* from, To* to, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (is_bool<To>) to[i] = from[i] != From(0);
    else to[i] = To(from[i]);
  }
}
template <int from, int to> void cast(const void* const* in, void* out, int64_t n) {
  convert(at<typename RepType<from>::type>(in, 0), static_cast<typename RepType<to>::type*>(out),
          n);
}

template <class From, class To> HR_CLONES void load(const void* from, void* to, int64_t n) {
  const From* f = static_cast<const From*>(from);
  To* t = static_cast<To*>(to);
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) t[i] = To(f[i]);
}

}  // namespace

const Instruction* find_instruction(const char* name, size_t size) {
  for (int i = 0; i < table().count; ++i)
    if (std::strlen(table().instructions[i].name) == size &&
        !std::memcmp(table().instructions[i].name, name, size))
      return &table().instructions[i];
  return nullptr;
}

Loop cast_loop(Rep from, Rep to) {
#define CASTS(f) {cast<f, 0>, cast<f, 1>, cast<f, 2>, cast<f, 3>, cast<f, 4>}
  static const Loop loops[kReps][kReps] = {CASTS(0), CASTS(1), CASTS(2), CASTS(3), CASTS(4)};
#undef CASTS
  return loops[from][to];
}

void round_block(hr_dtype dtype, float* values, int64_t n) {
  dtype == HR_HALF ? round_to_half(values, n) : round_to_bfloat16(values, n);
}

void load_block(hr_dtype dtype, const void* from, void* to, int64_t n) {
  switch (dtype) {
    case HR_HALF: return widen(static_cast<const half*>(from), static_cast<float*>(to), n);
    case HR_BFLOAT16: return widen(static_cast<const bfloat16*>(from), static_cast<float*>(to), n);
    case HR_INT8: return load<int8_t, int32_t>(from, to, n);
    case HR_UINT8: return load<uint8_t, int32_t>(from, to, n);
    case HR_INT16: return load<int16_t, int32_t>(from, to, n);
    case HR_UINT16: return load<uint16_t, int32_t>(from, to, n);
    default: std::memcpy(to, from, size_t(n * rep_size(rep_of(dtype))));
  }
}

void store_block(hr_dtype dtype, const float* from, void* to, int64_t n) {
  dtype == HR_HALF ? narrow(from, static_cast<half*>(to), n)
                   : narrow(from, static_cast<bfloat16*>(to), n);
}

}  // namespace fused

int fused_instruction_count() { return fused::table().count; }
FusedInstruction fused_instruction(int i) {
  const fused::Instruction& instruction = fused::table().instructions[i];
  return {instruction.name, instruction.operands, instruction.takes_number ? "alpha" : nullptr};
}

}  // namespace hr
