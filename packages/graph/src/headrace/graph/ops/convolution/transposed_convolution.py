"""Transposed convolutions in one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.convolution.convolution import conv2d_transpose
from headrace.graph.typing.aliases import Ints, TensorLike


def _per_axis(value: Any, n: int, first: bool, what: str) -> list[int]:
    """Expands one, n or n + 2 strides or dilations to n + 2.

    Raises: ValueError for another number.
    """
    values = [1] if value is None else [value] if isinstance(value, int) else list(value)
    if len(values) == n + 2:
        return values
    if len(values) == 1:
        values = values * n
    if len(values) != n:
        raise ValueError(f"`{what}` should be of length 1, {n} or {n + 2}, got {values}")
    return [1, 1, *values] if first else [1, *values, 1]


def conv1d_transpose(
    input: TensorLike,  # noqa: A002 - TF's name
    filters: TensorLike,
    output_shape: TensorLike,
    strides: Ints,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Ints | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the transpose of conv1d, its gradient with respect to the input.

    Args:
      input: [batch, width, channels] ("NWC"), or [batch, channels, width] ("NCW").
      filters: [width, output channels, input channels].
      output_shape: [3] ints, shape of the result.
      the others: as in conv1d.
    """
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]):
        first = data_format == "NCW"
        axis = 2 if first else 1
        count_nodes(1 if isinstance(output_shape, Tensor) else -5)
        if isinstance(output_shape, (list, tuple)):
            count_nodes(-3 * any(isinstance(n, Tensor) for n in output_shape))
        sizes = convert_to_tensor(output_shape, dtype="int32")
        before = op("Slice", sizes, [0], [axis])
        result = op(
            "Conv2DBackpropInput",
            op("ConcatV2", [before, [1], op("Slice", sizes, [axis], [3 - axis])], 0),
            op("ExpandDims", filters, 0),
            op("ExpandDims", input, axis),
            strides=_with_unit(_per_axis(strides, 1, first, "strides"), axis),
            dilations=_with_unit(_per_axis(dilations, 1, first, "dilations"), axis),
            data_format="NCHW" if first else "NHWC",
            padding=padding,
        )
        return op("Squeeze", result, squeeze_dims=[axis])


def _with_unit(values: list[int], axis: int) -> list[int]:
    return [*values[:axis], 1, *values[axis:]]


def conv3d_transpose(
    value: TensorLike,
    filter: TensorLike | None = None,  # noqa: A002 - TF's name
    output_shape: TensorLike | None = None,
    strides: Ints | None = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
    filters: TensorLike | None = None,
    dilations: Ints | None = None,
) -> Tensor:
    """Computes the transpose of conv3d, its gradient with respect to the input.

    Args:
      value: [batch, depth, height, width, input channels], in data_format.
      filter: [depth, height, width, output channels, input channels].
      output_shape: [5] ints, shape of the result.
      input, filters: new names of value and filter.
      the others: as in conv3d.
    """
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        first = data_format == "NCDHW"
        return op(
            "Conv3DBackpropInputV2",
            output_shape,
            filters if filter is None else filter,
            input if value is None else value,
            strides=_per_axis(strides, 3, first, "strides"),
            dilations=_per_axis(dilations, 3, first, "dilations"),
            padding=padding,
            data_format=data_format,
            name=scope,
        )


def conv_transpose(
    input: TensorLike,  # noqa: A002 - TF's name
    filters: TensorLike,
    output_shape: TensorLike,
    strides: Ints,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Ints | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes a transposed convolution in one to three dimensions, by the length of output_shape.

    Raises: ValueError for another number of spatial dimensions.
    """
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        given: Any = output_shape
        tensor = isinstance(given, Tensor)
        length = given.get_shape().as_list()[0] if tensor else len(given)
        if length not in (3, 4, 5):
            raise ValueError(
                "output_shape must be of length 3, 4 or 5 (one to three spatial dimensions), got "
                f"length {length}"
            )
        functions: dict[int, tuple[Any, str]] = {
            3: (conv1d_transpose, "NWC"),
            4: (conv2d_transpose, "NHWC"),
            5: (conv3d_transpose, "NDHWC"),
        }
        function, layout = functions[length]
        return function(
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=data_format or layout,
            dilations=dilations,
            name=scope,
        )


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Computes the transpose of atrous_conv2d.

    Args:
      value: [batch, height, width, channels].
      filters: [height, width, output channels, input channels].
      output_shape: [4] ints, shape of the result.
      rate: dilation of height and width.
      padding: "SAME" or "VALID".
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        count_nodes(7 if rate > 1 else 0)  # space to batch and back
        return op(
            "Conv2DBackpropInput",
            output_shape,
            filters,
            value,
            strides=[1, 1, 1, 1],
            padding=padding,
            dilations=[1, rate, rate, 1],
            name=scope,
        )


def conv3d_backprop_filter(
    input: TensorLike,  # noqa: A002 - TF's name
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of conv3d with respect to its filter, of shape filter_sizes."""
    return op(
        "Conv3DBackpropFilterV2",
        input,
        filter_sizes,
        out_backprop,
        strides=list(strides),
        padding=padding,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )
