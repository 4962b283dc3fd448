"""Element-wise ops: arithmetic, comparisons, complex numbers, casts, selection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import (
    constant,
    convert_n_to_tensor,
    convert_to_tensor,
)
from headrace.graph.builder.indexed_slices import (
    IndexedSlices,
    SparseTensor,
    convert_to_tensor_or_indexed_slices,
)
from headrace.graph.builder.op_builder import op
from headrace.graph.builder.operators import true_division
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import Binary, CastTo, Unary


def _unary(function_name: str, op_type: str, summary: str, uncounted: int = 0) -> Unary:
    def function(x: TensorLike | SparseTensor, name: str | None = None) -> Any:
        count_nodes(uncounted)  # of TensorFlow 1.15, which has no op for it
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, op(op_type, x.values, name=name), x.dense_shape)
        return op(op_type, x, name=name)

    function.__doc__ = f"{summary}, element by element. Args: x: [...]. Returns: [...]."
    function.__name__ = function.__qualname__ = function_name
    return function


def _binary(function_name: str, op_type: str, summary: str) -> Binary:
    def function(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
        return op(op_type, x, y, name=name)

    function.__doc__ = f"{summary}, element by element, broadcasting. Args: x, y: of one dtype."
    function.__name__ = function.__qualname__ = function_name
    return function


abs = _unary("abs", "Abs", "|x|")  # noqa: A001 - TF's name; complex numbers below
negative = _unary("negative", "Neg", "-x")
sign = _unary("sign", "Sign", "-1, 0 or 1; x/|x| for complex x")
square = _unary("square", "Square", "x * x")
sqrt = _unary("sqrt", "Sqrt", "The square root")
rsqrt = _unary("rsqrt", "Rsqrt", "1 / sqrt(x)")
reciprocal = _unary("reciprocal", "Reciprocal", "1 / x")
exp = _unary("exp", "Exp", "e to the power of x")
expm1 = _unary("expm1", "Expm1", "exp(x) - 1, exact near 0")
log = _unary("log", "Log", "The natural logarithm")
log1p = _unary("log1p", "Log1p", "log(1 + x), exact near 0")
sin = _unary("sin", "Sin", "The sine of x in radians")
cos = _unary("cos", "Cos", "The cosine of x in radians")
tan = _unary("tan", "Tan", "The tangent of x in radians")
asin = _unary("asin", "Asin", "The inverse sine")
acos = _unary("acos", "Acos", "The inverse cosine")
atan = _unary("atan", "Atan", "The inverse tangent")
sinh = _unary("sinh", "Sinh", "The hyperbolic sine")
cosh = _unary("cosh", "Cosh", "The hyperbolic cosine")
tanh = _unary("tanh", "Tanh", "The hyperbolic tangent")
asinh = _unary("asinh", "Asinh", "The inverse hyperbolic sine")
acosh = _unary("acosh", "Acosh", "The inverse hyperbolic cosine")
atanh = _unary("atanh", "Atanh", "The inverse hyperbolic tangent")
erf = _unary("erf", "Erf", "The error function")
erfc = _unary("erfc", "Erfc", "1 - erf(x)")
erfinv = _unary("erfinv", "Erfinv", "The inverse of the error function")
ndtri = _unary("ndtri", "Ndtri", "The quantile function of the standard normal distribution")
lgamma = _unary("lgamma", "Lgamma", "log |Gamma(x)|")
digamma = _unary("digamma", "Digamma", "The derivative of lgamma")
floor = _unary("floor", "Floor", "The greatest integer not above x")
ceil = _unary("ceil", "Ceil", "The least integer not below x")
rint = _unary("rint", "Rint", "The nearest integer, ties to even")
sigmoid = _unary("sigmoid", "Sigmoid", "1 / (1 + exp(-x))")
is_nan = _unary("is_nan", "IsNan", "Whether x is not a number")
is_inf = _unary("is_inf", "IsInf", "Whether x is infinite")
is_finite = _unary("is_finite", "IsFinite", "Whether x is a finite number")
logical_not = _unary("logical_not", "LogicalNot", "not x")
invert = _unary("invert", "Invert", "All bits turned")
bessel_i0 = _unary("bessel_i0", "BesselI0", "The modified Bessel function of order 0", 3)
bessel_i0e = _unary(
    "bessel_i0e", "BesselI0e", "exp(-|x|) times the modified Bessel function of order 0"
)
bessel_i1 = _unary("bessel_i1", "BesselI1", "The modified Bessel function of order 1", 3)
bessel_i1e = _unary(
    "bessel_i1e", "BesselI1e", "exp(-|x|) times the modified Bessel function of order 1"
)


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x + y, with broadcasting; strings are concatenated."""
    kind = getattr(x, "dtype", None) or getattr(y, "dtype", None)
    if kind is None:
        x = convert_to_tensor(x, name="x")
        kind = x.dtype
    joins = as_dtype(kind).base_dtype.name == "string"
    return op("Add" if joins else "AddV2", x, y, name=name or "Add")


