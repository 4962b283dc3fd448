"""One element at a time: arithmetic, comparison, bits, casts and the gradients of activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference import special_functions as special
from headrace.kernels.reference.precision import is_float, numpy_type, wide, widely
from headrace.kernels.reference.registry import Attrs, kernel

# ---- one input, one expression ----

kernel("Sqrt")(widely(np.sqrt))
kernel("Rsqrt")(widely(lambda x: 1 / np.sqrt(x)))
kernel("Exp")(widely(np.exp))
kernel("Expm1")(widely(np.expm1))
kernel("Log")(widely(np.log))
kernel("Log1p")(widely(np.log1p))
kernel("Sin")(widely(np.sin))
kernel("Cos")(widely(np.cos))
kernel("Tan")(widely(np.tan))
kernel("Asin")(widely(np.arcsin))
kernel("Acos")(widely(np.arccos))
kernel("Atan")(widely(np.arctan))
kernel("Sinh")(widely(np.sinh))
kernel("Cosh")(widely(np.cosh))
kernel("Tanh")(widely(np.tanh))
kernel("Asinh")(widely(np.arcsinh))
kernel("Acosh")(widely(np.arccosh))
kernel("Atanh")(widely(np.arctanh))
kernel("Sigmoid")(widely(lambda x: 1 / (1 + np.exp(-x))))
kernel("Floor")(widely(np.floor))
kernel("Ceil")(widely(np.ceil))
kernel("Rint")(widely(np.rint))
kernel("Erf")(widely(special.erf))
kernel("Erfc")(widely(special.erfc))
kernel("Erfinv")(widely(special.erfinv))
kernel("Ndtri")(widely(special.ndtri))
kernel("Lgamma")(widely(special.lgamma))
kernel("Digamma")(widely(special.digamma))
kernel("BesselI0")(widely(special.bessel_i0))
kernel("BesselI0e")(widely(special.bessel_i0e))
kernel("BesselI1")(widely(special.bessel_i1))
kernel("BesselI1e")(widely(special.bessel_i1e))
kernel("BesselJ0")(widely(special.bessel_j0))
kernel("BesselJ1")(widely(special.bessel_j1))
kernel("BesselK0")(widely(special.bessel_k0))
kernel("BesselK0e")(widely(special.bessel_k0e))
kernel("BesselK1")(widely(special.bessel_k1))
kernel("BesselK1e")(widely(special.bessel_k1e))
kernel("BesselY0")(widely(special.bessel_y0))
kernel("BesselY1")(widely(special.bessel_y1))
kernel("Dawsn")(widely(special.dawsn))
kernel("Expint")(widely(special.expint))
kernel("FresnelCos")(widely(special.fresnel_cos))
kernel("FresnelSin")(widely(special.fresnel_sin))
kernel("Spence")(widely(special.spence))


@kernel("Abs")
def absolute(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.abs(x)


@kernel("Neg")
def negate(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.negative(x)


@kernel("Sign")
def sign(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return np.where(x == 0, 0, wide(x) / np.abs(wide(x))).astype(x.dtype)
    return np.sign(wide(x)).astype(x.dtype)


@kernel("Square")
def square(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return x * x


@kernel("Reciprocal", "Inv")
def reciprocal(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        return truncate_div(attrs, np.ones_like(x), x)
    return (1 / wide(x)).astype(x.dtype)


@kernel("Round")
def round_half_to_even(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.rint(wide(x)).astype(x.dtype)


@kernel("IsNan")
def is_nan(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.isnan(wide(x))


@kernel("IsInf")
def is_inf(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.isinf(wide(x))


@kernel("IsFinite")
def is_finite(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.isfinite(wide(x))


@kernel("LogicalNot")
def logical_not(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.logical_not(x)


@kernel("Invert")
def invert(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.invert(x)


@kernel("PopulationCount")
def population_count(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    # Of the bits as they stand; NumPy's own counts those of the absolute value.
    octets = np.ascontiguousarray(x).reshape(x.shape + (1,)).view(np.uint8)
    return np.unpackbits(octets, axis=-1).sum(axis=-1, dtype=np.uint8)


# ---- complex numbers ----


@kernel("Complex")
def complex_from_parts(attrs: Attrs, real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), numpy_type(attrs["Tout"]))
    result.real, result.imag = real, imag
    return result


@kernel("ComplexAbs")
def complex_abs(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.abs(x).astype(numpy_type(attrs["Tout"]))


@kernel("Real")
def real_part(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.real(x).astype(numpy_type(attrs["Tout"]))


@kernel("Imag")
def imaginary_part(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.imag(x).astype(numpy_type(attrs["Tout"]))


@kernel("Angle")
def angle(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.angle(wide(x)).astype(numpy_type(attrs["Tout"]))


@kernel("Conj")
def conjugate(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.conj(x) if x.dtype.kind == "c" else x.copy()


# ---- other types ----


@kernel("Cast")
def cast(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    target = numpy_type(attrs["DstT"])
    if x.dtype.kind == "c" and target.kind not in "cb":
        x = x.real
    if attrs["Truncate"] and is_float(x) and target.itemsize < x.dtype.itemsize:
        return _cut(x, target)
    if target == np.uint64 and is_float(x):
        return _counted(wide(x))
    return x.astype(target)


def _counted(x: np.ndarray) -> np.ndarray:
    """uint64: below 0 modulo 2^64, 2^63 where x is too large or no number."""
    fits = x < 2.0**64
    below = np.where(np.abs(x) < 2.0**63, x, -(2.0**63)).astype(np.int64).astype(np.uint64)
    return np.where(fits & (x >= 2.0**63), np.where(fits, x, 0).astype(np.uint64), below)


def _cut(x: np.ndarray, target: np.dtype) -> np.ndarray:
    """x rounded towards zero, to a narrower float."""
    near = x.astype(target)
    too_far = np.abs(wide(near)) > np.abs(wide(x))
    bits = near.view(f"u{target.itemsize}")
    return (bits - too_far.astype(bits.dtype)).view(target)


@kernel("Bitcast")
def bitcast(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    target = numpy_type(attrs["type"])
    x = np.ascontiguousarray(x).reshape(x.shape)
    if target.itemsize > x.dtype.itemsize:
        return x.reshape(x.shape or (1,)).view(target).reshape(x.shape[:-1])
    if target.itemsize == x.dtype.itemsize:
        return x.view(target)
    return x.reshape(x.shape + (1,)).view(target)


@kernel("Bucketize")
def bucketize(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    boundaries = np.asarray(attrs["boundaries"], np.float32)
    return np.searchsorted(boundaries, wide(x), side="right").astype(np.int32)


# ---- two inputs that broadcast ----


@kernel("Add", "AddV2")
def add(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.add(x, y)


@kernel("Sub")
def subtract(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.subtract(x, y)


@kernel("Mul")
def multiply(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.multiply(x, y)


@kernel("MulNoNan")
def multiply_no_nan(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, np.zeros((), x.dtype), x * y)


@kernel("RealDiv", "Div")
def divide(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        return truncate_div(attrs, x, y)
    return (wide(x) / wide(y)).astype(x.dtype)


@kernel("DivNoNan")
def divide_no_nan(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, np.zeros((), x.dtype), divide(attrs, x, y))


@kernel("FloorDiv")
def floor_div(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        _reject_zero(x, y)
        return np.floor_divide(x, y)
    return np.floor(x / y).astype(x.dtype)


@kernel("TruncateDiv")
def truncate_div(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.trunc(x / y).astype(x.dtype)
    _reject_zero(x, y)
    quotient = np.floor_divide(x, y)
    remains = np.fmod(x, y) != 0
    return quotient + (remains & ((x < 0) != (y < 0))).astype(x.dtype)


@kernel("FloorMod")
def floor_mod(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rest = truncate_mod(attrs, x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest).astype(x.dtype)


@kernel("TruncateMod", "Mod")
def truncate_mod(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        _reject_zero(x, y)
        return np.fmod(x, y)
    return np.fmod(wide(x), wide(y)).astype(x.dtype)


def _reject_zero(x: np.ndarray, y: np.ndarray) -> None:
    if x.size and np.any(y == 0):  # dividing nothing by zero is no division
        raise InvalidArgumentError(None, None, "Integer division by zero")


@kernel("Pow")
def power(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "i" and np.any(y < 0):
        raise InvalidArgumentError(
            None, None, "Integers to negative integer powers are not allowed"
        )
    return np.power(wide(x), wide(y)).astype(x.dtype)


@kernel("Maximum")
def maximum(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(x, y)


@kernel("Minimum")
def minimum(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.minimum(x, y)


@kernel("SquaredDifference")
def squared_difference(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    difference = x - y
    return difference * (np.conj(difference) if x.dtype.kind == "c" else difference)


def _zero_where_x_is(x: np.ndarray, result: np.ndarray) -> np.ndarray:
    return np.where(x == 0, 0, result)


kernel("Xdivy")(widely(lambda x, y: _zero_where_x_is(x, x / y)))
kernel("Xlogy")(widely(lambda x, y: _zero_where_x_is(x, x * np.log(y))))
kernel("Xlog1py")(widely(lambda x, y: _zero_where_x_is(x, x * np.log1p(y))))
kernel("Atan2")(widely(np.arctan2))
kernel("Igamma")(widely(special.igamma))
kernel("Igammac")(widely(special.igammac))
kernel("IgammaGradA")(widely(special.igamma_grad_a))
kernel("Zeta")(widely(special.zeta))
kernel("Polygamma")(widely(special.polygamma))
kernel("Betainc")(widely(special.betainc))


@kernel("NextAfter")
def next_after(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.nextafter(x, y)


@kernel("Equal")
def equal(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _compare(np.equal, attrs, x, y, if_incompatible=False)


@kernel("NotEqual")
def not_equal(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _compare(np.not_equal, attrs, x, y, if_incompatible=True)


def _compare(
    how: Any, attrs: Attrs, x: np.ndarray, y: np.ndarray, if_incompatible: bool
) -> np.ndarray:
    if not attrs["incompatible_shape_error"]:
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return np.asarray(if_incompatible)
    return np.asarray(how(x, y), np.bool_)


@kernel("Less")
def less(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.less(x, y)


@kernel("LessEqual")
def less_equal(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.less_equal(x, y)


@kernel("Greater")
def greater(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.greater(x, y)


@kernel("GreaterEqual")
def greater_equal(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.greater_equal(x, y)


@kernel("ApproximateEqual")
def approximate_equal(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.shape != y.shape:
        raise ValueError(f"x and y must have one shape: x is {x.shape}, y is {y.shape}")
    # int8's -128 has no absolute value of its own type, hence the wide difference
    return np.abs(wide(x - y)) < np.float32(attrs["tolerance"])


@kernel("LogicalAnd")
def logical_and(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.logical_and(x, y)


@kernel("LogicalOr")
def logical_or(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.logical_or(x, y)


@kernel("BitwiseAnd")
def bitwise_and(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.bitwise_and(x, y)


@kernel("BitwiseOr")
def bitwise_or(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.bitwise_or(x, y)


@kernel("BitwiseXor")
def bitwise_xor(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.bitwise_xor(x, y)


@kernel("LeftShift")
def left_shift(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.left_shift(x, _shift_within(x, y))


@kernel("RightShift")
def right_shift(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.right_shift(x, _shift_within(x, y))


def _shift_within(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Shifts that C leaves undefined are taken as the nearest that it defines."""
    return np.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype)


