"""Functions of mathematical physics on float64 arrays, from series and integrals.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions; chapters in each docstring.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

_EULER = 0.57721566490153286061
_EPS = 1e-17
# Nodes and weights of Gauss and Laguerre; to find them takes longer than all the rest.
_laguerre = lru_cache(np.polynomial.laguerre.laggauss)


def _elementwise(scalar: Callable[..., float]) -> Callable[..., np.ndarray]:
    """`scalar` over arrays that broadcast."""

    def finite(*row: float) -> float:
        try:
            return scalar(*row)
        except OverflowError:  # Python's math raises where IEEE has infinity
            return math.inf

    def over_arrays(*args: Any) -> np.ndarray:
        arrays = np.broadcast_arrays(*[np.asarray(a, np.float64) for a in args])
        flat = [finite(*row) for row in zip(*[a.ravel().tolist() for a in arrays], strict=True)]
        return np.array(flat, np.float64).reshape(arrays[0].shape)

    over_arrays.__doc__ = scalar.__doc__
    over_arrays.__name__ = scalar.__name__
    return over_arrays


# ---- error functions (chapter 7) ----

erf = _elementwise(math.erf)
erfc = _elementwise(math.erfc)


@_elementwise
def ndtri(p: float) -> float:
    """The x below which a standard normal variable falls with probability p."""
    if not 0 < p < 1:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    tail = min(p, 1 - p)
    t = math.sqrt(-2 * math.log(tail))  # 26.2.23, then Newton's method
    x = -(t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t))
    for _ in range(8):
        error = 0.5 * math.erfc(-x / math.sqrt(2)) - tail
        step = error * math.sqrt(2 * math.pi) * math.exp(min(x * x / 2, 700.0))
        x -= step / (1 + x * step / 2)  # Halley's correction
    return x if p <= 0.5 else -x


def erfinv(y: Any) -> np.ndarray:
    """The x with erf(x) = y."""
    y = np.asarray(y, np.float64)
    small = np.abs(y) < 1e-3  # where (y + 1) / 2 would lose digits
    series = math.sqrt(math.pi) / 2 * (y + math.pi / 12 * y**3 + 7 * math.pi**2 / 480 * y**5)
    return np.where(small, series, ndtri((y + 1) / 2) / math.sqrt(2))


@_elementwise
def dawsn(x: float) -> float:
    """exp(-x^2) times the integral of exp(t^2) from 0 to x (Rybicki's sampling formula)."""
    if math.isnan(x) or math.isinf(x):
        return x if math.isnan(x) else math.copysign(0.0, x)
    if abs(x) < 0.2:
        term, total = x, x
        for n in range(1, 20):
            term *= -2 * x * x / (2 * n + 1)
            total += term
        return total
    h = 0.2
    middle = 2 * round(0.5 * abs(x) / h)
    rest = abs(x) - middle * h
    total = sum(math.exp(-((rest - k * h) ** 2)) / (middle + k) for k in range(-61, 62, 2))
    return math.copysign(total / math.sqrt(math.pi), x)


# ---- exponential integral, dilogarithm, Fresnel integrals (5, 27.7, 7.3) ----


@_elementwise
def expint(x: float) -> float:
    """Ei(x), the principal value of the integral of exp(t)/t from minus infinity to x > 0."""
    if math.isnan(x) or x == 0:
        return x if math.isnan(x) else -math.inf
    if x < 0:
        return math.nan  # as TensorFlow has it
    if x > 709:
        return math.inf
    if x > 45:
        term = total = 1.0
        for n in range(1, int(x)):
            term *= n / x
            total += term
            if term < _EPS:
                break
        return math.exp(x) / x * total
    term = 1.0
    total = _EULER + math.log(abs(x))
    for n in range(1, 300):
        term *= x / n
        total += term / n
        if abs(term) < _EPS * abs(total):
            break
    return total


@_elementwise
def spence(x: float) -> float:
    """The integral of -ln(t)/(t-1) from 1 to x: the dilogarithm of 1 - x."""
    if math.isnan(x) or x < 0:
        return math.nan
    if x in (0.0, 1.0):
        return math.pi**2 / 6 if x == 0 else 0.0
    if math.isinf(x):
        return -math.inf
    if x > 1.5:
        return -0.5 * math.log(x) ** 2 - float(spence(1 / x))
    if x < 0.5:
        return math.pi**2 / 6 - math.log(x) * math.log1p(-x) - float(spence(1 - x))
    z, power, total = 1 - x, 1.0, 0.0
    for n in range(1, 120):
        power *= z
        total += power / (n * n)
    return total


def _fresnel(x: float) -> complex:
    """C(x) + i S(x): the integral of exp(i pi t^2 / 2) from 0 to x."""
    size = abs(x)
    if math.isinf(x):
        return complex(math.copysign(0.5, x), math.copysign(0.5, x))
    if size < 3:
        term: complex = complex(size)
        total: complex = term
        for n in range(1, 200):
            term *= 1j * math.pi / 2 * size * size / n
            total += term / (2 * n + 1)
            if abs(term) < _EPS:
                break
    else:  # steepest descent: the rest beyond x by Gauss-Laguerre
        nodes, weights = _laguerre(40)
        decay = 1 / np.sqrt(1 + 2j * nodes / (math.pi * size * size))
        turn = complex(math.cos(_half_pi_square(size)), math.sin(_half_pi_square(size)))
        total = (0.5 + 0.5j) - 1j * turn / (math.pi * size) * complex(np.sum(weights * decay))
    return total if x >= 0 else -total


def _half_pi_square(x: float) -> float:
    return math.pi / 2 * math.fmod(x * x, 4.0)


@_elementwise
def fresnel_cos(x: float) -> float:
    """The integral of cos(pi t^2 / 2) from 0 to x."""
    return math.nan if math.isnan(x) else _fresnel(x).real


@_elementwise
def fresnel_sin(x: float) -> float:
    """The integral of sin(pi t^2 / 2) from 0 to x."""
    return math.nan if math.isnan(x) else _fresnel(x).imag


# ---- gamma functions (chapter 6, 23.2) ----


@_elementwise
def lgamma(x: float) -> float:
    """ln |gamma(x)|."""
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


@_elementwise
def digamma(x: float) -> float:
    """The derivative of ln gamma(x)."""
    if math.isnan(x) or math.isinf(x):
        return x if x != -math.inf else math.nan
    if x <= 0:
        if x == math.floor(x):
            return math.nan  # a pole
        return float(digamma(1 - x)) - math.pi / math.tan(math.pi * math.fmod(x, 1.0))
    result = 0.0
    while x < 12:
        result -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (
        1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132))))
    )
    return result + math.log(x) - 0.5 / x - series


