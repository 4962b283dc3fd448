"""Products, Kronecker products and block diagonals of operators."""

from __future__ import annotations

import functools
import operator as _operators
from collections.abc import Sequence
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.shapes import broadcast_dynamic_shape, broadcast_static_shape
from headrace.graph.ops.linear_operators.linear_operator import (
    LinearOperator,
    adjoint_if,
    with_same_batch,
)


class _Several(LinearOperator):
    """Several operators of one dtype."""

    _joint = "_o_"
    _closed: tuple[str, ...] = ("is_non_singular",)  # hints that hold if all operators have them

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        listed = list(operators)
        if not listed:
            raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
        dtype = listed[0].dtype
        for one in listed:
            if one.dtype != dtype:
                pairs = ", ".join(f"({o.name}, {o.dtype.name})" for o in listed)
                raise TypeError(f"Expected all operators to have the same dtype.  Found {pairs}")
        self._operators = listed
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        for what in self._closed:
            if all(getattr(one, what) for one in listed):
                if hints[what] is False:
                    raise ValueError(
                        f"The operators are all {what}, and so is their combination, contrary to "
                        f"the hint {what}=False."
                    )
                hints[what] = True
        super().__init__(
            dtype,
            [parent for one in listed for parent in one.graph_parents],
            is_square=is_square,
            name=name or self._joint.join(one.name for one in listed),
            **hints,
        )

    operators = property(lambda self: self._operators, doc="The operators.")

    def _batch(self) -> TensorShape:
        return functools.reduce(
            broadcast_static_shape, [one.batch_shape for one in self._operators]
        )

    def _batch_tensor(self) -> Tensor:
        return functools.reduce(
            broadcast_dynamic_shape, [one.batch_shape_tensor() for one in self._operators]
        )

    def _sum_of_logs(self) -> Tensor:
        return functools.reduce(
            _operators.add, [one.log_abs_determinant() for one in self._operators]
        )


