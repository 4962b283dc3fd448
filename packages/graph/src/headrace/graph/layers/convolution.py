"""Convolutional layers of one, two and three spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.layers.functional import functional, shown_with
from headrace.graph.layers.input_spec import InputSpec
from headrace.graph.layers.layer import Layer, activation_of
from headrace.graph.layers.windows import conv_length, each, layout_of, padding_of
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.convolution.convolution import convolution
from headrace.graph.typing.aliases import Constraint, Initializer, Ints, Regularizer, ShapeLike
from headrace.graph.variables.initializers import Zeros

_ZEROS = Zeros()


class Conv(Layer):
    """Convolution layer: activation(conv(inputs, kernel) + bias).

    Args:
      filters: number of output channels.
      kernel_size, strides, dilation_rate: one int, or one int per spatial dimension.
      padding: "valid" or "same"; in one dimension also "causal".
      data_format: "channels_last" or "channels_first".
      activation: function of the output; None for the identity.
      use_bias: whether to add a bias.
      kernel_initializer: by default the scope's initializer, or Glorot uniform.
      the others: as in get_variable.
    """

    rank = 2  # number of spatial dimensions

    def __init__(
        self,
        filters: int,
        kernel_size: Ints,
        strides: Ints = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Ints = 1,
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
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        rank = self.rank
        self.filters = int(filters)
        self.kernel_size = each(kernel_size, rank, "kernel_size")
        self.strides = each(strides, rank, "strides")
        self.padding = padding_of(padding, causal=rank == 1)
        self.data_format = data_format
        self.dilation_rate = each(dilation_rate, rank, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        self.layout = layout_of(data_format, rank)
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(ndim=rank + 2)

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, channels, self.filters]

    def _channels(self, input_shape: Any) -> int:
        """Returns the number of input channels, and requires it in the input spec."""
        axis = self.layout.index("C")
        channels = as_shape(input_shape)[axis].value
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        return int(channels)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernel [*kernel_size, in, filters] and the bias [filters]."""
        self.kernel = self.add_weight(
            "kernel",
            shape=self._kernel_shape(self._channels(input_shape)),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self._add_bias()
        self.built = True

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def call(self, inputs: Tensor) -> Tensor:
        """Maps [batch, *spatial, in] to [batch, *out spatial, filters]."""
        padding = self.padding
        if padding == "causal":
            ahead = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            pads = [[0, 0] for _ in self.layout]
            pads[self.layout.index("W")] = [ahead, 0]
            inputs, padding = op("Pad", inputs, pads), "valid"
        count_nodes(max(self.dilation_rate) == 1)  # TensorFlow 1.15 converts the rate
        result = convolution(
            inputs,
            self.kernel,
            padding.upper(),
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            data_format=self.layout,
            name=f"Conv{self.rank}D",
        )
        return self._add_bias_and_activation(result)

    def _add_bias_and_activation(self, result: Tensor) -> Tensor:
        if self.use_bias:
            result = bias_add(result, self.bias, data_format=self.layout)
        return result if self.activation is None else self.activation(result)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns [batch, *out spatial, filters], in the layer's data_format."""
        sizes = as_shape(input_shape).as_list()
        channel = self.layout.index("C")
        spatial = sizes[2:] if channel == 1 else sizes[1:-1]
        parts = zip(spatial, self.kernel_size, self.strides, self.dilation_rate, strict=True)
        out = [conv_length(n, k, self.padding, s, d) for n, k, s, d in parts]
        if channel == 1:
            return TensorShape([sizes[0], self.filters, *out])
        return TensorShape([sizes[0], *out, self.filters])


class Conv1D(Conv):
    """Convolution layer for [batch, width, channels]; see Conv for the arguments."""

    rank = 1


class Conv2D(Conv):
    """Convolution layer for [batch, height, width, channels]; see Conv for the arguments."""


class Conv3D(Conv):
    """Convolution layer for [batch, depth, height, width, channels]; see Conv for the arguments."""

    rank = 3


shown_with(Conv2D, strides=(1, 1), dilation_rate=(1, 1))
shown_with(Conv3D, strides=(1, 1, 1), dilation_rate=(1, 1, 1))
conv1d = functional("conv1d", Conv1D, "activation(convolution of inputs with kernel + bias)")
conv2d = functional("conv2d", Conv2D, "activation(convolution of inputs with kernel + bias)")
conv3d = functional("conv3d", Conv3D, "activation(convolution of inputs with kernel + bias)")