# B_2k / (2k)! of the Euler-Maclaurin sum.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


@_elementwise
def zeta(s: float, q: float) -> float:
    """Hurwitz's zeta: the sum of (q + n)^-s over n = 0, 1, 2, ..."""
    if math.isnan(s) or math.isnan(q) or s < 1:
        return math.nan
    if s == 1:
        return math.inf
    if q <= 0:
        if math.isinf(q) or q == math.floor(q):  # a pole: of one sign from both sides, or not
            return math.inf if math.isinf(s) or s % 2 == 0 else math.nan
        if math.isinf(s):
            return math.inf  # by a term of a base below 1
        if s != math.floor(s):
            return math.nan
    if math.isinf(s) or math.isinf(q):
        return q**-s  # the first term is all
    total, n = 0.0, 0
    while n < 12 or q + n < 12:
        total += (q + n) ** -s
        n += 1
    a = q + n
    total += a ** (1 - s) / (s - 1) + 0.5 * a**-s
    factor = s * a ** (-s - 1) / 2
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        if factor == 0:
            break
        total += bernoulli * factor
        factor *= (s + 2 * k - 1) * (s + 2 * k) / (a * a * (2 * k + 1) * (2 * k + 2))
    return total


@_elementwise
def polygamma(n: float, x: float) -> float:
    """The n-th derivative of digamma."""
    if math.isnan(n) or n < 0 or n != math.floor(n):
        return math.nan
    if n == 0:
        return float(digamma(x))
    return (-1) ** (int(n) + 1) * math.gamma(n + 1) * float(zeta(n + 1, x))


