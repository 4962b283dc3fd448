"""Transposed convolution layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.layers.convolution import _ZEROS, Conv
from headrace.graph.layers.functional import functional, shown_with
from headrace.graph.layers.windows import transposed_length
from headrace.graph.ops.convolution.convolution import conv2d_transpose as transpose_2d
from headrace.graph.ops.convolution.transposed_convolution import conv3d_transpose as transpose_3d
from headrace.graph.typing.aliases import Constraint, Initializer, Ints, Regularizer, ShapeLike


class ConvTranspose(Conv):
    """Transposed convolution layer: activation(conv_transpose(inputs, kernel) + bias); see Conv."""

    def __init__(
        self,
        filters: int,
        kernel_size: Ints,
        strides: Ints = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Callable[..., Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer = _ZEROS,
        kernel_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        kernel_constraint: Constraint | None = None,
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
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def _out(self, spatial: list[Any]) -> list[Any]:
        parts = zip(spatial, self.kernel_size, self.strides, strict=True)
        return [transposed_length(n, k, self.padding, s) for n, k, s in parts]

    def call(self, inputs: Tensor) -> Tensor:
        """Maps [batch, *spatial, in] to [batch, *out spatial, filters]."""
        valid = self.padding.lower() == "valid"
        nodes = (24, 28)[valid] if self.rank == 2 else (26, 32)[valid]
        if self.rank == 2 and self.layout.index("C") == 1:
            nodes += (17, 20)[valid]  # channels move to the end and back
        with counted_as(nodes):
            result = self._transposed(inputs)
        return self._add_bias_and_activation(result)

    def _transposed(self, inputs: Tensor) -> Tensor:
        known = inputs.get_shape().as_list()
        shape = op("Shape", inputs)
        sizes = [shape[i] if n is None else n for i, n in enumerate(known)]
        first = self.layout.index("C") == 1
        spatial = self._out(sizes[2:] if first else sizes[1:-1])
        rest = [self.filters, *spatial] if first else [*spatial, self.filters]
        full = [1, 1, *self.strides] if first else [1, *self.strides, 1]
        transpose: Any = transpose_2d if self.rank == 2 else transpose_3d
        result = transpose(
            inputs,
            self.kernel,
            op("Pack", [sizes[0], *rest], name="stack"),
            full,
            padding=self.padding.upper(),
            data_format=self.layout,
        )
        result.set_shape(self.compute_output_shape(inputs.get_shape()))
        return result

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns [batch, *out spatial, filters], in the layer's data_format."""
        sizes = as_shape(input_shape).as_list()
        if self.layout.index("C") == 1:
            return TensorShape([sizes[0], self.filters, *self._out(sizes[2:])])
        return TensorShape([sizes[0], *self._out(sizes[1:-1]), self.filters])


class Conv2DTranspose(ConvTranspose):
    """Transposed convolution layer for [batch, height, width, channels]; see Conv."""


class Conv3DTranspose(ConvTranspose):
    """Transposed convolution layer for [batch, depth, height, width, channels]; see Conv."""

    rank = 3


shown_with(Conv2DTranspose, strides=(1, 1))
shown_with(Conv3DTranspose, strides=(1, 1, 1))
conv2d_transpose = functional(
    "conv2d_transpose", Conv2DTranspose, "The layer of conv2d's transpose"
)
conv3d_transpose = functional(
    "conv3d_transpose", Conv3DTranspose, "The layer of conv3d's transpose"
)