class LinearOperatorComposition(_Several):
    """The product of operators: the last one is applied first.

    Args:
      operators: operators whose sizes fit.
      the others: as in LinearOperator.
    Raises: ValueError for sizes that do not fit; TypeError for different dtypes.
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            operators, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )
        for left, right in zip(self._operators, self._operators[1:]):
            a, b = left.domain_dimension, right.range_dimension
            if not a.is_compatible_with(b):
                raise ValueError(f"Operators are incompatible: {a} columns before {b} rows")

    def _shape(self) -> TensorShape:
        rows, columns = self._operators[0].range_dimension, self._operators[-1].domain_dimension
        return self._batch().concatenate(TensorShape([rows, columns]))

    def _shape_tensor(self) -> Tensor:
        sizes = op(
            "Pack",
            [
                self._operators[0].range_dimension_tensor(),
                self._operators[-1].domain_dimension_tensor(),
            ],
        )
        result: Tensor = op("ConcatV2", [self._batch_tensor(), sizes], 0)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        order = self._operators if adjoint else self._operators[::-1]
        result = order[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for one in order[1:]:
            result = one.matmul(result, adjoint=adjoint)
        found: Tensor = result
        return found

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        order = self._operators[::-1] if adjoint else self._operators
        result = order[0].solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for one in order[1:]:
            result = one.solve(result, adjoint=adjoint)
        found: Tensor = result
        return found

    def _determinant(self) -> Tensor:
        return functools.reduce(_operators.mul, [one.determinant() for one in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        return self._sum_of_logs()


class LinearOperatorKronecker(_Several):
    """The Kronecker product of operators.

    Args:
      operators: the operators; solutions need square ones.
      the others: as in LinearOperator.
    Raises: TypeError for different dtypes; ValueError without operators.
    """

    _joint = "_x_"
    _closed = ("is_non_singular", "is_self_adjoint", "is_positive_definite")

    def _sizes(self, of: str) -> list[Any]:
        """Returns the sizes of the operators, as ints where they are known."""
        found = []
        for one in self._operators:
            known = getattr(one, f"{of}_dimension").value
            found.append(getattr(one, f"{of}_dimension_tensor")() if known is None else known)
        return found

    def _shape(self) -> TensorShape:
        sizes = [self._sizes(of) for of in ("range", "domain")]
        whole = [
            None
            if any(isinstance(n, Tensor) for n in each)
            else functools.reduce(_operators.mul, each)
            for each in sizes
        ]
        return self._batch().concatenate(TensorShape(whole))

    def _shape_tensor(self) -> Tensor:
        sizes = [functools.reduce(_operators.mul, self._sizes(of)) for of in ("range", "domain")]
        result: Tensor = op("ConcatV2", [self._batch_tensor(), op("Pack", sizes)], 0)
        return result

    def _applied(self, x: Tensor, adjoint: bool, adjoint_arg: bool, method: str) -> Tensor:
        """Applies each operator to its part of the rows of x."""
        is_solve = method == "solve"
        before = self._sizes("range" if adjoint != is_solve else "domain")
        after = self._sizes("domain" if adjoint != is_solve else "range")

        def apply(i: int, x: Tensor) -> Tensor:
            one = self._operators[i]
            if i == len(self._operators) - 1:
                last: Tensor = getattr(one, method)(x, adjoint=adjoint)
                return last
            columns = op("Shape", x)[-1]
            others = functools.reduce(_operators.mul, before[i + 1 :])
            rows = op("Reshape", x, _sized(_batch_of(x), before[i], others * columns))
            found = getattr(one, method)(rows, adjoint=adjoint)
            # the rows of the other operators come first, and this one's beside the columns
            apart = op("Reshape", found, _sized(_batch_of(found), after[i], others, columns))
            apart = op(
                "Reshape", _swapped(apart), _sized(_batch_of(found), others, after[i] * columns)
            )
            rest = apply(i + 1, apart)
            made = functools.reduce(_operators.mul, after[i + 1 :])
            apart = op("Reshape", rest, _sized(_batch_of(rest), made, after[i], columns))
            result: Tensor = op(
                "Reshape", _swapped(apart), _sized(_batch_of(rest), after[i] * made, columns)
            )
            return result

        return apply(0, adjoint_if(x, adjoint_arg))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(x, adjoint, adjoint_arg, "matmul")

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(rhs, adjoint, adjoint_arg, "solve")

    def _powers(self) -> list[Tensor]:
        """Returns for each operator how often its determinant is a factor."""
        total = functools.reduce(_operators.mul, self._sizes("domain"))
        return [op("Cast", total // size, DstT=self.dtype) for size in self._sizes("domain")]

    def _determinant(self) -> Tensor:
        terms = [
            op("Pow", one.determinant(), power)
            for one, power in zip(self._operators, self._powers())
        ]
        return functools.reduce(_operators.mul, terms)

    def _log_abs_determinant(self) -> Tensor:
        terms = [
            one.log_abs_determinant() * power for one, power in zip(self._operators, self._powers())
        ]
        return functools.reduce(_operators.add, terms)

    def _trace(self) -> Tensor:
        return functools.reduce(_operators.mul, [one.trace() for one in self._operators])


def _sized(batch: Tensor, *sizes: Any) -> Tensor:
    result: Tensor = op("ConcatV2", [batch, op("Pack", list(sizes))], 0)
    return result


def _batch_of(x: Tensor) -> Tensor:
    result: Tensor = op("StridedSlice", op("Shape", x), [0], [-2], [1])
    return result


def _swapped(x: Tensor) -> Tensor:
    """Exchanges the second and third last axis."""
    kept = op("Rank", x) - 3
    axes = op("ConcatV2", [op("Range", 0, kept, 1), op("Pack", [kept + 1, kept, kept + 2])], 0)
    result: Tensor = op("Transpose", x, axes)
    return result


class LinearOperatorBlockDiag(_Several):
    """Operators on the diagonal of a matrix.

    Args:
      operators: the operators.
      the others: as in LinearOperator.
    Raises: TypeError for different dtypes; ValueError without operators.
    """

    _joint = "_ds_"
    _closed = ("is_non_singular", "is_self_adjoint", "is_positive_definite")

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        for one in operators:
            if one.is_square is False:
                raise ValueError(
                    "Can only represent a block diagonal of square matrices, but operator "
                    f"{one.name} is not square."
                )
        super().__init__(
            operators, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _sizes(self) -> list[Any]:
        return [
            one.domain_dimension_tensor()
            if one.domain_dimension.value is None
            else one.domain_dimension.value
            for one in self._operators
        ]

    def _shape(self) -> TensorShape:
        sizes = self._sizes()
        whole = None if any(isinstance(n, Tensor) for n in sizes) else sum(sizes)
        return self._batch().concatenate(TensorShape([whole, whole]))

    def _shape_tensor(self) -> Tensor:
        whole = functools.reduce(_operators.add, self._sizes())
        return _sized(self._batch_tensor(), whole, whole)

    def _applied(self, x: Tensor, adjoint: bool, adjoint_arg: bool, method: str) -> Tensor:
        rows = op("SplitV", adjoint_if(x, adjoint_arg), self._sizes(), -2,
                  num_split=len(self._operators))  # fmt: skip
        rows = rows if isinstance(rows, (list, tuple)) else [rows]
        found = [
            getattr(one, method)(part, adjoint=adjoint) for one, part in zip(self._operators, rows)
        ]
        return _stacked(found, -2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(x, adjoint, adjoint_arg, "matmul")

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(rhs, adjoint, adjoint_arg, "solve")

    def _determinant(self) -> Tensor:
        return functools.reduce(_operators.mul, [one.determinant() for one in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        return self._sum_of_logs()

    def _diag_part(self) -> Tensor:
        parts = [op("ExpandDims", one.diag_part(), -1) for one in self._operators]
        result: Tensor = op("Squeeze", _stacked(parts, -2), squeeze_dims=[-1])
        return result

    def _trace(self) -> Tensor:
        return functools.reduce(_operators.add, [one.trace() for one in self._operators])


def _stacked(parts: list[Any], axis: int) -> Tensor:
    """Joins tensors whose batches are broadcast."""
    for _ in range(2):  # the first part has all batches after the first round
        for i in range(1, len(parts)):
            parts[0], parts[i] = with_same_batch(parts[0], parts[i])
    result: Tensor = parts[0] if len(parts) == 1 else op("ConcatV2", parts, axis)
    return result
