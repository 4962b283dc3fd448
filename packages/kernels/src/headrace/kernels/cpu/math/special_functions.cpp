// Special functions of one or more arguments, in double precision.
#include "math/special_functions.hpp"

#include <cmath>
#include <limits>

namespace hr {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Modified Bessel function of order 0 or 1, times e^-|x|: the power series, whose terms are
// all positive, or the asymptotic one.
double bessel_ie(int order, double x) {
  const double a = std::fabs(x);
  if (a <= 30) {
    const double z = a * a / 4;
    double term = order ? a / 2 : 1, sum = term;
    for (int k = 1; k < 200 && term > sum * kEpsilon; ++k) {
      term *= z / (double(k) * (k + order));
      sum += term;
    }
    return sum * std::exp(-a);
  }
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    const double next = -term * (mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * a);
    if (std::fabs(next) < kEpsilon * std::fabs(sum) || std::fabs(next) > std::fabs(term)) break;
    term = next;
    sum += term;
  }
  return a == kInf ? 0 : sum / std::sqrt(2 * kPi * a);
}

// x^a e^-x / Gamma(a), without overflow.
double gamma_density(double a, double x) { return std::exp(a * std::log(x) - x - log_gamma(a)); }

double lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; term > sum * kEpsilon && n < 20000; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gamma_density(a, x);
}

// ---- the incomplete gamma function of large a ---------------------------------------------------

// From here on the series above, which takes some 6 sqrt(a) terms, gives way to Temme's uniform
// expansion, whose first two terms suffice (DLMF 8.12).
constexpr double kLargeA = 1e6;

struct Temme {
  double z;          // of erfc; z^2 = x - a - a log(x / a)
  double log_ratio;  // log(x / a)
  double density;    // e^-z^2 / sqrt(2 pi a)
  double c, dc;      // the correction to the density, and its derivative by eta
  double eta;

  Temme(double a, double x) {
    const double mu = (x - a) / a;
    // Near 0 the difference mu - log(1 + mu) would cancel.
    double half_square = 0, power = mu * mu;
    if (std::fabs(mu) < 0.1) {
      for (int k = 2; k < 20; ++k, power *= -mu) half_square += power / k;
    } else {
      half_square = mu - std::log1p(mu);
    }
    log_ratio = std::log1p(mu);
    eta = std::copysign(std::sqrt(2 * half_square), mu);
    z = std::copysign(std::sqrt(a * half_square), mu);
    density = std::exp(-a * half_square) / std::sqrt(2 * kPi * a);
    // Where the density is not 0, |eta| is below 0.04, and the series by eta is exact.
    const double e = eta;
    const double c0 =
        -1. / 3 +
        e * (1. / 12 + e * (-2. / 135 + e * (1. / 864 + e * (1. / 2835 - e * (139. / 777600)))));
    const double dc0 = 1. / 12 + e * (-4. / 135 + e * (3. / 864 + e * (4. / 2835)));
    c = c0 + (-1. / 540 - e / 288) / a;
    dc = dc0 - 1. / 288 / a;
  }

  double lower() const { return 0.5 * std::erfc(-z) - (density > 0 ? density * c : 0); }
  double upper() const { return 0.5 * std::erfc(z) + (density > 0 ? density * c : 0); }

  // d lower / d a, by differentiating both parts; d z^2 / d a = -log(x / a).
  double lower_by_a(double a) const {
    if (density == 0) return 0;
    const double dz = z == 0 ? -1 / std::sqrt(2 * a) : -log_ratio / (2 * z);
    const double deta = dz * std::sqrt(2 / a) - eta / (2 * a);
    const double ddensity = density * (log_ratio - 1 / (2 * a));
    return std::exp(-z * z) * dz / std::sqrt(kPi) - ddensity * c - density * dc * deta;
  }
};

// Lentz's continued fraction.
double upper_fraction(double a, double x) {
  const double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int i = 1; i < 20000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    if (std::fabs(d) < tiny) d = tiny;
    c = b + an / c;
    if (std::fabs(c) < tiny) c = tiny;
    d = 1 / d;
    const double step = d * c;
    h *= step;
    if (std::fabs(step - 1) < kEpsilon) break;
  }
  return h * gamma_density(a, x);
}