add_v2 = _binary("add_v2", "AddV2", "x + y")
subtract = _binary("subtract", "Sub", "x - y")
multiply = _binary("multiply", "Mul", "x * y")
multiply_no_nan = _binary("multiply_no_nan", "MulNoNan", "x * y; 0 where y is 0, whatever x is")
div = _binary("div", "Div", "x / y; integers truncate towards zero as C's do")
div_no_nan = _binary("div_no_nan", "DivNoNan", "x / y; 0 where y is 0")
realdiv = _binary("realdiv", "RealDiv", "x / y")
floordiv = _binary("floordiv", "FloorDiv", "The greatest integer not above x / y")
truncatediv = _binary("truncatediv", "TruncateDiv", "x / y rounded towards zero")
floormod = _binary("floormod", "FloorMod", "The remainder of floordiv, with the sign of y")
truncatemod = _binary(
    "truncatemod", "TruncateMod", "The remainder of truncatediv, with the sign of x"
)
mod = floormod
pow = _binary("pow", "Pow", "x to the power of y")  # noqa: A001 - TF's name
maximum = _binary("maximum", "Maximum", "The greater one; not a number if either is")
minimum = _binary("minimum", "Minimum", "The lesser one; not a number if either is")
squared_difference = _binary("squared_difference", "SquaredDifference", "(x - y) squared")
xdivy = _binary("xdivy", "Xdivy", "x / y; 0 where x is 0")
xlogy = _binary("xlogy", "Xlogy", "x * log(y); 0 where x is 0")
xlog1py = _binary("xlog1py", "Xlog1py", "x * log(1 + y); 0 where x is 0")
less = _binary("less", "Less", "x < y")
less_equal = _binary("less_equal", "LessEqual", "x <= y")
greater = _binary("greater", "Greater", "x > y")
greater_equal = _binary("greater_equal", "GreaterEqual", "x >= y")
equal = _binary("equal", "Equal", "x == y")
not_equal = _binary("not_equal", "NotEqual", "x != y")
logical_and = _binary("logical_and", "LogicalAnd", "x and y")
logical_or = _binary("logical_or", "LogicalOr", "x or y")
bitwise_and = _binary("bitwise_and", "BitwiseAnd", "Bits set in both")
bitwise_or = _binary("bitwise_or", "BitwiseOr", "Bits set in one or both")
bitwise_xor = _binary("bitwise_xor", "BitwiseXor", "Bits set in one only")
left_shift = _binary("left_shift", "LeftShift", "x shifted left by y bits")
right_shift = _binary("right_shift", "RightShift", "x shifted right by y bits")


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the angle of the point (x, y), element-wise."""
    return op("Atan2", y, x, name=name)


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Computes the next representable number after x1 towards x2, element-wise."""
    return op("NextAfter", x1, x2, name=name)


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the lower regularised incomplete gamma function P(a, x), element-wise."""
    return op("Igamma", a, x, name=name)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the upper regularised incomplete gamma function Q(a, x), element-wise."""
    return op("Igammac", a, x, name=name)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Computes the Hurwitz zeta function, element-wise."""
    return op("Zeta", x, q, name=name)


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the polygamma function of order a at x, element-wise."""
    return op("Polygamma", a, x, name=name)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the regularised incomplete beta function I_x(a, b), element-wise."""
    return op("Betainc", a, b, x, name=name)


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y with Python 3's semantics: integers are converted to floats.

    Raises: TypeError if the dtypes differ.
    """
    return true_division(x, y, name or "truediv")


