"""Low-rank updates of an operator, and reflections."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.creation import eye
from headrace.graph.ops.arrays.shapes import broadcast_dynamic_shape, broadcast_static_shape
from headrace.graph.ops.elementwise.elementwise import absolute, conj
from headrace.graph.ops.linalg.linalg import adjoint as _adjoint
from headrace.graph.ops.linalg.linalg import matrix_determinant, matrix_solve, slogdet
from headrace.graph.ops.linear_operators.full_matrix import checked
from headrace.graph.ops.linear_operators.linear_operator import (
    LinearOperator,
    adjoint_if,
    dense_product,
    with_same_batch,
)
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.typing.aliases import TensorLike


class LinearOperatorLowRankUpdate(LinearOperator):
    """The sum of an operator and a product of low rank: L + U D V^H.

    Solutions and determinants use those of L and of a small matrix (Woodbury's identity).

    Args:
      base_operator: L, [..., m, n].
      u: U, [..., m, k].
      diag_update: the diagonal of D, [..., k]; ones by default.
      v: V, [..., n, k]; u by default.
      is_diag_update_positive: whether all elements of diag_update are positive.
      the others: as in LinearOperator.
    Raises: ValueError for sizes that do not fit; TypeError for different dtypes.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        dtype = base_operator.dtype
        if diag_update is None:
            is_diag_update_positive = True
        if v is None and is_diag_update_positive and base_operator.is_positive_definite:
            if is_positive_definite is False:
                raise ValueError("The operator is positive definite, contrary to the hint.")
            is_positive_definite = True
        if v is None and base_operator.is_self_adjoint and not dtype.is_complex:
            is_self_adjoint = True if is_self_adjoint is None else is_self_adjoint
        self._base = base_operator
        self._u = checked(convert_to_tensor(u, dtype=dtype), 2, "u")
        self._v = self._u if v is None else checked(convert_to_tensor(v, dtype=dtype), 2, "v")
        self._given_diag = diag_update is not None
        if diag_update is None:
            shape = op("ConcatV2", [op("Shape", self._u)[:-2], op("Shape", self._u)[-1:]], 0)
            self._diag = op("Fill", shape, constant(1, dtype))
        else:
            self._diag = convert_to_tensor(diag_update, dtype=dtype, name="diag_update")
        self._is_diag_positive = is_diag_update_positive
        for what, a, b in (
            ("rows of u", self._u.get_shape()[-2], base_operator.range_dimension),
            ("rows of v", self._v.get_shape()[-2], base_operator.domain_dimension),
            ("columns of v", self._v.get_shape()[-1], self._u.get_shape()[-1]),
        ):
            if not a.is_compatible_with(b):
                raise ValueError(f"LinearOperatorLowRankUpdate: the {what} are {a}, expected {b}")
        super().__init__(
            dtype,
            [*base_operator.graph_parents, self._u, self._v],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    base_operator = property(lambda self: self._base, doc="L.")
    u = property(lambda self: self._u, doc="U.")
    v = property(lambda self: self._v, doc="V.")
    diag_update = property(lambda self: self._diag if self._given_diag else None, doc="D's.")
    is_diag_update_positive = property(lambda self: self._is_diag_positive, doc="The hint.")

    def _shape(self) -> TensorShape:
        batch = self._base.batch_shape
        for t, rank in ((self._u, 2), (self._v, 2), (self._diag, 1)):
            shape = t.get_shape()
            if shape.ndims is None or batch.ndims is None:
                return TensorShape(None)
            batch = broadcast_static_shape(batch, shape[:-rank])
        return batch.concatenate(self._base.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        batch = self._base.batch_shape_tensor()
        for t, rank in ((self._u, 2), (self._v, 2), (self._diag, 1)):
            batch = broadcast_dynamic_shape(batch, op("Shape", t)[:-rank])
        result: Tensor = op("ConcatV2", [batch, self._base.shape_tensor()[-2:]], 0)
        return result

    def _column(self, conjugate: bool) -> Any:
        return op("ExpandDims", conj(self._diag) if conjugate else self._diag, -1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        x = adjoint_if(x, adjoint_arg)
        narrow = self._column(adjoint) * dense_product(v, x, True, False)
        result: Tensor = op(
            "AddV2", self._base.matmul(x, adjoint=adjoint), dense_product(u, narrow, False, False)
        )
        return result

    def _capacitance(self) -> Tensor:
        """Returns D^-1 + V^H L^-1 U, [..., k, k]."""
        inner = dense_product(self._v, self._base.solve(self._u), True, False)
        result: Tensor = op("AddV2", op("MatrixDiag", 1.0 / self._diag), inner)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self._base.is_non_singular is False:
            raise NotImplementedError(
                "Solve not implemented unless this is a perturbation of a non-singular "
                "LinearOperator."
            )
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        capacitance = self._capacitance()
        if adjoint:
            capacitance = _adjoint(capacitance)
        small, right = with_same_batch(capacitance, dense_product(v, first, True, False))
        correction = dense_product(u, matrix_solve(small, right), False, False)
        result: Tensor = first - self._base.solve(correction, adjoint=adjoint)
        return result

    def _determinant(self) -> Tensor:
        diagonal = op("MatrixDiag", self._diag)
        result: Tensor = (
            matrix_determinant(self._capacitance())
            * matrix_determinant(diagonal)
            * self._base.determinant()
        )
        return result

    def _log_abs_determinant(self) -> Tensor:
        small = slogdet(self._capacitance()).log_abs_determinant
        logs = reduce_sum(op("Log", absolute(self._diag)), -1)
        if self.dtype.is_complex:
            logs = op("Cast", logs, DstT=self.dtype)
        result: Tensor = small + logs + self._base.log_abs_determinant()
        return result


class LinearOperatorHouseholder(LinearOperator):
    """Reflections at the plane that is orthogonal to a vector: I - 2 v v^H / |v|^2.

    Args:
      reflection_axis: the vectors v, [..., n].
      the others: as in LinearOperator; a reflection is self-adjoint and not positive definite.
    Raises: ValueError for contradicting hints, or a scalar.
    """

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        if is_positive_definite:
            raise ValueError("A Householder operator is not positive definite.")
        for what, hint in (
            ("self adjoint", is_self_adjoint),
            ("square", is_square),
            ("non-singular", is_non_singular),
        ):
            if hint is False:
                raise ValueError(f"A Householder operator is always {what}.")
        self._axis = checked(reflection_axis, 1, "reflection_axis")
        super().__init__(self._axis.dtype, [self._axis], True, True, False, True, name)

    reflection_axis = property(lambda self: self._axis, doc="The vectors.")

    def _shape(self) -> TensorShape:
        shape = self._axis.get_shape()
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Tensor:
        shape = op("Shape", self._axis)
        result: Tensor = op("ConcatV2", [shape, shape[-1:]], 0)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_if(x, adjoint_arg)
        square = reduce_sum(self._axis * conj(self._axis), -1, keepdims=True)
        column = op("ExpandDims", self._axis, -1)
        narrow = dense_product(column, x, True, False) / op("ExpandDims", square, -1)
        result: Tensor = x - 2.0 * dense_product(column, narrow, False, False)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _batch_of(self, value: float) -> Tensor:
        shape = op("StridedSlice", op("Shape", self._axis), [0], [-1], [1])
        result: Tensor = op("Fill", shape, constant(value, self.dtype))
        return result

    def _determinant(self) -> Tensor:
        return self._batch_of(-1.0)

    def _log_abs_determinant(self) -> Tensor:
        return self._batch_of(0.0)

    def _to_dense(self) -> Tensor:
        size: Any = self._axis.get_shape()[-1].value
        if size is None:
            size = op("Shape", self._axis)[-1]
        batch = op("StridedSlice", op("Shape", self._axis), [0], [-1], [1])
        return self._matmul(eye(size, batch_shape=batch, dtype=self.dtype))
