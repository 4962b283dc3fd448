"""Set operations on the last dimension of tensors."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.indexed_slices import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.sparse.sparse import as_sparse, known_rank, sparse_of, triplet
from headrace.graph.typing.aliases import SparseLike, TensorLike


def set_size(a: TensorLike | SparseLike, validate_indices: bool = True) -> Tensor:
    """Returns the number of distinct values of each set.

    Args:
      a: SparseTensor [..., n].
      validate_indices: check that the entries are in row-major order.
    Returns: [...] int32.
    """
    x = as_sparse(a)
    result = op("SetSize", *triplet(x), validate_indices=validate_indices)
    result.set_shape(x.get_shape()[:-1])
    return result


def _operands(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Converts a and b; swaps them if only the first is sparse. Returns: (a, b, swapped)."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    b = convert_to_tensor_or_sparse_tensor(b, dtype=a.dtype.base_dtype, name="b")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        return b, a, True
    return a, b, False


def _operation(a: Any, b: Any, name: str, validate_indices: bool) -> SparseTensor:
    attrs: dict[str, Any] = {"set_operation": name, "validate_indices": validate_indices}
    if isinstance(a, SparseTensor):
        result = op("SparseToSparseSetOperation", *triplet(a), *triplet(b), **attrs)
    elif isinstance(b, SparseTensor):
        result = op("DenseToSparseSetOperation", a, *triplet(b), **attrs)
    else:
        result = op("DenseToDenseSetOperation", a, b, **attrs)
    ranks = [known_rank(x) if isinstance(x, SparseTensor) else x.get_shape().ndims for x in (a, b)]
    return sparse_of(result, ranks[0] or ranks[1])


def set_intersection(
    a: TensorLike | SparseLike, b: TensorLike | SparseLike, validate_indices: bool = True
) -> SparseTensor:
    """Computes the intersections of pairs of sets.

    Args:
      a, b: Tensor or SparseTensor [..., n] of one dtype, integers or strings; all dimensions but
        the last are equal.
      validate_indices: check that the entries of sparse operands are in row-major order.
    Returns: [..., greatest size], each set sorted.
    """
    a, b, _ = _operands(a, b)
    return _operation(a, b, "intersection", validate_indices)


def set_union(
    a: TensorLike | SparseLike, b: TensorLike | SparseLike, validate_indices: bool = True
) -> SparseTensor:
    """Computes the unions of pairs of sets; see set_intersection."""
    a, b, _ = _operands(a, b)
    return _operation(a, b, "union", validate_indices)


def set_difference(
    a: TensorLike | SparseLike,
    b: TensorLike | SparseLike,
    aminusb: bool = True,
    validate_indices: bool = True,
) -> SparseTensor:
    """Computes a - b, or b - a if aminusb is False; see set_intersection."""
    a, b, exchanged = _operands(a, b)
    return _operation(a, b, "a-b" if aminusb != exchanged else "b-a", validate_indices)