# ---- more inputs ----


@kernel("Select")
def select(attrs: Attrs, condition: np.ndarray, t: np.ndarray, e: np.ndarray) -> np.ndarray:
    if t.shape != e.shape:
        raise ValueError(f"t and e must have one shape: t is {t.shape}, e is {e.shape}")
    if condition.ndim == 1 and t.ndim > 1:  # picks rows
        condition = condition.reshape((-1,) + (1,) * (t.ndim - 1))
    return np.where(condition, t, e)


@kernel("SelectV2")
def select_v2(attrs: Attrs, condition: np.ndarray, t: np.ndarray, e: np.ndarray) -> np.ndarray:
    return np.where(condition, t, e)


@kernel("ClipByValue")
def clip_by_value(attrs: Attrs, t: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    t = np.where(high < t, high, t)  # in this order, and NaN as a bound does not bind
    return np.where(t < low, low, t)


@kernel("AddN", "AccumulateNV2")
def add_n(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    total = wide(inputs[0])
    for value in inputs[1:]:
        if value.shape != inputs[0].shape:
            raise ValueError(f"shapes differ: {inputs[0].shape} and {value.shape}")
        total = total + wide(value)
    return np.asarray(total).astype(inputs[0].dtype)


@kernel("Cross")
def cross(attrs: Attrs, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.shape != b.shape or a.shape[-1] != 3:
        raise ValueError(f"inputs must be [..., 3] both: a is {a.shape}, b is {b.shape}")
    (a0, a1, a2), (b0, b1, b2) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


# ---- gradients in terms of the outputs y ----

# No gradient stays none, also where y is infinite or, of SqrtGrad, 0.
kernel("InvGrad", "ReciprocalGrad")(
    widely(lambda y, dy: np.where(dy == 0, 0, -dy * np.conj(y) ** 2))
)
kernel("SqrtGrad")(widely(lambda y, dy: np.where(dy == 0, 0, dy * 0.5 / np.conj(y))))
kernel("RsqrtGrad")(widely(lambda y, dy: np.where(dy == 0, 0, dy * -0.5 * np.conj(y) ** 3)))
kernel("TanhGrad")(widely(lambda y, dy: dy * (1 - y * y)))
kernel("SigmoidGrad")(widely(lambda y, dy: dy * y * (1 - y)))
