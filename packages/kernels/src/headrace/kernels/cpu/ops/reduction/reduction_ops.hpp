// Fold functions of reductions, and their loops over rows and columns; for reduction.cpp only.
//
// half and bfloat16 are folded as float, a block at a time, so the reductions are defined for
// compute types: Compute<T>.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "loops/elements.hpp"
#include "loops/narrow_floats.hpp"
#include "loops/reduction_fold.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

constexpr int64_t kBlock = kFoldBlock;  // elements folded into one partial result

enum Kind { kAdd, kMultiply, kMax, kMin, kAnd, kOr };

// ---- what is folded --------------------------------------------------------------------------
//
// Loop is the reduction whose loops fold the same: a mean is folded as a sum.

template <class T> struct SumOf {
  static constexpr Kind kind = kAdd;
  using Loop = SumOf;
  using Acc = T;
  using Total = std::conditional_t<std::is_same_v<Acc, float>, double, Acc>;
  static constexpr bool common = true;
  static constexpr Acc start() { return Acc(0); }
  static HR_INLINE Acc load(T x) { return Acc(x); }
  template <class A> static HR_INLINE A fold(A a, A b) { return plus(a, b); }
  static T finish(Total total, int64_t) { return T(total); }
};
// Means of integers are summed in 64 bits, as TensorFlow does: a sum of int8 soon wraps around, and
// a count of 256 is zero there.
template <class T> struct MeanOf : SumOf<T> {
  using Wide = std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>;
  using Acc = std::conditional_t<is_integer<T>, Wide, T>;
  using Total = std::conditional_t<is_integer<T>, Wide, typename SumOf<T>::Total>;
  using Loop = std::conditional_t<is_integer<T>, MeanOf, SumOf<T>>;
  static constexpr Acc start() { return Acc(0); }
  static HR_INLINE Acc load(T x) { return Acc(x); }
  static T finish(Total total, int64_t n) {
    if constexpr (is_integer<T>) return n ? T(truncated_quotient(total, Total(n))) : T(0);
    else return T(total / Total(typename RealOf<Total>::type(n)));
  }
  template <class A> struct RealOf {
    using type = A;
  };
  template <class A> struct RealOf<std::complex<A>> {
    using type = A;
  };
};
template <class T> struct NormOf : SumOf<T> {
  using Loop = NormOf;
  using Acc = T;
  using Total = typename SumOf<T>::Total;
  static constexpr bool common = !is_integer<T>;
  static HR_INLINE Acc load(T x) { return times(x, conjugate(x)); }
  static T finish(Total total, int64_t) {
    if constexpr (is_integer<T>) return T(std::sqrt(double(total)));
    else return T(std::sqrt(total));
  }
};
template <class T> struct ProductOf {
  static constexpr Kind kind = kMultiply;
  using Loop = ProductOf;
  using Acc = T;
  using Total = Acc;
  static constexpr bool common = !is_integer<T>;
  static constexpr Acc start() { return Acc(1); }
  static HR_INLINE Acc load(T x) { return Acc(x); }
  template <class A> static HR_INLINE A fold(A a, A b) { return times(a, b); }
  static T finish(Total total, int64_t) { return T(total); }
};
template <class T> struct MaxOf {
  static constexpr Kind kind = kMax;
  using Loop = MaxOf;
  using Acc = T;
  using Total = Acc;
  static constexpr bool common = true;
  static constexpr Acc start() {
    return std::numeric_limits<Acc>::has_infinity ? -std::numeric_limits<Acc>::infinity()
                                                  : std::numeric_limits<Acc>::lowest();
  }
  static HR_INLINE Acc load(T x) { return Acc(x); }
  template <class A> static HR_INLINE A fold(A a, A b) { return larger(a, b); }
  static T finish(Total total, int64_t) { return T(total); }
};
template <class T> struct MinOf {
  static constexpr Kind kind = kMin;
  using Loop = MinOf;
  using Acc = T;
  using Total = Acc;
  static constexpr bool common = true;
  static constexpr Acc start() {
    return std::numeric_limits<Acc>::has_infinity ? std::numeric_limits<Acc>::infinity()
                                                  : std::numeric_limits<Acc>::max();
  }
  static HR_INLINE Acc load(T x) { return Acc(x); }
  template <class A> static HR_INLINE A fold(A a, A b) { return smaller(a, b); }
  static T finish(Total total, int64_t) { return T(total); }
};
template <class T> struct AllOf {
  static constexpr Kind kind = kAnd;
  using Loop = AllOf;
  static constexpr bool common = false;
  using Acc = uint8_t;
  using Total = uint8_t;
  static constexpr Acc start() { return 1; }
  static HR_INLINE Acc load(T x) { return x ? 1 : 0; }
  template <class A> static HR_INLINE A fold(A a, A b) { return A(a & b); }
  static T finish(Total total, int64_t) { return total != 0; }
};
template <class T> struct AnyOf {
  static constexpr Kind kind = kOr;
  using Loop = AnyOf;
  static constexpr bool common = false;
  using Acc = uint8_t;
  using Total = uint8_t;
  static constexpr Acc start() { return 0; }
  static HR_INLINE Acc load(T x) { return x ? 1 : 0; }
  template <class A> static HR_INLINE A fold(A a, A b) { return A(a | b); }
  static T finish(Total total, int64_t) { return total != 0; }
};

