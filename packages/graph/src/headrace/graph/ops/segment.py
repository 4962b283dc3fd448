"""Segment reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import SortedSegments, SparseSegments, UnsortedSegments

# ---- sorted segments -----------------------------------------------------------------------


def _sorted(kind: str, summary: str) -> SortedSegments:
    def function(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
        return op(f"Segment{kind}", data, segment_ids, name=name)

    function.__name__ = function.__qualname__ = f"segment_{kind.lower()}"
    function.__doc__ = f"""{summary} of the rows of each segment.

    Args:
      data: [n, ...].
      segment_ids: [n] int32 or int64, never descending.
    Returns: [last segment + 1, ...] of data's dtype.
    """
    return function


segment_sum = _sorted("Sum", "The sum")
segment_mean = _sorted("Mean", "The mean")
segment_prod = _sorted("Prod", "The product")
segment_max = _sorted("Max", "The greatest element")
segment_min = _sorted("Min", "The least element")

# ---- unsorted segments ---------------------------------------------------------------------


def _unsorted(kind: str, summary: str, empty: str) -> UnsortedSegments:
    def function(
        data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
    ) -> Tensor:
        return op(f"UnsortedSegment{kind}", data, segment_ids, num_segments, name=name)

    function.__name__ = function.__qualname__ = f"unsorted_segment_{kind.lower()}"
    function.__doc__ = f"""{summary} of the slices of each segment, in any order.

    Args:
      data: segment_ids' shape, then that of a slice.
      segment_ids: [...] int32 or int64, below num_segments; what a negative one names is dropped.
      num_segments: how many rows the result has; {empty} where a segment has no slices.
    Returns: [num_segments, slice...] of data's dtype.
    """
    return function


unsorted_segment_sum = _unsorted("Sum", "The sum", "0")
unsorted_segment_prod = _unsorted("Prod", "The product", "1")
unsorted_segment_max = _unsorted("Max", "The greatest element", "the least number of the dtype")
unsorted_segment_min = _unsorted("Min", "The least element", "the greatest number of the dtype")


def _counts(data: Tensor, segment_ids: Any, num_segments: Any) -> Tensor:
    """Returns the number of slices of each segment, at least 1: [num_segments, 1, ...]."""
    ids = convert_to_tensor(segment_ids)
    inner = op("Rank", data) - op("Rank", ids)
    ones = op("Fill", op("Shape", ids), op("Cast", 1, DstT=data.dtype.base_dtype))
    counted = op("UnsortedSegmentSum", ones, ids, num_segments)
    shape = op(
        "ConcatV2",
        [op("Shape", counted), op("Fill", op("ExpandDims", inner, 0), 1)],
        0,
    )
    return op("Maximum", op("Reshape", counted, shape), op("Cast", 1, DstT=data.dtype.base_dtype))


def _uncounted(data: Tensor, ids: Tensor, num_segments: Any) -> int:
    """Returns how many more nodes TensorFlow 1.15 adds for the shape of the numbers."""
    ranks = data.get_shape().ndims, ids.get_shape().ndims
    if None in ranks or not isinstance(num_segments, Tensor):
        return -11
    return -11 + ranks[0] - ranks[1]  # type: ignore[operator]


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the mean of each segment, 0 for empty ones; see unsorted_segment_sum."""
    with name_scope(name or "UnsortedSegmentMean"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count_nodes(_uncounted(data, segment_ids, num_segments))
        summed = op("UnsortedSegmentSum", data, segment_ids, num_segments)
        return summed / _counts(data, segment_ids, num_segments)


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the sum of each segment divided by the square root of its number of slices."""
    with name_scope(name or "UnsortedSegmentSqrtN"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count_nodes(_uncounted(data, segment_ids, num_segments))
        summed = op("UnsortedSegmentSum", data, segment_ids, num_segments)
        return summed / op("Sqrt", _counts(data, segment_ids, num_segments))


# ---- sparse segments -----------------------------------------------------------------------


def _sparse(kind: str, suffix: str, summary: str) -> SparseSegments:
    def function(
        data: TensorLike,
        indices: TensorLike,
        segment_ids: TensorLike,
        name: str | None = None,
        num_segments: TensorLike | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        inputs = [data, indices, segment_ids]
        op_type = f"SparseSegment{kind}"
        if num_segments is not None:
            op_type += "WithNumSegments"
            inputs.append(num_segments)
        return op(op_type, *inputs, sparse_gradient=sparse_gradient, name=name)

    function.__name__ = function.__qualname__ = f"sparse_segment_{suffix}"
    function.__doc__ = f"""{summary} of the rows that indices pick for each segment.

    Args:
      data: [rows, ...] floating-point (or, for the sum, integer).
      indices: [n] int32 or int64: which row.
      segment_ids: [n] int32 or int64, never descending: for which segment.
      num_segments: rows of the result; the last segment + 1 where None.
      sparse_gradient: whether the gradient is IndexedSlices of the picked rows.
    Returns: [num_segments, ...] of data's dtype.
    """
    return function


sparse_segment_sum = _sparse("Sum", "sum", "The sum")
sparse_segment_mean = _sparse("Mean", "mean", "The mean")
sparse_segment_sqrt_n = _sparse("SqrtN", "sqrt_n", "The sum over the root of the number")

# ---- gradients -----------------------------------------------------------------------------


def _rows(x: Tensor, ids: Tensor) -> Tensor:
    return op("GatherV2", x, ids, 0)


@gradient("SegmentSum")
def _segment_sum_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [_rows(grad, node.inputs[1]), None]


@gradient("SegmentSumV2")
def _segment_sum_v2_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [_rows(grad, node.inputs[1]), None, None]


@gradient("SegmentMean")
def _segment_mean_gradient(node: Operation, grad: Tensor) -> list[Any]:
    data, ids = node.inputs
    lead = op("ExpandDims", op("Size", ids), 0)
    ones = op("Fill", op("ExpandDims", op("Rank", data) - 1, 0), 1)
    column = op("Fill", op("ConcatV2", [lead, ones], 0), op("Cast", 1, DstT=grad.dtype.base_dtype))
    return [_rows(grad / op("SegmentSum", column, ids), ids), None]


class _Segments:
    """The segments of a node, for its gradient: reductions over them and gathers from them."""

    def __init__(self, node: Operation) -> None:
        self._ids = node.inputs[1]
        self._count = node.inputs[2] if len(node.inputs) > 2 else None
        self._unsorted = node.type.startswith("Unsorted")
        self._version = "V2" if node.type.endswith("V2") else ""

    def reduce(self, kind: str, x: Tensor) -> Tensor:
        """Reduces the slices of each segment by Sum or Prod."""
        if self._unsorted:
            return op(f"UnsortedSegment{kind}", x, self._ids, self._count)
        if self._version:
            return op(f"Segment{kind}V2", x, self._ids, self._count)
        return op(f"Segment{kind}", x, self._ids)

    def gather(self, x: Tensor) -> Tensor:
        """Returns the value of each slice's segment; zeros for ignored slices."""
        if not self._unsorted:
            return _rows(x, self._ids)
        zero = op("ZerosLike", self._ids)
        got = _rows(x, op("Maximum", self._ids, zero))
        return op("SelectV2", self._is_assigned(got), got, op("ZerosLike", got))

    def _is_assigned(self, like: Tensor) -> Tensor:
        """Returns whether each slice has a segment, with the rank of `like`."""
        kept = op("GreaterEqual", self._ids, op("ZerosLike", self._ids))
        inner = op("Rank", like) - op("Rank", self._ids)
        ones = op("Fill", op("ExpandDims", inner, 0), 1)
        return op("Reshape", kept, op("ConcatV2", [op("Shape", self._ids), ones], 0))

    def equals_result(self, x: Tensor, result: Tensor) -> Tensor:
        """Returns where a slice equals the result of its segment."""
        some = op("Equal", x, self.gather(result))
        return op("LogicalAnd", some, self._is_assigned(x)) if self._unsorted else some


def _extreme_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Distributes the gradient equally between equal extremes."""
    data, segments = node.inputs[0], _Segments(node)
    chosen = op("Cast", segments.equals_result(data, node.outputs[0]), DstT=grad.dtype.base_dtype)
    shares = op("DivNoNan", grad, segments.reduce("Sum", chosen))
    return [chosen * segments.gather(shares), *[None] * (len(node.inputs) - 1)]


def _product_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Computes the product of the other factors; correct if one factor is zero."""
    data, segments = node.inputs[0], _Segments(node)
    dtype = data.dtype.base_dtype
    zero = op("Equal", data, op("Cast", 0, DstT=dtype))
    nonzero = op("SelectV2", zero, op("OnesLike", data), data)
    zeros = segments.reduce("Sum", op("Cast", zero, DstT="int32"))
    grad = op("SelectV2", op("Greater", zeros, 1), op("ZerosLike", grad), grad)
    without = segments.gather(segments.reduce("Prod", nonzero))
    others = op("SelectV2", zero, without, segments.gather(node.outputs[0]) / nonzero)
    if dtype.is_complex:
        others = op("Conj", others)
    return [segments.gather(grad) * others, *[None] * (len(node.inputs) - 1)]


for _op_type in (
    "SegmentMax SegmentMin SegmentMaxV2 SegmentMinV2 UnsortedSegmentMax UnsortedSegmentMin".split()
):
    gradient(_op_type)(_extreme_gradient)
for _op_type in "SegmentProd SegmentProdV2 UnsortedSegmentProd".split():
    gradient(_op_type)(_product_gradient)


@gradient("UnsortedSegmentSum")
def _unsorted_sum_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [_Segments(node).gather(grad), None, None]


def _sparse_gradient(kind: str) -> Any:
    def function(node: Operation, grad: Tensor) -> list[Any]:
        data, indices, ids = node.inputs[:3]
        shape = op("Shape", data)
        rows = op("GatherV2", shape, 0, 0)
        rest = [None] * (len(node.inputs) - 1)
        if node.get_attr("sparse_gradient"):
            values, places = op(f"SparseSegment{kind}GradV2", grad, indices, ids, rows)
            return [IndexedSlices(values, places, shape), *rest]
        return [op(f"SparseSegment{kind}Grad", grad, indices, ids, rows), *rest]

    return function


def _sparse_second_gradient(kind: str) -> Any:
    """Registers the gradients of the sparse segment gradient ops."""

    def function(node: Operation, grad: Tensor, *_: Any) -> list[Any]:
        over, indices, ids = node.inputs[:3]
        count = op("GatherV2", op("Shape", over), 0, 0)
        if node.type.endswith("V2"):  # its rows correspond to the sorted unique indices
            place = op(
                "LowerBound",
                op("ExpandDims", node.outputs[1], 0),
                op("ExpandDims", indices, 0),
                out_type=indices.dtype.base_dtype,
            )
            indices = op("Squeeze", place, squeeze_dims=[0])
        created = op(f"SparseSegment{kind}WithNumSegments", grad, indices, ids, count)
        return [created, None, None, None]

    return function


for _kind in ("Sum", "Mean", "SqrtN"):
    for _suffix in ("", "WithNumSegments"):
        gradient(f"SparseSegment{_kind}{_suffix}")(_sparse_gradient(_kind))
    for _suffix in ("Grad", "GradV2"):
        gradient(f"SparseSegment{_kind}{_suffix}")(_sparse_second_gradient(_kind))

no_gradient("UnsortedSegmentJoin", "strings have no gradient")
