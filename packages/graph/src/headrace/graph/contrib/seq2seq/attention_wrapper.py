"""AttentionWrapper: a cell whose output is about a memory."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.framework.tensors import with_same_shape
from headrace.graph.contrib.seq2seq.attention import AttentionMechanism
from headrace.graph.framework import nest
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.layers.dense import Dense
from headrace.graph.layers.layer import Layer
from headrace.graph.ops.assertions import assert_equal
from headrace.graph.ops.matmul.matmul import matmul
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.rnn_cells.cell import RNNCell, zero_states
from headrace.graph.rnn_cells.rnn_step import check_cell
from headrace.graph.typing.aliases import DTypeLike, TensorLike


class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        (
            "cell_state",
            "attention",
            "time",
            "alignments",
            "alignment_history",
            "attention_state",
        ),
    )
):
    """The state of an AttentionWrapper.

    cell_state is that of the cell, attention the last attention, time the number of steps,
    alignments those of the last step, alignment_history a TensorArray of all (or an empty tuple).
    """

    __slots__ = ()

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Returns a copy with some values replaced.

        Args:
          kwargs: new values; each must have the shape of the old one, which is
            checked when it runs where it is not known before.
        Raises: ValueError for values of other structures or shapes.
        """

        def checked(old: Any, new: Any) -> Any:
            if isinstance(old, Tensor) and isinstance(new, Tensor):
                if not old.get_shape().is_fully_defined():
                    count_nodes(3)  # what TensorFlow's check of the shape has more
                same: Tensor = with_same_shape(old, new)
                same.set_shape(old.get_shape())
                return same
            return new

        replaced = self._replace(**kwargs)
        return nest.map_structure(checked, self, replaced)


def _joined(inputs: Tensor, attention: Tensor) -> Tensor:
    result: Tensor = op("ConcatV2", [inputs, attention], -1)
    return result


