"""Circulant and Toeplitz matrices, by Fourier transforms."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.shapes import broadcast_dynamic_shape, broadcast_static_shape
from headrace.graph.ops.elementwise.elementwise import absolute, conj
from headrace.graph.ops.linear_operators.full_matrix import checked
from headrace.graph.ops.linear_operators.linear_operator import LinearOperator, adjoint_if
from headrace.graph.ops.reduction import reduce_prod, reduce_sum
from headrace.graph.typing.aliases import DTypeLike, TensorLike

_FORWARD = {1: "FFT", 2: "FFT2D", 3: "FFT3D"}


class _Circulant(LinearOperator):
    """Matrices that Fourier transforms make diagonal: F^-1 diag(spectrum) F."""

    _depth = 1

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = "complex64",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        given = checked(spectrum, self._depth, "spectrum")
        if not given.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("A circulant operator is always square.")
        self._spectrum = given
        super().__init__(
            input_output_dtype,
            [given],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    spectrum = property(lambda self: self._spectrum, doc="The spectrum, as given.")
    block_depth = property(lambda self: self._depth, doc="Number of dimensions of the blocks.")
    block_shape = property(
        lambda self: self._spectrum.get_shape()[-self._depth :], doc="Static shape of the blocks."
    )

    def block_shape_tensor(self) -> Tensor:
        """Returns the shape of the blocks, int32."""
        result: Tensor = op("Shape", self._spectrum)[-self._depth :]
        return result

    def _shape(self) -> TensorShape:
        shape = self._spectrum.get_shape()
        if shape.ndims is None:
            return TensorShape(None)
        size: int | None = 1
        for n in self.block_shape.as_list():
            size = None if n is None or size is None else size * n
        return shape[: -self._depth].concatenate(TensorShape([size, size]))

    def _shape_tensor(self) -> Tensor:
        size = reduce_prod(self.block_shape_tensor(), keepdims=True)
        batch = op("StridedSlice", op("Shape", self._spectrum), [0], [-self._depth], [1])
        result: Tensor = op("ConcatV2", [batch, size, size], 0)
        return result

    def _complex_dtype(self) -> str:
        return "complex128" if self.dtype.name in ("float64", "complex128") else "complex64"

    def _complex_spectrum(self) -> Any:
        return op("Cast", self._spectrum, DstT=self._complex_dtype())

    def _transformed(self, x: Tensor, factors: Any) -> Tensor:
        """Multiplies the Fourier transform of the rows of x by factors."""
        values = op("Cast", x, DstT=self._complex_dtype())
        rank = op("Rank", values)
        head = op("Range", 0, rank - 2, 1)
        swap = op("ConcatV2", [head, op("Pack", [rank - 1, rank - 2])], 0)
        columns = op("Transpose", values, swap)  # [..., k, n]
        outer = op("StridedSlice", op("Shape", columns), [0], [-1], [1])
        blocks = op("Reshape", columns, op("ConcatV2", [outer, self.block_shape_tensor()], 0))
        forward = _FORWARD[self._depth]
        wide = op("ExpandDims", factors, -self._depth - 1)
        found = op("I" + forward, op("Mul", op(forward, blocks), wide))
        kept = op("StridedSlice", op("Shape", found), [0], [-self._depth], [1])
        size = reduce_prod(self.block_shape_tensor(), keepdims=True)
        flat = op("Reshape", found, op("ConcatV2", [kept, size], 0))
        rank = op("Rank", flat)
        head = op("Range", 0, rank - 2, 1)
        result: Tensor = op(
            "Transpose", flat, op("ConcatV2", [head, op("Pack", [rank - 1, rank - 2])], 0)
        )
        if not self.dtype.is_complex:
            result = op("Real", result, Tout=self.dtype)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        spectrum = self._complex_spectrum()
        return self._transformed(
            adjoint_if(x, adjoint_arg), conj(spectrum) if adjoint else spectrum
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        spectrum = self._complex_spectrum()
        return self._transformed(
            adjoint_if(rhs, adjoint_arg), 1.0 / (conj(spectrum) if adjoint else spectrum)
        )

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _as_dtype(self, x: Any) -> Tensor:
        if x.dtype.is_complex and not self.dtype.is_complex:
            x = op("Real", x, Tout="float64" if x.dtype.name == "complex128" else "float32")
        result: Tensor = op("Cast", x, DstT=self.dtype)
        return result

    def _determinant(self) -> Tensor:
        return self._as_dtype(reduce_prod(self._complex_spectrum(), self._axes()))

    def _log_abs_determinant(self) -> Tensor:
        return self._as_dtype(
            reduce_sum(op("Log", absolute(self._complex_spectrum())), self._axes())
        )

    def _trace(self) -> Tensor:
        return self._as_dtype(reduce_sum(self._complex_spectrum(), self._axes()))

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Returns the inverse transform of the spectrum: the first column, as blocks."""
        with self._scope(name):
            kernel = op("I" + _FORWARD[self._depth], self._complex_spectrum())
            return self._as_dtype(kernel)


