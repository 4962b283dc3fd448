"""Dense, Dropout and Flatten layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.layers.functional import functional
from headrace.graph.layers.input_spec import InputSpec
from headrace.graph.layers.layer import Layer, activation_of
from headrace.graph.layers.smart_cond import smart_cond
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.matmul.tensordot import tensordot
from headrace.graph.ops.random.random import dropout as random_dropout
from headrace.graph.typing.aliases import (
    Constraint,
    Initializer,
    Regularizer,
    ShapeLike,
    TensorLike,
)
from headrace.graph.variables.initializers import Zeros

_ZEROS = Zeros()


class Dense(Layer):
    """Fully connected layer: activation(inputs @ kernel + bias), along the last axis.

    Args:
      units: size of the last axis of the output.
      activation: function of the output; None for the identity.
      use_bias: whether to add a bias.
      kernel_initializer: by default the scope's initializer, or Glorot uniform.
      the others: as in get_variable.
    """

    def __init__(
        self,
        units: int,
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
        self.units = int(units)
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
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the kernel [in, units] and the bias [units].

        Raises: ValueError if the last dimension of the inputs is unknown.
        """
        kind = as_dtype(self._dtype or float32)
        if not (kind.is_floating or kind.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {kind}")
        inner = as_shape(input_shape)[-1].value
        if inner is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: inner})
        self.kernel = self.add_weight(
            "kernel",
            shape=[inner, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Maps [..., in] to [..., units]."""
        rank = inputs.get_shape().ndims
        if rank > 2:
            result = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            result.set_shape([*inputs.get_shape().as_list()[:-1], self.units])
        else:
            result = op("MatMul", inputs, self.kernel)
        if self.use_bias:
            result = bias_add(result, self.bias)
        return result if self.activation is None else self.activation(result)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns [..., units]."""
        return TensorShape([*as_shape(input_shape).as_list()[:-1], self.units])


class Dropout(Layer):
    """Sets random elements to zero during training, and scales the others by 1 / (1 - rate).

    Args:
      rate: fraction of elements to drop, from 0 to 1.
      noise_shape: shape of the random mask, broadcast to the inputs; None: that of the inputs.
      seed: seed of the mask.
    """

    def __init__(
        self,
        rate: TensorLike = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed
        self.built = True

    def call(self, inputs: Tensor, training: bool | TensorLike = False) -> Tensor:
        """Returns inputs with dropout if `training` is true; same shape."""
        return smart_cond(
            training,
            lambda: random_dropout(
                inputs, noise_shape=self._noise_shape(inputs), seed=self.seed, rate=self.rate
            ),
            lambda: identity(inputs),
        )

    def _noise_shape(self, inputs: Tensor) -> Any:
        if self.noise_shape is None or isinstance(self.noise_shape, Tensor):
            return self.noise_shape
        sizes = op("Shape", inputs)
        return op("Pack", [sizes[i] if n is None else n for i, n in enumerate(self.noise_shape)])

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the shape of the inputs."""
        return as_shape(input_shape)


class Flatten(Layer):
    """Flattens all dimensions except the batch dimension.

    Args:
      data_format: "channels_last", or "channels_first", which moves the channels last first.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or "channels_last"
        self.input_spec = InputSpec(min_ndim=1)
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """Maps [batch, ...] to [batch, n]."""
        rank = inputs.get_shape().ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = op("Transpose", inputs, [0, *range(2, rank), 1])
        requested = self.compute_output_shape(inputs.get_shape()).as_list()
        if None not in requested[1:]:
            flat = constant([-1, requested[1]] if requested[0] is None else requested)
            count_nodes(6 if requested[0] is None else 0)  # TensorFlow takes the batch's size
        elif requested[0] is not None:
            flat = constant([requested[0], -1])
        else:
            flat = op("Pack", [op("Shape", inputs)[0], -1])
        result = op("Reshape", inputs, flat)
        result.set_shape(requested)
        return result

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns [batch, n]."""
        batch, *rest = as_shape(input_shape).as_list()
        size: int | None = 1
        for n in rest:
            size = None if n is None or size is None else size * n
        return TensorShape([batch, size])


dense = functional("dense", Dense, "activation(inputs @ kernel + bias)")


def dropout(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: bool | TensorLike = False,
    name: str | None = None,
) -> Tensor:
    """Applies dropout to inputs during training; see Dropout."""
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(
        inputs, training=training
    )


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """Flattens all dimensions except the batch dimension; see Flatten."""
    return Flatten(name=name, data_format=data_format).apply(inputs)
