// Arithmetic as TensorFlow and NumPy define it, for every element type.
//
// Integers wrap around; integer division and remainder by zero are errors; Maximum and Minimum
// propagate NaN; FloorMod has the sign of the divisor.
#ifndef HEADRACE_CPU_MATH_ARITHMETIC_HPP
#define HEADRACE_CPU_MATH_ARITHMETIC_HPP

#include <cmath>
#include <limits>

#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr {

// Unsigned and no narrower than int, so that arithmetic wraps instead of overflowing.
template <class T> using Wrapping = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <class T> HR_INLINE T plus(T a, T b) {
  if constexpr (is_integer<T>) return T(Wrapping<T>(a) + Wrapping<T>(b));
  else return a + b;
}
template <class T> HR_INLINE T minus(T a, T b) {
  if constexpr (is_integer<T>) return T(Wrapping<T>(a) - Wrapping<T>(b));
  else return a - b;
}
template <class T> HR_INLINE T times(T a, T b) {
  if constexpr (is_integer<T>) return T(Wrapping<T>(a) * Wrapping<T>(b));
  else if constexpr (is_complex<T>)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else return a * b;
}
template <class T> HR_INLINE T negative(T a) {
  if constexpr (is_integer<T>) return T(Wrapping<T>(0) - Wrapping<T>(a));
  else return -a;
}
template <class T> HR_INLINE T conjugate(T a) {
  if constexpr (is_complex<T>) return T(a.real(), -a.imag());
  else return a;
}
template <class T> HR_INLINE T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a != a ? a : (a < b || b != b ? b : a);
  else return a < b ? b : a;
}
template <class T> HR_INLINE T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a != a ? a : (b < a || b != b ? b : a);
  else return b < a ? b : a;
}

// Integer division; the divisor is not 0. The lowest number by -1 wraps instead of trapping.
template <class T> HR_INLINE T truncated_quotient(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return negative(a);
  return T(a / b);
}
template <class T> HR_INLINE T truncated_remainder(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return 0;
  return T(a % b);
}
template <class T> HR_INLINE T floored_quotient(T a, T b) {
  if constexpr (is_integer<T>) {
    const T q = truncated_quotient(a, b);
    if constexpr (std::is_signed_v<T>)
      return truncated_remainder(a, b) != 0 && (a < 0) != (b < 0) ? T(q - 1) : q;
    return q;
  } else {
    return std::floor(a / b);
  }
}
template <class T> HR_INLINE T floored_remainder(T a, T b) {
  if constexpr (is_integer<T>) {
    const T r = truncated_remainder(a, b);
    return r != 0 && (a < 0) != (b < 0) && std::is_signed_v<T> ? T(r + b) : r;
  } else {
    const T r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
}

template <class T> inline T integer_power(T base, T exponent) {
  T result = 1;
  for (; exponent > 0; exponent = T(exponent >> 1)) {
    if (exponent & 1) result = times(result, base);
    base = times(base, base);
  }
  return result;
}

}  // namespace hr

#endif