divide = truediv


def round(x: TensorLike, name: str | None = None) -> Tensor:  # noqa: A001 - TF's name
    """Rounds to the nearest integer, ties to even; integers unchanged."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else op("Round", x, name=name)


def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    """Computes x XOR y, element-wise."""
    with name_scope(name):
        return logical_and(logical_or(x, y), logical_not(logical_and(x, y)))


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Computes the cross product of 3-vectors. Args: a, b: [..., 3]."""
    return op("Cross", a, b, name=name)


def cast(
    x: TensorLike | SparseTensor | IndexedSlices, dtype: DTypeLike, name: str | None = None
) -> Any:
    """Casts a tensor, SparseTensor or IndexedSlices to a dtype; a no-op if it has that dtype."""
    requested = as_dtype(dtype).base_dtype
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, requested, name=name), x.dense_shape)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, requested, name=name), x.indices, x.dense_shape)
    x = convert_to_tensor(x, name="x")
    if x.dtype.base_dtype is requested:
        return x
    return op("Cast", x, DstT=requested, name=name or "Cast")


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Casts to a dtype, and clips values outside of its range."""
    requested = as_dtype(dtype)
    with name_scope(name or "saturate_cast"):
        value = convert_to_tensor(value, name="value")
        if value.dtype.min < requested.min:
            value = maximum(value, constant(requested.min, value.dtype.base_dtype))
        if value.dtype.max > requested.max:
            value = minimum(value, constant(requested.max, value.dtype.base_dtype))
        return cast(value, requested)


def _to(function_name: str, dtype: str, node: str) -> CastTo:
    def function(x: TensorLike | SparseTensor, name: str = node) -> Any:
        return cast(x, dtype, name=name)

    function.__doc__ = f"x cast to {dtype}."
    function.__name__ = function.__qualname__ = function_name
    return function


to_float = _to("to_float", "float32", "ToFloat")
to_double = _to("to_double", "float64", "ToDouble")
to_int32 = _to("to_int32", "int32", "ToInt32")
to_int64 = _to("to_int64", "int64", "ToInt64")
to_bfloat16 = _to("to_bfloat16", "bfloat16", "ToBFloat16")


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's names
    """Reinterprets the bytes of a tensor as another dtype."""
    return op("Bitcast", input, type=as_dtype(type), name=name)


def bucketize(input: TensorLike, boundaries: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the number of sorted boundaries that are at most x, element-wise."""
    return op("Bucketize", input, boundaries=boundaries, name=name)


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:  # noqa: A001 - TF's name
    """Creates complex numbers.

    Args:
      real, imag: float32 or float64 of the same dtype.
    Raises: TypeError for other dtypes.
    """
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


