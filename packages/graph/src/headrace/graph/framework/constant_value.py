"""Static evaluation of tensors, for shape inference.

A value is computed on demand, by following a tensor back through integer arithmetic to constants
and known shapes; nothing is cached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import Shape

_MAX_DEPTH = 40
_MAX_ELEMENTS = 100_000  # a larger Fill or Range cannot be a shape


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """Returns the value of a tensor that the graph determines without a run.

    Args:
      tensor: a Tensor; an array is returned unchanged.
      partial: accept partially known Packs: the result is an array of objects, with None for
        unknown elements.
    Returns: a read-only array, or None if the value is unknown.
    """
    if not isinstance(tensor, Tensor):
        if isinstance(tensor, (np.ndarray, np.generic)):
            return tensor
        tensor = getattr(tensor, "_as_tensor", lambda: None)()
        if tensor is None:
            return None
    value = _value(tensor, _Evaluation())
    if value is None and partial and tensor.op.type == "Pack":
        parts = [_value(t, _Evaluation()) for t in tensor.op.inputs]
        if all(p is None for p in parts):
            return None
        return np.array([None if p is None else p.item() for p in parts], object)
    return value


get_static_value = constant_value


class _Evaluation:
    """State of one evaluation: its depth and the values computed so far."""

    __slots__ = ("depth", "found")

    def __init__(self) -> None:
        self.depth = 0
        self.found: dict[Tensor, np.ndarray | None] = {}


def _value(tensor: Tensor, evaluation: _Evaluation) -> np.ndarray | None:
    op = tensor.op
    if op.type == "Const":
        value = op._attrs.values["value"]
        return value if isinstance(value, np.ndarray) else None
    rule = _RULES.get(op.type)
    if rule is None:
        return None
    if tensor in evaluation.found:
        return evaluation.found[tensor]
    if evaluation.depth >= _MAX_DEPTH:
        return None
    evaluation.depth += 1
    try:
        value = rule(op, evaluation)
        if value is not None:
            value = np.asarray(value, tensor.dtype.base_dtype.as_numpy_dtype)
    except (ValueError, TypeError, IndexError, OverflowError):
        value = None  # the run reports the error
    finally:
        evaluation.depth -= 1
    evaluation.found[tensor] = value
    return value


def _inputs(op: Any, evaluation: _Evaluation) -> list[np.ndarray] | None:
    values = []
    for t in op.inputs:
        value = _value(t, evaluation)
        if value is None:
            return None
        values.append(value)
    return values


def _shape(op: Any, evaluation: _Evaluation) -> Any:
    dims = op.inputs[0]._shape
    return None if dims is None or None in dims else list(dims)


def _size(op: Any, evaluation: _Evaluation) -> Any:
    dims = op.inputs[0]._shape
    if dims is None or None in dims:
        return None
    size = 1
    for d in dims:
        size *= d
    return size


def _rank(op: Any, evaluation: _Evaluation) -> Any:
    dims = op.inputs[0]._shape
    return None if dims is None else len(dims)


def _identity(op: Any, evaluation: _Evaluation) -> Any:
    return _value(op.inputs[0], evaluation)


def _cast(op: Any, evaluation: _Evaluation) -> Any:
    value = _value(op.inputs[0], evaluation)
    if value is None or value.dtype == object:
        return None
    return value.astype(as_dtype(op._attrs.values["DstT"]).as_numpy_dtype)


def _pack(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    if values is None or any(v.shape != values[0].shape for v in values):
        return None
    return np.stack(values, op._attrs.values["axis"])


def _concat(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    if values is None:
        return None
    if op.type == "ConcatV2":
        return np.concatenate(values[:-1], int(values[-1]))
    return np.concatenate(values[1:], int(values[0]))


def _fill(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    if values is None or _too_large(values[0]):
        return None
    return np.full(tuple(values[0]), values[1])


def _too_large(dims: np.ndarray) -> bool:
    size = 1
    for d in dims.ravel().tolist():
        if d < 0:
            return True
        size *= d
    return size > _MAX_ELEMENTS


def _range(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    if values is None or not values[2]:
        return None
    if abs((float(values[1]) - float(values[0])) / float(values[2])) > _MAX_ELEMENTS:
        return None
    return np.arange(values[0], values[1], values[2])  # type: ignore[call-overload]


def _strided_slice(op: Any, evaluation: _Evaluation) -> Any:
    data = _value(op.inputs[0], evaluation)
    if data is None:
        return _slice_of_shape(op, evaluation)
    key = slice_key(op, evaluation)
    return None if key is None else data[key]


def _slice_of_shape(op: Any, evaluation: _Evaluation) -> Any:
    """Evaluates shape[i] of a partially known shape."""
    dims = _shape_value(op.inputs[0], evaluation)
    key = slice_key(op, evaluation)
    if dims is None or key is None or len(key) != 1:
        return None
    part = dims[key[0]] if isinstance(key[0], (int, slice)) else None
    if part is None:
        return None
    if isinstance(part, tuple):
        return None if None in part else list(part)
    return part


def slice_key(op: Any, evaluation: _Evaluation) -> tuple[Any, ...] | None:
    """Returns the Python index that is equivalent to a StridedSlice node, or None if unknown."""
    parts: list[Any] = [_value(t, evaluation) for t in op.inputs[1:4]]
    if parts[0] is None or parts[2] is None:
        return None
    values = op._attrs.values
    key: list[Any] = []
    begin, end, strides = parts
    for i in range(len(begin)):
        bit = 1 << i
        if values["ellipsis_mask"] & bit:
            key.append(Ellipsis)
        elif values["new_axis_mask"] & bit:
            key.append(None)
        elif values["shrink_axis_mask"] & bit:
            key.append(int(begin[i]))
        else:
            if end is None and not values["end_mask"] & bit:
                return None
            key.append(
                slice(
                    None if values["begin_mask"] & bit else int(begin[i]),
                    None if values["end_mask"] & bit or end is None else int(end[i]),
                    int(strides[i]),
                )
            )
    return tuple(key)


def _reshape(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    return None if values is None else values[0].reshape(tuple(values[1]))


def _gather(op: Any, evaluation: _Evaluation) -> Any:
    indices = _value(op.inputs[1], evaluation)
    if indices is None:
        return None
    if op.type == "GatherV2":
        axis = _value(op.inputs[2], evaluation)
        if axis is None or op._attrs.values["batch_dims"]:
            return None
    else:
        axis = np.int32(0)
    data = _value(op.inputs[0], evaluation)
    if data is not None:
        return np.take(data, indices, int(axis))
    dims = _shape_value(op.inputs[0], evaluation)
    if dims is None or int(axis) != 0:
        return None
    picked = [dims[int(i)] for i in indices.ravel()]
    return None if None in picked else np.array(picked).reshape(indices.shape)


def _numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(op: Any, evaluation: _Evaluation) -> Any:
        values = _inputs(op, evaluation)
        if values is None or any(v.dtype == object for v in values):
            return None
        with np.errstate(all="ignore"):
            return function(*values)

    return rule


def _guarded_division(function: Callable[..., Any]) -> Callable[..., Any]:
    def divide(x: Any, y: Any) -> Any:
        if y.dtype.kind in "iu" and not np.all(y):
            return None
        return function(x, y)

    return _numpy(divide)


def _truncate_div(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        return np.sign(x) * np.sign(y) * (abs(x) // abs(y))
    return x / y


def _reduce(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(op: Any, evaluation: _Evaluation) -> Any:
        values = _inputs(op, evaluation)
        if values is None:
            return None
        axes = tuple(np.atleast_1d(values[1]).tolist())
        return function(values[0], axis=axes, keepdims=op._attrs.values["keep_dims"])

    return rule


def _broadcast_args(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    if values is None:
        return None
    return np.broadcast_shapes(tuple(values[0].tolist()), tuple(values[1].tolist()))


def _expand_dims(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    return None if values is None else np.expand_dims(values[0], int(values[1]))


def _squeeze(op: Any, evaluation: _Evaluation) -> Any:
    value = _value(op.inputs[0], evaluation)
    if value is None:
        return None
    axes = op._attrs.values["squeeze_dims"]
    return np.squeeze(value, tuple(axes)) if axes else np.squeeze(value)


def _slice(op: Any, evaluation: _Evaluation) -> Any:
    values = _inputs(op, evaluation)
    if values is None:
        return None
    data, begin, size = values
    key = tuple([slice(int(b), None if s < 0 else int(b) + int(s)) for b, s in zip(begin, size)])
    return data[key]


def _prod_of_shape(op: Any, evaluation: _Evaluation) -> Any:
    return _reduce(np.prod)(op, evaluation)


_RULES: dict[str, Callable[[Any, _Evaluation], Any]] = {
    "Shape": _shape,
    "Size": _size,
    "Rank": _rank,
    "Identity": _identity,
    "StopGradient": _identity,
    "PreventGradient": _identity,
    "Cast": _cast,
    "Pack": _pack,
    "ConcatV2": _concat,
    "Concat": _concat,
    "Fill": _fill,
    "Range": _range,
    "StridedSlice": _strided_slice,
    "Slice": _slice,
    "Reshape": _reshape,
    "ExpandDims": _expand_dims,
    "Squeeze": _squeeze,
    "Gather": _gather,
    "GatherV2": _gather,
    "BroadcastArgs": _broadcast_args,
    "Add": _numpy(np.add),
    "AddV2": _numpy(np.add),
    "Sub": _numpy(np.subtract),
    "Mul": _numpy(np.multiply),
    "FloorDiv": _guarded_division(np.floor_divide),
    "FloorMod": _guarded_division(np.mod),
    "RealDiv": _guarded_division(np.true_divide),
    "Div": _guarded_division(_truncate_div),
    "TruncateDiv": _guarded_division(_truncate_div),
    "Maximum": _numpy(np.maximum),
    "Minimum": _numpy(np.minimum),
    "Neg": _numpy(np.negative),
    "Equal": _numpy(np.equal),
    "NotEqual": _numpy(np.not_equal),
    "Less": _numpy(np.less),
    "LessEqual": _numpy(np.less_equal),
    "Greater": _numpy(np.greater),
    "GreaterEqual": _numpy(np.greater_equal),
    "LogicalNot": _numpy(np.logical_not),
    "LogicalAnd": _numpy(np.logical_and),
    "LogicalOr": _numpy(np.logical_or),
    "Select": _numpy(lambda c, x, y: np.where(c, x, y) if c.shape in ((), x.shape) else None),
    "SelectV2": _numpy(np.where),
    "InvertPermutation": _numpy(np.argsort),
    "ZerosLike": _numpy(np.zeros_like),
    "OnesLike": _numpy(np.ones_like),
    "Prod": _prod_of_shape,
    "Sum": _reduce(np.sum),
    "Max": _reduce(np.max),
    "Min": _reduce(np.min),
    "All": _reduce(np.all),
    "Any": _reduce(np.any),
}


# ---- integer vectors as shapes -------------------------------------------------------------------


def value_as_shape(tensor: Tensor) -> Shape:
    """Evaluates an integer vector as a shape; unknown sizes and -1 become None.

    Raises: ValueError for a size below -1, or a tensor that is not a vector.
    """
    return _shape_value(tensor, _Evaluation())


constant_value_as_shape = value_as_shape


def _shape_value(tensor: Tensor, evaluation: _Evaluation) -> Shape:
    if evaluation.depth >= _MAX_DEPTH:
        return _of_length(tensor)
    evaluation.depth += 1
    try:
        return _evaluate_shape(tensor, evaluation)
    finally:
        evaluation.depth -= 1


def _evaluate_shape(tensor: Tensor, evaluation: _Evaluation) -> Shape:
    op = tensor.op
    kind = op.type
    if kind == "Shape":
        return op.inputs[0]._shape if op.inputs[0]._shape is not None else _of_length(tensor)
    if kind in ("Identity", "Cast"):
        return _shape_value(op.inputs[0], evaluation)
    if kind == "Pack" and tensor._shape is not None and len(tensor._shape) == 1:
        return tuple([_one_size(t, evaluation) for t in op.inputs])
    if kind == "ConcatV2":
        parts = [_shape_value(t, evaluation) for t in op.inputs[:-1]]
        if None in parts:
            return _of_length(tensor)
        return tuple([d for part in parts for d in part])  # type: ignore[union-attr]
    if kind == "StridedSlice":
        key = slice_key(op, evaluation)
        dims = _shape_value(op.inputs[0], evaluation)
        if key is not None and dims is not None and len(key) == 1 and isinstance(key[0], slice):
            return dims[key[0]]
    if kind == "ExpandDims" and op.inputs[0]._shape == ():
        return (_one_size(op.inputs[0], evaluation),)
    if kind == "Placeholder" and tensor.dtype.base_dtype.as_datatype_enum not in (3, 9):
        return None
    value = _value(tensor, evaluation)
    if value is None:
        return _of_length(tensor)
    if value.ndim == 0:
        if int(value) == -1:
            return None
        raise ValueError(f"a shape must be a vector of sizes, got the scalar {int(value)}")
    sizes = []
    for d in value.ravel().tolist():
        if d < -1:
            raise ValueError(f"a shape has no negative sizes, got {value.ravel().tolist()}")
        sizes.append(None if d == -1 else int(d))
    return tuple(sizes)


def _one_size(tensor: Tensor, evaluation: _Evaluation) -> int | None:
    value = _value(tensor, evaluation)
    if value is None or value.ndim:
        return None
    return None if int(value) < 0 else int(value)


def _of_length(tensor: Tensor) -> Shape:
    """Returns a shape of unknown sizes whose rank is the length of the vector."""
    dims = tensor._shape
    if dims is None or len(dims) != 1 or dims[0] is None:
        return None
    return (None,) * dims[0]


# ---- resource handles ----------------------------------------------------------------------------


def handle_data(tensor: Tensor) -> tuple[int, Shape] | None:
    """Returns (DataType number, shape) of the variable of a resource handle, or None if unknown."""
    for _ in range(_MAX_DEPTH):
        op = tensor.op
        if op.type == "VarHandleOp":
            return op._attrs.values["dtype"], op._attrs.values["shape"]
        if op.type == "Placeholder":
            return op.graph._handle_data.get(tensor)
        if op.type not in ("Identity", "Enter", "Switch", "Merge", "NextIteration", "Exit"):
            return None
        tensor = op.inputs[0]
    return None
