// Elementary functions of float that compilers can vectorise, for CPU devices: PoCL's own have
// branches, and take up to a hundred times as long. As cpu/math/vector_math.hpp, which says how exact
// they are; tests compare the two. Of double, the built-in functions.
#if HR_IS_CPU

#define HR_OVERLOADED static inline __attribute__((overloadable))

// Nearest integer, as a float and in the low bits of an int, for |x| < 2^22.
static inline float hr_nearest(float x, int *n) {
  const float magic = 12582912.0f;  // 1.5 * 2^23
  const float shifted = x + magic;
  *n = as_int(shifted) - as_int(magic);
  return shifted - magic;
}

static inline float hr_power_of_two(int n) { return as_float((n + 127) << 23); }

HR_OVERLOADED float hr_exp(float x) {
  // Beyond these the result is 0 or infinity anyway. NaN passes, its comparisons being false.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  int n;
  const float k = hr_nearest(x * 1.44269504f, &n);
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
  const int half_n = n >> 1;
  return p * hr_power_of_two(half_n) * hr_power_of_two(n - half_n);
}

HR_OVERLOADED float hr_expm1(float x) {
  const float c = x > 89.0f ? 89.0f : (x < -104.0f ? -104.0f : x);
  int n;
  const float k = hr_nearest(c * 1.44269504f, &n);
  float r = c - k * 0.693359375f;
  r = r - k * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r;  // e^r - 1
  const int half_n = n >> 1;
  const float s = hr_power_of_two(half_n), t = hr_power_of_two(n - half_n);
  // 2^n (e^r - 1) + (2^n - 1); above 2^25 the last 1 is lost in any case, and 2^128 is none.
  const float y = n > 25 ? (p + 1.0f) * s * t : p * (s * t) + (s * t - 1.0f);
  return x == 0.0f ? x : y;
}

HR_OVERLOADED float hr_log(float x) {
  const int denormal = x < 1.17549435e-38f;
  const float scaled = denormal ? x * 8388608.0f : x;
  // The mantissa m lies in [sqrt(1/2), sqrt(2)).
  const uint shifted = as_uint(scaled) - 0x3f3504f3u;
  const int exponent = ((int)shifted >> 23) - (denormal ? 23 : 0);
  const float m = as_float((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float k = (float)exponent;
  const float f = m - 1.0f, z = f * f;
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
  result = x == INFINITY ? INFINITY : result;
  result = x == 0.0f ? -INFINITY : result;
  return x >= 0.0f ? result : NAN;  // also NaN itself
}

HR_OVERLOADED float hr_log1p(float x) {
  // log(u) with the part of x that u = 1 + x rounded away put back.
  const float u = 1.0f + x;
  const float lost = (u - 1.0f) - x;
  const float y = hr_log(u) - lost / u;
  return (u == 1.0f) | (x == INFINITY) ? x : (u == 0.0f ? -INFINITY : y);
}

HR_OVERLOADED float hr_tanh(float x) {
  float a = fabs(x);
  a = a > 9.02f ? 9.02f : a;  // beyond it the result is 1; NaN passes
  const int small = (as_int(a) - as_int(0.55f)) >> 31;
  const float magic = 12582912.0f;  // as in hr_nearest
  const float shifted = small ? magic : a * 2.88539008f + magic;
  const int n = as_int(shifted) - as_int(magic);
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
  const float t = hr_power_of_two(n - 1);
  const float large = 1.0f - (1.0f - u) / ((t - 0.5f) * u + (t + 0.5f));
  return copysign(small ? u : large, x);  // -0 stays -0
}

#if HR_HAS_DOUBLE
HR_OVERLOADED double hr_exp(double x) { return exp(x); }
HR_OVERLOADED double hr_expm1(double x) { return expm1(x); }
HR_OVERLOADED double hr_log(double x) { return log(x); }
HR_OVERLOADED double hr_log1p(double x) { return log1p(x); }
HR_OVERLOADED double hr_tanh(double x) { return tanh(x); }
#endif

#define exp(x) hr_exp(x)
#define expm1(x) hr_expm1(x)
#define log(x) hr_log(x)
#define log1p(x) hr_log1p(x)
#define tanh(x) hr_tanh(x)

#endif
