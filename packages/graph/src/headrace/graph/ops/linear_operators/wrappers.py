"""The adjoint and the inverse of an operator."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.elementwise.elementwise import conj
from headrace.graph.ops.linalg.linalg import adjoint as _adjoint
from headrace.graph.ops.linear_operators.linear_operator import LinearOperator


def _hint(given: bool | None, known: bool | None, what: str) -> bool | None:
    """Returns a hint, by default that of the inner operator. Raises: ValueError if they differ."""
    if given is None:
        return known
    if known is not None and given != known:
        raise ValueError(f"The operator's hint {what}={known} contradicts {what}={given}")
    return given


class _Wrapper(LinearOperator):
    def __init__(
        self, operator: LinearOperator, hints: dict[str, bool | None], name: str | None, kind: str
    ) -> None:
        self._operator = operator
        found = {what: _hint(given, getattr(operator, what), what) for what, given in hints.items()}
        super().__init__(
            operator.dtype,
            operator.graph_parents,
            found["is_non_singular"],
            found["is_self_adjoint"],
            found["is_positive_definite"],
            found["is_square"],
            name or f"{operator.name}_{kind}",
        )

    operator = property(lambda self: self._operator, doc="The inner operator.")


class LinearOperatorAdjoint(_Wrapper):
    """The adjoint of an operator.

    Args:
      operator: the operator.
      the others: as in LinearOperator; by default the hints of the operator.
    Raises: ValueError for hints that contradict those of the operator.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        super().__init__(operator, hints, name, "adjoint")

    def _shape(self) -> TensorShape:
        shape: TensorShape = self._operator.shape
        if shape.ndims is None:
            return shape
        *batch, m, n = shape.as_list()
        return TensorShape([*batch, n, m])

    def _shape_tensor(self) -> Tensor:
        shape = self._operator.shape_tensor()
        result: Tensor = op("ConcatV2", [shape[:-2], op("Reverse", shape[-2:], [True])], 0)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        result: Tensor = conj(self._operator._determinant())
        return result

    def _log_abs_determinant(self) -> Tensor:
        return self._operator._log_abs_determinant()

    def _to_dense(self) -> Tensor:
        return _adjoint(self._operator._to_dense())

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Returns the inner operator."""
        found: LinearOperator = self._operator
        return found


class LinearOperatorInversion(_Wrapper):
    """The inverse of an operator.

    Args: as in LinearOperatorAdjoint.
    Raises: ValueError for hints that contradict those of the operator, or is_non_singular=False.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError(
                f"operator and supplied hints must have is_non_singular=True or None: {operator}"
            )
        hints = {
            "is_non_singular": True,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        super().__init__(operator, hints, name, "inv")

    def _shape(self) -> TensorShape:
        shape: TensorShape = self._operator.shape
        return shape

    def _shape_tensor(self) -> Tensor:
        return self._operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1.0 / self._operator._determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -self._operator._log_abs_determinant()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the inner operator."""
        found: LinearOperator = self._operator
        return found
