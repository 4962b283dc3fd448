// Elementary functions of float that compilers can vectorise: no branches, no tables.
//
// Errors, measured over all magnitudes against double precision (tests/test_cpu_unary.py):
// at most 2 ulp for exp, log, sin, cos and tanh, 3 for sigmoid, 4 for expm1 and log1p. NaN,
// infinities, signed zeros and denormal results are as in IEEE 754.
// Doubles use the C library.
#ifndef HEADRACE_CPU_MATH_VECTOR_MATH_HPP
#define HEADRACE_CPU_MATH_VECTOR_MATH_HPP

#include <cmath>
#include <cstdint>
#include <limits>

#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr::vm {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Nearest integer, as a float and in the low bits of an int, for |x| < 2^22.
HR_INLINE float nearest(float x, int32_t* n) {
  const float magic = 12582912.0f;  // 1.5 * 2^23
  const float shifted = x + magic;
  *n = bits_as<int32_t>(shifted) - bits_as<int32_t>(magic);
  return shifted - magic;
}

// a where the mask is all ones, b where it is all zeros.
HR_INLINE float either(int32_t mask, float a, float b) {
  return bits_as<float>((bits_as<int32_t>(a) & mask) | (bits_as<int32_t>(b) & ~mask));
}

HR_INLINE float power_of_two(int32_t n) { return bits_as<float>((n + 127) << 23); }

HR_INLINE float exp(float x) {
  // Beyond these the result is 0 or infinity anyway. NaN passes, its comparisons being false.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  int32_t n;
  const float k = nearest(x * 1.44269504f, &n);
  float r = x - k * 0.693359375f;
  r = r - k * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // Two factors, since 2^n alone may be too large or too small for a float.
  const int32_t half_n = n >> 1;
  return p * power_of_two(half_n) * power_of_two(n - half_n);
}
HR_INLINE double exp(double x) { return std::exp(x); }