class LinearOperatorCirculant(_Circulant):
    """Circulant matrices: each row is the one above, shifted by one.

    Args:
      spectrum: [..., n], the Fourier transform of the first column.
      input_output_dtype: dtype of what is multiplied; real only if the matrices are.
      the others: as in LinearOperator; a real spectrum is self-adjoint.
    Raises: ValueError for contradicting hints, or a rank that is too low.
    """


class LinearOperatorCirculant2D(_Circulant):
    """Block-circulant matrices of circulant blocks: spectrum is [..., n, m].

    Args: as in LinearOperatorCirculant.
    """

    _depth = 2

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = "complex64",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


class LinearOperatorCirculant3D(_Circulant):
    """Nested block-circulant matrices: spectrum is [..., n, m, k].

    Args: as in LinearOperatorCirculant.
    """

    _depth = 3

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = "complex64",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


class LinearOperatorToeplitz(LinearOperator):
    """Toeplitz matrices: constant along each diagonal.

    Args:
      col, row: the first columns and rows, [..., n]; the first element of row is not used.
      the others: as in LinearOperator.
    Raises: ValueError for is_square=False, or different sizes.
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        self._col = checked(col, 1, "col")
        self._row = checked(convert_to_tensor(row, dtype=self._col.dtype), 1, "row")
        if not self._col.get_shape()[-1].is_compatible_with(self._row.get_shape()[-1]):
            raise ValueError("Expected square matrix, got rows and columns of different sizes.")
        super().__init__(
            self._col.dtype,
            [self._col, self._row],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    col = property(lambda self: self._col, doc="The first columns.")
    row = property(lambda self: self._row, doc="The first rows.")

    def _shape(self) -> TensorShape:
        a, b = self._col.get_shape(), self._row.get_shape()
        if a.ndims is None or b.ndims is None:
            return TensorShape(None)
        return broadcast_static_shape(a, b).concatenate(a[-1:])

    def _shape_tensor(self) -> Tensor:
        shape = broadcast_dynamic_shape(op("Shape", self._col), op("Shape", self._row))
        result: Tensor = op("ConcatV2", [shape, shape[-1:]], 0)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        # The matrix is a corner of a circulant one of twice the size.
        col, row = self._col, self._row
        if adjoint:
            first = col[..., :1]
            col, row = conj(op("ConcatV2", [first, row[..., 1:]], -1)), conj(col)
        x = adjoint_if(x, adjoint_arg)
        size = op("Shape", col)[-1]
        tail = op("ReverseV2", row, [-1])
        whole = op("ConcatV2", _same_rank(col, op("ZerosLike", col[..., :1]), tail[..., :-1]), -1)
        kind = (
            "complex128" if self.dtype.size >= 8 and self.dtype.name != "complex64" else "complex64"
        )
        spectrum = op("FFT", op("Cast", whole, DstT=kind))
        zeros = op("ZerosLike", x)
        wide = op("ConcatV2", [x, zeros], -2)
        circulant = LinearOperatorCirculant(spectrum, self.dtype)
        return circulant.matmul(wide)[..., :size, :]

    def _trace(self) -> Tensor:
        size = op("Cast", op("Shape", self._col)[-1], DstT=self.dtype)
        result: Tensor = self._col[..., 0] * size
        return result


def _same_rank(*parts: Any) -> list[Any]:
    """Broadcasts vectors to one batch."""
    batch = op("Shape", parts[0])[:-1]
    for part in parts[1:]:
        batch = broadcast_dynamic_shape(batch, op("Shape", part)[:-1])
    return [
        op("BroadcastTo", part, op("ConcatV2", [batch, op("Shape", part)[-1:]], 0))
        for part in parts
    ]
