"""LayerNormBasicLSTMCell: an LSTM with layer normalization and recurrent dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.joining import concat, split
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.ops.elementwise.elementwise import tanh
from headrace.graph.ops.normalization.moments import moments
from headrace.graph.ops.normalization.normalization import batch_normalization
from headrace.graph.ops.random.random import dropout
from headrace.graph.rnn_cells.cell import LSTMStateTuple, RNNCell, checked_depth
from headrace.graph.typing.aliases import TensorLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Constant
from headrace.graph.variables.variable_scope import variable_scope

_EPSILON = 1e-12


class LayerNormBasicLSTMCell(RNNCell):
    """LSTM cell that normalizes its gates and its state, with dropout of the candidate.

    Args:
      num_units: size of c and h.
      forget_bias: added to the forget gate.
      input_size: not used.
      activation: activation function.
      layer_norm: whether to normalize; without it there is a bias.
      norm_gain, norm_shift: initial scale and offset of the normalization.
      dropout_keep_prob: probability of keeping an element of the candidate.
      dropout_prob_seed: seed of the dropout.
      reuse: reuse the variables of the scope.
    Source: Ba et al. 2016; Semeniuta et al. 2016.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: int | None = None,
        activation: Callable[..., Any] = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: TensorLike = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._gain, self._shift = norm_gain, norm_shift
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    state_size = property(
        lambda self: LSTMStateTuple(self._num_units, self._num_units), doc="The sizes of c and h."
    )
    output_size = property(lambda self: self._num_units, doc="Size of h.")

    def _normalized(self, x: Tensor, scope: str) -> Tensor:
        if not self._layer_norm:
            return x
        shape, dtype = x.get_shape()[-1:], x.dtype.base_dtype
        with variable_scope(scope):
            gamma = get_variable("gamma", shape, dtype=dtype, initializer=Constant(self._gain))
            beta = get_variable("beta", shape, dtype=dtype, initializer=Constant(self._shift))
        mean, variance = moments(x, [1], keep_dims=True)
        result = batch_normalization(x, mean, variance, beta, gamma, _EPSILON)
        result.set_shape(x.get_shape())
        return result

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Maps [batch, in] and a state to (h, new state)."""
        c, h = state
        joint = concat([inputs, h], 1)
        size, dtype = 4 * self._num_units, joint.dtype.base_dtype
        kernel = get_variable("kernel", [checked_depth(joint.get_shape()), size], dtype=dtype)
        gates = op("MatMul", joint, kernel)
        if not self._layer_norm:
            gates = bias_add(gates, get_variable("bias", [size], dtype=dtype))
        i, j, f, o = (
            self._normalized(gate, scope)
            for gate, scope in zip(
                split(gates, 4, 1),
                ("input", "transform", "forget", "output"),
                strict=True,
            )
        )
        candidate = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            candidate = dropout(candidate, keep_prob=self._keep_prob, seed=self._seed)
        forget = op("Sigmoid", f + self._forget_bias)
        new_c = self._normalized(c * forget + op("Sigmoid", i) * candidate, "state")
        new_h = self._activation(new_c) * op("Sigmoid", o)
        return new_h, LSTMStateTuple(new_c, new_h)
