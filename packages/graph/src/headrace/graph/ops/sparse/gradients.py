"""Gradients of sparse ops, with respect to the values of the entries.

For an op that only moves entries, the gradient applies it to the indices of the entries, to find
the origin of each one.
"""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor


def _count(values: Tensor) -> Tensor:
    return op("Size", values)


def _entry_indices(values: Tensor) -> Tensor:
    """Returns the indices 0, 1, ... of the entries."""
    return op("Range", 0, _count(values), 1)


def _gather_gradients(grad: Tensor, numbers: Tensor, count: Tensor) -> Tensor:
    """Sums the gradients of the entries with the same origin."""
    return op("UnsortedSegmentSum", grad, numbers, count)


def _values_at(values: Tensor, indices: Tensor, requested: Tensor) -> Tensor:
    """Returns the values at the wanted indices, 0 for missing entries; both are sorted."""
    none = op("Slice", requested, [0, 0], [0, -1])
    return op("SparseAddGrad", values, requested, none, indices)[0]


def _conj(x: Tensor) -> Tensor:
    return op("Conj", x) if x.dtype.is_complex else x


# ---- ops that move entries -----------------------------------------------------------------


@gradient("SparseReorder")
def _reorder_gradient(node: Operation, _: Any, grad: Tensor) -> list[Any]:
    indices, values, shape = node.inputs
    numbers = op("SparseReorder", indices, _entry_indices(values), shape)[1]
    return [None, _gather_gradients(grad, numbers, _count(values)), None]


