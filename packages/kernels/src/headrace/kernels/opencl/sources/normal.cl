// The parts of two normal numbers (Box and Muller 1958) of two uniform ones: a radius and an angle,
// which is 2 pi times a turn in [0, 1).
//
// Of float, by the polynomials of the CPU's library (cpu/math/vector_math.hpp), which compilers can
// vectorise, and which give the same numbers but for a rounding.

#if defined(T_double)

static double radius_of(double u) { return sqrt(-2.0 * log(max(1e-7, u))); }
static double sine_of_turn(double turn) { return sin(2.0 * M_PI * turn); }
static double cosine_of_turn(double turn) { return cos(2.0 * M_PI * turn); }

#else

// u is at least 1e-7: no denormals, infinities or zeros.
static float log_of(float u) {
  const uint bits = as_uint(u) - 0x3f3504f3u;
  const float m = as_float((bits & 0x007fffffu) + 0x3f3504f3u);  // in [sqrt(1/2), sqrt(2))
  const float k = (float)((int)bits >> 23);
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
  return f + y + k * 0.693359375f;
}

static float radius_of(float u) { return sqrt(-2.0f * log_of(u < 1e-7f ? 1e-7f : u)); }

#if HR_HAS_DOUBLE

// The sine of the quarter circle n quarters on from the one that the angle lies in.
static float sine_of(float turn, int n) {
  const float angle = (float)(2.0 * M_PI * (double)turn);
  const double magic = 6755399441055744.0;  // 1.5 * 2^52: rounds to an integer
  const double shifted = (double)angle * 0.63661977236758134308 + magic;
  const int quarter = (int)as_long(shifted) + n;
  const double k = shifted - magic;
  const double r =
      ((double)angle - k * 1.57079632679489655800e+00) - k * 6.12323399573676603587e-17;
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
  const double y = quarter & 1 ? c : s;
  return (float)(quarter & 2 ? -y : y);
}
static float sine_of_turn(float turn) { return sine_of(turn, 0); }
static float cosine_of_turn(float turn) { return sine_of(turn, 1); }

#else

static float sine_of_turn(float turn) { return sinpi(2.0f * turn); }
static float cosine_of_turn(float turn) { return cospi(2.0f * turn); }

#endif
#endif
