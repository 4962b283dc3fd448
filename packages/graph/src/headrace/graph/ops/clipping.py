"""Clipping of tensors by norms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes, counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.reduction import reduce_mean, reduce_sum
from headrace.graph.typing.aliases import TensorLike


def _values(t: Any) -> Tensor:
    return t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)


def _with_values(t: Any, values: Tensor) -> Any:
    return (
        IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values
    )


def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> Any:
    """Scales t down so that its L2 norm is at most clip_norm.

    Args:
      t: [...] float or complex, or IndexedSlices.
      clip_norm: scalar above 0.
      axes: axes of the norm; by default all.
    Returns: shape and dtype of t.
    Source: Pascanu et al. 2013, algorithm 1.
    """
    with name_scope(name or "clip_by_norm") as scope:
        values = _values(t)
        limit = convert_to_tensor(clip_norm, dtype=values.dtype.base_dtype)
        squares = reduce_sum(values * values, axes, keepdims=True)
        some = op("Greater", squares, op("ZerosLike", squares))
        root = op("Sqrt", op("SelectV2", some, squares, op("OnesLike", squares)))
        norm = op("SelectV2", some, root, squares)
        result = op("RealDiv", values * limit, op("Maximum", norm, limit), name=scope)
        count_nodes(4)
        return _with_values(t, result)


def _sequence(t_list: Any) -> Any:
    """Raises TypeError for one tensor or text instead of a list of tensors."""
    if isinstance(t_list, (str, Tensor)) or not isinstance(t_list, Iterable):
        raise TypeError("t_list should be a sequence")
    return t_list


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Computes the L2 norm of all elements of a list of tensors; None is ignored.

    Raises: ValueError without tensors; TypeError if t_list is not a list.
    """
    with name_scope(name or "global_norm"):
        halves = [op("L2Loss", _values(t)) for t in _sequence(t_list) if t is not None]
        if not halves:
            raise ValueError("global_norm: no tensor is given")
        two = constant(2.0, dtype=halves[0].dtype.base_dtype)
        return op("Sqrt", op("Sum", op("Pack", halves), [0]) * two)


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], Tensor]:
    """Scales all tensors by one factor so that their global norm is at most clip_norm.

    Args:
      t_list: list of tensors, IndexedSlices and None.
      clip_norm: scalar above 0.
      use_norm: the global norm, if it is already computed.
    Returns: (list of tensors and None, global norm before clipping); NaN if the norm is infinite.
    Raises: as global_norm.
    Source: Pascanu et al. 2013.
    """
    t_list = list(_sequence(t_list))
    with name_scope(name or "clip_by_global_norm"):
        norm = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
        one = constant(1.0, dtype=norm.dtype.base_dtype)
        limit = convert_to_tensor(clip_norm, dtype=norm.dtype.base_dtype)
        scale = limit * op("Minimum", one / norm, one / limit)
        scale = op(
            "SelectV2",
            op("IsFinite", norm),
            scale,
            constant(float("nan"), dtype=norm.dtype.base_dtype),
        )
        count_nodes(2 + sum(t is not None for t in t_list))
        return [None if t is None else _with_values(t, _values(t) * scale) for t in t_list], norm


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scales t down so that its L2 norm divided by its number of elements is at most clip_norm."""
    with name_scope(name or "clip_by_average_norm"):
        values = convert_to_tensor(t)
        with counted_as(16 if isinstance(clip_norm, Tensor) else 18):
            limit = convert_to_tensor(clip_norm, dtype=values.dtype.base_dtype)
            norm = op("Sqrt", reduce_sum(values * values))
            average = norm / op("Cast", op("Size", values), DstT=values.dtype.base_dtype)
            return values * limit / op("Maximum", average, limit)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Returns the fraction of elements that are zero."""
    with name_scope(name or "zero_fraction"):
        x = convert_to_tensor(value, name="value")
        with counted_as(32 if x.get_shape().ndims is None else 26):
            zero = op("Equal", x, op("ZerosLike", x))
            return reduce_mean(op("Cast", zero, DstT="float32"))
