"""tensordot: contracts two tensors along axes, as a product of two matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.formats.dtypes import int32
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.matmul.matmul import matmul
from headrace.graph.typing.aliases import TensorLike


def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> Tensor:
    """Contracts a and b along axes.

    Args:
      a, b: tensors; their ranks need not be known.
      axes: int n for the last n axes of a and the first n of b; or the axes of a and those of b, a
        pair of lists or a [2, n] int32 tensor, whose values need not be known.
    Returns: tensor with the other axes of a, then those of b.
    Raises: ValueError for a negative n, n above the rank of a, or lists of different lengths;
      TypeError for axes that are not integers.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        with counted_as(_nodes_of(a.get_shape(), b.get_shape(), axes)):
            return _product(a, b, axes, scope)


def _nodes_of(a: TensorShape, b: TensorShape, axes: Any) -> int:
    """Returns how many nodes TensorFlow 1.15 adds."""
    number = isinstance(axes, (int, np.integer))
    if isinstance(axes, (list, tuple)) or (number and a.ndims is not None):
        known = a.is_fully_defined() + b.is_fully_defined()
        operands = [4 if x.is_fully_defined() else 24 if x.ndims is None else 16 for x in (a, b)]
        return sum(operands) + (3 if known == 2 else 4 + known)
    of_axes = 9 if number else 8 + (not isinstance(axes, Tensor))
    return of_axes + 2 * 23 + 4


def _product(a: Tensor, b: Tensor, axes: Any, scope: str) -> Tensor:
    axes_a, axes_b = _contracted(a, axes)
    left = _as_matrix(a, axes_a, last=True)
    right = _as_matrix(b, axes_b, last=False)
    product = matmul(left.matrix, right.matrix)
    if isinstance(left.free_sizes, list) and isinstance(right.free_sizes, list):
        return op("Reshape", product, left.free_sizes + right.free_sizes, name=scope)
    free = op("ConcatV2", [left.free_sizes, right.free_sizes], 0)
    result = op("Reshape", product, free, name=scope)
    if left.free_dims is not None and right.free_dims is not None:
        result.set_shape([*left.free_dims, *right.free_dims])
    return result


def _contracted(a: Tensor, axes: Any) -> tuple[Any, Any]:
    """Returns the axes of a and of b: lists of integers, or tensors."""
    if isinstance(axes, Tensor) and constant_value(axes) is not None:
        axes = constant_value(axes).tolist()
    if isinstance(axes, (int, np.integer)) and not isinstance(axes, bool):
        if axes < 0:
            raise ValueError(f"'axes' must be at least 0, is {axes}")
        rank = a.get_shape().ndims
        if rank is None:
            rank_of_a = op("Rank", a)
            return op("Range", rank_of_a - axes, rank_of_a, 1), list(range(axes))
        if axes > rank:
            raise ValueError(
                f"'axes' must not be larger than the number of dimensions of tensor {a}"
            )
        return list(range(rank - axes, rank)), list(range(axes))
    if isinstance(axes, (list, tuple)) and not any(isinstance(part, Tensor) for part in axes):
        if len(axes) != 2:
            raise ValueError(f"'axes' must be an integer or have length 2, is {axes}")
        axes_a, axes_b = (np.atleast_1d(np.asarray(part, int)).tolist() for part in axes)
        if len(axes_a) != len(axes_b):
            raise ValueError(
                f"Different number of contraction axes 'a' and 'b', {len(axes_a)} != {len(axes_b)}."
            )
        return axes_a, axes_b
    both = convert_to_tensor(axes, int32, name="axes")
    return tuple(op("StridedSlice", both, [i], [i + 1], [1], shrink_axis_mask=1) for i in range(2))


class _Matrix:
    """An operand as a matrix.

    Attributes:
      matrix: the axes that stay by those that are contracted, or the reverse.
      free_sizes: sizes of the axes that stay, a list or an int32 vector.
      free_dims: the same where they are known when the graph is built, else None.
    """

    def __init__(self, matrix: Tensor, free_sizes: Any, free_dims: Any) -> None:
        self.matrix = matrix
        self.free_sizes = free_sizes
        self.free_dims = free_dims


def _as_matrix(x: Tensor, axes: Any, last: bool) -> _Matrix:
    dims = x._shape  # noqa: SLF001
    if dims is None or isinstance(axes, Tensor):
        return _as_unknown_matrix(x, axes, last)
    if any(not -len(dims) <= i < len(dims) for i in axes):
        raise ValueError(f"axes {axes} do not fit shape {x.get_shape()}")
    axes = [i % len(dims) for i in axes]
    free = [i for i in range(len(dims)) if i not in axes]
    order = free + axes if last else axes + free
    turned = x if order == list(range(len(dims))) else op("Transpose", x, np.array(order, np.int32))
    free_dims = [dims[i] for i in free]
    if None not in dims:
        size = math.prod(d for d in free_dims if d is not None)
        inner = math.prod(d for d in [dims[i] for i in axes] if d is not None)
        matrix = op("Reshape", turned, [size, inner] if last else [inner, size])
        return _Matrix(matrix, free_dims, free_dims)
    shape = op("Shape", x)
    free_sizes = op("GatherV2", shape, np.array(free, np.int32), 0)
    size = op("Prod", free_sizes, [0])
    inner = op("Prod", op("GatherV2", shape, np.array(axes, np.int32), 0), [0])
    matrix = op("Reshape", turned, op("Pack", [size, inner] if last else [inner, size]))
    return _Matrix(matrix, free_sizes, free_dims)


def _as_unknown_matrix(x: Tensor, axes: Any, last: bool) -> _Matrix:
    shape, rank = op("Shape", x), op("Rank", x)
    axes = op("FloorMod", convert_to_tensor(axes, int32, name="axes"), rank)
    free = op("ListDiff", op("Range", 0, rank, 1), axes)[0]
    free_sizes = op("GatherV2", shape, free, 0)
    size = op("Prod", free_sizes, [0])
    inner = op("Prod", op("GatherV2", shape, axes, 0), [0])
    order = op("ConcatV2", [free, axes] if last else [axes, free], 0)
    matrix = op(
        "Reshape",
        op("Transpose", x, order),
        op("Pack", [size, inner] if last else [inner, size]),
    )
    return _Matrix(matrix, free_sizes, None)
