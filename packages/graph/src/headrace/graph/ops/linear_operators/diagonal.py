"""Diagonal matrices, identities and zeros."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.creation import eye
from headrace.graph.ops.elementwise.elementwise import absolute, conj
from headrace.graph.ops.linear_operators.full_matrix import checked
from headrace.graph.ops.linear_operators.linear_operator import (
    LinearOperator,
    adjoint_if,
    dense_product,
    with_same_batch,
)
from headrace.graph.ops.reduction import reduce_prod, reduce_sum
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices.

    Args:
      diag: the diagonals, [..., n].
      the others: as in LinearOperator; real diagonals are self-adjoint.
    Raises: ValueError for a scalar, or is_square=False.
    """

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = checked(diag, 1, "diag")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(
            self._diag.dtype,
            [self._diag],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    diag = property(lambda self: self._diag, doc="The diagonals.")

    def _shape(self) -> TensorShape:
        shape = self._diag.get_shape()
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Tensor:
        shape = op("Shape", self._diag)
        result: Tensor = op("ConcatV2", [shape, shape[-1:]], 0)
        return result

    def _column(self, adjoint: bool) -> Tensor:
        column: Tensor = op("ExpandDims", conj(self._diag) if adjoint else self._diag, -1)
        return column

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._column(adjoint) * adjoint_if(x, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return adjoint_if(rhs, adjoint_arg) / self._column(adjoint)

    def _determinant(self) -> Tensor:
        result: Tensor = reduce_prod(self._diag, -1)
        return result

    def _log_abs_determinant(self) -> Tensor:
        result: Tensor = reduce_sum(op("Log", absolute(self._diag)), -1)
        if self.dtype.is_complex:
            result = op("Cast", result, DstT=self.dtype)
        return result

    def _to_dense(self) -> Tensor:
        result: Tensor = op("MatrixDiag", self._diag)
        return result

    def _diag_part(self) -> Tensor:
        return self._diag

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Returns the diagonal of the square roots; see LinearOperator.cholesky."""
        if not self._has_cholesky():
            return super().cholesky(name)
        return LinearOperatorDiag(op("Sqrt", self._diag), is_non_singular=True)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the diagonal of the reciprocals; see LinearOperator.inverse."""
        if self.is_non_singular is False:
            return super().inverse(name)
        return LinearOperatorDiag(
            1.0 / self._diag,
            is_non_singular=self.is_non_singular,
            is_self_adjoint=self.is_self_adjoint,
            is_positive_definite=self.is_positive_definite,
        )


def _size(value: Any, what: str) -> tuple[int | None, Tensor]:
    """Returns a size, static and as a tensor. Raises: ValueError unless it is a scalar >= 0."""
    tensor = convert_to_tensor(value, name=what)
    if tensor.get_shape().ndims not in (None, 0):
        raise ValueError(f"Argument {what} must be a 0-D Tensor.  Found: {tensor}")
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {what} must be integer type.  Found: {value}")
    known = constant_value(tensor)
    if known is not None and int(known) < 0:
        raise ValueError(f"Argument {what} must be non-negative.  Found: {int(known)}")
    return (None if known is None else int(known)), tensor


class _Rows(LinearOperator):
    """Matrices of given sizes, for a batch of given shape."""

    def _set_sizes(self, rows: Any, columns: Any, batch_shape: Any) -> None:
        self._rows = _size(rows, "num_rows")
        self._columns = _size(columns, "num_columns")
        given = [] if batch_shape is None else batch_shape
        self._batch = convert_to_tensor(given, dtype="int32", name="batch_shape_arg")
        if self._batch.get_shape().ndims not in (None, 1):
            raise ValueError(f"Argument batch_shape must be a 1-D Tensor.  Found: {self._batch}")

    def _shape(self) -> TensorShape:
        batch = constant_value(self._batch)
        known = TensorShape(None if batch is None else [int(n) for n in batch])
        if batch is None and self._batch.get_shape()[0].value is not None:
            known = TensorShape([None] * self._batch.get_shape()[0].value)
        return known.concatenate(TensorShape([self._rows[0], self._columns[0]]))

    def _shape_tensor(self) -> Tensor:
        sizes = op("Pack", [self._rows[1], self._columns[1]])
        result: Tensor = op("ConcatV2", [self._batch, sizes], 0)
        return result

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Returns the sum with matrices [..., m, n]."""
        return super().add_to_tensor(mat, name)

    def _ones(self) -> Tensor:
        result: Tensor = op("Fill", self._batch, constant(1, self.dtype))
        return result

    def _with_batch(self, x: Tensor) -> Tensor:
        """Broadcasts x to the batch of the operator."""
        if self.batch_shape.ndims == 0:
            return x
        like = op("Fill", op("ConcatV2", [self._batch, [1, 1]], 0), constant(0, self.dtype))
        return with_same_batch(like, x)[1]


class LinearOperatorIdentity(_Rows):
    """Identity matrices.

    Args:
      num_rows: their size, int or int32 scalar.
      batch_shape: shape of the batch; None for none.
      dtype: float32 by default.
      assert_proper_shapes: accepted; sizes are checked always.
      the others: as in LinearOperator.
    Raises: ValueError or TypeError for sizes that are not integers >= 0, or other hints than True.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        for what, hint in (
            ("self adjoint", is_self_adjoint),
            ("square", is_square),
            ("non-singular", is_non_singular),
            ("positive-definite", is_positive_definite),
        ):
            if not hint:
                raise ValueError(f"An identity operator is always {what}.")
        super().__init__(dtype or "float32", None, True, True, True, True, name)
        self._set_sizes(num_rows, num_rows, batch_shape)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._with_batch(adjoint_if(x, adjoint_arg))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return self._ones()

    def _log_abs_determinant(self) -> Tensor:
        result: Tensor = op("ZerosLike", self._ones())
        return result

    def _to_dense(self) -> Tensor:
        known = self.shape
        if known.is_fully_defined():
            return eye(known.as_list()[-1], batch_shape=known.as_list()[:-2], dtype=self.dtype)
        return eye(self._rows[1], batch_shape=self._batch, dtype=self.dtype)

    def _diag_part(self) -> Tensor:
        result: Tensor = op("MatrixDiagPart", self._to_dense())
        return result

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the operator."""
        return self

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Returns the operator."""
        return self


class LinearOperatorScaledIdentity(_Rows):
    """Multiples of identity matrices.

    Args:
      num_rows: their size, int or int32 scalar.
      multiplier: [...] the factors.
      the others: as in LinearOperatorIdentity.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self._multiplier = checked(multiplier, 0, "multiplier")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        super().__init__(
            self._multiplier.dtype,
            [self._multiplier],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )
        self._set_sizes(num_rows, num_rows, op("Shape", self._multiplier))

    multiplier = property(lambda self: self._multiplier, doc="The factors.")

    def _shape(self) -> TensorShape:
        sizes = TensorShape([self._rows[0], self._rows[0]])
        return self._multiplier.get_shape().concatenate(sizes)

    def _factor(self, adjoint: bool) -> Tensor:
        value = conj(self._multiplier) if adjoint else self._multiplier
        result: Tensor = op("ExpandDims", op("ExpandDims", value, -1), -1)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return adjoint_if(x, adjoint_arg) * self._factor(adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return adjoint_if(rhs, adjoint_arg) / self._factor(adjoint)

    def _count(self) -> Any:
        return op("Cast", self._rows[1], DstT=self.dtype)

    def _determinant(self) -> Tensor:
        result: Tensor = op("Pow", self._multiplier, self._count())
        return result

    def _log_abs_determinant(self) -> Tensor:
        log = op("Log", absolute(self._multiplier))
        result: Tensor = op("Cast", log, DstT=self.dtype) * self._count()
        return result

    def _diag_part(self) -> Tensor:
        ones = op("Fill", op("Pack", [self._rows[1]]), constant(1, self.dtype))
        result: Tensor = op("ExpandDims", self._multiplier, -1) * ones
        return result

    def _to_dense(self) -> Tensor:
        result: Tensor = op("MatrixDiag", self._diag_part())
        result.set_shape(self.shape)
        return result


class LinearOperatorZeros(_Rows):
    """Matrices of zeros.

    Args:
      num_rows, num_columns: their sizes; num_columns is num_rows by default.
      the others: as in LinearOperatorIdentity.
    Raises: ValueError for is_non_singular or is_positive_definite.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        num_columns: TensorLike | None = None,
        batch_shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        super().__init__(
            as_dtype(dtype or "float32"), None, False, is_self_adjoint, False, is_square, name
        )
        columns = num_rows if num_columns is None else num_columns
        self._set_sizes(num_rows, columns, batch_shape)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return dense_product(self._to_dense(), x, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        result: Tensor = op("ZerosLike", self._ones())
        return result

    def _to_dense(self) -> Tensor:
        result: Tensor = op("Fill", self.shape_tensor(), constant(0, self.dtype))
        result.set_shape(self.shape)
        return result

    def _diag_part(self) -> Tensor:
        result: Tensor = op("MatrixDiagPart", self._to_dense())
        return result