@gradient("SparseConcat")
def _concat_gradient(node: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    n = len(node.inputs) // 3
    indices, values, shapes = (list(node.inputs[i * n : i * n + n]) for i in range(3))
    sizes = [_count(v) for v in values]
    starts, numbers = op("Cast", 0, DstT="int32"), []
    for size in sizes:
        numbers.append(op("Range", starts, starts + size, 1))
        starts = starts + size
    moved = op(
        "SparseConcat", indices, numbers, shapes, concat_dim=int(node.get_attr("concat_dim"))
    )[1]
    whole = _gather_gradients(grad, moved, starts)
    parts = op("SplitV", whole, op("Pack", sizes), 0, num_split=n) if n > 1 else [whole]
    return [*[None] * n, *parts, *[None] * n]


@gradient("SparseSplit")
def _split_gradient(node: Operation, *grads: Any) -> list[Any]:
    axis, indices, values, shape = node.inputs
    n = int(node.get_attr("num_split"))
    numbers = op("SparseSplit", axis, indices, _entry_indices(values), shape, num_split=n)[1]
    whole = op("ConcatV2", list(grads[n : 2 * n]), 0) if n > 1 else grads[n]
    places = op("ConcatV2", list(numbers), 0) if n > 1 else numbers[0]
    return [None, None, _gather_gradients(whole, places, _count(values)), None]


@gradient("SparseSlice")
def _slice_gradient(node: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    created = op("SparseSliceGrad", grad, node.inputs[0], node.inputs[3], node.outputs[0])
    return [None, created, None, None, None]


@gradient("SparseSliceGrad")
def _slice_second_gradient(node: Operation, grad: Tensor) -> list[Any]:
    _, indices, start, cut = node.inputs
    return [_values_at(grad, indices, cut + start), None, None, None]


@gradient("SparseFillEmptyRows")
def _fill_gradient(node: Operation, _: Any, grad: Tensor, *__: Any) -> list[Any]:
    values, default = op("SparseFillEmptyRowsGrad", node.outputs[3], grad)
    return [None, values, None, default]


@gradient("SparseFillEmptyRowsGrad")
def _fill_second_gradient(node: Operation, grad: Tensor, default: Tensor) -> list[Any]:
    places, over = node.inputs
    filled = op("Fill", op("Shape", over), default)
    return [None, op("TensorScatterUpdate", filled, op("ExpandDims", places, -1), grad)]


# ---- addition, minimum, maximum ------------------------------------------------------------


@gradient("SparseAdd")
def _add_gradient(node: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    a, b = op("SparseAddGrad", grad, node.inputs[0], node.inputs[3], node.outputs[0])
    return [None, a, None, None, b, None, None]


@gradient("SparseAddGrad")
def _add_second_gradient(node: Operation, grad_a: Tensor, grad_b: Tensor) -> list[Any]:
    """Returns the sum of both gradients at the entries of the first sum."""
    _, a, b, places = node.inputs
    ends = op("Max", op("ConcatV2", [a, b, places], 0), [0])
    shape = op("Maximum", ends, op("ZerosLike", ends)) + op("OnesLike", ends)
    kind = grad_a.dtype.base_dtype.name
    real = {"complex64": "float32", "complex128": "float64"}.get(kind, kind)
    total = op("SparseAdd", a, grad_a, shape, b, grad_b, shape, op("Cast", 0, DstT=real))
    return [_values_at(total[1], total[0], places), None, None, None]


def _extreme_of_two_gradient(node: Operation, _: Any, grad: Tensor) -> list[Any]:
    """Passes the gradient to the selected operand; a missing entry counts as 0."""
    a_indices, a_values, _s, b_indices, b_values, _t = node.inputs
    indices, taken = node.outputs
    dtype = grad.dtype.base_dtype
    is_a = op("Cast", op("Equal", _values_at(a_values, a_indices, indices), taken), DstT=dtype)
    is_b = op("Cast", op("Equal", _values_at(b_values, b_indices, indices), taken), DstT=dtype)
    share = grad / (is_a + is_b)
    return [
        None,
        _values_at(share * is_a, indices, a_indices),
        None,
        None,
        _values_at(share * is_b, indices, b_indices),
        None,
    ]


gradient("SparseSparseMaximum")(_extreme_of_two_gradient)
gradient("SparseSparseMinimum")(_extreme_of_two_gradient)

# ---- with dense tensors --------------------------------------------------------------------


@gradient("SparseTensorDenseAdd")
def _dense_add_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [None, op("GatherNd", grad, node.inputs[0]), None, grad]


@gradient("SparseToDense")
def _to_dense_gradient(node: Operation, grad: Tensor) -> list[Any]:
    indices, _, values, _d = node.inputs
    rank = op("Size", op("Shape", grad))
    got = op("GatherNd", grad, op("Reshape", indices, op("Pack", [-1, rank])))
    total = op("Sum", got, [0])
    rest = op("Sum", op("Reshape", grad, [-1]), [0]) - total
    ndims = values.get_shape().ndims
    if ndims is None:
        raise LookupError(
            f"SparseToDense '{node.name}': its gradient requires the static rank of the values"
        )
    return [None, None, total if ndims == 0 else got, rest]


def _places_in(node: Operation) -> Tensor:
    """Returns the index in the dense operand of each entry, with broadcasting."""
    indices, _, shape, dense = node.inputs
    own = op("Shape", dense, out_type="int64")
    lead = op("Size", shape) - op("Size", own)
    ones = op("Fill", op("ExpandDims", lead, 0), op("Cast", 1, DstT="int64"))
    scale = op("FloorDiv", shape, op("ConcatV2", [ones, own], 0))
    return op("Slice", op("FloorDiv", indices, scale), op("Pack", [0, lead]), [-1, -1])


def _into_dense(node: Operation, places: Tensor, values: Tensor) -> Tensor:
    shape = op("Shape", node.inputs[3], out_type="int64")
    return op("ScatterNd", places, values, shape)


@gradient("SparseDenseCwiseAdd")
def _cwise_add_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [None, grad, None, _into_dense(node, _places_in(node), grad)]


@gradient("SparseDenseCwiseMul")
def _cwise_mul_gradient(node: Operation, grad: Tensor) -> list[Any]:
    places = _places_in(node)
    other = _conj(op("GatherNd", node.inputs[3], places))
    return [
        None, grad * other, None, _into_dense(node, places, grad * _conj(node.inputs[1]))
    ]  # fmt: skip


@gradient("SparseDenseCwiseDiv")
def _cwise_div_gradient(node: Operation, grad: Tensor) -> list[Any]:
    places = _places_in(node)
    other = _conj(op("GatherNd", node.inputs[3], places))
    share = grad / other
    derivative = -share * _conj(node.outputs[0])
    return [None, share, None, _into_dense(node, places, derivative)]


@gradient("SparseTensorDenseMatMul")
def _matmul_gradient(node: Operation, grad: Tensor) -> list[Any]:
    indices, values, shape, b = node.inputs
    adjoint_a, adjoint_b = node.get_attr("adjoint_a"), node.get_attr("adjoint_b")
    grad_b = op("SparseTensorDenseMatMul", indices, values, shape, grad, adjoint_a=not adjoint_a)
    if adjoint_b:
        grad_b = _conj(op("Transpose", grad_b, [1, 0]))
    rows, columns = op("Unpack", indices, num=2, axis=1)
    right = _conj(op("Transpose", b, [1, 0])) if adjoint_b else b
    if adjoint_a:
        created = _conj(op("GatherV2", grad, columns, 0)) * op("GatherV2", right, rows, 0)
    else:
        created = op("GatherV2", grad, rows, 0) * _conj(op("GatherV2", right, columns, 0))
    return [None, op("Sum", created, [1]), None, grad_b]


# ---- reductions ----------------------------------------------------------------------------


@gradient("SparseSoftmax")
def _softmax_gradient(node: Operation, grad: Tensor) -> list[Any]:
    indices, _, shape = node.inputs
    y = node.outputs[0]
    total = op("SparseReduceSum", indices, grad * y, shape, [-1], keep_dims=True)
    centred = op("SparseDenseCwiseAdd", indices, grad, shape, -total)
    return [None, centred * y, None]


def _keepdims_shape(node: Operation) -> Tensor:
    """Returns the shape of a reduction with keepdims, int64."""
    shape, axes = node.inputs[2], op("Reshape", node.inputs[3], [-1])
    rank = op("Size", shape)
    axes = op("FloorMod", axes, rank)
    ones = op("Fill", op("Shape", axes), op("Cast", 1, DstT="int64"))
    return op("DynamicStitch", [op("Range", 0, rank, 1), axes], [shape, ones])


def _broadcast_to_entries(node: Operation, kept: Tensor, reduced: Tensor) -> Tensor:
    """Returns, for each entry, the element of the reduction to which it contributes."""
    scale = op("FloorDiv", node.inputs[2], kept)
    return op("GatherNd", op("Reshape", reduced, kept), op("FloorDiv", node.inputs[0], scale))


def _dense(node: Operation, values: Tensor) -> Tensor:
    """Converts the values of a sparse reduction to a dense tensor."""
    return op("ScatterNd", node.outputs[0], values, node.outputs[2])


@gradient("SparseReduceSum")
def _sum_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [None, _broadcast_to_entries(node, _keepdims_shape(node), grad), None, None]


@gradient("SparseReduceSumSparse")
def _sum_sparse_gradient(node: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    return [
        None,
        _broadcast_to_entries(node, _keepdims_shape(node), _dense(node, grad)),
        None,
        None,
    ]


def _max(node: Operation, grad: Tensor, result: Tensor) -> list[Any]:
    """Distributes the gradient equally between equal maxima."""
    indices, values, shape, axes = node.inputs
    kept = _keepdims_shape(node)
    chosen = op("Equal", values, _broadcast_to_entries(node, kept, result))
    weight = op("Cast", chosen, DstT=grad.dtype.base_dtype)
    number = op("SparseReduceSum", indices, weight, shape, axes, keep_dims=True)
    share = op("DivNoNan", op("Reshape", grad, kept), op("Reshape", number, kept))
    return [None, weight * _broadcast_to_entries(node, kept, share), None, None]


@gradient("SparseReduceMax")
def _max_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return _max(node, grad, node.outputs[0])


@gradient("SparseReduceMaxSparse")
def _max_sparse_gradient(node: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    return _max(node, _dense(node, grad), _dense(node, node.outputs[1]))


for _op_type, _reason in {
    "SparseReshape": "it changes where entries are, not their values",
    "SparseCross": "its features are text or hashes",
    "SerializeSparse": "bytes have no gradient",
    "SerializeManySparse": "bytes have no gradient",
    "DeserializeSparse": "bytes have no gradient",
    "DeserializeManySparse": "bytes have no gradient",
    "AddSparseToTensorsMap": "handles have no gradient",
    "AddManySparseToTensorsMap": "handles have no gradient",
    "TakeManySparseFromTensorsMap": "handles have no gradient",
    "DenseToDenseSetOperation": "members of sets have no gradient",
    "DenseToSparseSetOperation": "members of sets have no gradient",
    "SparseToSparseSetOperation": "members of sets have no gradient",
    "SetSize": "its output is a count",
    "EditDistance": "its output is a count",
}.items():
    no_gradient(_op_type, _reason)