def _igamma_pair(a: float, x: float) -> tuple[float, float]:
    """P(a, x) and Q(a, x) = 1 - P (6.5), each with full precision where it is the small one."""
    if a == 0 and x == 0:
        return 0.0, math.nan  # as TensorFlow has it
    if math.isnan(a) or math.isnan(x) or x < 0 or a <= 0:
        return math.nan, math.nan
    if math.isinf(x):
        return (math.nan, math.nan) if math.isinf(a) and math.isinf(x) else (1.0, 0.0)
    if x == 0 or math.isinf(a):
        return 0.0, 1.0
    if a >= _LARGE_A:
        return _uniform_pair(a, x)
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x <= a + 1:
        term = total = 1 / a
        n = a
        while abs(term) > _EPS * abs(total):
            n += 1
            term *= x / n
            total += term
        return front * total, 1 - front * total
    fraction = 0.0  # backwards, deep enough for any x above a + 1
    for k in range(int(60 + 10 * math.sqrt(a + 100)), 0, -1):
        fraction = k * (a - k) / (x + 2 * k + 1 - a + fraction)
    q = front / (x + 1 - a + fraction)
    return 1 - q, q


# The series and fractions around take some sqrt(a) terms; from here on Temme's uniform expansion
# (DLMF 8.12) is exact.
_LARGE_A = 1e6


def _uniform(a: float, x: float) -> tuple[float, float]:
    """z of erfc, and the term that is added to it in Q and subtracted in P."""
    mu = (x - a) / a
    if abs(mu) < 0.1:  # mu - log(1 + mu) would cancel
        half_square = sum((-mu) ** k / k for k in range(2, 20))
    else:
        half_square = mu - math.log1p(mu)
    eta = math.copysign(math.sqrt(2 * half_square), mu)
    exponent = a * half_square
    density = math.exp(-exponent) / math.sqrt(2 * math.pi * a)
    correction = sum(c * eta**k for k, c in enumerate((-1 / 3, 1 / 12, -2 / 135, 1 / 864)))
    correction += (-1 / 540 - eta / 288) / a
    return math.copysign(math.sqrt(exponent), mu), density * correction if density else 0.0


def _uniform_pair(a: float, x: float) -> tuple[float, float]:
    z, rest = _uniform(a, x)
    return 0.5 * math.erfc(-z) - rest, 0.5 * math.erfc(z) + rest


@_elementwise
def igamma(a: float, x: float) -> float:
    """The lower regularised incomplete gamma function P(a, x)."""
    return _igamma_pair(a, x)[0]


@_elementwise
def igammac(a: float, x: float) -> float:
    """The upper regularised incomplete gamma function Q(a, x)."""
    return _igamma_pair(a, x)[1]


@_elementwise
def igamma_grad_a(a: float, x: float) -> float:
    """The derivative of P(a, x) in a."""
    if math.isnan(a) or math.isnan(x) or x < 0 or a <= 0:
        return math.nan
    if math.isinf(a) or math.isinf(x):
        return math.nan if a == x else 0.0
    if x == 0:
        return 0.0
    if a >= _LARGE_A:  # a central difference, over a tenth of the deviation
        step = 0.1 * math.sqrt(a)
        low, high = _uniform_pair(a - step, x)[0], _uniform_pair(a + step, x)[0]
        far_low = _uniform_pair(a - 2 * step, x)[0]
        far_high = _uniform_pair(a + 2 * step, x)[0]
        return (8 * (high - low) - (far_high - far_low)) / (12 * step)
    psi = float(digamma(a))
    if x > max(a + 1, 25.0):  # of Q, by Gauss-Laguerre
        if x > 700 + a:
            return 0.0
        nodes, weights = _laguerre(60)
        density = np.exp((a - 1) * np.log(x + nodes) - x - math.lgamma(a))
        return -float(np.sum(weights * density * (np.log(x + nodes) - psi)))
    term = math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    psi += 1 / a  # digamma(a + 1)
    total, n = 0.0, a
    while n < a + x + 60 or term > _EPS:
        total += term * (math.log(x) - psi)
        n += 1
        term *= x / n
        psi += 1 / n
    return total


