"""Batch normalisation with moving averages of mean and variance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.layers.input_spec import InputSpec
from headrace.graph.layers.layer import Layer
from headrace.graph.layers.renormalization import Renormalization
from headrace.graph.layers.smart_cond import known, smart_cond
from headrace.graph.ops.normalization.moments import moments
from headrace.graph.ops.normalization.normalization import batch_normalization as normalize
from headrace.graph.ops.normalization.normalization import fused_batch_norm
from headrace.graph.ops.reduction import reduce_mean
from headrace.graph.ops.state import assign, assign_sub
from headrace.graph.typing.aliases import (
    Constraint,
    Initializer,
    Regularizer,
    ShapeLike,
    TensorLike,
)
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.initializers import Ones, Zeros

_ZEROS, _ONES = Zeros(), Ones()


class BatchNormalization(Layer):
    """Normalises each channel by batch statistics in training, and by moving averages otherwise.

    The operations in GraphKeys.UPDATE_OPS update the moving averages; a training step does not run
    them automatically.

    Args:
      axis: axis of the channels, or a list of axes.
      momentum: decay of the moving averages, from 0 to 1.
      epsilon: added to the variance.
      center: whether to add beta.
      scale: whether to multiply by gamma.
      renorm: use batch renormalisation.
      renorm_clipping, renorm_momentum: as in Renormalization.
      fused: use FusedBatchNorm (inputs of rank 4 only); None uses it if possible.
      virtual_batch_size: normalise groups of this many examples separately.
      adjustment: `f(shape of inputs) -> factor, term`, applied to normalised values in training.
      the others: as in get_variable.
    Raises: ValueError for fused with renorm, virtual_batch_size or adjustment.
    Source: Ioffe and Szegedy 2015; Ioffe 2017 (renorm).
    """

    def __init__(
        self,
        axis: int | list[int] = -1,
        momentum: float = 0.99,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initializer = _ZEROS,
        gamma_initializer: Initializer = _ONES,
        moving_mean_initializer: Initializer = _ZEROS,
        moving_variance_initializer: Initializer = _ONES,
        beta_regularizer: Regularizer | None = None,
        gamma_regularizer: Regularizer | None = None,
        beta_constraint: Constraint | None = None,
        gamma_constraint: Constraint | None = None,
        renorm: bool = False,
        renorm_clipping: Mapping[str, TensorLike] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Callable[..., Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        for what, value in (
            ("renorm", renorm),
            ("virtual_batch_size", virtual_batch_size),
            ("adjustment", adjustment),
        ):
            if value and fused:
                raise ValueError(f"Passing both `fused=True` and `{what}` is not supported")
            fused = False if value else fused
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = beta_initializer
        self.gamma_initializer = gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.renorm = renorm
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self.fused = fused
        self._renormalization = (
            Renormalization(renorm_clipping, renorm_momentum, epsilon) if renorm else None
        )
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Creates gamma, beta, moving_mean and moving_variance, of the shape of the channels.

        Raises: ValueError for an unknown rank or channel size, an invalid axis, or fused with
          another rank or axis.
        """
        shape = as_shape(input_shape)
        if shape.ndims is None:
            raise ValueError(f"Input has undefined rank. Received: input_shape={input_shape}")
        rank = shape.ndims
        self.axis = [a + rank if a < 0 else a for a in self.axis]
        if any(not 0 <= a < rank for a in self.axis) or len(set(self.axis)) != len(self.axis):
            raise ValueError(f"Invalid axis {self.axis} for inputs of shape {shape}")
        self._choose_fused(rank)
        sizes = {a: shape[a].value for a in self.axis}
        if None in sizes.values():
            raise ValueError(
                f"Input has undefined `axis` dimension. Received input with shape {shape}. "
                f"Axis value: {self.axis}"
            )
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        if len(sizes) == 1 and not self.virtual_batch_size:
            wide = list(sizes.values())
        else:
            wide = [sizes.get(i, 1) for i in range(rank)]
        if self.virtual_batch_size:
            wide.insert(1, 1)  # the number of groups follows the examples of a group
            self.axis = [a + 1 for a in self.axis]
        if self.scale:
            self.gamma = self._weight("gamma", wide)
        if self.center:
            self.beta = self._weight("beta", wide)
        self.moving_mean = self._average("moving_mean", wide, self.moving_mean_initializer)
        self.moving_variance = self._average(
            "moving_variance", wide, self.moving_variance_initializer
        )
        if self._renormalization is not None:
            self._renormalization.build(
                self._average, wide, self.moving_mean_initializer, self.moving_variance_initializer
            )
        self.built = True

    def _choose_fused(self, rank: int) -> None:
        can = rank == 4 and self.axis in ([1], [3])
        if self.fused and not can:
            raise ValueError(
                "Batch normalization layers with `fused=True` need inputs of rank 4 and axis 1 or "
                f"3, got rank {rank}, axis {self.axis}"
            )
        if self.fused is None:
            self.fused = can

    def _statistics_dtype(self) -> Any:
        """Dtype of the statistics: float32 for half inputs."""
        return "float32" if self.dtype in ("float16", "bfloat16", None) else self.dtype

    def _weight(self, name: str, shape: list[int]) -> Any:
        return self.add_weight(
            name,
            shape=shape,
            dtype=self._statistics_dtype(),
            initializer=getattr(self, f"{name}_initializer"),
            regularizer=getattr(self, f"{name}_regularizer"),
            constraint=getattr(self, f"{name}_constraint"),
            trainable=True,
        )

    def _average(self, name: str, shape: list[int], initializer: Any) -> Any:
        """Creates a moving average, without the scope's partitioner."""
        before, self._scope._partitioner = self._scope.partitioner, None
        try:
            return self.add_weight(
                name,
                shape=shape,
                dtype=self._statistics_dtype(),
                initializer=initializer,
                trainable=False,
                synchronization=VariableSynchronization.ON_READ,
                aggregation=VariableAggregation.MEAN,
            )
        finally:
            self._scope._partitioner = before

    def call(self, inputs: Tensor, training: bool | TensorLike = False) -> Tensor:
        """Normalises inputs; same shape. Args: training: Python bool or scalar bool tensor."""
        if self.fused:
            return self._fused(inputs, training)
        if not self.virtual_batch_size:
            return self._virtual_batches(inputs, training)
        shape = op("Shape", inputs)
        parts = op("ConcatV2", [[self.virtual_batch_size, -1], shape[1:]], 0)
        apart = op("Reshape", inputs, parts)
        apart.set_shape([self.virtual_batch_size, None, *inputs.get_shape().as_list()[1:]])
        result = op("Reshape", self._virtual_batches(apart, training), shape)
        result.set_shape(inputs.get_shape())
        return result

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        layout = "NCHW" if self.axis == [1] else "NHWC"
        channels = [inputs.get_shape().as_list()[self.axis[0]]]
        gamma = self.gamma if self.scale else _ONES(channels, dtype=self._statistics_dtype())
        beta = self.beta if self.center else _ZEROS(channels, dtype=self._statistics_dtype())

        def by_batch() -> Any:
            return fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=layout)

        def by_averages() -> Any:
            return fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=False,
                data_format=layout,
            )

        result, mean, variance = smart_cond(training, by_batch, by_averages)
        truth = known(training)
        # TensorFlow makes a constant of a momentum that is known, and subtracts it twice.
        count_nodes(0 if truth is None else 3 if truth else 1)
        if truth is not False:
            momentum: Any = self.momentum
            if truth is None:
                # without training the averages keep their values
                keep = self.momentum
                momentum = smart_cond(
                    training, lambda: convert_to_tensor(keep), lambda: convert_to_tensor(1.0)
                )
            self.add_update(lambda: self._update_average(self.moving_mean, mean, momentum))
            self.add_update(lambda: self._update_average(self.moving_variance, variance, momentum))
        return result

    def _virtual_batches(self, inputs: Tensor, training: Any) -> Tensor:
        rank = len(inputs.get_shape().as_list())
        count_nodes(3 * (self._renormalization is not None) - 6 * bool(self.virtual_batch_size))
        others = [i for i in range(rank) if i not in self.axis]
        if self.virtual_batch_size:
            others.remove(1)
        mean, variance = self.moving_mean, self.moving_variance
        scale, offset = (
            self._broadcast_channels(self.gamma, rank),
            self._broadcast_channels(self.beta, rank),
        )
        if known(training) is not False:
            x = (
                op("Cast", inputs, DstT=self._statistics_dtype())
                if self._is_half(inputs)
                else inputs
            )
            if self.adjustment is not None:
                scale, offset = self._adjusted(x, training, scale, offset)
            batch = moments(x, others, keep_dims=self._is_wide())
            mean = smart_cond(training, lambda: batch[0], lambda: self._read(self.moving_mean))
            variance = smart_cond(
                training, lambda: batch[1], lambda: self._read(self.moving_variance)
            )
            new_mean, new_variance = mean, variance
            if self._renormalization is not None:
                factor, term, new_mean, new_variance = self._renormalization.correction(
                    mean, variance, training, self._update_average
                )
                factor, term = (
                    self._broadcast_channels(factor, rank),
                    self._broadcast_channels(term, rank),
                )
                if scale is not None:
                    factor, term = factor * scale, term * scale
                scale, offset = factor, term if offset is None else term + offset
            if self.virtual_batch_size:
                new_mean = reduce_mean(new_mean, axis=1, keepdims=True)
                new_variance = reduce_mean(new_variance, axis=1, keepdims=True)
            self._update_average_if(training, self.moving_mean, new_mean)
            if self._renormalization is None:
                self._update_average_if(training, self.moving_variance, new_variance)
            else:
                self._update_variance_by_stddev(
                    training, new_variance, self._renormalization.moving_stddev
                )
        x = op("Cast", inputs, DstT=self._statistics_dtype()) if self._is_half(inputs) else inputs
        result = normalize(
            x,
            self._broadcast_channels(mean, rank),
            self._broadcast_channels(variance, rank),
            offset,
            scale,
            self.epsilon,
        )
        if self._is_half(inputs):
            result = op("Cast", result, DstT=inputs.dtype.base_dtype)
        result.set_shape(inputs.get_shape())
        return result

    def _is_half(self, inputs: Tensor) -> bool:
        return inputs.dtype.base_dtype.name != self._statistics_dtype()

    def _is_wide(self) -> bool:
        """Whether the variables have the rank of the inputs, because there are several axes."""
        return len(self.axis) > 1 or bool(self.virtual_batch_size)

    def _adjusted(self, x: Tensor, training: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
        assert self.adjustment is not None
        factor, term = self.adjustment(op("Shape", x))
        factor = smart_cond(training, lambda: factor, lambda: op("OnesLike", factor))
        term = smart_cond(training, lambda: term, lambda: op("ZerosLike", term))
        if scale is not None:
            factor, term = factor * scale, term * scale
        return factor, term if offset is None else term + offset

    def _broadcast_channels(self, value: Any, rank: int) -> Any:
        """Reshapes a vector of channels to broadcast along the channel axis."""
        if value is None or self._is_wide() or self.axis == [rank - 1]:
            return value
        return op("Reshape", value, [-1 if i == self.axis[0] else 1 for i in range(rank)])

    def _update_average_if(self, training: Any, variable: Any, value: Tensor) -> None:
        self.add_update(
            smart_cond(
                training,
                lambda: self._update_average(variable, value, self.momentum),
                lambda: self._read(variable),
            )
        )

    def _update_variance_by_stddev(
        self, training: Any, variance: Tensor, moving_stddev: Any
    ) -> None:
        """Updates the moving standard deviation, and derives the moving variance from it."""
        epsilon = constant(self.epsilon, dtype=variance.dtype.base_dtype)

        def moved() -> Any:
            stddev = self._update_average(
                moving_stddev, op("Sqrt", variance + epsilon), self.momentum
            )
            value = op("Relu", stddev * stddev - epsilon)
            return assign(self.moving_variance, value, name="AssignNewValue")

        self.add_update(smart_cond(training, moved, lambda: self._read(self.moving_variance)))

    @staticmethod
    def _read(variable: Any) -> Tensor:
        return convert_to_tensor(variable)

    def _update_average(self, variable: Any, value: Tensor, momentum: Any) -> Any:
        with name_scope("AssignMovingAvg") as scope, get_default_graph().colocate_with(variable):
            dtype = variable.dtype.base_dtype
            decay = convert_to_tensor(1.0 - momentum, name="decay")
            if decay.dtype.base_dtype != dtype:
                decay = op("Cast", decay, DstT=dtype)
            if value.dtype.base_dtype != dtype:
                value = op("Cast", value, DstT=dtype)
            return assign_sub(variable, (variable - value) * decay, name=scope)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the shape of the inputs."""
        return as_shape(input_shape)


def batch_normalization(
    inputs: TensorLike,
    axis: int | list[int] = -1,
    momentum: float = 0.99,
    epsilon: float = 0.001,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Initializer = _ZEROS,
    gamma_initializer: Initializer = _ONES,
    moving_mean_initializer: Initializer = _ZEROS,
    moving_variance_initializer: Initializer = _ONES,
    beta_regularizer: Regularizer | None = None,
    gamma_regularizer: Regularizer | None = None,
    beta_constraint: Constraint | None = None,
    gamma_constraint: Constraint | None = None,
    training: bool | TensorLike = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, TensorLike] | None = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Callable[..., Any] | None = None,
) -> Tensor:
    """Applies batch normalisation; see BatchNormalization for the other arguments.

    Args:
      inputs: tensor of known rank.
      training: bool or scalar bool tensor; True normalises by the statistics of this batch.
      reuse: reuse the variables of an earlier layer of this name.
    """
    return BatchNormalization(
        axis=axis,
        momentum=momentum,
        epsilon=epsilon,
        center=center,
        scale=scale,
        beta_initializer=beta_initializer,
        gamma_initializer=gamma_initializer,
        moving_mean_initializer=moving_mean_initializer,
        moving_variance_initializer=moving_variance_initializer,
        beta_regularizer=beta_regularizer,
        gamma_regularizer=gamma_regularizer,
        beta_constraint=beta_constraint,
        gamma_constraint=gamma_constraint,
        renorm=renorm,
        renorm_clipping=renorm_clipping,
        renorm_momentum=renorm_momentum,
        fused=fused,
        trainable=trainable,
        virtual_batch_size=virtual_batch_size,
        adjustment=adjustment,
        name=name,
        _scope=name,
        _reuse=reuse,
    ).apply(inputs, training=training)
