"""Norms, traces, ranks and pseudo-inverses of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.shapes import matrix_transpose
from headrace.graph.ops.elementwise.elementwise import absolute, cast, conj
from headrace.graph.ops.linalg.linalg import svd
from headrace.graph.ops.matmul.matmul import matmul
from headrace.graph.ops.reduction import reduce_max, reduce_sum
from headrace.graph.typing.aliases import TensorLike


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Sums the diagonal of each matrix. Args: x: [..., m, n]. Returns: [...]."""
    with name_scope(name, "Trace", [x]) as scope:
        return reduce_sum(op("MatrixDiagPart", x), [-1], name=scope)


def norm(
    tensor: Any,
    ord: Any = "euclidean",  # noqa: A002 - TF's name
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Computes the norm of vectors along one axis, or of matrices along two.

    Args:
      tensor: [...] float or complex.
      ord: "euclidean", "fro" (for matrices), 1, 2, np.inf, or p > 0 (for vectors).
      axis: one axis for vectors, two for matrices; None treats all elements as one vector.
      keepdims: keep reduced dimensions with size 1; keep_dims: its old name.
    Raises: ValueError for another ord or axis.
    """
    keep = bool(keep_dims if keepdims is None else keepdims)
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    matrices = isinstance(axes, tuple)
    if matrices and (len(axes) != 2 or axes[0] == axes[1]):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    allowed = ("euclidean", "fro", 1, 2, np.inf) if matrices else ("euclidean", 1, 2, np.inf)
    if ord not in allowed and (matrices or isinstance(ord, str) or not ord > 0):
        kind = "matrix" if matrices else "vector"
        raise ValueError(f"'ord' must be a supported {kind} norm in {list(allowed)}, got {ord}")
    with name_scope(name, "norm", [tensor]):
        tensor = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean") or ord == 2 and not matrices:
            result = op("Sqrt", reduce_sum(tensor * conj(tensor), axes, keepdims=True))
        elif matrices and ord == 2:
            return _greatest_singular(tensor, axes, keep)
        elif ord == 1:
            first = axes[0] if matrices else axes
            result = reduce_sum(absolute(tensor), first, keepdims=True)
            result = reduce_max(result, axes[1], keepdims=True) if matrices else result
        elif ord == np.inf:
            result = absolute(tensor)
            result = reduce_sum(result, axes[1], keepdims=True) if matrices else result
            result = reduce_max(result, axes[0] if matrices else axes, keepdims=True)
        else:
            power = reduce_sum(op("Pow", absolute(tensor), _like(ord, tensor)), axes, keepdims=True)
            result = op("Pow", power, _like(1.0 / ord, power))
        if keep:
            return result
        dims = list(axes) if matrices else [axes] if axes is not None else None
        return op("Squeeze", result, squeeze_dims=dims)


def _like(value: float, tensor: Tensor) -> Tensor:
    dtype = tensor.dtype.base_dtype
    return constant(value, dtype=dtype.real_dtype if dtype.is_complex else dtype)


def _greatest_singular(tensor: Tensor, axes: tuple[int, int], keep: bool) -> Tensor:
    rank = len(tensor.get_shape().as_list())
    rows, columns = (a + rank if a < 0 else a for a in axes)
    others = [i for i in range(rank) if i not in (rows, columns)]
    values = svd(op("Transpose", tensor, [*others, rows, columns]), compute_uv=False)
    result = reduce_max(values, -1)
    for axis in sorted((rows, columns)) if keep else ():
        result = op("ExpandDims", result, axis)
    return result


def normalize(
    tensor: TensorLike,
    ord: float | str = "euclidean",  # noqa: A002 - TF's name
    axis: int | Sequence[int] | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns tensor / norm and the norm; arguments as in norm."""
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        size = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype.base_dtype)
        return op("RealDiv", tensor, size), size


def _cutoff(s: Tensor, factor: Any) -> Tensor:
    return factor * reduce_max(s, -1, keepdims=True)


def matrix_rank(
    a: TensorLike,
    tol: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the rank of matrices: the number of singular values above tol.

    Args:
      a: [..., m, n].
      tol: threshold; by default the greatest singular value * max(m, n) * epsilon of the dtype.
    Returns: [...] int32.
    """
    with name_scope(name or "matrix_rank"):
        a = convert_to_tensor(a, name="a")
        s = svd(a, compute_uv=False)
        if tol is None:
            tol = _cutoff(s, _epsilon(a, s))
        above = op("Greater", s, convert_to_tensor(tol, dtype=s.dtype.base_dtype))
        return reduce_sum(op("Cast", above, DstT="int32"), -1)


def _epsilon(a: Tensor, s: Tensor) -> Tensor:
    """Returns max(m, n) times the epsilon of the dtype of s."""
    dtype = s.dtype.base_dtype
    longest = cast(op("Max", op("Shape", a)[-2:], [0]), dtype)
    return longest * constant(np.finfo(dtype.as_numpy_dtype).eps, dtype=dtype)


def pinv(
    a: TensorLike,
    rcond: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the Moore-Penrose pseudo-inverses of matrices.

    Args:
      a: [..., m, n].
      rcond: [...], singular values below rcond * the greatest one count as 0; by default
        10 * max(m, n) * epsilon of the dtype.
    Returns: [..., n, m].
    Source: Moore 1920, Penrose 1955.
    """
    with name_scope(name or "pinv"):
        a = convert_to_tensor(a, name="a")
        s, u, v = svd(a)
        dtype = s.dtype.base_dtype
        if rcond is None:
            limit = _cutoff(s, constant(10.0, dtype=dtype) * _epsilon(a, s))
        else:
            share = op("ExpandDims", convert_to_tensor(rcond, dtype=dtype), -1)
            limit = _cutoff(s, share)
        kept = op("Greater", s, limit)
        inverse = op("SelectV2", kept, s, _like(np.inf, s))
        scaled = op("RealDiv", v, cast(op("ExpandDims", inverse, -2), v.dtype.base_dtype))
        result: Tensor = matmul(scaled, matrix_transpose(u, conjugate=True))
        return result
