"""Reductions and scans along axes, counts, histograms and top_k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices, SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import DTypeLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import Reduction


def _axes(x: Any, axis: Any) -> Any:
    """Converts axis to a tensor; None means all axes."""
    if axis is not None:
        return axis
    if isinstance(x, SparseTensor | IndexedSlices):
        x = convert_to_tensor(x)
    rank = x.get_shape().ndims
    if rank is not None:
        return constant(list(range(rank)), dtype="int32", name="Const")
    return op("Range", 0, op("Rank", x), 1)


def _one_of(new: Any, old: Any, new_name: str, old_name: str) -> Any:
    if old is None:
        return new
    if new is not None:
        raise ValueError(f"give {new_name} or {old_name}, not both")
    return old


def _reduction(function_name: str, op_type: str, summary: str) -> Reduction:
    def function(
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = _one_of(axis, reduction_indices, "axis", "reduction_indices")
        keep = bool(_one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
        x = convert_to_tensor(input_tensor, name="input_tensor")
        result = op(op_type, x, _axes(x, axis), keep_dims=keep, name=name or op_type)
        if axis is None and not keep:
            result.set_shape(())  # independent of the rank
        return result

    function.__doc__ = (
        f"{summary} along axes.\n\n    Args:\n      input_tensor: [...].\n"
        "      axis: int or list of ints, negative ones from the end; None: all.\n"
        "      keepdims: keep the reduced dimensions, with size 1.\n    Returns: [...] of "
        "the dtype of input_tensor.\n    "
    )
    function.__name__ = function.__qualname__ = function_name
    return function


reduce_sum = _reduction("reduce_sum", "Sum", "The sum")
reduce_mean = _reduction("reduce_mean", "Mean", "The arithmetic mean")
reduce_prod = _reduction("reduce_prod", "Prod", "The product")
reduce_max = _reduction("reduce_max", "Max", "The greatest element")
reduce_min = _reduction("reduce_min", "Min", "The least element")
reduce_all = _reduction("reduce_all", "All", "Whether all are true")
reduce_any = _reduction("reduce_any", "Any", "Whether any is true")


def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the square root of the sum of squares along axes."""
    x = convert_to_tensor(input_tensor, name="input_tensor")
    return op("EuclideanNorm", x, _axes(x, axis), keep_dims=keepdims, name=name)


def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Computes log(sum(exp(x))) along axes, without overflow."""
    axis = _one_of(axis, reduction_indices, "axis", "reduction_indices")
    keep = bool(_one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    with name_scope(name or "ReduceLogSumExp"):
        x = convert_to_tensor(input_tensor, name="input_tensor")
        with counted_as(_logsumexp_nodes(x, axis, keep)):
            return _logsumexp(x, axis, keep)


def _logsumexp_nodes(x: Tensor, axis: Any, keep: bool) -> int:
    """Returns how many nodes TensorFlow 1.15 adds."""
    if axis is None:
        axes = 8 if x.get_shape().ndims is None else 2
    else:
        axes = 0 if isinstance(axis, Tensor) else 2
    return 12 + axes - 2 * keep


def _logsumexp(x: Tensor, axis: Any, keep: bool) -> Tensor:
    axes = _axes(x, axis)
    top = op("StopGradient", _finite_or_zero(op("Max", x, axes, keep_dims=True)))
    total = op("Log", op("Sum", op("Exp", x - top), axes, keep_dims=True)) + top
    return total if keep else op("Reshape", total, op("Shape", op("Sum", x, axes)))


def _finite_or_zero(x: Tensor) -> Tensor:
    return op("SelectV2", op("IsFinite", x), x, op("ZerosLike", x))


def reduce_variance(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the variance along axes."""
    with name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        centred = x - reduce_mean(x, axis=axis, keepdims=True)
        return reduce_mean(op("Square", centred), axis=axis, keepdims=keepdims)


