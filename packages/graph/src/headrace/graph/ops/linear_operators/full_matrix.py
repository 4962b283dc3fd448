"""A matrix without structure."""

from __future__ import annotations

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.linear_operators.linear_operator import LinearOperator
from headrace.graph.typing.aliases import TensorLike


class LinearOperatorFullMatrix(LinearOperator):
    """Given matrices [..., m, n].

    Args:
      matrix: the matrices, floating point or complex.
      the others: as in LinearOperator.
    Raises: TypeError for another dtype; ValueError for a rank below 2.
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = checked(matrix, 2, "matrix")
        super().__init__(
            self._matrix.dtype,
            [self._matrix],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _shape(self) -> TensorShape:
        return self._matrix.get_shape()

    def _shape_tensor(self) -> Tensor:
        shape: Tensor = op("Shape", self._matrix)
        return shape

    def _to_dense(self) -> Tensor:
        return self._matrix


def checked(value: TensorLike, rank: int, what: str) -> Tensor:
    """Converts a value to a tensor of a rank of at least `rank`.

    Raises: TypeError unless it is floating point or complex; ValueError for a lower rank.
    """
    result = convert_to_tensor(value, name=what)
    if not (result.dtype.is_floating or result.dtype.is_complex):
        raise TypeError(
            f"Argument {what} must have dtype in ['float16', 'float32', 'float64', 'complex64', "
            f"'complex128'].  Found: {result.dtype}"
        )
    found = result.get_shape().ndims
    if found is not None and found < rank:
        raise ValueError(f"Argument {what} must have at least {rank} dimensions.  Found: {result}")
    return result
