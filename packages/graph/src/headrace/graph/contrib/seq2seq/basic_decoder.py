"""BasicDecoder: a cell with a helper."""

from __future__ import annotations

import collections
from typing import Any

from headrace.graph.contrib.seq2seq.decoder import Decoder
from headrace.graph.contrib.seq2seq.sampling import Helper
from headrace.graph.framework import nest
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.layers.layer import Layer
from headrace.graph.rnn_cells.cell import RNNCell
from headrace.graph.rnn_cells.rnn_step import check_cell
from headrace.graph.typing.aliases import TensorLike


class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """The outputs of the cell, and the samples of the helper."""

    __slots__ = ()


class BasicDecoder(Decoder):
    """Applies a cell to the inputs that a helper chooses.

    Args:
      cell: the cell.
      helper: the helper.
      initial_state: state before the first step, in the structure of cell.state_size.
      output_layer: layer such as hr.layers.Dense, applied to the outputs before sampling.
    Raises: TypeError for a cell, helper or layer of another type.
    """

    def __init__(
        self,
        cell: RNNCell,
        helper: Helper,
        initial_state: Any,
        output_layer: Layer | None = None,
    ) -> None:
        check_cell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    batch_size = property(lambda self: self._helper.batch_size)

    @property
    def output_size(self) -> BasicDecoderOutput:
        """Sizes of the outputs of the cell, behind the layer, and of the samples."""
        size = rnn_output_size(self._cell, self._output_layer)
        return BasicDecoderOutput(rnn_output=size, sample_id=self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """Dtypes of the outputs of the cell and of the samples."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        size = rnn_output_size(self._cell, self._output_layer)
        return BasicDecoderOutput(
            nest.map_structure(lambda _: dtype, size), self._helper.sample_ids_dtype
        )

    def initialize(self, name: str | None = None) -> Any:
        """Returns (finished, first inputs, first state)."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: TensorLike, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns (outputs, next state, next inputs, finished)."""
        with name_scope(name, "BasicDecoderStep", [time]):
            outputs, next_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=next_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=next_state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), next_state, next_inputs, finished


def rnn_output_size(cell: Any, output_layer: Layer | None) -> Any:
    """Returns the output sizes of a cell behind a layer: ints or TensorShapes."""
    size = cell.output_size
    if output_layer is None:
        return size
    layer = output_layer

    def behind(one: Any) -> TensorShape:
        rest = TensorShape([one]) if isinstance(one, int) else TensorShape(one)
        return layer.compute_output_shape(TensorShape([None]).concatenate(rest))[1:]

    return nest.map_structure(behind, size)
