"""Lower triangular matrices."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.elementwise.elementwise import absolute
from headrace.graph.ops.linalg.linalg import matrix_triangular_solve
from headrace.graph.ops.linear_operators.full_matrix import checked
from headrace.graph.ops.linear_operators.linear_operator import (
    LinearOperator,
    adjoint_if,
    with_same_batch,
)
from headrace.graph.ops.reduction import reduce_prod, reduce_sum
from headrace.graph.typing.aliases import TensorLike


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangular matrices.

    Args:
      tril: [..., n, n]; what is above the diagonals is ignored.
      the others: as in LinearOperator.
    Raises: ValueError for a rank below 2, or is_square=False.
    """

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._tril = checked(tril, 2, "tril")
        super().__init__(
            self._tril.dtype,
            [self._tril],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    def _shape(self) -> TensorShape:
        shape: TensorShape = self._tril.get_shape()
        return shape

    def _shape_tensor(self) -> Tensor:
        shape: Tensor = op("Shape", self._tril)
        return shape

    def _to_dense(self) -> Tensor:
        result: Tensor = op("MatrixBandPart", self._tril, -1, 0)
        return result

    def _diag_part(self) -> Tensor:
        result: Tensor = op("MatrixDiagPart", self._tril)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix, right = with_same_batch(self._to_dense(), adjoint_if(rhs, adjoint_arg))
        return matrix_triangular_solve(matrix, right, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        result: Tensor = reduce_prod(self._diag_part(), -1)
        return result

    def _log_abs_determinant(self) -> Tensor:
        result: Tensor = reduce_sum(op("Log", absolute(self._diag_part())), -1)
        return result
