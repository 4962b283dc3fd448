"""Python operators of tensors and variables.

Each operator creates one node, with TF 1.x's name ("add", "sub", ...).
"""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.builder.slice_syntax import slice_tensor
from headrace.graph.framework.graph import get_default_graph, graph_of_result
from headrace.graph.framework.operation import Tensor

_TRUE_DIVISION = {
    4: 1,
    5: 1,
    6: 1,
    17: 1,
    3: 2,
    9: 2,
    22: 2,
    23: 2,
}  # dtype of integers after division


def _other_handles(y: Any) -> bool:
    return type(y) is SparseTensor


def binary(op_type: str, name: str) -> Any:
    """Returns the methods of a binary operator: x op y, and the reversed y op x."""

    def forward(x: Any, y: Any) -> Any:
        if type(y) is not Tensor and _other_handles(y):
            return NotImplemented
        return op(op_type, x, y, name=name)

    def backward(y: Any, x: Any) -> Any:
        return op(op_type, x, y, name=name)

    return forward, backward


def unary(op_type: str, name: str) -> Any:
    """Returns the method of a unary operator."""

    def method(x: Any) -> Any:
        return op(op_type, x, name=name)

    return method


def true_division(x: Any, y: Any, name: str = "truediv") -> Tensor:
    """Divides x by y; integers are converted to floats.

    Raises: TypeError if the dtypes differ.
    """
    with get_default_graph().name_scope(name) as scope:
        if type(x) is not Tensor and type(y) is Tensor:
            x = convert_to_tensor(x, y.dtype.base_dtype, name="x")
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        if x.dtype.base_dtype is not y.dtype.base_dtype:
            raise TypeError(
                f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}: "
                "cast one of them with hr.cast"
            )
        wider = _TRUE_DIVISION.get(x.dtype.base_dtype.as_datatype_enum)
        if wider is not None:
            dtype: DType = as_dtype(wider)
            x = op("Cast", x, DstT=dtype, name="Cast")
            y = op("Cast", y, DstT=dtype, name="Cast_1")
        return op("RealDiv", x, y, name=scope)


def _divide(x: Any, y: Any) -> Any:
    if _other_handles(y):
        return NotImplemented
    with graph_of_result(x).as_default():
        return true_division(x, y)


def _divide_reversed(y: Any, x: Any) -> Any:
    with graph_of_result(y).as_default():
        return true_division(convert_to_tensor(x, y.dtype.base_dtype, name="x"), y)


def logical(op_for_bool: str, op_for_bits: str, name: str) -> Any:
    """Returns the methods of & or |: logical for bool, bitwise for integers."""
    on_bool = binary(op_for_bool, name)
    on_bits = binary(op_for_bits, name)

    def forward(x: Any, y: Any) -> Any:
        return (on_bits if x.dtype.is_integer else on_bool)[0](x, y)

    def backward(y: Any, x: Any) -> Any:
        return (on_bits if y.dtype.is_integer else on_bool)[1](y, x)

    return forward, backward


def _xor(x: Any, y: Any) -> Any:
    if x.dtype.is_integer:
        return binary("BitwiseXor", "bitwise_xor")[0](x, y)
    graph = graph_of_result(x)
    with graph.as_default(), graph.name_scope("xor") as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        either = op("LogicalOr", x, y, name="LogicalOr")
        both = op("LogicalAnd", x, y, name="LogicalAnd")
        return op("LogicalAnd", either, op("LogicalNot", both, name="LogicalNot"), name=scope)


def _invert(x: Any) -> Any:
    return op("Invert" if x.dtype.is_integer else "LogicalNot", x)


def _abs(x: Any) -> Any:
    if x.dtype.is_complex:
        return op("ComplexAbs", x, Tout=x.dtype.base_dtype.real_dtype, name="Abs")
    return op("Abs", x, name="Abs")


def _matmul(x: Any, y: Any) -> Any:
    if _other_handles(y):
        return NotImplemented
    with graph_of_result(x).as_default():
        return matrix_product(x, y)


def _matmul_reversed(y: Any, x: Any) -> Any:
    with graph_of_result(y).as_default():
        return matrix_product(x, y)


def matrix_product(x: Any, y: Any, name: str = "matmul") -> Tensor:
    """Computes x @ y: MatMul for matrices, BatchMatMulV2 for higher ranks."""
    with get_default_graph().name_scope(name) as scope:
        x = convert_to_tensor(x, y.dtype.base_dtype if type(y) is Tensor else None, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        batched = any(t._shape is None or len(t._shape) > 2 for t in (x, y))
        return op("BatchMatMulV2" if batched else "MatMul", x, y, name=scope)


_METHODS: dict[str, Any] = {}


def _pair(symbol: str, methods: Any) -> None:
    _METHODS[f"__{symbol}__"], _METHODS[f"__r{symbol}__"] = methods


_pair("add", binary("AddV2", "add"))
_pair("sub", binary("Sub", "sub"))
_pair("mul", binary("Mul", "mul"))
_pair("truediv", (_divide, _divide_reversed))
_pair("floordiv", binary("FloorDiv", "floordiv"))
_pair("mod", binary("FloorMod", "mod"))
_pair("pow", binary("Pow", "pow"))
_pair("and", logical("LogicalAnd", "BitwiseAnd", "and"))
_pair("or", logical("LogicalOr", "BitwiseOr", "or"))
_pair("xor", (_xor, _xor))
_pair("matmul", (_matmul, _matmul_reversed))
_METHODS.update(
    __div__=_divide,
    __rdiv__=_divide_reversed,
    __lt__=binary("Less", "Less")[0],
    __le__=binary("LessEqual", "LessEqual")[0],
    __gt__=binary("Greater", "Greater")[0],
    __ge__=binary("GreaterEqual", "GreaterEqual")[0],
    __neg__=unary("Neg", "Neg"),
    __abs__=_abs,
    __invert__=_invert,
    __getitem__=slice_tensor,
)


def overload(cls: type) -> None:
    """Adds the tensor operators to a class with an `_as_tensor` method."""
    methods = dict(_METHODS)
    if cls is not Tensor:
        methods = {symbol: _through_value(method) for symbol, method in methods.items()}
        methods["__getitem__"] = _slice_variable
    for symbol, method in methods.items():
        setattr(cls, symbol, method)


def _slice_variable(self: Any, slice_spec: Any) -> Tensor:
    return slice_tensor(self._as_tensor(), slice_spec, self)


def _through_value(method: Any) -> Any:
    def on_value(self: Any, *args: Any) -> Any:
        return method(self._as_tensor(), *args)

    on_value.__name__ = method.__name__
    return on_value


_add_numbers = _METHODS["__add__"]
_add_numbers_reversed = _METHODS["__radd__"]
_ADD_STRINGS = binary("Add", "add")


def _add(x: Any, y: Any) -> Any:
    if x.dtype.as_datatype_enum in (7, 107):
        return _ADD_STRINGS[0](x, y)
    return _add_numbers(x, y)


def _add_reversed(y: Any, x: Any) -> Any:
    if y.dtype.as_datatype_enum in (7, 107):
        return _ADD_STRINGS[1](y, x)
    return _add_numbers_reversed(y, x)


_METHODS["__add__"] = _add
_METHODS["__radd__"] = _add_reversed

overload(Tensor)
