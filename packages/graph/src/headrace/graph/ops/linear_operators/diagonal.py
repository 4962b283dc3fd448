"""Diagonal matrices, identities and zeros."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import with_dependencies
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.creation import eye, ones, zeros
from headrace.graph.ops.arrays.shapes import broadcast_static_shape
from headrace.graph.ops.assertions import assert_equal, assert_non_negative, assert_rank
from headrace.graph.ops.elementwise.elementwise import absolute, conj
from headrace.graph.ops.linear_operators.full_matrix import checked
from headrace.graph.ops.linear_operators.linear_operator import (
    LinearOperator,
    adjoint_if,
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

    _batch: Tensor | None = None  # its shape; None for none

    def _set_sizes(self, rows: Any, columns: Any, check: bool) -> None:
        self._checks = check
        self._rows = self._checked_size(rows, "num_rows")
        self._columns = self._rows
        if columns is not None:
            self._columns = self._checked_size(columns, "num_columns")

    def _checked_size(self, value: Any, what: str) -> tuple[int | None, Tensor]:
        known, tensor = _size(value, what)
        return known, self._with_checks(tensor, 0, what)

    def _with_checks(self, sizes: Tensor, rank: int, what: str) -> Tensor:
        """Returns sizes that are checked when they are computed, if the operator checks shapes."""
        if not self._checks:
            return sizes
        return with_dependencies(
            [
                assert_rank(sizes, rank, message=f"Argument {what} must be a {rank}-D Tensor."),
                assert_non_negative(sizes, message=f"Argument {what} must be non-negative."),
            ],
            sizes,
        )

    def _set_batch(self, batch_shape: Any) -> None:
        if batch_shape is None:
            return
        dtype = "int32" if isinstance(batch_shape, (tuple, list)) and not batch_shape else None
        batch = convert_to_tensor(batch_shape, dtype=dtype, name="batch_shape_arg")
        if batch.get_shape().ndims not in (None, 1):
            raise ValueError(f"Argument batch_shape must be a 1-D Tensor.  Found: {batch}")
        if not batch.dtype.is_integer:
            raise TypeError(f"Argument batch_shape must be integer type.  Found: {batch}")
        known = constant_value(batch)
        if known is not None and (known < 0).any():
            raise ValueError(f"Argument batch_shape must be non-negative.  Found: {known}")
        self._known_batch = known
        self._batch = self._with_checks(batch, 1, "batch_shape")

    def _shape(self) -> TensorShape:
        sizes = TensorShape([self._rows[0], self._columns[0]])
        if self._batch is None:
            return sizes
        batch = self._known_batch
        known = TensorShape(None if batch is None else [int(n) for n in batch])
        if batch is None and self._batch.get_shape()[0].value is not None:
            known = TensorShape([None] * self._batch.get_shape()[0].value)
        return known.concatenate(sizes)

    def _shape_tensor(self) -> Tensor:
        sizes: Tensor = op("Pack", [self._rows[1], self._columns[1]])
        if self._batch is None:
            return sizes
        result: Tensor = op("ConcatV2", [self._batch, sizes], 0)
        return result

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Returns the sum with matrices [..., m, n]."""
        return super().add_to_tensor(mat, name)

    def _checked_argument(self, x: Tensor, adjoint: bool = False) -> Tensor:
        """Returns the argument of a product, checked when it runs if the operator checks shapes."""
        if not self._checks:
            return x
        columns = self._rows[1] if adjoint else self._columns[1]
        check = assert_equal(
            op("Shape", x)[-2],
            columns,
            message="Dimensions are not compatible.  shape[-2] of argument to be the same as this "
            "operator",
        )
        return with_dependencies([check], x)

    def _with_batch(self, x: Tensor) -> Tensor:
        """Broadcasts x to the batch of the operator."""
        if self._batch is None:
            return x
        shape: Any = self.batch_shape.concatenate([1, 1])
        if not shape.is_fully_defined():
            shape = op("ConcatV2", [self.batch_shape_tensor(), [1, 1]], 0)
        elif broadcast_static_shape(x.get_shape(), shape) == x.get_shape():
            return x
        result: Tensor = x + zeros(shape, self.dtype)
        return result


