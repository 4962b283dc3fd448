"""Converts Python values to tensors: `convert_to_tensor`, `constant`, registered conversions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.constant_array import make_array
from headrace.graph.framework.attributes import AttrSet
from headrace.graph.framework.create_op import add_node
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_template import template_of
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scope import check_op_name
from headrace.graph.framework.tensor_shape import Dimension, TensorShape
from headrace.graph.typing.aliases import DTypeLike, Proto, ShapeLike, TensorLike

# (priority, order of registration, types, function); subclasses of a type match too.
_conversions: list[tuple[int, int, Any, Callable[..., Any]]] = []


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Registers a conversion of another type to tensors.

    Args:
      base_type: a type or tuple of types; subclasses match too.
      conversion_func: `f(value, dtype=None, name=None, as_ref=False)`, which returns a Tensor, or
        NotImplemented to try the next function.
      priority: functions run in ascending priority, then in order of registration.
    Raises: TypeError if base_type is not a type or conversion_func is not callable.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(t, type) for t in types):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _conversions.append((priority, len(_conversions), types, conversion_func))
    _conversions.sort(key=lambda entry: entry[:2])


def _conversions_of(kind: type) -> list[Callable[..., Any]]:
    return [entry[3] for entry in _conversions if issubclass(kind, entry[2])]


def converts_before_constants(kind: type) -> bool:
    """Returns whether a registered function takes precedence over conversion to a constant."""
    return any(issubclass(kind, entry[2]) and entry[0] < 100 for entry in _conversions)


def convert_to_tensor(
    value: object,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    as_ref: bool = False,
) -> Tensor:
    """Converts a value to a Tensor of the default graph.

    Args:
      value: a Tensor, a variable, an array, a number, a string, lists of these, or an object of
        a registered type.
      dtype: required dtype; None infers it.
      name: name of the node, if one is created.
      preferred_dtype: dtype to use if dtype is None and the value can be converted to it.
      dtype_hint: same as preferred_dtype.
      as_ref: return the reference of a variable instead of its value.
    Returns: a Tensor.
    Raises: TypeError if no conversion of the value's type exists or gives dtype; ValueError for a
      Tensor of another dtype, or a value without a rectangular shape.
    """
    if type(value) is Tensor:
        if dtype is not None:
            requested = as_dtype(dtype)
            if value.dtype.base_dtype is not requested.base_dtype:
                raise ValueError(
                    f"Tensor conversion requested dtype {requested.name} for Tensor with dtype "
                    f"{value.dtype.name}: {value!r}"
                )
        return value
    if dtype is not None:
        dtype = as_dtype(dtype).base_dtype
    kind = type(value)
    if kind in _CONSTANT_KINDS:  # no conversion function can be registered for these
        return _convert_constant(value, dtype, name, preferred_dtype or dtype_hint)
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    for function in _conversions_of(kind):
        result: Any = NotImplemented
        if dtype is None and hint is not None:
            try:
                result = function(value, dtype=as_dtype(hint), name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                result = NotImplemented
        if result is NotImplemented:
            result = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor):
            raise RuntimeError(
                f"Conversion function {function!r} for type {kind} returned non-Tensor: {result!r}"
            )
        if dtype is not None and result.dtype.base_dtype is not dtype:
            raise RuntimeError(
                f"Conversion function {function!r} for type {kind} returned incompatible dtype: "
                f"requested = {dtype.name}, actual = {result.dtype.name}"
            )
        return result
    return _convert_constant(value, dtype, name, hint)


def _convert_constant(value: Any, dtype: DType | None, name: str | None, hint: Any) -> Tensor:
    if dtype is None and hint is not None:
        try:
            return constant(value, as_dtype(hint), name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, dtype, name=name or "Const")


def convert_n_to_tensor(
    values: Iterable[object],
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
) -> list[Tensor]:
    """Converts a list of values to tensors. Raises: as convert_to_tensor."""
    return [
        convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}", preferred_dtype)
        for i, v in enumerate(values)
    ]


internal_convert_to_tensor = convert_to_tensor


# ---- constants ----------------------------------------------------------------------------------


def constant(
    value: Any,
    dtype: Any = None,
    shape: ShapeLike | None = None,
    name: str | None = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Creates a constant tensor.

    Args:
      value: number, string, array, or nested lists of these.
      dtype: dtype; None infers it (float32 for Python floats, int32 for ints that fit).
      shape: shape of the tensor; the last element is repeated if there are too few.
      name: name of the node.
      verify_shape: require `value` to have exactly `shape`.
    Returns: a Tensor of `shape`, or of the shape of `value`.
    Raises: TypeError for a value that dtype cannot represent, or with verify_shape for another
      shape; ValueError for ragged lists, or more elements than shape holds.
    """
    graph = get_default_graph()
    if shape is None and type(value) in _CACHED_KINDS and (dtype is None or type(dtype) is DType):
        attrs = scalar_attrs(value, dtype)
    else:
        attrs = _const_attrs(*make_array(value, dtype, shape, verify_shape))
    name = name or "Const"
    if name[-1:] == "/":
        full = name[:-1]
    else:
        check_op_name(name)
        full = graph.unique_name(name)
    return add_node(graph, graph._local.scope, "Const", (), attrs, full)._outputs