class AttentionWrapper(RNNCell):
    """Applies a cell, and attends to a memory by its output.

    Args:
      cell: the cell.
      attention_mechanism: one mechanism, or a list.
      attention_layer_size: depth of the attention, one or one per mechanism; None uses the
        context, which is the memory weighted by the alignments.
      alignment_history: keep the alignments of all steps in the state.
      cell_input_fn: `f(inputs, attention)`; by default joins them in the last dimension.
      output_attention: return the attention instead of the output of the cell.
      initial_cell_state: state of the cell that zero_state contains.
      name: name of the layer.
      attention_layer: layer (or list) that makes the attention of output and context.
      attention_fn: `f(mechanism, output, attention state, attention layer)`, which returns
        attention, alignments and the next attention state.
    Raises: TypeError for arguments of another type; ValueError for lists of different lengths, or
      both attention_layer_size and attention_layer.
    """

    def __init__(
        self,
        cell: RNNCell,
        attention_mechanism: AttentionMechanism | Sequence[AttentionMechanism],
        attention_layer_size: int | Sequence[int] | None = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Layer | Sequence[Layer] | None = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        check_cell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms: Any = attention_mechanism if self._is_multi else (attention_mechanism,)
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must contain only instances of AttentionMechanism, saw "
                    f"type: {type(mechanism).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell = cell
        self._attention_mechanisms = tuple(mechanisms)
        self._cell_input_fn = cell_input_fn or _joined
        self._attention_fn = attention_fn or compute_attention
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._attention_layers, self._attention_layer_size = self._made_layers(
            attention_layer_size, attention_layer
        )
        self._initial_cell_state = None
        if initial_cell_state is not None:
            self._set_initial(initial_cell_state)

    def _made_layers(self, sizes: Any, layers: Any) -> tuple[Any, Any]:
        """Returns the attention layers, or None, and the depth of all attentions together."""
        count = len(self._attention_mechanisms)
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        if sizes is None and layers is None:
            return None, sum(int(m.values.get_shape()[-1]) for m in self._mechanisms())
        given = sizes if layers is None else layers
        listed = tuple(given if isinstance(given, (list, tuple)) else (given,))
        if len(listed) != count:
            what = "attention_layer_size" if layers is None else "attention_layer"
            raise ValueError(
                f"If provided, {what} must contain exactly one value per attention_mechanism, saw: "
                f"{len(listed)} vs {count}"
            )
        if layers is None:
            made = tuple(
                Dense(
                    size,
                    name="attention_layer" if count == 1 else f"attention_layer_{i}",
                    use_bias=False,
                    dtype=mechanism.dtype,
                )
                for i, (size, mechanism) in enumerate(zip(listed, self._mechanisms()))
            )
            return made, sum(listed)
        depth = 0
        for layer, mechanism in zip(listed, self._mechanisms()):
            width = int(mechanism.values.get_shape()[-1]) + int(self._cell.output_size)
            depth += int(layer.compute_output_shape([None, width])[-1])
        return listed, depth

    def _mechanisms(self) -> Any:
        return self._attention_mechanisms

    def _set_initial(self, state: Any) -> None:
        last = nest.flatten(state)[-1]
        batch = last.get_shape()[0].value
        size = op("Shape", last)[0] if batch is None else batch
        with get_default_graph().control_dependencies(self._size_checks(size)):
            self._initial_cell_state = nest.map_structure(
                lambda s: op("Identity", s, name="check_initial_cell_state"), state
            )

    def _size_checks(self, batch_size: Any) -> list[Any]:
        text = (
            f"When applying AttentionWrapper {self.name}: Non-matching batch sizes between the "
            "memory (encoder output) and the requested batch size.  Are you using the "
            "BeamSearchDecoder?  You may need to tile your initial state via "
            "tf.contrib.seq2seq.tile_batch with argument multiple=beam_width."
        )
        checks = [assert_equal(m.batch_size, batch_size, message=text) for m in self._mechanisms()]
        return [check for check in checks if check is not None]

    def _packed(self, values: Sequence[Any]) -> Any:
        """Returns a tuple of one value per mechanism, or the value of the only one."""
        found = tuple(values)
        return found if self._is_multi else found[0]

    def _listed(self, values: Any) -> Any:
        return values if self._is_multi else (values,)

    @property
    def output_size(self) -> Any:
        """Depth of the attention, or of the output of the cell."""
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """Sizes of the state."""
        sizes = [m.alignments_size for m in self._mechanisms()]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=_scalar(),
            attention=self._attention_layer_size,
            alignments=self._packed(sizes),
            attention_state=self._packed([m.state_size for m in self._mechanisms()]),
            alignment_history=self._packed([s if self._alignment_history else () for s in sizes]),
        )

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> AttentionWrapperState:
        """Returns the state before the first step.

        Args:
          batch_size: int or int32 scalar, that of the memory.
          dtype: dtype of the state.
        Raises: InvalidArgumentError in a run for another batch size than that of the memory.
        """
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if isinstance(batch_size, Tensor):
                count_nodes(18)
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            with get_default_graph().control_dependencies(self._size_checks(batch_size)):
                cell_state = nest.map_structure(
                    lambda s: op("Identity", s, name="checked_cell_state"), cell_state
                )
            first = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms()]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=constant(0),
                attention=zero_states(self._attention_layer_size, batch_size, dtype),
                alignments=self._packed(first),
                attention_state=self._packed(
                    [m.initial_state(batch_size, dtype) for m in self._mechanisms()]
                ),
                alignment_history=self._packed([self._history(a, dtype) for a in first]),
            )

    def _history(self, alignments: Tensor, dtype: Any) -> Any:
        if not self._alignment_history:
            return ()
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignments.get_shape())

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, AttentionWrapperState]:
        """Returns (attention or output of the cell, next state).

        Raises: TypeError for a state of another type.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        output, cell_state = self._cell(cell_inputs, state.cell_state)
        size = output.get_shape()[0].value
        with get_default_graph().control_dependencies(
            self._size_checks(op("Shape", output)[0] if size is None else size)
        ):
            output = op("Identity", output, name="checked_cell_output")
        before = self._listed(state.attention_state)
        kept = self._listed(state.alignment_history)
        attentions, alignments, states, histories = [], [], [], []
        for i, mechanism in enumerate(self._mechanisms()):
            layer = self._attention_layers[i] if self._attention_layers else None
            attention, alignment, next_state = self._attention_fn(
                mechanism, output, before[i], layer
            )
            attentions.append(attention)
            alignments.append(alignment)
            states.append(next_state)
            histories.append(
                kept[i].write(state.time, alignment) if self._alignment_history else ()
            )
        attention = attentions[0] if len(attentions) == 1 else op("ConcatV2", attentions, 1)
        next_wrapper_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._packed(states),
            alignments=self._packed(alignments),
            alignment_history=self._packed(histories),
        )
        count_nodes(2)
        return (attention if self._output_attention else output), next_wrapper_state


def _scalar() -> Any:
    from headrace.graph.framework.tensor_shape import TensorShape

    return TensorShape([])


def compute_attention(
    attention_mechanism: Any, cell_output: Tensor, attention_state: Any, attention_layer: Any
) -> tuple[Tensor, Tensor, Any]:
    """Returns (attention, alignments, next attention state) of one mechanism.

    Args:
      cell_output: [batch, depth], the query.
      attention_layer: layer of the output and the context; None returns the context.
    """
    alignments, next_state = attention_mechanism(cell_output, state=attention_state)
    context = matmul(op("ExpandDims", alignments, 1), attention_mechanism.values)
    context = op("Squeeze", context, squeeze_dims=[1])
    if attention_layer is None:
        return context, alignments, next_state
    return attention_layer(_joined(cell_output, context)), alignments, next_state
