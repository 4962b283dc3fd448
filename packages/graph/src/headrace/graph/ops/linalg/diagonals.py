"""Bands and diagonals of matrices."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.typing.aliases import TensorLike

_ALIGN = "RIGHT_LEFT"


def matrix_band_part(
    input: TensorLike,  # noqa: A002 - TF's name
    num_lower: TensorLike,
    num_upper: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Sets the elements outside of a band around the diagonal of each matrix to 0.

    Args:
      input: [..., m, n].
      num_lower, num_upper: numbers of subdiagonals and superdiagonals to keep; negative keeps all.
    """
    return op("MatrixBandPart", input, num_lower, num_upper, name=name)


def _uncount(*values: Any) -> None:
    """Leaves values out of the numbers of nodes: TensorFlow 1.15 has ops without them."""
    count_nodes(-sum(not isinstance(value, Tensor) for value in values))


def matrix_diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = _ALIGN,
) -> Tensor:
    """Creates matrices with given diagonals.

    Args:
      diagonal: [..., n], or [..., number, n] for several diagonals.
      k: index of the diagonal, positive above the main one; or the lowest and the highest index.
      num_rows, num_cols: size of the matrices; -1 is the smallest possible size.
      padding_value: value of the other elements.
      align: alignment of diagonals shorter than n, above and below the main one: "RIGHT_LEFT",
        "LEFT_RIGHT", "LEFT_LEFT" or "RIGHT_RIGHT".
    """
    x = convert_to_tensor(diagonal)
    _uncount(k, num_rows, num_cols, padding_value)
    fill = convert_to_tensor(padding_value, dtype=x.dtype.base_dtype)
    return op("MatrixDiagV3", x, k, num_rows, num_cols, fill, align=align, name=name)


def matrix_diag_part(
    input: TensorLike,  # noqa: A002 - TF's name
    name: str = "diag_part",
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = _ALIGN,
) -> Tensor:
    """Returns diagonals of each matrix [..., m, n]; the other arguments as in matrix_diag."""
    x = convert_to_tensor(input)
    _uncount(k, padding_value)
    fill = convert_to_tensor(padding_value, dtype=x.dtype.base_dtype)
    return op("MatrixDiagPartV3", x, k, fill, align=align, name=name)


def matrix_set_diag(
    input: TensorLike,  # noqa: A002 - TF's name
    diagonal: TensorLike,
    name: str = "set_diag",
    k: TensorLike = 0,
    align: str = _ALIGN,
) -> Tensor:
    """Replaces diagonals of each matrix [..., m, n]; the other arguments as in matrix_diag."""
    _uncount(k)
    return op("MatrixSetDiagV3", input, diagonal, k, align=align, name=name)


# ---- gradients -----------------------------------------------------------------------------


def _zero(like: Tensor) -> Tensor:
    return constant(0, dtype=like.dtype.base_dtype)


def _align(node: Operation) -> dict[str, Any]:
    return {"align": node.get_attr("align")} if node.type.endswith("V3") else {}


@gradient("MatrixBandPart")
def _band_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("MatrixBandPart", grad, node.inputs[1], node.inputs[2]), None, None]


@gradient("MatrixDiag")
def _diag_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("MatrixDiagPart", grad)


@gradient("MatrixDiagPart")
def _diag_part_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("MatrixSetDiag", op("ZerosLike", node.inputs[0]), grad)


@gradient("MatrixSetDiag")
def _set_diag_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    rest = op("MatrixSetDiag", grad, op("ZerosLike", node.inputs[1]))
    return [rest, op("MatrixDiagPart", grad)]


def _with_offsets(version: str) -> None:
    @gradient(f"MatrixDiag{version}")
    def diag(node: Operation, grad: Tensor) -> list[Any]:
        taken = op(f"MatrixDiagPart{version}", grad, node.inputs[1], _zero(grad), **_align(node))
        return [taken, None, None, None, None]

    @gradient(f"MatrixDiagPart{version}")
    def part(node: Operation, grad: Tensor) -> list[Any]:
        nothing = op("ZerosLike", node.inputs[0])
        put = op(f"MatrixSetDiag{version}", nothing, grad, node.inputs[1], **_align(node))
        return [put, None, None]

    @gradient(f"MatrixSetDiag{version}")
    def set_diag(node: Operation, grad: Tensor) -> list[Any]:
        _, diagonal, k = node.inputs
        nothing = op("ZerosLike", diagonal)
        rest = op(f"MatrixSetDiag{version}", grad, nothing, k, **_align(node))
        taken = op(f"MatrixDiagPart{version}", grad, k, _zero(grad), **_align(node))
        return [rest, taken, None]


_with_offsets("V2")
_with_offsets("V3")