def _const_attrs(array: np.ndarray, number: int) -> AttrSet:
    attrs = AttrSet(
        "Const",
        template_of("Const").signature,
        {"value": array, "dtype": number},
        (as_dtype(number),),
    )
    attrs.shapes[()] = (array.shape,)
    return attrs


def scalar_attrs(value: TensorLike, dtype: DType | None) -> AttrSet:
    """Returns the attributes of a scalar Const, shared between equal constants.

    Raises: as `constant`.
    """
    # 0.0 == -0.0, so zeros are distinguished by their repr.
    key = (type(value), value or repr(value), 0 if dtype is None else dtype.as_datatype_enum)
    attrs = _scalar_sets.get(key)
    if attrs is None:
        attrs = _const_attrs(*make_array(value, dtype))
        if value == value and not (type(value) is str and len(value) > 64):
            if len(_scalar_sets) >= 4096:
                _scalar_sets.clear()
            _scalar_sets[key] = attrs
    return attrs


_scalar_sets: dict[Any, AttrSet] = {}
_CACHED_KINDS = frozenset((bool, int, float, str))
_CONSTANT_KINDS = frozenset((bool, int, float, complex, str, bytes, np.ndarray))


def constant_v1(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Same as `constant`."""
    return constant(value, dtype, shape, name, verify_shape)


def _convert_shape(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if isinstance(value, Dimension):
        if value.value is None:
            raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
        number = value.value
        wide = number > 2**31 - 1
    else:
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
        number = value.as_list()
        wide = any(d > 2**31 - 1 for d in number)
    if dtype is not None and as_dtype(dtype).as_datatype_enum not in (3, 9):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {as_dtype(dtype).name}")
    return constant(number, dtype or (9 if wide else 3), name=name or "shape_as_tensor")


register_tensor_conversion_function((TensorShape, Dimension), _convert_shape, 100)


# ---- TensorProto ---------------------------------------------------------------------------------


def make_tensor_proto(
    values: object,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    verify_shape: bool = False,
) -> Any:
    """Encodes a value as a TensorProto message. Raises: as `constant`."""
    from headrace.formats import tensor_codec

    return tensor_codec.make_tensor_proto(make_array(values, dtype, shape, verify_shape)[0])


def make_ndarray(tensor: Proto) -> np.ndarray:
    """Decodes a TensorProto message to an array. Raises: InvalidArgumentError if it is invalid."""
    from headrace.formats import tensor_codec

    return tensor_codec.make_ndarray(tensor)
