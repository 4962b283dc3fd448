"""Convolutions in one to three dimensions, and their transposes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.formats.dtypes import int32
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.builder.required import required
from headrace.graph.framework.constant_value import value_as_shape
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.convolution import bias, patches  # noqa: F401 - their gradients are of this family
from headrace.graph.typing.aliases import Ints, Padding, TensorLike


def _padding(padding: Any) -> dict[str, Any]:
    """Converts a padding name or explicit pairs to attributes."""
    if isinstance(padding, str):
        return {"padding": padding.upper()}
    return {"padding": "EXPLICIT", "explicit_paddings": [n for pair in padding for n in pair]}


def conv2d(
    input: TensorLike,  # noqa: A002 - TF's name
    filter: TensorLike | None = None,  # noqa: A002 - TF's name
    strides: Ints | None = None,
    padding: Padding | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Ints = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Computes a 2-D convolution (a cross-correlation).

    Args:
      input: [batch, height, width, channels] ("NHWC"), or [batch, channels, height, width].
      filter: [height, width, channels, output channels].
      strides, dilations: four ints in the order of data_format, or one int for height and width.
      padding: "SAME", "VALID", or four pairs of explicit paddings.
      data_format: "NHWC" or "NCHW".
      use_cudnn_on_gpu: ignored.
      filters: new name of filter.
    Returns: [batch, out height, out width, output channels], in data_format.
    """
    return op(
        "Conv2D",
        input,
        filters if filter is None else filter,
        strides=four_sizes(strides, data_format, "strides"),
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format,
        dilations=four_sizes(dilations, data_format, "dilations"),
        name=name,
        **_padding(padding),
    )


def four_sizes(values: Any, data_format: str, name: str) -> list[int]:
    """Returns sizes in the order of data_format, from one, two or four of them.

    Raises: ValueError for another number of sizes.
    """
    values = list(values) if isinstance(values, Iterable) else [values]
    if len(values) == 4:
        return values
    if len(values) not in (1, 2):
        raise ValueError(f"{name} should be of length 1, 2 or 4 but was {len(values)}")
    height, width = (values * 2)[:2]
    return [1, 1, height, width] if data_format == "NCHW" else [1, height, width, 1]


def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike | None = None,  # noqa: A002 - TF's name
    out_backprop: TensorLike | None = None,
    strides: Sequence[int] | None = None,
    padding: Padding | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Computes the gradient of conv2d with respect to its input, of shape input_sizes."""
    return op(
        "Conv2DBackpropInput",
        input_sizes,
        filters if filter is None else filter,
        out_backprop,
        strides=list(required(strides, "strides")),
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
        **_padding(padding),
    )


def conv2d_backprop_filter(
    input: TensorLike,  # noqa: A002 - TF's name
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: Padding,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of conv2d with respect to its filter, of shape filter_sizes."""
    return op(
        "Conv2DBackpropFilter",
        input,
        filter_sizes,
        out_backprop,
        strides=list(strides),
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
        **_padding(padding),
    )


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,  # noqa: A002 - TF's name
    output_shape: TensorLike | None = None,
    strides: Ints | None = None,
    padding: str = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
    filters: TensorLike | None = None,
    dilations: Ints | None = None,
) -> Tensor:
    """Computes the transpose of conv2d, its gradient with respect to the input.

    Args:
      value: [batch, height, width, input channels], in data_format.
      filter: [height, width, output channels, input channels].
      output_shape: [4] ints, shape of the result.
      input, filters: new names of value and filter.
      the others: as in conv2d.
    Raises: ValueError for an output_shape without four sizes, or channels that do not fit.
    """
    filter = filters if filter is None else filter
    value = input if value is None else value
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        value = convert_to_tensor(value, name="value")
        filter = convert_to_tensor(filter, name="filter")
        sizes = convert_to_tensor(output_shape, int32, name="output_shape")
        channel = 1 if data_format == "NCHW" else 3
        _check_transposed(value.get_shape(), filter.get_shape(), sizes, channel)
        result = op(
            "Conv2DBackpropInput",
            sizes,
            filter,
            value,
            strides=four_sizes(strides, data_format, "strides"),
            data_format=data_format,
            dilations=four_sizes(1 if dilations is None else dilations, data_format, "dilations"),
            name=scope,
            **_padding(padding),
        )
        result.set_shape([None] * 4)
        return result