// ---- loops
// ---------------------------------------------------------------------------------------

// A reduction that may be reassociated: the compiler keeps several partial results in vectors.
template <class Op, class T> HR_INLINE typename Op::Acc fold_lanes(const T* x, int64_t n) {
  using Acc = typename Op::Acc;
  Acc r = Op::start();
  if constexpr (is_complex<Acc>) {
    typename Acc::value_type re = r.real(), im = r.imag();
    if constexpr (Op::kind == kAdd) {
#pragma omp simd reduction(+ : re, im)
      for (int64_t i = 0; i < n; ++i) {
        const Acc v = Op::load(x[i]);
        re += v.real();
        im += v.imag();
      }
      return Acc(re, im);
    } else {
      for (int64_t i = 0; i < n; ++i) r = Op::fold(r, Op::load(x[i]));
    }
  } else if constexpr (Op::kind == kAdd) {
    // Unsigned, so that integers wrap around.
    using Sum = typename std::conditional_t<std::is_integral_v<Acc>, std::make_unsigned<Acc>,
                                            Type<Acc>>::type;
    Sum sum = Sum(r);
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += Sum(Op::load(x[i]));
    r = Acc(sum);
  } else if constexpr (Op::kind == kMultiply) {
    if constexpr (std::is_floating_point_v<Acc>) {
#pragma omp simd reduction(* : r)
      for (int64_t i = 0; i < n; ++i) r *= Op::load(x[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) r = Op::fold(r, Op::load(x[i]));
    }
  } else if constexpr (Op::kind == kMax || Op::kind == kMin) {
    // NaN loses every comparison: it is looked for beside, and put in at the end.
    int32_t nan = 0;
    if constexpr (Op::kind == kMax) {
#pragma omp simd reduction(max : r) reduction(| : nan)
      for (int64_t i = 0; i < n; ++i) {
        const Acc v = Op::load(x[i]);
        r = v > r ? v : r;
        nan |= v != v;
      }
    } else {
#pragma omp simd reduction(min : r) reduction(| : nan)
      for (int64_t i = 0; i < n; ++i) {
        const Acc v = Op::load(x[i]);
        r = v < r ? v : r;
        nan |= v != v;
      }
    }
    if (nan) r = std::numeric_limits<Acc>::quiet_NaN();
  } else if constexpr (Op::kind == kAnd) {
#pragma omp simd reduction(& : r)
    for (int64_t i = 0; i < n; ++i) r &= Op::load(x[i]);
  } else {
#pragma omp simd reduction(| : r)
    for (int64_t i = 0; i < n; ++i) r |= Op::load(x[i]);
  }
  return r;
}

template <class Op, class T>
HR_CLONES typename Op::Acc fold_lanes_cloned(const T* x, int64_t n) {
  return fold_lanes<Op, T>(x, n);
}

// For rarer types and folds the code of three processor levels is not worth its size.
template <class Op, class T>
constexpr bool has_clones =
    Op::common && (std::is_floating_point_v<T> ||
                   (is_integer<T> && sizeof(T) >= 4 && (std::is_signed_v<T> || Op::kind == kAdd)));

// At most kBlock elements.
template <class Op, class T> typename Op::Acc fold_block(const T* x, int64_t n) {
  using Loop = typename Op::Loop;
  if constexpr (is_small_float<T>) {
    float wide[kBlock];
    widen(x, wide, n);
    return fold_lanes_cloned<Loop, float>(wide, n);
  } else if constexpr (has_clones<Loop, T>) {
    return fold_lanes_cloned<Loop, T>(x, n);
  } else {
    return fold_lanes<Loop, T>(x, n);
  }
}

template <class Op, class T> typename Op::Total fold_row(const T* x, int64_t n) {
  using Total = typename Op::Total;
  Total total = Total(Op::start());
  for (int64_t i = 0; i < n; i += kBlock)
    total = Op::fold(total, Total(fold_block<Op, T>(x + i, std::min(kBlock, n - i))));
  return total;
}

template <class Op, class T>
HR_INLINE void add_columns(const T* x, typename Op::Acc* acc, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) acc[i] = Op::fold(acc[i], Op::load(x[i]));
}
template <class Op, class T>
HR_CLONES void add_columns_cloned(const T* x, typename Op::Acc* acc, int64_t n) {
  add_columns<Op, T>(x, acc, n);
}

// At most kMostColumns columns are added up at once.
constexpr int64_t kColumns = 128, kMostColumns = 1024;

template <class Op, class T> void fold_columns(const T* x, typename Op::Acc* acc, int64_t n) {
  using Loop = typename Op::Loop;
  if constexpr (is_small_float<T>) {
    float wide[kMostColumns];
    widen(x, wide, n);
    add_columns_cloned<Loop, float>(wide, acc, n);
  } else if constexpr (has_clones<Loop, T>) {
    add_columns_cloned<Loop, T>(x, acc, n);
  } else {
    add_columns<Loop, T>(x, acc, n);
  }
}

}  // namespace
}  // namespace hr
