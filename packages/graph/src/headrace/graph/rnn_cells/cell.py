"""What a recurrent cell is: a layer from an input and a state to an output and a new state."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.layers.layer import Layer
from headrace.graph.ops.arrays.creation import zeros
from headrace.graph.typing.aliases import DTypeLike, TensorLike
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope

if TYPE_CHECKING:
    from headrace.graph.variables.variable_scope import VariableScope


class RNNCell(Layer):
    """A step of a recurrent network: `output, new_state = cell(inputs, state)`.

    A subclass gives `state_size`, `output_size`, `call(inputs, state)` and, for its variables,
    `build(inputs_shape)`.
    """

    def __call__(
        self, inputs: TensorLike, state: Any, scope: str | VariableScope | None = None
    ) -> Any:
        """The output and the new state.

        Args:
          inputs: [batch, n]; state: as zero_state gives it; scope: of the variables.
        """
        if scope is not None:
            with variable_scope(scope) as entered:
                return super().__call__(inputs, state, scope=entered)
        with variable_scope(get_variable_scope()):
            return super().__call__(inputs, state)

    @property
    def state_size(self) -> Any:
        """Size of the state, or a structure of sizes (ints or shapes)."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """Size of the output."""
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """A state of zeros. Args: batch_size: an int or an int32 scalar."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return zero_states(self.state_size, batch_size, dtype)

    def get_initial_state(
        self,
        inputs: TensorLike | None = None,
        batch_size: TensorLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """zero_state, with the batch's size and type those of inputs where they are given."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            known = inputs.get_shape().as_list()[0]
            batch_size = op("Shape", inputs)[0] if known is None else known
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


def zero_states(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros [batch_size, *size] for each size of a structure."""

    def made(size: Any) -> Tensor:
        rest = [int(size)] if isinstance(size, int) else as_shape(size).as_list()
        known = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
        if known is not None:
            return zeros([int(known), *rest], dtype)
        shape = op("ConcatV2", [op("ExpandDims", batch_size, 0), constant(rest)], 0)
        result = zeros(shape, dtype)
        result.set_shape([None, *rest])
        return result

    return nest.map_structure(made, sizes)


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM cell: c, what it remembers, and h, what it gave."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The type of both. Raises: TypeError where they differ."""
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent dtypes for internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


def checked_depth(inputs_shape: Any) -> int:
    """The size of an input's last dimension. Raises: ValueError where it is not known."""
    depth = as_shape(inputs_shape).as_list()[-1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return int(depth)
