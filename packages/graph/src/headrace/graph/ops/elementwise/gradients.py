"""Gradients of the ops of elementwise.py."""

from __future__ import annotations

import math
from typing import Any

from headrace.graph.builder.conversion import (
    constant,
)
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.elementwise.elementwise import (
    bessel_i0,
    bessel_i0e,
    bessel_i1,
    bessel_i1e,
    cast,
    ceil,
    conj,
    cos,
    cosh,
    cross,
    digamma,
    div_no_nan,
    equal,
    exp,
    floor,
    floordiv,
    greater,
    greater_equal,
    imag,
    less,
    less_equal,
    lgamma,
    log,
    logical_or,
    multiply_no_nan,
    not_equal,
    polygamma,
    real,
    reciprocal,
    rsqrt,
    sign,
    sin,
    sinh,
    square,
    where_v2,
    xdivy,
    xlog1py,
    xlogy,
    zeta,
)
from headrace.graph.ops.elementwise.elementwise import (
    complex as complex_,
)
from headrace.graph.ops.elementwise.elementwise import (
    pow as power,
)


def broadcast_sum(op_node: Operation, grads: tuple[Any, Any]) -> list[Any]:
    """Reverses broadcasting: sums gradients over the dimensions in which an input was broadcast.

    Args:
      op_node: node with broadcast inputs 0 and 1.
      grads: gradients of x and y in the shape of the result, or None.
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
    """Registers the gradient of y = f(x) as rule(x, y, grad)."""

    @gradient(op_type)
    def unary_gradient(node: Operation, grad: Tensor) -> Tensor:
        return rule(conj(node.inputs[0]), conj(node.outputs[0]), grad)


_simple("Abs", lambda x, y, g: g * sign(x))
_simple("Neg", lambda x, y, g: -g)
_simple("Square", lambda x, y, g: g * (x * _scalar_like(x, 2.0)))
# The kernels of these four ops conjugate y, as in TensorFlow.
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
    derivative = where_v2(zero, _scalar_like(x, 0.5), bessel_i0(safe) - y / safe)
    return grad * derivative


@gradient("BesselI1e")
def _bessel_i1e_gradient(node: Operation, grad: Tensor) -> Tensor:
    x, y = node.inputs[0], node.outputs[0]
    zero = equal(x, _scalar_like(x, 0.0))
    safe = where_v2(zero, op("OnesLike", x), x)
    derivative = bessel_i0e(safe) - y * (sign(safe) + reciprocal(safe))
    return grad * where_v2(zero, _scalar_like(x, 0.5), derivative)


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


# Rules of (conj(y), conj(dy), grad). All ops except those of tanh and sigmoid conjugate y: their
# gradient with respect to y is the conjugate of the gradient with respect to an unconjugated y.
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
    """Registers the gradient of z = f(x, y) as rule(x, y, z, grad) -> (grad of x, grad of y)."""

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
    derivative = _scalar_like(grad, 2.0) * grad * (x - y)
    return broadcast_sum(node, (derivative, -derivative))


@gradient("Pow")
def _pow_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y, z = conj(node.inputs[0]), conj(node.inputs[1]), conj(node.outputs[0])
    base = grad * y * power(x, y - _scalar_like(y, 1.0))
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
    derivative = -x * zeta(x + _scalar_like(x, 1.0), q)
    return broadcast_sum(node, (None, grad * derivative))


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
    return complex_(grad, constant(0, grad.dtype.base_dtype))


@gradient("Imag")
def _imag_gradient(node: Operation, grad: Tensor) -> Tensor:
    return complex_(constant(0, grad.dtype.base_dtype), grad)


@gradient("Angle")
def _angle_gradient(node: Operation, grad: Tensor) -> Tensor:
    x = node.inputs[0]
    return -complex_(grad, op("ZerosLike", grad)) * reciprocal(complex_(imag(x), real(x)))


@gradient("ComplexAbs")
def _complex_abs_gradient(node: Operation, grad: Tensor) -> Tensor:
    return complex_(grad, op("ZerosLike", grad)) * sign(node.inputs[0])


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
    result: list[Any] = [None]
    for source, chosen in (
        (x, where_v2(condition, grad, zero)),
        (y, where_v2(condition, zero, grad)),
    ):
        shape = op("Shape", source)
        axes = op("BroadcastGradientArgs", shape, op("Shape", grad))[0]
        result.append(op("Reshape", op("Sum", chosen, axes), shape))
    return result


@gradient("ClipByValue")
def _clip_gradient(node: Operation, grad: Tensor) -> list[Any]:
    t, low, high = node.inputs
    zero = op("ZerosLike", grad)
    below, above = less(t, low), greater(t, high)
    result = [where_v2(logical_or(below, above), zero, grad)]
    for source, where_it_acts in ((low, below), (high, above)):
        shape = op("Shape", source)
        axes = op("BroadcastGradientArgs", shape, op("Shape", grad))[0]
        result.append(op("Reshape", op("Sum", where_v2(where_it_acts, grad, zero), axes), shape))
    return result


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
no_gradient("Bitcast", "the bits of a number have no gradient")
no_gradient("Bucketize", "its output is an index")
no_gradient("IgammaGradA", "no op computes its derivative with respect to a")
no_gradient("_FusedElementwise", "graph passes create it after differentiation")
no_gradient("_FusedReduction", "graph passes create it after differentiation")