double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::fabs(d) < tiny) d = tiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m < 20000; ++m) {
    for (int odd = 0; odd < 2; ++odd) {
      const double an = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                            : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 + an * d;
      if (std::fabs(d) < tiny) d = tiny;
      c = 1 + an / c;
      if (std::fabs(c) < tiny) c = tiny;
      d = 1 / d;
      h *= d * c;
    }
    if (std::fabs(d * c - 1) < kEpsilon) break;
  }
  return h;
}

}  // namespace

double log_gamma(double x) {
#if defined(__GLIBC__)
  int sign;  // lgamma itself writes a global
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

double digamma(double x) {
  if (x == kInf) return x;
  if (x <= 0) {
    if (x == std::floor(x)) return kNaN;
    return digamma(1 - x) - kPi / std::tan(kPi * x);
  }
  double shift = 0;
  for (; x < 10; ++x) shift -= 1 / x;
  const double z = 1 / (x * x);
  const double tail =
      z * (1. / 12 -
           z * (1. / 120 -
                z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return shift + std::log(x) - 0.5 / x - tail;
}

// Acklam's rational approximation (1.15e-9), then one Halley step to full precision.
double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                             1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                             6.680131188771972e+01, -1.328068155288572e+01};
  static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                             -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                             3.754408661907416e+00};
  double x;
  const double tail = p < 0.5 ? p : 1 - p;
  if (tail < 0.02425) {
    const double q = std::sqrt(-2 * std::log(tail));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    if (p > 0.5) x = -x;
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
  const double step = error * std::sqrt(2 * kPi) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

double erfinv(double y) {
  if (!(y >= -1 && y <= 1)) return kNaN;
  if (std::fabs(y) > 0.5) return std::copysign(-ndtri((1 - std::fabs(y)) / 2) / std::sqrt(2.0), y);
  double x = y * 0.88622692545275801365;
  for (int i = 0; i < 5; ++i) x -= (std::erf(x) - y) * 0.88622692545275801365 * std::exp(x * x);
  return x;
}

double bessel_i0e(double x) { return x != x ? x : bessel_ie(0, x); }
double bessel_i1e(double x) { return x != x ? x : std::copysign(bessel_ie(1, x), x); }

double igamma(double a, double x) {
  if (x == 0 && a >= 0) return 0;
  if (!(x >= 0 && a > 0)) return kNaN;
  if (x == kInf) return a == kInf ? kNaN : 1;
  if (a == kInf) return 0;
  if (a >= kLargeA) return Temme(a, x).lower();
  return x > 1 && x > a ? 1 - upper_fraction(a, x) : lower_series(a, x);
}

double igammac(double a, double x) {
  if (!(x >= 0 && a > 0)) return kNaN;
  if (x == 0) return 1;
  if (x == kInf) return a == kInf ? kNaN : 0;
  if (a == kInf) return 1;
  if (a >= kLargeA) return Temme(a, x).upper();
  return x < 1 || x < a ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

// By differentiating the power series x^a e^-x sum x^n / Gamma(a + n + 1) term by term; far
// in the upper tail, where that cancels, by a central difference of the upper function.
double igamma_grad_a(double a, double x) {
  if (!(x >= 0 && a > 0)) return kNaN;
  if (x == kInf || a == kInf) return a == x ? kNaN : 0;
  if (x == 0) return 0;
  if (a >= kLargeA) return Temme(a, x).lower_by_a(a);
  if (x > 1 && x > a + 10 * std::sqrt(a) + 20) {
    const double h = std::cbrt(kEpsilon) * (a > 1 ? a : 1) * 0.1;
    const double low = a > 2 * h ? a - h : a / 2, high = a + h;
    return -(igammac(high, x) - igammac(low, x)) / (high - low);
  }
  double term = 1 / a, sum = term;
  double term_da = -term / a, sum_da = term_da;  // d term / d a
  for (int i = 1; i < 20000; ++i) {
    const double n = a + i;
    term_da = term_da * x / n - term * x / (n * n);
    term *= x / n;
    sum += term;
    sum_da += term_da;
    if (term < sum * kEpsilon && std::fabs(term_da) < std::fabs(sum_da) * kEpsilon) break;
  }
  const double log_part = std::log(x) - digamma(a);
  return gamma_density(a, x) * (sum_da + sum * log_part);
}

// -dP/da / p for the distribution function P and density p.
double gamma_sample_by_a(double a, double x) {
  if (!(a > 0) || !(x > 0)) return x == 0 ? 0 : kNaN;
  if (a == kInf) return x == kInf ? kNaN : 0;
  const double log_x = std::log(x);
  // Far in the upper tail the series below cancels. Q / p is the sum of (a - 1) ... (a - n) / x^n.
  if (x > 40 + 4 * a) {
    double term = 1, term_da = 0, sum = 0, sum_da = 0;  // _da: derivatives by a
    for (int n = 1; n < 40; ++n) {
      sum += term;
      sum_da += term_da;
      term_da = (term_da * (a - n) + term) / x;
      term *= (a - n) / x;
      if (std::fabs(term) <= sum * kEpsilon && std::fabs(term_da) <= kEpsilon) break;
    }
    return sum * (log_x - digamma(a)) + sum_da;
  }
  if (a >= kLargeA && std::fabs(x - a) < 10 * std::sqrt(a)) {
    const Temme uniform(a, x);
    return -uniform.lower_by_a(a) / (uniform.density * a / x);
  }
  double term = 1, psi = digamma(a + 1), sum = 0, size = 0;
  for (int64_t n = 0; n < 100000; ++n) {
    const double part = term * (log_x - psi);
    sum += part;
    size = std::max(size, std::fabs(part));
    if (double(n) > x && std::fabs(part) < size * 1e-17) break;
    psi += 1 / (a + 1 + double(n));
    term *= x / (a + 1 + double(n));
  }
  // The factors of series and density differ by x / a only.
  return -sum * x / a;
}

// Hurwitz's zeta function, by Euler and Maclaurin.
double zeta(double x, double q) {
  if (x == 1) return kInf;
  if (x < 1 || x != x || q != q) return kNaN;
  if (q <= 0) {
    // A pole, of one sign or not.
    if (q == std::floor(q)) return std::isinf(x) || std::fmod(x, 2) == 0 ? kInf : kNaN;
    if (x != std::floor(x)) return kNaN;
    if (std::isinf(x)) return kInf;  // by a term of a base below 1
  }
  if (std::isinf(x) || std::isinf(q)) return std::pow(q, -x);  // the first term is all
  double sum = 0, at = q;
  for (int i = 0; i < 12 || at < 12; ++i, ++at) {
    sum += std::pow(at, -x);
    if (i > 100000) break;
  }
  static const double bernoulli[] = {1. / 6,       -1. / 30,      1. / 42, -1. / 30,
                                     5. / 66,      -691. / 2730,  7. / 6,  -3617. / 510,
                                     43867. / 798, -174611. / 330};
  const double power = std::pow(at, -x);
  sum += power * at / (x - 1) + 0.5 * power;
  double factor = x, scale = power / at, factorial = 2;
  for (int k = 0; k < 10; ++k) {
    const double term = bernoulli[k] * factor * scale / factorial;
    sum += term;
    if (std::fabs(term) <= kEpsilon * std::fabs(sum)) break;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2);
    scale /= at * at;
    factorial *= (2 * k + 3) * (2 * k + 4);
  }
  return sum;
}

double polygamma(double n, double x) {
  if (!(n >= 0) || n != std::floor(n)) return kNaN;
  if (n == 0) return digamma(x);
  if (x != x) return x;
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(log_gamma(n + 1)) * zeta(n + 1, x);
}

double betainc(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return kNaN;
  if (x == 0 || x == 1) return x;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace hr
