"""bias_add, and dense layers without variables."""

from __future__ import annotations

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.matmul.matmul import matmul
from headrace.graph.typing.aliases import TensorLike


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Adds a bias to each channel.

    Args:
      value: [batch, ..., channels], or [batch, channels, ...] if data_format starts with "NC".
      bias: [channels].
      data_format: such as "NHWC" or "NCHW"; channels last by default.
    Returns: shape and dtype of value.
    Raises: ValueError for an invalid data_format.
    """
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        layout = _layout(data_format)
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype.base_dtype, name="bias")
        return op("BiasAdd", value, bias, data_format=layout, name=scope)


def _layout(data_format: str | None) -> str:
    if data_format is None or data_format.startswith("N") and data_format.endswith("C"):
        return "NHWC"
    if data_format.startswith("NC"):
        return "NCHW"
    raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`, got {data_format!r}")


def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """Computes x @ weights + biases.

    Args:
      x: [batch, in].
      weights: [in, out].
      biases: [out].
    Returns: [batch, out].
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """Computes relu(x @ weights + biases).

    Args:
      x: [batch, in].
      weights: [in, out].
      biases: [out].
    Returns: [batch, out].
    """
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return op("Relu", bias_add(matmul(x, weights), biases), name=scope)


# ---- gradients -----------------------------------------------------------------------------


@gradient("BiasAdd")
def _bias_add_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    return [grad, op("BiasAddGrad", grad, data_format=node.get_attr("data_format"))]


@gradient("BiasAddV1")
def _bias_add_v1_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    axes = op("Range", 0, op("Rank", grad) - constant(1), 1)
    return [grad, op("Sum", grad, axes)]


@gradient("BiasAddGrad")
def _bias_add_grad_gradient(node: Operation, grad: Tensor) -> Tensor:
    """Broadcasts the gradient: BiasAddGrad is a sum over all dimensions except the channels."""
    (out,) = node.inputs
    shape = op("Shape", out)
    if node.get_attr("data_format") in ("NCHW", b"NCHW"):
        behind = op("Slice", shape, [2], [-1])
        ones = op("OnesLike", behind)
        grad = op("Reshape", grad, op("ConcatV2", [op("Shape", grad), ones], 0))
    return op("BroadcastTo", grad, shape)
