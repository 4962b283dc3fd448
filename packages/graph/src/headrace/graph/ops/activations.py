"""Activation functions of neural networks, and their gradients."""

from __future__ import annotations

from typing import Any

from headrace.formats.errors import InvalidArgumentError
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes, counted_as
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.elementwise.elementwise import sigmoid, tanh  # noqa: F401 - hr.nn has them too
from headrace.graph.typing.aliases import TensorLike


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes max(x, 0)."""
    return op("Relu", features, name=name)


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes min(max(x, 0), 6)."""
    return op("Relu6", features, name=name)


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Computes x for x > 0, alpha * x otherwise. Source: Maas et al. 2013."""
    return op("LeakyRelu", features, alpha=alpha, name=name or "LeakyRelu")


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes x for x > 0, exp(x) - 1 otherwise. Source: Clevert et al. 2015."""
    return op("Elu", features, name=name)


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes the scaled elu. Source: Klambauer et al. 2017."""
    return op("Selu", features, name=name)


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """Concatenates relu(x) and relu(-x) along axis. Source: Shang et al. 2016."""
    with name_scope(name or "CRelu"):
        x = convert_to_tensor(features, name="features")
        return relu(op("ConcatV2", [x, op("Neg", x)], axis))


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes log(1 + exp(x))."""
    return op("Softplus", features, name=name)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / (1 + |x|)."""
    return op("Softsign", features, name=name)


def swish(features: TensorLike) -> Tensor:
    """Computes x * sigmoid(x). Source: Ramachandran et al. 2017."""
    x = convert_to_tensor(features)
    count_nodes(2)  # TensorFlow 1.15 has a gradient of its own for it
    return x * sigmoid(x)


def softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Computes exp(x) / sum(exp(x)) along axis, by default the last.

    Raises: InvalidArgumentError for an axis out of range; ValueError for an axis other than the
      last one of logits of unknown rank.
    """
    return _along("Softmax", logits, axis if dim is None else dim, name)


def log_softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Computes log(softmax(x)) along axis, by default the last. Raises: as softmax."""
    return _along("LogSoftmax", logits, axis if dim is None else dim, name)


def _along(op_type: str, logits: Any, axis: int | None, name: str | None) -> Tensor:
    """Applies an op of the last axis to another axis, by transposing."""
    x = convert_to_tensor(logits)
    rank = x.get_shape().ndims
    if axis is None or axis == -1 or rank is not None and axis == rank - 1:
        return op(op_type, x, name=name)
    if rank is None:
        raise ValueError(f"{op_type}: axis {axis} needs logits of known rank")
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            None,
            None,
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}) where {rank} is the number "
            "of dimensions in the input.",
        )
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    with name_scope(name or op_type), counted_as(31):
        return op("Transpose", op(op_type, op("Transpose", x, order)), order)


# ---- gradients -----------------------------------------------------------------------------


@gradient("Relu")
def _relu_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("ReluGrad", grad, node.outputs[0])


@gradient("Relu6")
def _relu6_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("Relu6Grad", grad, node.outputs[0])


@gradient("LeakyRelu")
def _leaky_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("LeakyReluGrad", grad, node.inputs[0], alpha=node.get_attr("alpha"))


@gradient("Elu")
def _elu_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("EluGrad", grad, node.outputs[0])


@gradient("Selu")
def _selu_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("SeluGrad", grad, node.outputs[0])


@gradient("Softplus")
def _softplus_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("SoftplusGrad", grad, node.inputs[0])


@gradient("Softsign")
def _softsign_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("SoftsignGrad", grad, node.inputs[0])


@gradient("ReluGrad")
def _relu_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("ReluGrad", grad, node.inputs[1]), op("ZerosLike", node.inputs[1])]


@gradient("Relu6Grad")
def _relu6_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("Relu6Grad", grad, node.inputs[1]), op("ZerosLike", node.inputs[1])]


@gradient("LeakyReluGrad")
def _leaky_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [
        op("LeakyReluGrad", grad, node.inputs[1], alpha=node.get_attr("alpha")),
        op("ZerosLike", node.inputs[1]),
    ]


def _below_zero(x: Tensor, value: Tensor) -> Tensor:
    return op("SelectV2", op("Less", x, op("ZerosLike", x)), value, op("ZerosLike", value))


@gradient("EluGrad")
def _elu_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    dy, y = node.inputs
    return [op("EluGrad", grad, y), _below_zero(y, grad * dy)]


@gradient("SeluGrad")
def _selu_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    dy, y = node.inputs
    return [op("SeluGrad", grad, y), _below_zero(y, grad * dy)]


@gradient("SoftplusGrad")
def _softplus_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    dy, x = node.inputs
    two = constant(2.0, dtype=x.dtype.base_dtype)
    x_grad = grad * dy / (op("Exp", -x) + two + op("Exp", x))
    return [op("SoftplusGrad", grad, x), x_grad]


@gradient("SoftsignGrad")
def _softsign_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    dy, x = node.inputs
    one = constant(1.0, dtype=x.dtype.base_dtype)
    size = one + op("Abs", x)
    x_grad = (
        constant(-2.0, dtype=x.dtype.base_dtype)
        * grad
        * dy
        * op("Sign", x)
        / (op("Square", size) * size)
    )
    return [op("SoftsignGrad", grad, x), x_grad]


@gradient("Softmax")
def _softmax_gradient(node: Operation, grad: Tensor) -> Tensor:
    y = node.outputs[0]
    return (grad - op("Sum", grad * y, [-1], keep_dims=True)) * y


@gradient("LogSoftmax")
def _log_softmax_gradient(node: Operation, grad: Tensor) -> Tensor:
    return grad - op("Sum", grad, [-1], keep_dims=True) * op("Exp", node.outputs[0])