def reduce_std(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the standard deviation along axes."""
    with name_scope(name or "reduce_std"):
        return op("Sqrt", reduce_variance(input_tensor, axis=axis, keepdims=keepdims))


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
) -> Tensor:
    """Counts the nonzero elements along axes."""
    axis = _one_of(axis, reduction_indices, "axis", "reduction_indices")
    keep = _one_of(keepdims, keep_dims, "keepdims", "keep_dims")
    input_tensor = _one_of(input, input_tensor, "input", "input_tensor")
    with name_scope(name or "count_nonzero"):
        x = convert_to_tensor(input_tensor, name="input_tensor")
        some = op("NotEqual", x, op("ZerosLike", x))
        counted = reduce_sum(op("Cast", some, DstT="int64"), axis=axis, keepdims=keep)
        requested = as_dtype(dtype)
        return counted if requested.name == "int64" else op("Cast", counted, DstT=requested)


def argmax(
    input: TensorLike,  # noqa: A002 - TF's name
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = "int64",
) -> Tensor:
    """Returns the index of the maximum along an axis; of equal elements the first."""
    axis = _one_of(axis, dimension, "axis", "dimension")
    return op(
        "ArgMax", input, 0 if axis is None else axis, output_type=as_dtype(output_type), name=name
    )


def argmin(
    input: TensorLike,  # noqa: A002 - TF's name
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = "int64",
) -> Tensor:
    """Returns the index of the minimum along an axis; of equal elements the first."""
    axis = _one_of(axis, dimension, "axis", "dimension")
    return op(
        "ArgMin", input, 0 if axis is None else axis, output_type=as_dtype(output_type), name=name
    )


def arg_max(
    input: TensorLike,  # noqa: A002 - TF's name
    dimension: TensorLike,
    output_type: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Same as argmax, its old name."""
    return argmax(input, axis=dimension, output_type=output_type, name=name)


def arg_min(
    input: TensorLike,  # noqa: A002 - TF's name
    dimension: TensorLike,
    output_type: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Same as argmin, its old name."""
    return argmin(input, axis=dimension, output_type=output_type, name=name)


def cumsum(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes cumulative sums along an axis.

    Args:
      exclusive: exclude the element itself.
      reverse: sum from the end.
    """
    return op("Cumsum", x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes cumulative products along an axis; arguments as in cumsum."""
    return op("Cumprod", x, axis, exclusive=exclusive, reverse=reverse, name=name)


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = "int32",
) -> Tensor:
    """Counts the occurrences of each nonnegative integer, or sums their weights.

    Args:
      arr: int32 values.
      weights: tensor of the shape of arr, or None.
      minlength, maxlength: bounds of the length of the result.
      dtype: dtype of counts without weights.
    """
    with name_scope("bincount"):
        arr = convert_to_tensor(arr, name="arr", dtype="int32")
        bounds = [n for n in (minlength, maxlength) if n is not None]
        weights = None if weights is None else convert_to_tensor(weights, name="weights")
        nodes = 12 + (weights is None) + sum(2 - isinstance(n, Tensor) for n in bounds)
        with counted_as(nodes + 3 * (arr.get_shape().ndims is None)):
            return _counted(arr, weights, minlength, maxlength, as_dtype(dtype))


def _counted(arr: Tensor, weights: Any, minlength: Any, maxlength: Any, dtype: Any) -> Tensor:
    some = op("Cast", op("Greater", op("Size", arr), 0), DstT="int32")
    size = some * (reduce_max(arr) + 1)
    if minlength is not None:
        size = op("Maximum", size, minlength)
    if maxlength is not None:
        size = op("Minimum", size, maxlength)
    if weights is None:
        weights = constant([], dtype=dtype)
    return op("Bincount", arr, size, weights)


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Counts values in nbins equal bins of a range; the outer bins are open."""
    return op("HistogramFixedWidth", values, value_range, nbins, dtype=as_dtype(dtype), name=name)


def top_k(
    input: TensorLike,  # noqa: A002 - TF's name
    k: TensorLike = 1,
    sorted: bool = True,  # noqa: A002 - TF's name
    name: str | None = None,
) -> Any:
    """Returns the k greatest elements of each row, and their indices."""
    return op("TopKV2", input, k, sorted=sorted, name=name)


# ---- gradients -----------------------------------------------------------------------------


def keepdims_shape(node: Operation) -> Tensor:
    """Returns the shape of a reduction with keepdims, as a tensor."""
    x, axes = node.inputs[0], node.inputs[1]
    dims = x._shape  # noqa: SLF001
    value = constant_value(axes)
    if dims is not None and None not in dims and value is not None:
        reduced = {int(a) % max(len(dims), 1) for a in value.reshape(-1)}
        kept = [1 if i in reduced else d for i, d in enumerate(dims)]
        return constant(kept, dtype="int32")
    # Only the shape is used, so that pruning removes the sum.
    return op("Shape", op("Sum", x, axes, keep_dims=True))


def _broadcast_gradient(node: Operation, grad: Tensor) -> Tensor:
    """Broadcasts the gradient of a reduction to the shape of its input."""
    return op("BroadcastTo", op("Reshape", grad, keepdims_shape(node)), op("Shape", node.inputs[0]))


@gradient("Sum")
def _sum_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [_broadcast_gradient(node, grad), None]


@gradient("Mean")
def _mean_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y = node.inputs[0], node.outputs[0]
    dtype = grad.dtype.base_dtype
    dims_x, dims_y = x._shape, y._shape  # noqa: SLF001
    if dims_x is not None and dims_y is not None and None not in dims_x and None not in dims_y:
        size_x, size_y = _product(dims_x), _product(dims_y)
        factor: Any = constant(size_y / size_x if size_x else 0.0, dtype=dtype)
        return [_broadcast_gradient(node, grad) * factor, None]
    count = op("Cast", op("Size", x), DstT=dtype) / op("Cast", op("Size", y), DstT=dtype)
    return [_broadcast_gradient(node, grad) / count, None]


def _product(dims: Any) -> int:
    total = 1
    for dim in dims:
        total *= dim
    return total


def _extreme_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Distributes the gradient equally between equal extremes."""
    x, axes = node.inputs[:2]
    shape = keepdims_shape(node)
    y = op("Reshape", node.outputs[0], shape)
    grad = op("Reshape", grad, shape)
    chosen = op("Cast", op("Equal", y, x), DstT=grad.dtype.base_dtype)
    number = op("Reshape", op("Sum", chosen, axes), shape)
    return [chosen / number * grad, None]


gradient("Max")(_extreme_gradient)
gradient("Min")(_extreme_gradient)


@gradient("Prod")
def _prod_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Multiplies all other elements, by cumulative products from both ends; correct for zeros."""
    x, axes = node.inputs[:2]
    axes = op("Reshape", axes, [-1])
    if axes.dtype.base_dtype.name != "int32":
        axes = op("Cast", axes, DstT="int32")
    spread = _broadcast_gradient(node, grad)
    rank = op("Rank", x)
    axes = op("FloorMod", axes, rank)
    others = op("ListDiff", op("Range", 0, rank, 1), axes)[0]
    permutation = op("ConcatV2", [axes, others], 0)
    shape = op("Shape", x)
    reduced = op("Prod", op("GatherV2", shape, axes, 0), [0])
    rest = op("Prod", op("GatherV2", shape, others, 0), [0])
    turned = op("Transpose", x, permutation)
    turned_shape = op("Shape", turned)
    rows = op("Reshape", turned, op("Pack", [reduced, rest]))
    product = cumprod(rows, axis=0, exclusive=True) * cumprod(
        rows, axis=0, exclusive=True, reverse=True
    )
    back = op(
        "Transpose",
        op("Reshape", op("Conj", product) if x.dtype.is_complex else product, turned_shape),
        op("InvertPermutation", permutation),
    )
    return [op("Reshape", spread * back, shape), None]


@gradient("EuclideanNorm")
def _norm_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x = node.inputs[0]
    shape = keepdims_shape(node)
    y = op("Reshape", node.outputs[0], shape)
    return [op("DivNoNan", x, y) * op("Reshape", grad, shape), None]


@gradient("Cumsum")
def _cumsum_gradient(node: Operation, grad: Tensor) -> list[Any]:
    result = cumsum(grad, node.inputs[1], node.get_attr("exclusive"), not node.get_attr("reverse"))
    return [result, None]


@gradient("Cumprod")
def _cumprod_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, axis = node.inputs
    exclusive, reverse = node.get_attr("exclusive"), node.get_attr("reverse")
    product = cumprod(x, axis, exclusive, reverse)
    return [cumsum(product * grad, axis, exclusive, not reverse) / x, None]


@gradient("CumulativeLogsumexp")
def _cumulative_logsumexp_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, axis = node.inputs
    y = node.outputs[0]
    exclusive, reverse = node.get_attr("exclusive"), node.get_attr("reverse")
    low = constant(grad.dtype.min, dtype=grad.dtype.base_dtype)

    def part(mask: Tensor, value: Tensor) -> Tensor:
        logs = op(
            "SelectV2", mask, op("Log", op("SelectV2", mask, value, op("OnesLike", value))), low
        )
        total = op("CumulativeLogsumexp", logs - y, axis, exclusive=exclusive, reverse=not reverse)
        return op("Exp", total + x)

    zero = op("ZerosLike", grad)
    return [part(op("Greater", grad, zero), grad) - part(op("Less", grad, zero), -grad), None]


def _top_k_gradient(node: Operation, grad: Tensor, _: Any) -> list[Any]:
    """Scatters the gradients of the values to their positions."""
    x, indices = node.inputs[0], node.outputs[1]
    shape = op("Shape", x, out_type="int64")
    width = op("GatherV2", shape, op("Size", shape) - 1, 0)
    k = op("GatherV2", op("Shape", indices, out_type="int64"), op("Rank", indices) - 1, 0)
    flat = op("Reshape", op("Cast", indices, DstT="int64"), op("Pack", [-1, k]))
    rows = op("GatherV2", op("Shape", flat, out_type="int64"), 0, 0)
    starts = op("ExpandDims", op("Range", constant(0, dtype="int64"), rows * width, width), -1)
    places = op("Reshape", flat + starts, [-1])
    total = op("Prod", shape, [0])
    result = op(
        "ScatterNd",
        op("ExpandDims", places, -1),
        op("Reshape", grad, [-1]),
        op("Reshape", total, [1]),
    )
    return [op("Reshape", result, shape), *([None] * (len(node.inputs) - 1))]


gradient("TopK")(_top_k_gradient)
gradient("TopKV2")(_top_k_gradient)


@gradient("NthElement")
def _nth_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y = node.inputs[0], op("ExpandDims", node.outputs[0], -1)
    chosen = op("Cast", op("Equal", y, x), DstT=grad.dtype.base_dtype)
    number = op("Sum", chosen, [-1], keep_dims=True)
    return [chosen / number * op("ExpandDims", grad, -1), None]


for _op_type in ("ArgMax", "ArgMin"):
    no_gradient(_op_type, "its output is an index")
for _op_type in ("All", "Any"):
    no_gradient(_op_type, "its output is a truth value")
for _op_type in ("Bincount", "DenseBincount", "HistogramFixedWidth"):
    no_gradient(_op_type, "its output is a count")