class LinearOperatorIdentity(_Rows):
    """Identity matrices.

    Args:
      num_rows: their size, int or int32 scalar.
      batch_shape: shape of the batch; None for none.
      dtype: float32 by default.
      assert_proper_shapes: also check sizes and arguments that are not known before they run.
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
        self._set_sizes(num_rows, None, assert_proper_shapes)
        self._set_batch(batch_shape)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._with_batch(self._checked_argument(adjoint_if(x, adjoint_arg)))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _to_dense(self) -> Tensor:
        known = self.shape
        if known.is_fully_defined():
            return eye(known.as_list()[-1], batch_shape=known.as_list()[:-2], dtype=self.dtype)
        return eye(self._rows[1], batch_shape=self.batch_shape_tensor(), dtype=self.dtype)

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
        self._set_sizes(num_rows, None, assert_proper_shapes)
        self._count = op("Cast", self._rows[1], DstT=self.dtype)
        self._real_count = op("Cast", self._rows[1], DstT=self.dtype.real_dtype)

    multiplier = property(lambda self: self._multiplier, doc="The factors.")

    def _shape(self) -> TensorShape:
        sizes = TensorShape([self._rows[0], self._rows[0]])
        return self._multiplier.get_shape().concatenate(sizes)

    def _shape_tensor(self) -> Tensor:
        sizes = op("Pack", [self._rows[1], self._rows[1]])
        result: Tensor = op("ConcatV2", [op("Shape", self._multiplier), sizes], 0)
        return result

    def _factor(self, adjoint: bool) -> Tensor:
        value = conj(self._multiplier) if adjoint else self._multiplier
        result: Tensor = op("ExpandDims", op("ExpandDims", value, -1), -1)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        right = self._checked_argument(adjoint_if(x, adjoint_arg))
        result: Tensor = right * self._factor(adjoint)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        right = self._checked_argument(adjoint_if(rhs, adjoint_arg))
        result: Tensor = right / self._factor(adjoint)
        return result

    def _determinant(self) -> Tensor:
        result: Tensor = op("Pow", self._multiplier, self._count)
        return result

    def _log_abs_determinant(self) -> Tensor:
        log = op("Log", absolute(self._multiplier))
        result: Tensor = self._real_count * log
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
        self._set_sizes(num_rows, columns, assert_proper_shapes)
        sizes = (self._rows[0], self._columns[0])
        if is_square and None not in sizes and sizes[0] != sizes[1]:
            raise ValueError(
                f"LinearOperatorZeros initialized as is_square=True, but got "
                f"num_rows({sizes[0]}) != num_columns({sizes[1]})"
            )
        self._set_batch(batch_shape)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        right = self._checked_argument(adjoint_if(x, adjoint_arg), adjoint)
        shape = right.get_shape()
        rows, size = (self._columns if adjoint else self._rows), op("Shape", right)
        if not self.is_square:
            count = size[-1]
            size = op("ConcatV2", [size[:-2], op("Pack", [rows[1], count])], 0)
        product = zeros(size, right.dtype.base_dtype)
        if shape.ndims is not None:
            product.set_shape(shape[:-2].concatenate([rows[0], shape[-1]]))
        return self._with_batch(product)

    def _determinant(self) -> Tensor:
        shape: Any = self.batch_shape
        return zeros(shape if shape.is_fully_defined() else self.batch_shape_tensor(), self.dtype)

    def _to_dense(self) -> Tensor:
        result: Tensor = op("Fill", self.shape_tensor(), constant(0, self.dtype))
        result.set_shape(self.shape)
        return result

    def _diag_part(self) -> Tensor:
        result: Tensor = op("MatrixDiagPart", self._to_dense())
        return result