def _check_transposed(value: TensorShape, kernel: TensorShape, sizes: Tensor, channel: int) -> None:
    """Checks the shapes of conv2d_transpose."""
    if kernel.ndims not in (None, 4):
        raise ValueError(f"filter must have 4 dimensions, has shape {kernel}")
    if not sizes.get_shape().is_compatible_with([4]):
        raise ValueError(f"output_shape must have shape (4,), got {sizes.get_shape()}")
    if kernel.ndims is None:
        return
    if value.ndims is not None and not value[channel].is_compatible_with(kernel[3]):
        raise ValueError(
            "input channels does not match filter's input channels, "
            f"{value[channel]} != {kernel[3]}"
        )
    known = value_as_shape(sizes)
    if known is not None and not kernel[2].is_compatible_with(known[channel]):
        raise ValueError(
            f"output_shape does not match filter's output channels, {known[channel]} != {kernel[2]}"
        )


def conv3d(
    input: TensorLike,  # noqa: A002 - TF's name
    filter: TensorLike | None = None,  # noqa: A002 - TF's name
    strides: Sequence[int] | None = None,
    padding: str | None = None,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Computes a 3-D convolution.

    Args:
      input: [batch, depth, height, width, channels] ("NDHWC"), or "NCDHW".
      filter: [depth, height, width, channels, output channels].
      the others: as in conv2d, for five dimensions.
    """
    return op(
        "Conv3D",
        input,
        filters if filter is None else filter,
        strides=list(required(strides, "strides")),
        padding=padding,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: Ints | None = None,
    padding: Padding | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
    dilations: Ints | None = None,
) -> Tensor:
    """Computes a 1-D convolution.

    Args:
      value: [batch, width, channels] ("NWC"), or "NCW".
      filters: [width, channels, output channels].
      stride: int or list of ints.
      the others: as in conv2d.
    """
    value = input if value is None else value
    last = data_format in (None, "NWC", "NHWC")
    with name_scope(name or "conv1d") as scope:
        x = op("ExpandDims", value, 1 if last else 2)
        kernel = op("ExpandDims", filters, 0)
        (step,), (rate,) = _each(stride, 1), _each(dilations, 1)
        result = op(
            "Conv2D",
            x,
            kernel,
            strides=[1, 1, step, 1] if last else [1, 1, 1, step],
            dilations=[1, 1, rate, 1] if last else [1, 1, 1, rate],
            data_format="NHWC" if last else "NCHW",
            name=scope,
            **_padding(padding),
        )
        return op("Squeeze", result, squeeze_dims=[1 if last else 2])


def depthwise_conv2d(
    input: TensorLike,  # noqa: A002 - TF's name
    filter: TensorLike,  # noqa: A002 - TF's name
    strides: Sequence[int],
    padding: Padding,
    rate: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Computes a depthwise 2-D convolution: each channel has separate filters.

    Args:
      input: [batch, height, width, channels].
      filter: [height, width, channels, multiplier].
      rate: dilation of height and width; dilations: its new name.
      the others: as in conv2d.
    Returns: [batch, out height, out width, channels * multiplier].
    """
    data_format = data_format or "NHWC"
    rate = dilations if rate is None else rate
    dilations = four_sizes(list(rate) if rate is not None else [1, 1], data_format, "rate")
    x = convert_to_tensor(input, name="tensor_in")
    rates = [n for n in dilations if n > 1]
    count_nodes(12 + _unknown_windows(x, 2, data_format == "NCHW") if rates else 2)
    return op(
        "DepthwiseConv2dNative",
        x,
        filter,
        strides=list(strides),
        data_format=data_format,
        dilations=dilations,
        name=name or "depthwise",
        **_padding(padding),
    )


def separable_conv2d(
    input: TensorLike,  # noqa: A002 - TF's name
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Sequence[int],
    padding: Padding,
    rate: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Computes depthwise_conv2d, followed by a 1x1 convolution of the channels."""
    with name_scope(name or "separable_conv2d") as scope:
        spread = depthwise_conv2d(
            input,
            depthwise_filter,
            strides,
            padding,
            dilations if rate is None else rate,
            data_format=data_format,
        )
        return op(
            "Conv2D",
            spread,
            pointwise_filter,
            strides=[1, 1, 1, 1],
            padding="VALID",
            data_format=data_format or "NHWC",
            name=scope,
        )


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Computes conv2d with dilation `rate` in both dimensions."""
    value = convert_to_tensor(value, name="value")
    if rate > 1:
        count_nodes((12 if padding == "SAME" else 11) + _unknown_windows(value, 2, first=False))
    return op(
        "Conv2D",
        value,
        filters,
        strides=[1, 1, 1, 1],
        padding=padding,
        dilations=[1, rate, rate, 1],
        name=name or "atrous_conv2d",
    )


def convolution(
    input: TensorLike,  # noqa: A002 - TF's name
    filter: TensorLike,  # noqa: A002 - TF's name
    padding: Padding,
    strides: Ints | None = None,
    dilation_rate: Ints | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: Ints | None = None,
) -> Tensor:
    """Computes a convolution in one, two or three dimensions, by the rank of its input.

    Raises: ValueError for an input of another rank.
    """
    dilation_rate = dilations if dilation_rate is None else dilation_rate
    x = convert_to_tensor(input, name="input")
    kernel = convert_to_tensor(filters if filter is None else filter, name="filter")
    rank = kernel.get_shape().ndims or x.get_shape().ndims
    if rank not in (3, 4, 5):
        raise ValueError(f"convolution: input must have rank 3, 4 or 5, got {rank}")
    n = rank - 2
    first = (data_format or "").startswith("NC")
    strides, rates = _each(strides, n), _each(dilation_rate, n)
    if n == 1:
        _count_dilation(x, rates, padding, first)
        with name_scope(name or "convolution") as scope:
            axis = 2 if first else 1
            full = [1, 1, 1, *strides] if first else [1, 1, *strides, 1]
            result = op(
                "Conv2D",
                op("ExpandDims", x, axis),
                op("ExpandDims", kernel, 0),
                strides=full,
                dilations=[1, 1, 1, *rates] if first else [1, 1, *rates, 1],
                data_format="NCHW" if first else "NHWC",
                name=scope,
                **_padding(padding),
            )
            return op("Squeeze", result, squeeze_dims=[axis])
    full = [1, 1, *strides] if first else [1, *strides, 1]
    full_rates = [1, 1, *rates] if first else [1, *rates, 1]
    kind, layout = (
        ("Conv2D", "NCHW" if first else "NHWC")
        if n == 2
        else ("Conv3D", "NCDHW" if first else "NDHWC")
    )
    attrs = _padding(padding) if n == 2 else {"padding": padding}
    _count_dilation(x, rates, padding, first)
    return op(
        kind,
        x,
        kernel,
        strides=full,
        dilations=full_rates,
        data_format=layout,
        name=name or "convolution",
        **attrs,
    )


def _count_dilation(x: Tensor, rates: list[int], padding: Any, first: bool) -> None:
    """Counts the nodes by which TensorFlow 1.15 dilates windows: space to batch, and back."""
    if max(rates) > 1:
        windows = _unknown_windows(x, len(rates), first)
        count_nodes((12 if padding == "SAME" else 11) + windows)


def _unknown_windows(x: Tensor, dims: int, first: bool) -> int:
    """Returns how many nodes TensorFlow 1.15 adds to dilate windows of an unknown size."""
    if x.get_shape().ndims is None:
        return 25 + 19 * dims
    start = 2 if first else 1
    sizes = x.get_shape().as_list()[start : start + dims]
    return 25 + 19 * dims if None in sizes else 0


def _each(value: Any, n: int) -> list[int]:
    if value is None:
        return [1] * n
    values = [value] if isinstance(value, int) else list(value)
    return values * n if len(values) == 1 else values
