"""Max pooling and average pooling, and their gradients."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.convolution.convolution import four_sizes
from headrace.graph.typing.aliases import DTypeLike, Ints, Padding, TensorLike


def max_pool(
    value: TensorLike,
    ksize: Ints,
    strides: Ints,
    padding: Padding,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
) -> Tensor:
    """Computes the maximum of each window.

    Args:
      value: [batch, height, width, channels] ("NHWC") or [batch, channels, height, width] ("NCHW").
      ksize, strides: size and step of the windows: four ints in the order of data_format, or one.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      input: new name of value.
    """
    return op(
        "MaxPool",
        input if value is None else value,
        ksize=four_sizes(ksize, data_format, "ksize"),
        strides=four_sizes(strides, data_format, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def avg_pool(
    value: TensorLike,
    ksize: Ints,
    strides: Ints,
    padding: Padding,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
) -> Tensor:
    """Computes the mean of each window, without the padding; arguments as in max_pool."""
    return op(
        "AvgPool",
        input if value is None else value,
        ksize=four_sizes(ksize, data_format, "ksize"),
        strides=four_sizes(strides, data_format, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def max_pool_with_argmax(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: str,
    data_format: str = "NHWC",
    Targmax: DTypeLike | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> Any:
    """Same as max_pool, and also returns the index of each maximum in the flattened input."""
    return op(
        "MaxPoolWithArgmax",
        input,
        ksize=four_sizes(ksize, "NHWC", "ksize"),
        strides=four_sizes(strides, "NHWC", "strides"),
        padding=padding,
        Targmax=Targmax or output_dtype or "int64",
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


def _five(sizes: Ints, data_format: str) -> list[int]:
    """Returns a size for each of five dimensions; one or three sizes are those of the space."""
    values = [sizes] if isinstance(sizes, int) else list(sizes)
    values = values * 3 if len(values) == 1 else values
    if len(values) != 3:
        return values
    return [1, 1, *values] if data_format.startswith("NC") else [1, *values, 1]


def max_pool3d(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Computes the maximum of each window of [batch, depth, height, width, channels]."""
    return op(
        "MaxPool3D",
        input,
        ksize=_five(ksize, data_format),
        strides=_five(strides, data_format),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def avg_pool3d(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Computes the mean of each window of [batch, depth, height, width, channels]."""
    return op(
        "AvgPool3D",
        input,
        ksize=_five(ksize, data_format),
        strides=_five(strides, data_format),
        padding=padding,
        data_format=data_format,
        name=name,
    )


# ---- gradients -----------------------------------------------------------------------------


def _attrs(node: Operation) -> dict[str, Any]:
    return {name: node.get_attr(name) for name in ("ksize", "strides", "padding", "data_format")}


@gradient("MaxPool")
def _max_pool_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op(
        "MaxPoolGrad",
        node.inputs[0],
        node.outputs[0],
        grad,
        explicit_paddings=node.get_attr("explicit_paddings"),
        **_attrs(node),
    )


@gradient("MaxPoolGrad")
def _max_pool_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y, _ = node.inputs
    return [
        op("ZerosLike", x),
        op("ZerosLike", y),
        op("MaxPoolGradGrad", x, y, grad, **_attrs(node)),
    ]


@gradient("MaxPoolGradGrad")
def _max_pool_grad_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y, _ = node.inputs
    return [op("ZerosLike", x), op("ZerosLike", y), op("MaxPoolGrad", x, y, grad, **_attrs(node))]


@gradient("MaxPoolV2")
def _max_pool_v2_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, ksize, strides = node.inputs
    result = op(
        "MaxPoolGradV2",
        x,
        node.outputs[0],
        grad,
        ksize,
        strides,
        padding=node.get_attr("padding"),
        data_format=node.get_attr("data_format"),
    )
    return [result, None, None]


@gradient("MaxPoolWithArgmax")
def _max_pool_argmax_gradient(node: Operation, grad: Tensor, _: Any) -> Tensor:
    return op(
        "MaxPoolGradWithArgmax",
        node.inputs[0],
        grad,
        node.outputs[1],
        ksize=node.get_attr("ksize"),
        strides=node.get_attr("strides"),
        padding=node.get_attr("padding"),
        include_batch_in_index=node.get_attr("include_batch_in_index"),
    )


@gradient("AvgPool")
def _avg_pool_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("AvgPoolGrad", op("Shape", node.inputs[0]), grad, **_attrs(node))


@gradient("AvgPoolGrad")
def _avg_pool_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [None, op("AvgPool", grad, **_attrs(node))]


@gradient("MaxPool3D")
def _max_pool3d_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("MaxPool3DGrad", node.inputs[0], node.outputs[0], grad, **_attrs(node))


@gradient("MaxPool3DGrad")
def _max_pool3d_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, y, _ = node.inputs
    return [
        op("ZerosLike", x),
        op("ZerosLike", y),
        op("MaxPool3DGradGrad", x, y, grad, **_attrs(node)),
    ]


@gradient("AvgPool3D")
def _avg_pool3d_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("AvgPool3DGrad", op("Shape", node.inputs[0]), grad, **_attrs(node))


@gradient("AvgPool3DGrad")
def _avg_pool3d_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [None, op("AvgPool3D", grad, **_attrs(node))]


@gradient("FractionalMaxPool")
def _fractional_max_gradient(node: Operation, grad: Tensor, *_: Any) -> Tensor:
    return op(
        "FractionalMaxPoolGrad",
        node.inputs[0],
        node.outputs[0],
        grad,
        node.outputs[1],
        node.outputs[2],
        overlapping=node.get_attr("overlapping"),
    )


@gradient("FractionalAvgPool")
def _fractional_avg_gradient(node: Operation, grad: Tensor, *_: Any) -> Tensor:
    return op(
        "FractionalAvgPoolGrad",
        op("Shape", node.inputs[0], out_type="int64"),
        grad,
        node.outputs[1],
        node.outputs[2],
        overlapping=node.get_attr("overlapping"),
    )


for _op_type in (
    "MaxPoolGradV2",
    "MaxPoolGradGradV2",
    "MaxPoolGradWithArgmax",
    "MaxPoolGradGradWithArgmax",
    "MaxPool3DGradGrad",
    "FractionalMaxPoolGrad",
    "FractionalAvgPoolGrad",
):
    no_gradient(_op_type, "TensorFlow defines none")
for _op_type in ("_MaxPoolWithWindowIndex", "_MaxPoolGradWithWindowIndex"):
    no_gradient(_op_type, "graph passes create it after differentiation")
