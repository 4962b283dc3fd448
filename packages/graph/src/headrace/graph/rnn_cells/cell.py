"""RNNCell, the base class of RNN cells, and LSTMStateTuple."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.layers.layer import Layer
from headrace.graph.ops.arrays.creation import zeros
from headrace.graph.typing.aliases import DTypeLike, TensorLike
from headrace.graph.variables.partitioned_variable import PartitionedVariable
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope

if TYPE_CHECKING:
    from headrace.graph.variables.partitioned_variable import PartitionedVariable
from headrace.graph.variables.variable_scope import VariableScope


class RNNCell(Layer):
    """One step of a recurrent network: `output, new_state = cell(inputs, state)`.

    Subclasses implement `state_size`, `output_size`, `call(inputs, state)` and, to create
    variables, `build(inputs_shape)`.
    """

    _entered_scope: Any = None

    def __call__(
        self, inputs: TensorLike, state: Any, scope: str | VariableScope | None = None
    ) -> Any:
        """Returns (output, new state).

        Args:
          inputs: [batch, n].
          state: state in the structure of state_size, each [batch, size].
          scope: variable scope of the cell.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._collected) as entered:
                return super().__call__(inputs, state, scope=entered)
        if self._entered_scope is None:
            # The scope of the first call, as of all later ones.
            self._entered_scope = variable_scope(
                get_variable_scope(), custom_getter=self._collected
            )
        with self._entered_scope:
            return super().__call__(inputs, state)

    def _collected(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """Adds variables that `call` creates by get_variable to the weights of the cell."""
        variable = getter(*args, **kwargs)
        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        trainable = parts[0].trainable
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        weights.extend(part for part in parts if not any(part is known for known in weights))
        return variable

    @property
    def state_size(self) -> Any:
        """Size of the state, or a structure of sizes (ints or TensorShapes)."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """Size of the output."""
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns a state of zeros. Args: batch_size: int or int32 scalar."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return zero_states(self.state_size, batch_size, dtype)

    def get_initial_state(
        self,
        inputs: TensorLike | None = None,
        batch_size: TensorLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """Returns zero_state, with batch size and dtype of inputs if given.

        Raises: ValueError without inputs if batch_size or dtype is None.
        """
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


def batched_shape(batch_size: Any, size: Any) -> tuple[Tensor, list[int | None]]:
    """Returns the shape [batch_size, *size], as a tensor and as far as it is known.

    Args:
      batch_size: int or int32 scalar.
      size: int, TensorShape, or an int32 scalar or vector.
    """
    parts: list[Any] = []
    known: list[int | None] = []
    for part in (batch_size, size):
        if isinstance(part, Tensor):
            part = op("ExpandDims", part, 0) if part.get_shape().ndims == 0 else part
            value = constant_value(part)
            rank = part.get_shape().num_elements()
            known += [None] * (rank or 0) if value is None else [int(n) for n in value]
        else:
            dims = [int(part)] if isinstance(part, int) else as_shape(part).as_list()
            if None in dims:
                raise ValueError(f"Provided a prefix or suffix of None: {batch_size} and {size}")
            known += dims
            part = constant(dims, "int32", [len(dims)])
        parts.append(part)
    return op("ConcatV2", parts, 0, name="concat"), known


def zero_states(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Returns zeros [batch_size, *size] for each size of a structure."""

    def created(size: Any) -> Tensor:
        with counted_as(10 if isinstance(batch_size, Tensor) else 8):
            shape, known = batched_shape(batch_size, size)
            result = zeros(shape, dtype)
        result.set_shape(known)
        return result

    return nest.map_structure(created, sizes)


class LayerRNNCell(RNNCell):
    """An RNN cell that creates its variables in `build`, as other layers do."""

    def __call__(
        self, inputs: TensorLike, state: Any, scope: str | VariableScope | None = None
    ) -> Any:
        """Returns (output, new state); see RNNCell."""
        return Layer.__call__(self, inputs, state, scope=scope)


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM cell: the cell state c and the output h."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both. Raises: TypeError if they differ."""
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent dtypes for internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


def checked_depth(inputs_shape: Any) -> int:
    """Returns the size of the last dimension. Raises: ValueError if it is unknown."""
    depth = as_shape(inputs_shape).as_list()[-1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return int(depth)
