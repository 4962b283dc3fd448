// C++ types of the dtypes, and dispatch from a dtype to its type.
#ifndef HEADRACE_CPU_TABLE_ELEMENT_TYPES_HPP
#define HEADRACE_CPU_TABLE_ELEMENT_TYPES_HPP

#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "headrace/kernel.h"
#include "library/constraints.hpp"
#include "processor/simd.hpp"

namespace hr {

template <class To, class From>
HR_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// ---- 16-bit floating point: stored only, computed as float ---------------------------------

HR_INLINE float half_to_float(uint16_t half) {
  // Denormals come out right by a float subtraction, so the loop needs no branch.
  const uint32_t sign = uint32_t(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  const float normal = bits_as<float>((magnitude << 13) + (112u << 23));
  const float denormal = bits_as<float>(magnitude + (126u << 23)) - 0.5f;
  const float special = bits_as<float>((magnitude << 13) | 0x7f800000u);
  const float value = magnitude >= 0x7c00u ? special : magnitude < 0x0400u ? denormal : normal;
  return bits_as<float>(bits_as<uint32_t>(value) | sign);
}

HR_INLINE uint16_t float_to_half(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + odd) >> 13;
  const float shifted = bits_as<float>(magnitude) + 0.5f;  // rounds to the denormal's grid
  const uint32_t denormal = bits_as<uint32_t>(shifted) - (126u << 23);
  const uint32_t finite = magnitude < (113u << 23) ? denormal : normal;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return uint16_t(sign | (magnitude >= (143u << 23) ? special : finite));
}

HR_INLINE float bfloat16_to_float(uint16_t bits) { return bits_as<float>(uint32_t(bits) << 16); }

HR_INLINE uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

struct half {
  uint16_t bits;
  half() = default;
  HR_INLINE half(float value) : bits(float_to_half(value)) {}
  HR_INLINE operator float() const { return half_to_float(bits); }
};

struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  HR_INLINE bfloat16(float value) : bits(float_to_bfloat16(value)) {}
  HR_INLINE operator float() const { return bfloat16_to_float(bits); }
};

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// ---- what a type is --------------------------------------------------------------------------

template <class T> struct ComputeOf {
  using type = T;
};
template <> struct ComputeOf<half> {
  using type = float;
};
template <> struct ComputeOf<bfloat16> {
  using type = float;
};
// The type in which arithmetic on T is done.
template <class T> using Compute = typename ComputeOf<T>::type;

template <class T> constexpr bool is_complex = false;
template <> inline constexpr bool is_complex<complex64> = true;
template <> inline constexpr bool is_complex<complex128> = true;
template <class T> constexpr bool is_small_float =
    std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
template <class T> constexpr bool is_real_float = std::is_floating_point_v<T> || is_small_float<T>;
template <class T> constexpr bool is_bool = std::is_same_v<T, bool>;
template <class T> constexpr bool is_integer = std::is_integral_v<T> && !is_bool<T>;

// ---- from a dtype to a type ---------------------------------------------------------------------

template <class T> struct Type {
  using type = T;
};

// Calls f(Type<T>{}) for the T of a dtype among those listed; f's result must be a pointer or
// a number, and is zero for a dtype that is not listed.
template <class... Ts> struct Types {};

template <class T> constexpr hr_dtype dtype_of = HR_INVALID;
#define HR_DTYPE_OF(T, number) template <> inline constexpr hr_dtype dtype_of<T> = number
HR_DTYPE_OF(float, HR_FLOAT);
HR_DTYPE_OF(double, HR_DOUBLE);
HR_DTYPE_OF(half, HR_HALF);
HR_DTYPE_OF(bfloat16, HR_BFLOAT16);
HR_DTYPE_OF(int8_t, HR_INT8);
HR_DTYPE_OF(int16_t, HR_INT16);
HR_DTYPE_OF(int32_t, HR_INT32);
HR_DTYPE_OF(int64_t, HR_INT64);
HR_DTYPE_OF(uint8_t, HR_UINT8);
HR_DTYPE_OF(uint16_t, HR_UINT16);
HR_DTYPE_OF(uint32_t, HR_UINT32);
HR_DTYPE_OF(uint64_t, HR_UINT64);
HR_DTYPE_OF(bool, HR_BOOL);
HR_DTYPE_OF(complex64, HR_COMPLEX64);
HR_DTYPE_OF(complex128, HR_COMPLEX128);
HR_DTYPE_OF(hr_string, HR_STRING);
#undef HR_DTYPE_OF

template <class F, class First, class... Rest>
auto with_type(hr_dtype dtype, Types<First, Rest...>, F&& f) -> decltype(f(Type<First>{})) {
  if (dtype == dtype_of<First>) return f(Type<First>{});
  if constexpr (sizeof...(Rest) > 0) return with_type(dtype, Types<Rest...>{}, f);
  else return decltype(f(Type<First>{})){};
}

template <class... As, class... Bs>
Types<As..., Bs...> joined(Types<As...>, Types<Bs...>);
template <class A, class B> using Join = decltype(joined(A{}, B{}));

// T, or the unsigned integers of its width: for loops that do not look at the sign.
template <class T, bool = is_integer<T>> struct SignlessOf {
  using type = T;
};
template <class T> struct SignlessOf<T, true> {
  using type = std::make_unsigned_t<T>;
};
template <class... Ts> Types<typename SignlessOf<Ts>::type...> signless(Types<Ts...>);
template <class Set> using Signless = decltype(signless(Set{}));

// Quantized numbers are stored, and compare, as the integers that they are.
inline hr_dtype storage_type(hr_dtype dtype) {
  switch (dtype) {
    case HR_QINT8: return HR_INT8;
    case HR_QUINT8: return HR_UINT8;
    case HR_QINT16: return HR_INT16;
    case HR_QUINT16: return HR_UINT16;
    case HR_QINT32: return HR_INT32;
    default: return dtype;
  }
}

// The dtype of SignlessOf.
inline hr_dtype as_unsigned(hr_dtype dtype) {
  switch (dtype) {
    case HR_INT8: return HR_UINT8;
    case HR_INT16: return HR_UINT16;
    case HR_INT32: return HR_UINT32;
    case HR_INT64: return HR_UINT64;
    default: return dtype;
  }
}

using SmallFloats = Types<half, bfloat16>;
using WideFloats = Types<float, double>;
using Floats = Join<WideFloats, SmallFloats>;
using Signed = Types<int32_t, int64_t, int8_t, int16_t>;
using Unsigned = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Integers = Join<Signed, Unsigned>;
using Complexes = Types<complex64, complex128>;
using Indices = Types<int32_t, int64_t>;
using Reals = Join<Floats, Integers>;
using Numbers = Join<Reals, Complexes>;
using NumbersAndBool = Join<Numbers, Types<bool>>;

}  // namespace hr

#endif
