"""Element-wise and row-wise losses of logits and labels (hr.nn); hr.losses reduces them."""

from __future__ import annotations

import math
from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.typing.aliases import TensorLike


def _named_only(sentinel: Any, function: str) -> None:
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: Any,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Computes the cross entropy of labels and softmax(logits), differentiable in both.

    Args:
      labels: [..., classes]; each row sums to 1. Its rank may differ from that of logits if the
        number of rows is the same; other dtypes are cast to that of logits.
      logits: [..., classes], of any rank above 0, which need not be known.
      axis: axis of the classes; dim: its old name.
    Returns: [...], dtype of logits.
    Raises: ValueError for an axis out of range or incompatible shapes.
    """
    given = axis if dim is None else dim
    place: int = -1 if given is None else given
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        targets = cast(convert_to_tensor(labels, name="labels"), logits.dtype.base_dtype)
        shape = logits.get_shape()
        rank = shape.ndims
        if rank is not None and not -rank <= place < rank:
            raise ValueError(f"axis {place} does not fit logits of shape {shape}")
        last = place == -1 or (rank is not None and place == rank - 1)
        if rank == 2 and place == -1 and targets.get_shape().ndims == 2:
            count_nodes(30)  # what TensorFlow adds for other ranks
            return op("SoftmaxCrossEntropyWithLogits", logits, targets, name=scope)[0]
        count_nodes(6)
        if place != -1:
            count_nodes(22 if last else 6)
        if not last:
            order = _to_the_end(op("Rank", logits), place)
            logits, targets = op("Transpose", logits, order), op("Transpose", targets, order)
        outer = op("StridedSlice", op("Shape", logits), [0], [-1], [1], begin_mask=1)
        rows = op("SoftmaxCrossEntropyWithLogits", _as_rows(logits), _as_rows(targets), name=scope)
        result = op("Reshape", rows[0], outer)
        if rank is not None:
            dims = shape.as_list()
            del dims[place]
            result.set_shape(dims)
        return result


def _to_the_end(rank: Tensor, axis: int) -> Tensor:
    """Returns the permutation that moves an axis behind the others."""
    place = op("FloorMod", axis, rank)
    parts = [op("Range", 0, place, 1), op("Range", place + 1, rank, 1), op("Reshape", place, [1])]
    return op("ConcatV2", parts, 0)


def _as_rows(x: Tensor) -> Tensor:
    """Reshapes [..., classes] to [rows, classes]."""
    width = op("StridedSlice", op("Shape", x), [-1], [0], [1], end_mask=1)
    rows = op("Reshape", x, op("ConcatV2", [[-1], width], 0))
    dims = x._shape  # noqa: SLF001
    if dims is not None and dims:
        outer = [d for d in dims[:-1] if d is not None]
        count = math.prod(outer) if len(outer) == len(dims) - 1 else None
        rows.set_shape([count, dims[-1]])
    return rows


def softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Same as softmax_cross_entropy_with_logits_v2, but labels are constants for gradients."""
    _named_only(_sentinel, "softmax_cross_entropy_with_logits")
    labels = op("StopGradient", convert_to_tensor(labels, name="labels"))
    return softmax_cross_entropy_with_logits_v2(
        labels, logits, axis=dim if axis is None else axis, name=name
    )


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the cross entropy of class indices and softmax(logits).

    Args:
      labels: [...] int32 or int64 in [0, classes).
      logits: [..., classes].
    Returns: [...], dtype of logits.
    Raises: ValueError for incompatible ranks, or positional arguments.
    """
    _named_only(_sentinel, "sparse_softmax_cross_entropy_with_logits")
    with name_scope(name or "SparseSoftmaxCrossEntropyWithLogits") as scope:
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        rank, label_rank = logits.get_shape().ndims, labels.get_shape().ndims
        if rank is not None and label_rank is not None and label_rank != rank - 1:
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {label_rank}) should equal rank of "
                f"logits minus 1 (received {rank})."
            )
        if rank == 2:
            count_nodes(1)  # the shape of the labels
            return op("SparseSoftmaxCrossEntropyWithLogits", logits, labels, name=scope)[0]
        static = labels.get_shape().is_fully_defined() and logits.get_shape().is_fully_defined()
        count_nodes(5 if static else 21)  # the number of classes, and a check of the shapes
        shape = op("Shape", labels)
        width = op("StridedSlice", op("Shape", logits), [-1], [0], [1], shrink_axis_mask=1)
        cost = op(
            "SparseSoftmaxCrossEntropyWithLogits",
            op("Reshape", logits, op("Pack", [-1, width])),
            op("Reshape", labels, [-1]),
        )[0]
        result = op("Reshape", cost, shape)
        result.set_shape(labels.get_shape())
        return result


def sigmoid_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes max(x, 0) - x * z + log(1 + exp(-|x|)), for logits x and labels z in [0, 1].

    Raises: ValueError for different shapes, or positional arguments.
    """
    _named_only(_sentinel, "sigmoid_cross_entropy_with_logits")
    with name_scope(name or "logistic_loss") as scope:
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(labels, name="labels", dtype=x.dtype.base_dtype)
        if not x.get_shape().is_compatible_with(z.get_shape()):
            raise ValueError(
                f"logits and labels must have the same shape ({x.get_shape()} vs {z.get_shape()})"
            )
        zero = op("ZerosLike", x)
        positive = op("GreaterEqual", x, zero)
        above = op("Select", positive, x, zero)
        size = op("Select", positive, -x, x)
        return op("AddV2", above - x * z, op("Log1p", op("Exp", size)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """Computes sigmoid_cross_entropy_with_logits, with positive labels weighted by pos_weight."""
    with name_scope(name or "logistic_loss"):
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(targets if labels is None else labels, dtype=x.dtype.base_dtype)
        one = constant(1.0, dtype=x.dtype.base_dtype)
        weight = one + (pos_weight - one) * z
        return (one - z) * x + weight * (op("Log1p", op("Exp", -op("Abs", x))) + op("Relu", -x))


def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes exp(c) - z * c for c = log_input and counts z = targets.

    Args:
      compute_full_loss: add Stirling's approximation of log(z!).
    """
    with name_scope(name or "log_poisson_loss"):
        c = convert_to_tensor(log_input)
        z = convert_to_tensor(targets, dtype=c.dtype.base_dtype)
        result = op("Exp", c) - c * z
        if compute_full_loss:
            count_nodes(1)
            half, two_pi = (constant(v, dtype=z.dtype.base_dtype) for v in (0.5, 6.283185307179586))
            stirling = z * op("Log", z) - z + half * op("Log", two_pi * z)
            inside = op(
                "LogicalAnd",
                op("GreaterEqual", z, op("ZerosLike", z)),
                op("LessEqual", z, op("OnesLike", z)),
            )
            result = result + op("SelectV2", inside, op("ZerosLike", z), stirling)
        return result


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Computes sum(t^2) / 2."""
    return op("L2Loss", t, name=name)


def in_top_k(
    predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None
) -> Tensor:
    """Returns whether each target class is among the k greatest predictions of its row."""
    return op("InTopKV2", predictions, targets, k, name=name)


# ---- gradients -----------------------------------------------------------------------------


@gradient("SoftmaxCrossEntropyWithLogits")
def _softmax_xent_gradient(node: Operation, grad: Tensor, backprop: Any) -> list[Tensor]:
    """Scales the op's second output; log_softmax gives the gradient with respect to labels."""
    logits = node.inputs[0]
    column = op("ExpandDims", grad, -1)
    result = column * node.outputs[1]
    if backprop is not None and backprop.op.type != "ZerosLike":
        softmax = op("Softmax", logits)
        total = op("Sum", backprop * softmax, [-1], keep_dims=True)
        result = result + (backprop - total) * softmax
    return [result, column * -op("LogSoftmax", logits)]


@gradient("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_xent_gradient(node: Operation, grad: Tensor, backprop: Any) -> list[Any]:
    result = op("ExpandDims", grad, -1) * node.outputs[1]
    if backprop is not None and backprop.op.type != "ZerosLike":
        softmax = op("Softmax", node.inputs[0])
        total = op("Sum", backprop * softmax, [-1], keep_dims=True)
        result = result + (backprop - total) * softmax
    return [result, None]


@gradient("L2Loss")
def _l2_loss_gradient(node: Operation, grad: Tensor) -> Tensor:
    return node.inputs[0] * grad


for _op_type in ("InTopK", "InTopKV2"):
    no_gradient(_op_type, "its output is a truth value")
