"""LinearOperator: a batch of matrices, of which products and solutions are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.api.namespace import find
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import no_op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.creation import eye
from headrace.graph.ops.arrays.shapes import broadcast_dynamic_shape, broadcast_static_shape
from headrace.graph.ops.assertions import assert_near, assert_positive
from headrace.graph.ops.elementwise.elementwise import absolute
from headrace.graph.ops.linalg.linalg import (
    adjoint as _adjoint,
)
from headrace.graph.ops.linalg.linalg import (
    cholesky as _cholesky,
)
from headrace.graph.ops.linalg.linalg import (
    cholesky_solve,
    matrix_determinant,
    matrix_solve,
    self_adjoint_eigvals,
    slogdet,
    svd,
)
from headrace.graph.ops.matmul.matmul import matmul as _matmul
from headrace.graph.ops.reduction import reduce_max, reduce_min, reduce_sum
from headrace.graph.typing.aliases import DTypeLike, TensorLike


class LinearOperator:
    """A batch of matrices [..., m, n]; subclasses know products and solutions by structure.

    Subclasses implement `_shape` and `_matmul` or `_to_dense`, and what they know better than the
    dense computations of this class.

    Args:
      dtype: dtype of the elements.
      graph_parents: tensors of which the operator is made.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the
        matrices; None where it is not. A wrong value gives wrong results.
      name: name scope of the operations.
    Raises: ValueError for contradicting hints.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        is_non_singular = is_non_singular or is_positive_definite or is_non_singular
        if is_non_singular and is_square is False:
            raise ValueError("A non-singular matrix is always square.")
        if is_self_adjoint and is_square is False:
            raise ValueError("A self-adjoint matrix is always square.")
        self._is_square = is_square or bool(is_non_singular or is_self_adjoint) or is_square
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._dtype = as_dtype(dtype).base_dtype
        self._graph_parents = list(graph_parents or [])
        self._name = name or type(self).__name__

    dtype = property(lambda self: self._dtype, doc="Dtype of the elements.")
    name = property(lambda self: self._name, doc="Name scope of the operations.")
    graph_parents = property(lambda self: self._graph_parents, doc="Tensors it is made of.")
    is_non_singular = property(lambda self: self._is_non_singular, doc="The hint, or None.")
    is_self_adjoint = property(lambda self: self._is_self_adjoint, doc="The hint, or None.")
    is_positive_definite = property(
        lambda self: self._is_positive_definite, doc="The hint, or None."
    )

    @property
    def is_square(self) -> bool | None:
        """Whether the matrices are square; None if it is unknown.

        Raises: ValueError if the hint contradicts the static shape.
        """
        m, n = self.range_dimension.value, self.domain_dimension.value
        if m is None or n is None:
            return self._is_square
        if self._is_square is not None and self._is_square != (m == n):
            raise ValueError(
                f"User provided hint is_square={self._is_square} conflicted with static shape "
                f"[{m}, {n}]"
            )
        return bool(m == n)

    # ---- shapes ------------------------------------------------------------------------------

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    shape = property(lambda self: self._shape(), doc="Static shape [..., m, n].")
    batch_shape = property(lambda self: self.shape[:-2], doc="Static shape of the batch.")
    tensor_rank = property(lambda self: self.shape.ndims, doc="Rank with the batch, or None.")
    range_dimension = property(lambda self: self.shape[-2], doc="The number of rows.")
    domain_dimension = property(lambda self: self.shape[-1], doc="The number of columns.")

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Returns the shape, [rank] int32."""
        with self._scope(name):
            static = self.shape
            if static.is_fully_defined():
                return constant(static.as_list(), "int32")
            return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the shape of the batch, int32."""
        with self._scope(name):
            result: Tensor = op("StridedSlice", self.shape_tensor(), [0], [-2], [1])
            return result

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Returns the rank with the batch, [] int32."""
        with self._scope(name):
            if self.tensor_rank is not None:
                return constant(self.tensor_rank)
            result: Tensor = op("Size", self.shape_tensor())
            return result

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Returns the number of columns, [] int32."""
        with self._scope(name):
            return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Returns the number of rows, [] int32."""
        with self._scope(name):
            return self.shape_tensor()[-2]

    def _scope(self, name: str) -> name_scope:
        return name_scope(f"{self.name}/{name}")

    def _converted(self, x: Any) -> Tensor:
        result = convert_to_tensor(x, dtype=None if isinstance(x, Tensor) else self.dtype)
        if result.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Input argument has dtype {result.dtype.name}, expected {self.dtype.name}: "
                f"{result.name}"
            )
        return result

    # ---- products ----------------------------------------------------------------------------

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return dense_product(self._to_dense(), x, adjoint, adjoint_arg)

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Returns the product with matrices, or with another operator.

        Args:
          x: [..., n, k], or a LinearOperator; the batches are broadcast.
          adjoint: use the adjoint of this operator.
          adjoint_arg: use the adjoint of x.
        Returns: [..., m, k], or a LinearOperator.
        Raises: ValueError for incompatible sizes; TypeError for another dtype.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            a, b = left.domain_dimension.value, right.range_dimension.value
            if None not in (a, b) and a != b:
                raise ValueError(
                    f"Operators are incompatible. Expected `x` to have dimension {a} but got {b}."
                )
            return find("linalg.LinearOperatorComposition")([left, right])
        with self._scope(name):
            x = self._converted(x)
            self._check_dimension(x, -1 if adjoint_arg else -2, not adjoint)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _check_dimension(self, x: Tensor, axis: int, by_columns: bool) -> None:
        mine = (self.domain_dimension if by_columns else self.range_dimension).value
        shape = x.get_shape()
        theirs = None if shape.ndims is None else shape[axis].value
        if None not in (mine, theirs) and mine != theirs:
            raise ValueError(f"Dimensions {mine} and {theirs} are not compatible")

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Returns the product with vectors. Args: x: [..., n]. Returns: [..., m]."""
        with self._scope(name):
            column = op("ExpandDims", self._converted(x), -1)
            result: Tensor = op("Squeeze", self.matmul(column, adjoint), squeeze_dims=[-1])
            return result

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    # ---- solutions ---------------------------------------------------------------------------

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        right = _adjoint(rhs) if adjoint_arg else rhs
        if self._has_cholesky():
            factor, right = with_same_batch(_cholesky(self._to_dense()), right)
            return cholesky_solve(factor, right)
        matrix, right = with_same_batch(self._to_dense(), right)
        return matrix_solve(matrix, right, adjoint=adjoint)

    def _has_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def solve(
        self,
        rhs: Any,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "solve",
    ) -> Any:
        """Returns the solution x of operator @ x = rhs.

        Args:
          rhs: [..., m, k], or a LinearOperator; the batches are broadcast.
          adjoint: use the adjoint of this operator.
          adjoint_arg: use the adjoint of rhs.
        Returns: [..., n, k], or a LinearOperator.
        Raises: NotImplementedError if the operator is singular or not square.
        """
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        if self.is_square is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to not be square."
            )
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            return left.inverse().matmul(rhs.adjoint() if adjoint_arg else rhs)
        with self._scope(name):
            right = self._converted(rhs)
            self._check_dimension(right, -1 if adjoint_arg else -2, adjoint)
            return self._solve(right, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Returns the solution for vectors. Args: rhs: [..., m]. Returns: [..., n]."""
        with self._scope(name):
            column = op("ExpandDims", self._converted(rhs), -1)
            result: Tensor = op("Squeeze", self.solve(column, adjoint), squeeze_dims=[-1])
            return result

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the inverse as an operator.

        Raises: ValueError if the operator is not square, or singular.
        """
        if self.is_square is False:
            raise ValueError(
                f"Cannot take the Inverse: This operator represents a non square matrix. {self}"
            )
        if self.is_non_singular is False:
            raise ValueError(
                f"Cannot take the Inverse: This operator represents a singular matrix. {self}"
            )
        with self._scope(name):
            result: LinearOperator = find("linalg.LinearOperatorInversion")(self)
            return result

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Returns the adjoint as an operator."""
        if self.is_self_adjoint:
            return self
        with self._scope(name):
            result: LinearOperator = find("linalg.LinearOperatorAdjoint")(self)
            return result

    H = property(lambda self: self.adjoint(), doc="The adjoint, as an operator.")

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Returns the lower triangular factor as an operator.

        Raises: ValueError unless the operator is positive definite and self-adjoint by its hints.
        """
        if not self._has_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        with self._scope(name):
            factor = _cholesky(self._to_dense())
            result: LinearOperator = find("linalg.LinearOperatorLowerTriangular")(
                factor, is_non_singular=True
            )
            return result

    # ---- numbers -----------------------------------------------------------------------------

    def _determinant(self) -> Tensor:
        return matrix_determinant(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._has_cholesky():
            diagonal = op("MatrixDiagPart", _cholesky(self._to_dense()))
            logs: Tensor = 2.0 * reduce_sum(op("Log", absolute(diagonal)), -1)
            # TensorFlow returns the dtype of the operator
            return op("Cast", logs, DstT=self.dtype) if self.dtype.is_complex else logs
        found: Tensor = slogdet(self._to_dense()).log_abs_determinant
        return found

    def determinant(self, name: str = "det") -> Tensor:
        """Returns the determinants, [...]. Raises: NotImplementedError if it is not square."""
        self._require_square()
        with self._scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Returns the logarithms of the absolute determinants, [...]."""
        self._require_square()
        with self._scope(name):
            return self._log_abs_determinant()

    def _require_square(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def trace(self, name: str = "trace") -> Tensor:
        """Returns the sums of the diagonals, [...]."""
        with self._scope(name):
            return self._trace()

    def _trace(self) -> Tensor:
        result: Tensor = reduce_sum(self.diag_part(), -1)
        return result

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Returns the diagonals, [..., min(m, n)]."""
        with self._scope(name):
            return self._diag_part()

    def _diag_part(self) -> Tensor:
        result: Tensor = op("MatrixDiagPart", self._to_dense())
        return result

    # ---- dense matrices ----------------------------------------------------------------------

    def _to_dense(self) -> Tensor:
        columns: Any = self.domain_dimension.value
        if columns is None:
            columns = self.domain_dimension_tensor()
        batch = self.batch_shape
        shape = batch.as_list() if batch.is_fully_defined() else self.batch_shape_tensor()
        return self._matmul(eye(columns, batch_shape=shape, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Returns the matrices, [..., m, n]."""
        with self._scope(name):
            return self._to_dense()

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Returns the sum with matrices [..., m, n]."""
        with self._scope(name):
            result: Tensor = op("AddV2", self._to_dense(), self._converted(x))
            return result

    # ---- checks in a run ---------------------------------------------------------------------

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Returns an operation that fails if a matrix is singular, or close to it."""
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self) -> Operation:
        values = svd(self._to_dense(), compute_uv=False)
        # below this quotient, solutions have no correct digit
        least = 1e-15 if self.dtype.size == 8 and not self.dtype.is_complex else 1e-6
        quotient = reduce_min(values, -1) / reduce_max(values, -1)
        return _made(
            assert_positive(
                quotient - constant(least, quotient.dtype.base_dtype),
                message="Singular matrix up to precision epsilon.",
            )
        )

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """Returns an operation that fails if a matrix differs from its adjoint."""
        with self._scope(name):
            dense = self._to_dense()
            return _made(
                assert_near(dense, _adjoint(dense), message="Matrix was not equal to its adjoint.")
            )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """Returns an operation that fails unless all eigenvalues are positive."""
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Operation:
        dense = self._to_dense()
        if self.is_self_adjoint:
            _cholesky(dense)
        else:
            dense = (dense + _adjoint(dense)) / 2.0
        values = self_adjoint_eigvals(dense)
        return _made(assert_positive(op("Real", values, Tout=_real_dtype(values))
                                     if values.dtype.is_complex else values,
                                     message="Matrix was not positive definite."))  # fmt: skip


def _real_dtype(t: Tensor) -> str:
    return "float64" if t.dtype.base_dtype.name == "complex128" else "float32"


def _made(check: Operation | None) -> Operation:
    return no_op() if check is None else check


def dense_product(matrix: Tensor, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
    """Returns matrix @ x, with batches broadcast."""
    matrix, x = with_same_batch(matrix, x)
    return _matmul(matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)


def with_same_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Broadcasts the batches of two tensors [..., m, n] and [..., k, l]."""
    shapes = a.get_shape(), b.get_shape()
    static = None
    if shapes[0].ndims is not None and shapes[1].ndims is not None:
        if shapes[0].ndims == shapes[1].ndims == 2:
            return a, b
        batches = shapes[0][:-2], shapes[1][:-2]
        if batches[0].is_fully_defined() and batches[0].as_list() == batches[1].as_list():
            return a, b
        static = broadcast_static_shape(*batches)
    sizes = [op("Shape", t) for t in (a, b)]
    batch = broadcast_dynamic_shape(sizes[0][:-2], sizes[1][:-2])
    result = []
    for t, size, shape in zip((a, b), sizes, shapes):
        wide = op("BroadcastTo", t, op("ConcatV2", [batch, size[-2:]], 0))
        if static is not None:
            wide.set_shape(static.concatenate(shape[-2:]))
        result.append(wide)
    return result[0], result[1]


def adjoint_if(x: Tensor, flag: bool) -> Tensor:
    """Returns x or its adjoint."""
    return _adjoint(x) if flag else x