HR_INLINE float log(float x) {
  const bool denormal = x < 1.17549435e-38f;
  const float scaled = denormal ? x * 8388608.0f : x;
  const uint32_t bits = bits_as<uint32_t>(scaled);
  // The mantissa m lies in [sqrt(1/2), sqrt(2)).
  const uint32_t shifted = bits - 0x3f3504f3u;
  const int32_t exponent = (int32_t(shifted) >> 23) - (denormal ? 23 : 0);
  const float m = bits_as<float>((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float k = float(exponent);
  const float f = m - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  float y = p * f * z;
  y = y + k * -2.12194440e-4f;
  y = y - 0.5f * z;
  float result = f + y + k * 0.693359375f;
  result = x == kInf ? kInf : result;
  result = x == 0.0f ? -kInf : result;
  return x >= 0.0f ? result : kNaN;  // also NaN itself
}
HR_INLINE double log(double x) { return std::log(x); }

// From tanh(h), a polynomial, and |x| = n log(2)/2 + h: 1 - tanh is (1 - u) / (sinh + cosh u of
// n log(2)/2, times so much). Below 0.55 that difference would lose digits, and n is 0.
HR_INLINE float tanh(float x) {
  float a = std::fabs(x);
  a = a > 9.02f ? 9.02f : a;  // beyond it the result is 1; NaN passes
  // A mask and not a condition, for which GCC 12 would compute everything twice.
  const int32_t small = (bits_as<int32_t>(a) - bits_as<int32_t>(0.55f)) >> 31;
  const float magic = 12582912.0f;  // as in nearest()
  const float shifted = either(small, magic, a * 2.88539008f + magic);
  const int32_t n = bits_as<int32_t>(shifted) - bits_as<int32_t>(magic);
  const float k = shifted - magic;
  float h = a - k * 0.3466796875f;
  h = h - k * -1.06097220e-4f;
  const float g = h * h;
  float p = -6.257535424083471e-3f;
  p = p * g + 2.1060187369585037e-2f;
  p = p * g - 5.384957417845726e-2f;
  p = p * g + 1.3332560658454895e-1f;
  p = p * g - 3.333331e-1f;
  const float u = p * (h * g) + h;
  const float t = power_of_two(n - 1);
  const float large = 1.0f - (1.0f - u) / ((t - 0.5f) * u + (t + 0.5f));
  return std::copysign(either(small, u, large), x);  // -0 stays -0
}
HR_INLINE double tanh(double x) { return std::tanh(x); }

HR_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
HR_INLINE double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

HR_INLINE float log1p(float x) {
  // log(u) with the part of x that u = 1 + x rounded away put back.
  const float u = 1.0f + x;
  const float lost = (u - 1.0f) - x;
  const float y = log(u) - lost / u;
  return u == 1.0f || x == kInf ? x : (u == 0.0f ? -kInf : y);
}
HR_INLINE double log1p(double x) { return std::log1p(x); }

HR_INLINE float expm1(float x) {
  const float c = x > 89.0f ? 89.0f : (x < -104.0f ? -104.0f : x);
  int32_t n;
  const float k = nearest(c * 1.44269504f, &n);
  float r = c - k * 0.693359375f;
  r = r - k * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r;  // e^r - 1
  const int32_t half_n = n >> 1;
  const float s = power_of_two(half_n), t = power_of_two(n - half_n);
  // 2^n (e^r - 1) + (2^n - 1); above 2^25 the last 1 is lost in any case, and 2^128 is none.
  const float y = n > 25 ? (p + 1.0f) * s * t : p * (s * t) + (s * t - 1.0f);
  return x == 0.0f ? x : y;
}
HR_INLINE double expm1(double x) { return std::expm1(x); }

// The quarter circle that x lies in, and x's offset from its middle, in double: exact enough
// for |x| below kLargestAngle; beyond it callers go to the C library.
constexpr float kLargestAngle = 1e6f;

HR_INLINE double quarter(float x, int32_t* n) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = double(x) * 0.63661977236758134308 + magic;
  *n = int32_t(bits_as<int64_t>(shifted));
  const double k = shifted - magic;
  return (double(x) - k * 1.57079632679489655800e+00) - k * 6.12323399573676603587e-17;
}

HR_INLINE float sine_of_quarter(double r, int32_t n) {
  const double z = r * r;
  double s = 2.7181216275479732e-6;
  s = s * z - 1.98393348360966317347e-4;
  s = s * z + 8.33332938588946317564e-3;
  s = s * z - 1.66666666416265235595e-1;
  s = s * z * r + r;
  double c = 2.43904487962774090654e-5;
  c = c * z - 1.38867637746099294692e-3;
  c = c * z + 4.16666233237390631894e-2;
  c = c * z - 4.99999997251031003120e-1;
  c = c * z + 1.0;
  const double y = n & 1 ? c : s;
  return float(n & 2 ? -y : y);
}

HR_INLINE float sin(float x) {
  int32_t n;
  const double r = quarter(x, &n);
  const float y = sine_of_quarter(r, n);
  return x == 0.0f ? x : y;
}
HR_INLINE float cos(float x) {
  int32_t n;
  const double r = quarter(x, &n);
  return sine_of_quarter(r, n + 1);
}

HR_INLINE double sin(double x) { return std::sin(x); }
HR_INLINE double cos(double x) { return std::cos(x); }

// out = loop(x), but exact(x) of angles that are too large for it. out may be x.
template <class T, class Loop, class Exact>
void of_angles(const T* x, T* out, int64_t n, Loop&& loop, Exact&& exact) {
  constexpr int64_t kStretch = 256;
  for (int64_t i = 0; i < n; i += kStretch, x += kStretch, out += kStretch) {
    const int64_t m = n - i < kStretch ? n - i : kStretch;
    bool small = true;
    for (int64_t j = 0; j < m; ++j) small &= !(std::fabs(float(x[j])) > kLargestAngle);
    if (small) {
      loop(x, out, m);
      continue;
    }
    T angles[kStretch];
    for (int64_t j = 0; j < m; ++j) angles[j] = x[j];
    loop(angles, out, m);
    for (int64_t j = 0; j < m; ++j)
      if (std::fabs(float(angles[j])) > kLargestAngle) out[j] = T(exact(float(angles[j])));
  }
}

HR_INLINE float rsqrt(float x) { return 1.0f / std::sqrt(x); }
HR_INLINE double rsqrt(double x) { return 1.0 / std::sqrt(x); }

}  // namespace hr::vm

#endif
