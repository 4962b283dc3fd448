"""Arithmetic element by element: one tensor, two broadcast, complex numbers, casts, comparisons."""

from __future__ import annotations

import math
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.conversion import (
    constant,
    convert_n_to_tensor,
    convert_to_tensor,
    convert_to_tensor_or_indexed_slices,
)
from headrace.graph.indexed_slices import IndexedSlices, SparseTensor
from headrace.graph.op_builder import op
from headrace.graph.op_registry import gradient, no_gradient
from headrace.graph.operation import Operation, Tensor
from headrace.graph.operators import true_division
from headrace.graph.scopes import name_scope


def _unary(op_type: str, says: str) -> Any:
    def function(x: Any, name: str | None = None) -> Any:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, op(op_type, x.values, name=name), x.dense_shape)
        return op(op_type, x, name=name)

    function.__doc__ = f"{says}, element by element. Args: x: [...]. Returns: [...]."
    function.__name__ = function.__qualname__ = op_type.lower()
    return function


def _binary(op_type: str, says: str) -> Any:
    def function(x: Any, y: Any, name: str | None = None) -> Tensor:
        return op(op_type, x, y, name=name)

    function.__doc__ = f"{says}, element by element, broadcasting. Args: x, y: of one dtype."
    function.__name__ = function.__qualname__ = op_type.lower()
    return function