def real(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the real part; real tensors unchanged."""
    return _part("Real", input, name)


def imag(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the imaginary part; zeros for real tensors."""
    x = convert_to_tensor(input, name="input")
    return _part("Imag", x, name) if x.dtype.is_complex else op("ZerosLike", x, name=name)


def angle(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the argument of complex numbers, in radians; zeros for real tensors."""
    x = convert_to_tensor(input, name="input")
    return _part("Angle", x, name) if x.dtype.is_complex else op("ZerosLike", x, name=name)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the complex conjugate; real tensors unchanged."""
    x = convert_to_tensor(x, name="x")
    return op("Conj", x, name=name) if x.dtype.is_complex else x


def complex_abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the modulus of complex numbers."""
    x = convert_to_tensor(x, name="x")
    return op("ComplexAbs", x, Tout=x.dtype.real_dtype, name=name)


def absolute(x: TensorLike, name: str | None = None) -> Any:
    """Computes |x|, also for complex and sparse tensors."""
    if not isinstance(x, SparseTensor):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return complex_abs(x, name=name)
    return abs(x, name=name)


def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Selects x where condition is true, y elsewhere; without x and y returns the true indices.

    Args:
      condition: bool of the shape of x, or [n] to select rows of x and y.
      x, y: tensors of equal shape and dtype, or None.
    Returns: shape and dtype of x; or [number of true elements, rank] int64.
    Raises: ValueError if only one of x and y is given.
    """
    if (x is None) != (y is None):
        raise ValueError("where takes both x and y, or neither")
    if x is None:
        return op("Where", convert_to_tensor(condition, name="condition"), name=name or "Where")
    return op("Select", condition, x, y, name=name)


def where_v2(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Same as where, but condition, x and y are broadcast. Raises: as where."""
    if x is None and y is None:
        return where(condition, name=name)
    return op("SelectV2", condition, x, y, name=name)


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """Clips the values of t to [clip_value_min, clip_value_max]."""
    with name_scope(name or "clip_by_value") as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        low = minimum(values, clip_value_max)
        values = maximum(low, clip_value_min, name=scope)
        if isinstance(t, IndexedSlices):
            return IndexedSlices(values, t.indices, t.dense_shape)
        return values


_ADDENDS = (
    "inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape"
)


def _addends(inputs: Any) -> list[Any]:
    """Returns the inputs as a list. Raises: ValueError if there are none."""
    if isinstance(inputs, Tensor) or not isinstance(inputs, Iterable):
        raise ValueError(_ADDENDS)
    found = list(inputs)
    if not found:
        raise ValueError(_ADDENDS)
    return found


def add_n(inputs: TensorLike | Iterable[TensorLike], name: str | None = None) -> Tensor:
    """Sums tensors of equal shape and dtype.

    Args:
      inputs: tensors, variables or IndexedSlices; a list or another iterable.
    Raises: ValueError without tensors, or for inputs that are not iterable.
    """
    tensors = [
        convert_to_tensor(t)
        if isinstance(t, IndexedSlices)
        else convert_to_tensor_or_indexed_slices(t)
        for t in _addends(inputs)
    ]
    tensors = convert_n_to_tensor(tensors)
    if len(tensors) == 1:
        return op("Identity", tensors[0], name=name) if name else tensors[0]
    return op("AddN", tensors, name=name)


def accumulate_n(
    inputs: TensorLike | Iterable[TensorLike],
    shape: ShapeLike | None = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Sums tensors of equal shape and dtype.

    Args:
      inputs: as in add_n.
      shape: shape of each input; None takes it from the inputs.
      tensor_dtype: dtype of each input; None takes it from the inputs.
    Raises: ValueError without tensors, or for inputs of different dtypes or shapes; TypeError if
      the inputs are not of tensor_dtype.
    """
    tensors = convert_n_to_tensor([convert_to_tensor(t) for t in _addends(inputs)])
    dtype = tensors[0].dtype.base_dtype
    if any(t.dtype.base_dtype is not dtype for t in tensors):
        raise ValueError(_ADDENDS)
    known = TensorShape(shape)
    for t in tensors:
        known = known.merge_with(t.get_shape())
    if tensor_dtype is not None and dtype is not as_dtype(tensor_dtype):
        raise TypeError(
            f"tensor_dtype is {as_dtype(tensor_dtype).name}, but input is of type {dtype.name}"
        )
    if len(tensors) == 1:
        return tensors[0] if name is None else op("Identity", tensors[0], name=name)
    return add_n(tensors, name=name or "AccumulateNV2")
