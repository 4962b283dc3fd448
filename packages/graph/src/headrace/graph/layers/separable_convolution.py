"""Separable convolution layers: a depthwise convolution, then a pointwise one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.layers.convolution import _ZEROS, Conv
from headrace.graph.layers.functional import functional, shown_with
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.convolution.convolution import separable_conv2d as apart_then_mixed
from headrace.graph.typing.aliases import Constraint, Initializer, Ints, Regularizer, ShapeLike


class SeparableConv(Conv):
    """Separable convolution layer: activation(pointwise(depthwise(inputs)) + bias).

    Args:
      depth_multiplier: number of depthwise filters per input channel.
      the others: as in Conv.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Ints,
        strides: Ints = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Ints = 1,
        depth_multiplier: int = 1,
        activation: Callable[..., Any] | None = None,
        use_bias: bool = True,
        depthwise_initializer: Initializer | None = None,
        pointwise_initializer: Initializer | None = None,
        bias_initializer: Initializer = _ZEROS,
        depthwise_regularizer: Regularizer | None = None,
        pointwise_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        depthwise_constraint: Constraint | None = None,
        pointwise_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            activation=activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = depthwise_initializer
        self.pointwise_initializer = pointwise_initializer
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the depthwise kernel, the pointwise kernel and the bias."""
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            shape=[*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            shape=[*[1] * self.rank, channels * self.depth_multiplier, self.filters],
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self._add_bias()
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """Maps [batch, *spatial, in] to [batch, *out spatial, filters]."""
        first = self.layout.index("C") == 1
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        strides, rate, padding = self.strides, self.dilation_rate, self.padding
        layout = "NCHW" if first else "NHWC"
        axis = 2 if first else 1
        if self.rank == 1:
            if padding == "causal":
                ahead = rate[0] * (self.kernel_size[0] - 1)
                pads = [[0, 0] for _ in self.layout]
                pads[self.layout.index("W")] = [ahead, 0]
                inputs, padding = op("Pad", inputs, pads), "valid"
            inputs = op("ExpandDims", inputs, axis)
            depthwise, pointwise = op("ExpandDims", depthwise, 0), op("ExpandDims", pointwise, 0)
            # the op requires equal strides; along the added dimension of size 1 any stride will do
            strides, rate = strides * 2, (1, *rate)
        result = apart_then_mixed(
            inputs,
            depthwise,
            pointwise,
            [1, 1, *strides] if first else [1, *strides, 1],
            padding.upper(),
            rate=rate,
            data_format=layout,
        )
        if self.rank == 2:
            return self._add_bias_and_activation(result)
        if self.use_bias:
            result = bias_add(result, self.bias, data_format=layout)
        result = op("Squeeze", result, squeeze_dims=[axis])
        return result if self.activation is None else self.activation(result)


class SeparableConv1D(SeparableConv):
    """Separable convolution layer for [batch, width, channels]; see SeparableConv."""

    rank = 1


class SeparableConv2D(SeparableConv):
    """Separable convolution layer for [batch, height, width, channels]; see SeparableConv."""


shown_with(SeparableConv2D, strides=(1, 1), dilation_rate=(1, 1))
separable_conv1d = functional(
    "separable_conv1d", SeparableConv1D, "Each channel's convolution, mixed"
)
separable_conv2d = functional(
    "separable_conv2d", SeparableConv2D, "Each channel's convolution, mixed"
)