abs = _unary("Abs", "|x|")  # noqa: A001 - TF's name; complex numbers below
negative = _unary("Neg", "-x")
sign = _unary("Sign", "-1, 0 or 1; x/|x| for complex x")
square = _unary("Square", "x * x")
sqrt = _unary("Sqrt", "The square root")
rsqrt = _unary("Rsqrt", "1 / sqrt(x)")
reciprocal = _unary("Reciprocal", "1 / x")
exp = _unary("Exp", "e to the power of x")
expm1 = _unary("Expm1", "exp(x) - 1, exact near 0")
log = _unary("Log", "The natural logarithm")
log1p = _unary("Log1p", "log(1 + x), exact near 0")
sin = _unary("Sin", "The sine of x in radians")
cos = _unary("Cos", "The cosine of x in radians")
tan = _unary("Tan", "The tangent of x in radians")
asin = _unary("Asin", "The inverse sine")
acos = _unary("Acos", "The inverse cosine")
atan = _unary("Atan", "The inverse tangent")
sinh = _unary("Sinh", "The hyperbolic sine")
cosh = _unary("Cosh", "The hyperbolic cosine")
tanh = _unary("Tanh", "The hyperbolic tangent")
asinh = _unary("Asinh", "The inverse hyperbolic sine")
acosh = _unary("Acosh", "The inverse hyperbolic cosine")
atanh = _unary("Atanh", "The inverse hyperbolic tangent")
erf = _unary("Erf", "The error function")
erfc = _unary("Erfc", "1 - erf(x)")
erfinv = _unary("Erfinv", "The inverse of the error function")
ndtri = _unary("Ndtri", "The quantile function of the standard normal distribution")
lgamma = _unary("Lgamma", "log |Gamma(x)|")
digamma = _unary("Digamma", "The derivative of lgamma")
floor = _unary("Floor", "The greatest integer not above x")
ceil = _unary("Ceil", "The least integer not below x")
rint = _unary("Rint", "The nearest integer, ties to even")
sigmoid = _unary("Sigmoid", "1 / (1 + exp(-x))")
is_nan = _unary("IsNan", "Whether x is not a number")
is_inf = _unary("IsInf", "Whether x is infinite")
is_finite = _unary("IsFinite", "Whether x is a finite number")
logical_not = _unary("LogicalNot", "not x")
invert = _unary("Invert", "All bits turned")
bessel_i0 = _unary("BesselI0", "The modified Bessel function of order 0")
bessel_i0e = _unary("BesselI0e", "exp(-|x|) times the modified Bessel function of order 0")
bessel_i1 = _unary("BesselI1", "The modified Bessel function of order 1")
bessel_i1e = _unary("BesselI1e", "exp(-|x|) times the modified Bessel function of order 1")


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y, broadcast; strings are joined."""
    kind = getattr(x, "dtype", None) or getattr(y, "dtype", None)
    if kind is None:
        x = convert_to_tensor(x, name="x")
        kind = x.dtype
    joins = as_dtype(kind).base_dtype.name == "string"
    return op("Add" if joins else "AddV2", x, y, name=name or "Add")


add_v2 = _binary("AddV2", "x + y")
subtract = _binary("Sub", "x - y")
multiply = _binary("Mul", "x * y")
multiply_no_nan = _binary("MulNoNan", "x * y; 0 where y is 0, whatever x is")
div = _binary("Div", "x / y; integers truncate towards zero as C's do")
div_no_nan = _binary("DivNoNan", "x / y; 0 where y is 0")
realdiv = _binary("RealDiv", "x / y")
floordiv = _binary("FloorDiv", "The greatest integer not above x / y")
truncatediv = _binary("TruncateDiv", "x / y rounded towards zero")
floormod = _binary("FloorMod", "The remainder of floordiv, with the sign of y")
truncatemod = _binary("TruncateMod", "The remainder of truncatediv, with the sign of x")
mod = floormod
pow = _binary("Pow", "x to the power of y")  # noqa: A001 - TF's name
maximum = _binary("Maximum", "The greater one; not a number if either is")
minimum = _binary("Minimum", "The lesser one; not a number if either is")
squared_difference = _binary("SquaredDifference", "(x - y) squared")
xdivy = _binary("Xdivy", "x / y; 0 where x is 0")
xlogy = _binary("Xlogy", "x * log(y); 0 where x is 0")
xlog1py = _binary("Xlog1py", "x * log(1 + y); 0 where x is 0")
less = _binary("Less", "x < y")
less_equal = _binary("LessEqual", "x <= y")
greater = _binary("Greater", "x > y")
greater_equal = _binary("GreaterEqual", "x >= y")
equal = _binary("Equal", "x == y")
not_equal = _binary("NotEqual", "x != y")
logical_and = _binary("LogicalAnd", "x and y")
logical_or = _binary("LogicalOr", "x or y")
bitwise_and = _binary("BitwiseAnd", "Bits set in both")
bitwise_or = _binary("BitwiseOr", "Bits set in one or both")
bitwise_xor = _binary("BitwiseXor", "Bits set in one only")
left_shift = _binary("LeftShift", "x shifted left by y bits")
right_shift = _binary("RightShift", "x shifted right by y bits")


def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y), element by element."""
    return op("Atan2", y, x, name=name)


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The next number after x1 towards x2, element by element."""
    return op("NextAfter", x1, x2, name=name)


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function, element by element."""
    return op("Igamma", a, x, name=name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularised incomplete gamma function, element by element."""
    return op("Igammac", a, x, name=name)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function, element by element."""
    return op("Zeta", x, q, name=name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The polygamma function of order a at x, element by element."""
    return op("Polygamma", a, x, name=name)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function I_x(a, b)."""
    return op("Betainc", a, b, x, name=name)


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as Python 3 divides: integers become floating-point numbers first."""
    return true_division(x, y, name or "truediv")


divide = truediv


def round(x: Any, name: str | None = None) -> Tensor:  # noqa: A001 - TF's name
    """The nearest integer, ties to even."""
    return op("Round", x, name=name)


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Either x or y, not both."""
    with name_scope(name):
        return logical_and(logical_or(x, y), logical_not(logical_and(x, y)))


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of 3-vectors. Args: a, b: [..., 3]."""
    return op("Cross", a, b, name=name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """x with its elements as another dtype; x itself if it has that dtype already."""
    wanted = as_dtype(dtype).base_dtype
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, wanted, name=name), x.dense_shape)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, wanted, name=name), x.indices, x.dense_shape)
    x = convert_to_tensor(x, name="x")
    if x.dtype.base_dtype is wanted:
        return x
    return op("Cast", x, DstT=wanted, name=name or "Cast")


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """A cast that clips values which the dtype cannot hold to its limits."""
    wanted = as_dtype(dtype)
    with name_scope(name or "saturate_cast"):
        value = convert_to_tensor(value, name="value")
        if value.dtype.min < wanted.min:
            value = maximum(value, constant(wanted.min, value.dtype.base_dtype))
        if value.dtype.max > wanted.max:
            value = minimum(value, constant(wanted.max, value.dtype.base_dtype))
        return cast(value, wanted)


def _to(dtype: str, node: str) -> Any:
    def function(x: Any, name: str = node) -> Any:
        return cast(x, dtype, name=name)

    function.__doc__ = f"x cast to {dtype}."
    return function


to_float = _to("float32", "ToFloat")
to_double = _to("float64", "ToDouble")
to_int32 = _to("int32", "ToInt32")
to_int64 = _to("int64", "ToInt64")
to_bfloat16 = _to("bfloat16", "ToBFloat16")


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF's names
    """The same bytes read as another dtype."""
    return op("Bitcast", input, type=as_dtype(type), name=name)


def bucketize(input: Any, boundaries: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """How many of the sorted boundaries are at most x, element by element."""
    return op("Bucketize", input, boundaries=boundaries, name=name)


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:  # noqa: A001 - TF's name
    """real + i * imag. Args: real, imag: float or double."""
    real = convert_to_tensor(real, name="real")
    imag = convert_to_tensor(imag, dtype=real.dtype, name="imag")
    wide = real.dtype.base_dtype.name == "float64"
    return op(
        "Complex",
        real,
        imag,
        Tout=as_dtype("complex128" if wide else "complex64"),
        name=name or "Complex",
    )


def _part(op_type: str, x: Any, name: str | None) -> Tensor:
    x = convert_to_tensor(x, name="input")
    if not x.dtype.is_complex:
        return x
    return op(op_type, x, Tout=x.dtype.real_dtype, name=name)


def real(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The real part; a real tensor as it is."""
    return _part("Real", input, name)


def imag(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The imaginary part of a complex tensor; zeros for a real one."""
    x = convert_to_tensor(input, name="input")
    return _part("Imag", x, name) if x.dtype.is_complex else op("ZerosLike", x, name=name)


def angle(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The argument of a complex number, in radians."""
    return _part("Angle", input, name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor as it is."""
    x = convert_to_tensor(x, name="x")
    return op("Conj", x, name=name) if x.dtype.is_complex else x


def complex_abs(x: Any, name: str | None = None) -> Tensor:
    """The modulus of a complex tensor."""
    x = convert_to_tensor(x, name="x")
    return op("ComplexAbs", x, Tout=x.dtype.real_dtype, name=name)


def absolute(x: Any, name: str | None = None) -> Any:
    """|x|, also of complex numbers and sparse tensors."""
    if not isinstance(x, SparseTensor):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return complex_abs(x, name=name)
    return abs(x, name=name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """x where condition holds, y elsewhere; without x and y, the indices of the true elements.

    Args:
      condition: bool, of x's shape, or a vector that chooses rows of x and y.
      x, y: of one shape and dtype.
    Returns: x's shape, or [number of true elements, rank] int64.
    """
    if (x is None) != (y is None):
        raise ValueError("where takes both x and y, or neither")
    if x is None:
        return op("Where", convert_to_tensor(condition, name="condition"), name=name or "Where")
    return op("Select", condition, x, y, name=name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """As where, but condition, x and y broadcast."""
    if x is None and y is None:
        return where(condition, name=name)
    return op("SelectV2", condition, x, y, name=name)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """t with values below the minimum or above the maximum replaced by these."""
    with name_scope(name or "clip_by_value") as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        low = minimum(values, clip_value_max)
        values = maximum(low, clip_value_min, name=scope)
        if isinstance(t, IndexedSlices):
            return IndexedSlices(values, t.indices, t.dense_shape)
        return values


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype."""
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError("add_n takes a list of at least one tensor")
    tensors = [
        convert_to_tensor(t)
        if isinstance(t, IndexedSlices)
        else convert_to_tensor_or_indexed_slices(t)
        for t in inputs
    ]
    tensors = convert_n_to_tensor(tensors)
    if len(tensors) == 1:
        return op("Identity", tensors[0], name=name) if name else tensors[0]
    return op("AddN", tensors, name=name)


def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of tensors of one shape, as add_n."""
    return add_n(inputs, name=name or "AccumulateNV2")


# ---- gradients -----------------------------------------------------------------------------


def broadcast_sum(op_node: Operation, grads: tuple[Any, Any]) -> list[Any]:
    """Sums what broadcasting spread: the gradients of x and y from those of the broadcast result.

    Args:
      op_node: a node whose inputs 0 and 1 were broadcast together.
      grads: of the result's shape, or None for no path.
    """
    x, y = op_node.inputs[:2]
    if x._shape is not None and x._shape == y._shape and None not in x._shape:  # noqa: SLF001
        return list(grads)
    shape_x, shape_y = op("Shape", x), op("Shape", y)
    axes = op("BroadcastGradientArgs", shape_x, shape_y)
    shapes = (shape_x, shape_y)
    return [
        None if grad is None else op("Reshape", op("Sum", grad, axes[i]), shapes[i])
        for i, grad in enumerate(grads)
    ]


def _scalar_like(x: Tensor, value: float) -> Tensor:
    return constant(value, dtype=x.dtype.base_dtype)


def _simple(op_type: str, rule: Any) -> None:
    """The gradient of y = f(x) as rule(x, y, grad)."""

    @gradient(op_type)
    def unary_gradient(node: Operation, grad: Tensor) -> Tensor:
        return rule(conj(node.inputs[0]), conj(node.outputs[0]), grad)


_simple("Abs", lambda x, y, g: g * sign(x))
_simple("Neg", lambda x, y, g: -g)
_simple("Square", lambda x, y, g: g * (x * _scalar_like(x, 2.0)))
# These four kernels conjugate y themselves, as TensorFlow's do.
_simple("Sqrt", lambda x, y, g: op("SqrtGrad", conj(y), g))
_simple("Rsqrt", lambda x, y, g: op("RsqrtGrad", conj(y), g))
_simple("Reciprocal", lambda x, y, g: op("ReciprocalGrad", conj(y), g))
_simple("Inv", lambda x, y, g: op("ReciprocalGrad", conj(y), g))
_simple("Exp", lambda x, y, g: g * y)
_simple("Expm1", lambda x, y, g: g * exp(x))
_simple("Log", lambda x, y, g: g * reciprocal(x))
_simple("Log1p", lambda x, y, g: g * reciprocal(_scalar_like(x, 1.0) + x))
_simple("Sin", lambda x, y, g: g * cos(x))
_simple("Cos", lambda x, y, g: -g * sin(x))
_simple("Tan", lambda x, y, g: g * square(reciprocal(cos(x))))
_simple("Asin", lambda x, y, g: g * rsqrt(_scalar_like(x, 1.0) - square(x)))
_simple("Acos", lambda x, y, g: -g * rsqrt(_scalar_like(x, 1.0) - square(x)))
_simple("Atan", lambda x, y, g: g * reciprocal(_scalar_like(x, 1.0) + square(x)))
_simple("Sinh", lambda x, y, g: g * cosh(x))
_simple("Cosh", lambda x, y, g: g * sinh(x))
_simple("Tanh", lambda x, y, g: op("TanhGrad", y, g))
_simple("Asinh", lambda x, y, g: g / cosh(y))
_simple("Acosh", lambda x, y, g: g / sinh(y))
_simple("Atanh", lambda x, y, g: g * reciprocal(_scalar_like(x, 1.0) - square(x)))
_simple("Erf", lambda x, y, g: g * _scalar_like(x, 2 / math.sqrt(math.pi)) * exp(-square(x)))
_simple("Erfc", lambda x, y, g: g * _scalar_like(x, -2 / math.sqrt(math.pi)) * exp(-square(x)))
_simple("Erfinv", lambda x, y, g: g * _scalar_like(x, math.sqrt(math.pi) / 2) * exp(square(y)))
_simple(
    "Ndtri",
    lambda x, y, g: (
        g * _scalar_like(x, math.sqrt(2 * math.pi)) * exp(square(y) / _scalar_like(x, 2.0))
    ),
)
_simple("Lgamma", lambda x, y, g: g * digamma(x))
_simple("Digamma", lambda x, y, g: g * polygamma(_scalar_like(x, 1.0), x))
_simple("Sigmoid", lambda x, y, g: op("SigmoidGrad", y, g))
_simple("BesselI0", lambda x, y, g: g * bessel_i1(x))
_simple("BesselI0e", lambda x, y, g: g * (bessel_i1e(x) - sign(x) * y))
_simple("BesselJ0", lambda x, y, g: -g * op("BesselJ1", x))
_simple("BesselY0", lambda x, y, g: -g * op("BesselY1", x))
_simple("BesselK0", lambda x, y, g: -g * op("BesselK1", x))
_simple("BesselK0e", lambda x, y, g: g * (y - op("BesselK1e", x)))
_simple("BesselJ1", lambda x, y, g: g * (op("BesselJ0", x) - y / x))
_simple("BesselY1", lambda x, y, g: g * (op("BesselY0", x) - y / x))
_simple("BesselK1", lambda x, y, g: -g * (op("BesselK0", x) + y / x))
_simple(
    "BesselK1e",
    lambda x, y, g: g * (y * (_scalar_like(x, 1.0) - reciprocal(x)) - op("BesselK0e", x)),
)
_simple("Dawsn", lambda x, y, g: g * (_scalar_like(x, 1.0) - _scalar_like(x, 2.0) * x * y))
_simple("Expint", lambda x, y, g: g * exp(x) / x)
_simple("FresnelCos", lambda x, y, g: g * cos(_scalar_like(x, math.pi / 2) * square(x)))
_simple("FresnelSin", lambda x, y, g: g * sin(_scalar_like(x, math.pi / 2) * square(x)))
_simple("Conj", lambda x, y, g: conj(g))


@gradient("BesselI1")
def _bessel_i1_gradient(node: Operation, grad: Tensor) -> Tensor:
    x, y = node.inputs[0], node.outputs[0]
    zero = equal(x, _scalar_like(x, 0.0))
    safe = where_v2(zero, op("OnesLike", x), x)
    slope = where_v2(zero, _scalar_like(x, 0.5), bessel_i0(safe) - y / safe)
    return grad * slope


@gradient("BesselI1e")
def _bessel_i1e_gradient(node: Operation, grad: Tensor) -> Tensor:
    x, y = node.inputs[0], node.outputs[0]
    zero = equal(x, _scalar_like(x, 0.0))
    safe = where_v2(zero, op("OnesLike", x), x)
    slope = bessel_i0e(safe) - y * (sign(safe) + reciprocal(safe))
    return grad * where_v2(zero, _scalar_like(x, 0.5), slope)


@gradient("Spence")
def _spence_gradient(node: Operation, grad: Tensor) -> Tensor:
    x = node.inputs[0]
    one = _scalar_like(x, 1.0)
    near = equal(x, one)
    safe = where_v2(near, op("OnesLike", x) * _scalar_like(x, 2.0), x)
    return grad * where_v2(near, -op("OnesLike", x), log(safe) / (one - safe))


@gradient("Sign")
def _sign_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("ZerosLike", node.inputs[0])


for _flat in ("Floor", "Ceil", "Round", "Rint"):

    @gradient(_flat)
    def _flat_gradient(node: Operation, grad: Tensor) -> None:
        return None


# Of (conj(y), conj(dy), grad). The operations conjugate y themselves, all but the two of tanh and
# sigmoid, so that what flows to it is the conjugate of what would flow to a y left as it is.
for _derivative, _second in (
    (
        "SqrtGrad",
        lambda y, dy, g: (
            -conj(g) * op("Mul", conj(dy), op("RealDiv", _scalar_like(y, 0.5), square(y))),
            g * op("RealDiv", _scalar_like(y, 0.5), conj(y)),
        ),
    ),
    ("TanhGrad", lambda y, dy, g: (g * _scalar_like(y, -2.0) * dy * y, op("TanhGrad", y, g))),
    (
        "SigmoidGrad",
        lambda y, dy, g: (
            g * dy * (_scalar_like(y, 1.0) - _scalar_like(y, 2.0) * y),
            op("SigmoidGrad", y, g),
        ),
    ),
    (
        "ReciprocalGrad",
        lambda y, dy, g: (
            conj(g) * _scalar_like(y, -2.0) * conj(dy) * y,
            op("ReciprocalGrad", y, g),
        ),
    ),
    (
        "InvGrad",
        lambda y, dy, g: (
            conj(g) * _scalar_like(y, -2.0) * conj(dy) * y,
            op("ReciprocalGrad", y, g),
        ),
    ),
    (
        "RsqrtGrad",
        lambda y, dy, g: (
            conj(g) * _scalar_like(y, -1.5) * conj(dy) * square(y),
            op("RsqrtGrad", y, g),
        ),
    ),
):

    @gradient(_derivative)
    def _second_gradient(node: Operation, grad: Tensor, rule: Any = _second) -> Any:
        return rule(conj(node.inputs[0]), conj(node.inputs[1]), grad)


def _broadcasting(op_type: str, rule: Any) -> None:
    """The gradient of z = f(x, y), broadcast, as rule(x, y, z, grad) -> (grad x, grad y)."""

    @gradient(op_type)
    def binary_gradient(node: Operation, grad: Tensor) -> list[Any]:
        x, y = (conj(t) for t in node.inputs)
        return broadcast_sum(node, rule(x, y, conj(node.outputs[0]), grad))


def _chosen(condition: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    zero = op("ZerosLike", grad)
    return where_v2(condition, grad, zero), where_v2(condition, zero, grad)


for _add in ("Add", "AddV2"):
    _broadcasting(_add, lambda x, y, z, g: (g, g))
_broadcasting("Sub", lambda x, y, z, g: (g, -g))
_broadcasting("Mul", lambda x, y, z, g: (g * y, x * g))
_broadcasting("MulNoNan", lambda x, y, z, g: (multiply_no_nan(g, y), multiply_no_nan(x, g)))
for _div in ("Div", "RealDiv"):
    _broadcasting(
        _div, lambda x, y, z, g: (op("RealDiv", g, y), g * op("RealDiv", op("RealDiv", -x, y), y))
    )
_broadcasting(
    "DivNoNan", lambda x, y, z, g: (div_no_nan(g, y), g * div_no_nan(div_no_nan(-x, y), y))
)
_broadcasting("Maximum", lambda x, y, z, g: _chosen(greater_equal(x, y), g))
_broadcasting("Minimum", lambda x, y, z, g: _chosen(less_equal(x, y), g))
_broadcasting("FloorMod", lambda x, y, z, g: (g, -g * floordiv(x, y)))
for _mod in ("TruncateMod", "Mod"):
    _broadcasting(
        _mod,
        lambda x, y, z, g: (
            g,
            -g
            * cast(
                op("TruncateDiv", x, y) if x.dtype.is_integer else _towards_zero(x / y), g.dtype
            ),
        ),
    )
_broadcasting(
    "Atan2",
    lambda y, x, z, g: (x * (g / (square(x) + square(y))), -y * (g / (square(x) + square(y)))),
)


def _towards_zero(x: Tensor) -> Tensor:
    return where_v2(less(x, _scalar_like(x, 0.0)), ceil(x), floor(x))


@gradient("SquaredDifference")
def _squared_difference_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj(t) for t in node.inputs)
    slope = _scalar_like(grad, 2.0) * grad * (x - y)
    return broadcast_sum(node, (slope, -slope))


@gradient("Pow")
def _pow_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y, z = conj(node.inputs[0]), conj(node.inputs[1]), conj(node.outputs[0])
    base = grad * y * pow(x, y - _scalar_like(y, 1.0))
    positive = (
        not_equal(x, _scalar_like(x, 0.0))
        if x.dtype.is_complex
        else greater(x, _scalar_like(x, 0.0))
    )
    safe = where_v2(positive, x, op("OnesLike", x))
    logarithm = where_v2(positive, log(safe), op("ZerosLike", x))
    return broadcast_sum(node, (base, grad * z * logarithm))


@gradient("Xlogy")
def _xlogy_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y = node.inputs
    some = cast(not_equal(x, _scalar_like(x, 0.0)), x.dtype)
    return broadcast_sum(node, (grad * xlogy(some, y), grad * xdivy(x, y)))


@gradient("Xlog1py")
def _xlog1py_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y = node.inputs
    some = cast(not_equal(x, _scalar_like(x, 0.0)), x.dtype)
    return broadcast_sum(node, (grad * xlog1py(some, y), grad * xdivy(x, y + _scalar_like(y, 1.0))))


@gradient("Xdivy")
def _xdivy_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y = node.inputs
    some = cast(not_equal(x, _scalar_like(x, 0.0)), x.dtype)
    return broadcast_sum(node, (grad * xdivy(some, y), grad * xdivy(-x, square(y))))


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    return exp(-x + (a - _scalar_like(a, 1.0)) * log(x) - lgamma(a))


@gradient("Igamma")
def _igamma_gradient(node: Operation, grad: Tensor) -> list[Any]:
    a, x = node.inputs
    return broadcast_sum(node, (grad * op("IgammaGradA", a, x), grad * _gamma_density(a, x)))


@gradient("Igammac")
def _igammac_gradient(node: Operation, grad: Tensor) -> list[Any]:
    a, x = node.inputs
    return broadcast_sum(node, (-grad * op("IgammaGradA", a, x), -grad * _gamma_density(a, x)))


@gradient("Zeta")
def _zeta_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, q = node.inputs
    slope = -x * zeta(x + _scalar_like(x, 1.0), q)
    return broadcast_sum(node, (None, grad * slope))


@gradient("Polygamma")
def _polygamma_gradient(node: Operation, grad: Tensor) -> list[Any]:
    n, x = node.inputs
    return broadcast_sum(node, (None, grad * polygamma(n + _scalar_like(n, 1.0), x)))


@gradient("Betainc")
def _betainc_gradient(node: Operation, grad: Tensor) -> list[Any]:
    a, b, x = node.inputs
    one = _scalar_like(a, 1.0)
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    density = exp(xlog1py(b - one, -x) + xlogy(a - one, x) - log_beta)
    return [
        None,
        None,
        op("Reshape", grad * density, op("Shape", x))
        if x._shape == grad._shape
        else op("Sum", grad * density, _all_axes(x, grad)),
    ]  # noqa: SLF001


def _all_axes(x: Tensor, grad: Tensor) -> Tensor:
    return op("BroadcastGradientArgs", op("Shape", x), op("Shape", grad))[0]


@gradient("NextAfter")
def _nextafter_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return broadcast_sum(node, (grad, op("ZerosLike", grad)))


@gradient("Cross")
def _cross_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    a, b = node.inputs
    return [cross(b, grad), cross(grad, a)]


@gradient("Complex")
def _complex_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return broadcast_sum(node, (real(grad), imag(grad)))


@gradient("Real")
def _real_gradient(node: Operation, grad: Tensor) -> Tensor:
    return complex(grad, constant(0, grad.dtype.base_dtype))


@gradient("Imag")
def _imag_gradient(node: Operation, grad: Tensor) -> Tensor:
    return complex(constant(0, grad.dtype.base_dtype), grad)


@gradient("Angle")
def _angle_gradient(node: Operation, grad: Tensor) -> Tensor:
    x = node.inputs[0]
    return -complex(grad, op("ZerosLike", grad)) * reciprocal(complex(imag(x), real(x)))


@gradient("ComplexAbs")
def _complex_abs_gradient(node: Operation, grad: Tensor) -> Tensor:
    return complex(grad, op("ZerosLike", grad)) * sign(node.inputs[0])


@gradient("Cast")
def _cast_gradient(node: Operation, grad: Tensor) -> Tensor | None:
    source, target = node.inputs[0].dtype.base_dtype, node.outputs[0].dtype.base_dtype
    if not (source.is_floating or source.is_complex):
        return None
    if not (target.is_floating or target.is_complex):
        return None
    return cast(grad, source)


@gradient("Select")
def _select_gradient(node: Operation, grad: Tensor) -> list[Any]:
    condition = node.inputs[0]
    zero = op("ZerosLike", grad)
    return [None, op("Select", condition, grad, zero), op("Select", condition, zero, grad)]


@gradient("SelectV2")
def _select_v2_gradient(node: Operation, grad: Tensor) -> list[Any]:
    condition, x, y = node.inputs
    zero = op("ZerosLike", grad)
    made: list[Any] = [None]
    for source, chosen in (
        (x, where_v2(condition, grad, zero)),
        (y, where_v2(condition, zero, grad)),
    ):
        shape = op("Shape", source)
        axes = op("BroadcastGradientArgs", shape, op("Shape", grad))[0]
        made.append(op("Reshape", op("Sum", chosen, axes), shape))
    return made


@gradient("ClipByValue")
def _clip_gradient(node: Operation, grad: Tensor) -> list[Any]:
    t, low, high = node.inputs
    zero = op("ZerosLike", grad)
    below, above = less(t, low), greater(t, high)
    made = [where_v2(logical_or(below, above), zero, grad)]
    for source, where_it_acts in ((low, below), (high, above)):
        shape = op("Shape", source)
        axes = op("BroadcastGradientArgs", shape, op("Shape", grad))[0]
        made.append(op("Reshape", op("Sum", where_v2(where_it_acts, grad, zero), axes), shape))
    return made


@gradient("AddN")
def _add_n_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    return [grad] * len(node.inputs)


@gradient("AccumulateNV2")
def _accumulate_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    return [grad] * len(node.inputs)


for _op_type in (
    "Less",
    "LessEqual",
    "Greater",
    "GreaterEqual",
    "Equal",
    "NotEqual",
    "ApproximateEqual",
    "LogicalAnd",
    "LogicalOr",
    "LogicalNot",
    "IsNan",
    "IsInf",
    "IsFinite",
):
    no_gradient(_op_type, "its output is a truth value")
for _op_type in (
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Invert",
    "LeftShift",
    "RightShift",
    "PopulationCount",
    "FloorDiv",
    "TruncateDiv",
):
    no_gradient(_op_type, "it is defined on integers, or flat wherever it is smooth")
no_gradient("Bitcast", "the bits of a number have no slope")
no_gradient("Bucketize", "its output is an index")
no_gradient("IgammaGradA", "its derivative in a has no op")
no_gradient("_FusedElementwise", "it is made after gradients are")
