"""Pooling layers."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.layers.layer_variables import check_layout
from headrace.graph.contrib.layers.named_outputs import collect_named_outputs, n_positive_integers
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.layers.pooling import (
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling2D,
    MaxPooling3D,
)
from headrace.graph.ops.pooling.window_pooling import pool as _pool
from headrace.graph.typing.aliases import Collections, Ints, TensorLike


def _pooled(
    layer: Any,
    name: str,
    inputs: TensorLike,
    kernel_size: Ints,
    stride: Ints,
    padding: str,
    data_format: str,
    layouts: tuple[str, str],
    outputs_collections: Collections | None,
    scope: str | None,
) -> Tensor:
    layout = check_layout(data_format, *layouts)
    with name_scope(scope, name, [inputs]) as entered:
        outputs = layer(
            pool_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=layout,
            _scope=entered,
        ).apply(convert_to_tensor(inputs))
        result: Tensor = collect_named_outputs(outputs_collections, entered, outputs)
        return result


@add_arg_scope
def avg_pool2d(
    inputs: TensorLike,
    kernel_size: Ints,
    stride: Ints = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Averages windows of [batch, height, width, channels].

    Args:
      kernel_size, stride: one int or two of them.
      padding: "VALID" or "SAME".
      data_format: "NHWC" or "NCHW".
      outputs_collections: collections of the result.
      scope: name scope.
    Raises: ValueError for another data_format or padding.
    """
    return _pooled(AveragePooling2D, "AvgPool2D", inputs, kernel_size, stride, padding, data_format,
                   ("NHWC", "NCHW"), outputs_collections, scope)  # fmt: skip


@add_arg_scope
def avg_pool3d(
    inputs: TensorLike,
    kernel_size: Ints,
    stride: Ints = 2,
    padding: str = "VALID",
    data_format: str = "NDHWC",
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Averages windows of [batch, depth, height, width, channels]; see avg_pool2d."""
    return _pooled(AveragePooling3D, "AvgPool3D", inputs, kernel_size, stride, padding, data_format,
                   ("NDHWC", "NCDHW"), outputs_collections, scope)  # fmt: skip


@add_arg_scope
def max_pool2d(
    inputs: TensorLike,
    kernel_size: Ints,
    stride: Ints = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Returns the maxima of windows of [batch, height, width, channels]; see avg_pool2d."""
    return _pooled(MaxPooling2D, "MaxPool2D", inputs, kernel_size, stride, padding, data_format,
                   ("NHWC", "NCHW"), outputs_collections, scope)  # fmt: skip


@add_arg_scope
def max_pool3d(
    inputs: TensorLike,
    kernel_size: Ints,
    stride: Ints = 2,
    padding: str = "VALID",
    data_format: str = "NDHWC",
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Returns the maxima of windows of [batch, depth, height, width, channels]; see avg_pool2d."""
    return _pooled(MaxPooling3D, "MaxPool3D", inputs, kernel_size, stride, padding, data_format,
                   ("NDHWC", "NCDHW"), outputs_collections, scope)  # fmt: skip


@add_arg_scope
def pool(
    inputs: TensorLike,
    kernel_size: Ints,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Ints = 1,
    stride: Ints = 1,
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Pools in one to three dimensions, with optional dilation; see hr.nn.pool.

    Raises: ValueError for inputs of unknown rank, or of rank below 3; as hr.nn.pool.
    """
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as entered:
        x = convert_to_tensor(inputs)
        rank = x.get_shape().ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError(f"Rank of inputs must be >= 3, got {rank}")
        outputs = _pool(
            input=x,
            window_shape=n_positive_integers(rank - 2, kernel_size),
            pooling_type=pooling_type,
            padding=padding,
            data_format=data_format,
            dilation_rate=n_positive_integers(rank - 2, dilation_rate),
            strides=n_positive_integers(rank - 2, stride),
            name=entered,
        )
        result: Tensor = collect_named_outputs(outputs_collections, entered, outputs)
        return result