@_elementwise
def betainc(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) (26.5)."""
    if math.isnan(a) or math.isnan(b) or not 0 <= x <= 1 or a <= 0 or b <= 0:
        return math.nan
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - float(betainc(b, a, 1 - x))
    log_front = a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    fraction = 1.0
    for m in range(min(int(100 + 5 * math.sqrt(max(a, b))), 1_000_000), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1 + even / (1 + odd / fraction)
    first = -(a + b) * x / (a + 1)
    return front / a / (1 + first / fraction)


# ---- Bessel functions, by the trapezoid rule on their integrals (9.1.18, 9.6.16, 9.6.24) ----

_ANGLES = (np.arange(400) + 0.5) * (math.pi / 400)


def _integral_i(order: int, x: float) -> float:
    """exp(-|x|) I_order(x)."""
    values = np.exp(abs(x) * (np.cos(_ANGLES) - 1)) * np.cos(order * _ANGLES)
    if abs(x) > 5000:  # the peak is too narrow for the angles: asymptotic series
        mu = 4.0 * order * order
        tail = 1 - (mu - 1) / (8 * abs(x)) + (mu - 1) * (mu - 9) / (2 * (8 * abs(x)) ** 2)
        result = tail / math.sqrt(2 * math.pi * abs(x)) if not math.isinf(x) else 0.0
    else:
        result = float(np.mean(values))
    return -result if order % 2 and x < 0 else result


def _integral_k(order: int, x: float) -> float:
    """exp(x) K_order(x)."""
    if math.isnan(x) or x <= 0:
        return math.nan if math.isnan(x) else math.inf
    if math.isinf(x):
        return 0.0
    top = 2 * math.asinh(math.sqrt(745 / x / 2))
    t = np.linspace(0, top, 4000)
    values = np.exp(-2 * x * np.sinh(t / 2) ** 2) * np.cosh(order * t)  # 1 - cosh(t) cancels
    return float((np.sum(values) - 0.5 * (values[0] + values[-1])) * (t[1] - t[0]))


def _integral_j(order: int, x: float) -> float:
    if math.isinf(x) or math.isnan(x):
        return x * 0 if math.isnan(x) else 0.0
    count = int(abs(x)) + 200
    angles = (np.arange(count) + 0.5) * (math.pi / count)
    return float(np.mean(np.cos(x * np.sin(angles) - order * angles)))


def _series_y(order: int, x: float) -> float:
    """Y_0 or Y_1: Neumann's series (9.1.88, 9.1.89) near, Hankel's expansion (9.2.6) far."""
    if math.isnan(x) or x <= 0:
        return math.nan if math.isnan(x) else -math.inf
    if math.isinf(x):
        return 0.0
    if x > 30:
        mu, p, q, term = 4.0 * order * order, 0.0, 0.0, 1.0
        for k in range(30):
            part = (1, 1, -1, -1)[k % 4] * term
            p, q = (p + part, q) if k % 2 == 0 else (p, q + part)
            term *= (mu - (2 * k + 1) ** 2) / ((k + 1) * 8 * x)
        chi = x - (order / 2 + 0.25) * math.pi
        return math.sqrt(2 / (math.pi * x)) * (p * math.sin(chi) + q * math.cos(chi))
    near = math.log(x / 2) + _EULER
    if order == 0:
        total = sum((-1) ** k * _integral_j(2 * k, x) / k for k in range(1, 40))
        return 2 / math.pi * near * _integral_j(0, x) - 4 / math.pi * total
    total = sum(
        (-1) ** k * (2 * k + 1) / (k * (k + 1)) * _integral_j(2 * k + 1, x) for k in range(1, 40)
    )
    return (
        -2 / (math.pi * x) * _integral_j(0, x)
        + 2 / math.pi * (near - 1) * _integral_j(1, x)
        - 2 / math.pi * total
    )


def _scaled(x: float, factor: float, exponent: float) -> float:
    return factor * math.exp(exponent) if exponent < 709 else (factor and math.inf * factor)


@_elementwise
def bessel_i0e(x: float) -> float:
    return _integral_i(0, x)


@_elementwise
def bessel_i1e(x: float) -> float:
    return _integral_i(1, x)


@_elementwise
def bessel_i0(x: float) -> float:
    return math.inf if math.isinf(x) else _scaled(x, _integral_i(0, x), abs(x))


@_elementwise
def bessel_i1(x: float) -> float:
    return x if math.isinf(x) else _scaled(x, _integral_i(1, x), abs(x))


@_elementwise
def bessel_k0e(x: float) -> float:
    return _integral_k(0, x)


@_elementwise
def bessel_k1e(x: float) -> float:
    return _integral_k(1, x)


@_elementwise
def bessel_k0(x: float) -> float:
    return math.inf if x <= 0 else _integral_k(0, x) * math.exp(-x)


@_elementwise
def bessel_k1(x: float) -> float:
    return math.inf if x <= 0 else _integral_k(1, x) * math.exp(-x)


@_elementwise
def bessel_j0(x: float) -> float:
    return _integral_j(0, x)


@_elementwise
def bessel_j1(x: float) -> float:
    return _integral_j(1, x)


@_elementwise
def bessel_y0(x: float) -> float:
    return _series_y(0, x)


@_elementwise
def bessel_y1(x: float) -> float:
    return _series_y(1, x)
