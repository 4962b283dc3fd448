#include "ops/elementwise/fused/instructions.hpp"

#include <cmath>
#include <cstring>

#include "library/elementwise/instruction_list.hpp"
#include "library/elementwise/selu.hpp"
#include "loops/narrow_floats.hpp"
#include "math/arithmetic.hpp"
#include "math/vector_math.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace fused {
namespace {

// What a block of values consists of.
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

constexpr float kInfinity = vm::kInf;

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

// By instruction, in the order of the table, and by rep.
using LoopsByRep = const Loops* [kReps];
#define BY_REP(Name, operands, set, predicate)                       \
  {loops_of<Name##Op, operands, set, predicate, 0>(),                \
   loops_of<Name##Op, operands, set, predicate, 1>(),                \
   loops_of<Name##Op, operands, set, predicate, 2>(),                \
   loops_of<Name##Op, operands, set, predicate, 3>(),                \
   loops_of<Name##Op, operands, set, predicate, 4>()},
#define SAME_LOOPS(Name, operands, expression, set) BY_REP(Name, operands, set, false)
#define ALIAS_LOOPS(Name, Op, operands, set) BY_REP(Op, operands, set, false)
#define PREDICATE_LOOPS(Name, operands, expression, set) BY_REP(Name, operands, set, true)
#define CHOICE_LOOPS {choices<0>(), choices<1>(), choices<2>(), choices<3>(), choices<4>()},
const LoopsByRep* all_loops() {
  static const LoopsByRep loops[] = {HR_ALL_SAME(SAME_LOOPS) HR_ALL_ALIASES(
      ALIAS_LOOPS) HR_ALL_PREDICATES(PREDICATE_LOOPS) CHOICE_LOOPS CHOICE_LOOPS};
  return loops;
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

const Loops& loops_of(const Instruction& instruction, Rep rep) {
  return *all_loops()[&instruction - &instruction_at(0)][rep];
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

}  // namespace hr
