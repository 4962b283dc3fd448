"""Helpers of BasicDecoder that mix training data with what the decoder chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.seq2seq.decoder import with_time_swapped
from headrace.graph.contrib.seq2seq.sampling import (
    TrainingHelper,
    categorical,
    embedding_function,
    unstacked,
)
from headrace.graph.control_flow.cond import cond
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.layers.layer import Layer
from headrace.graph.ops.gather import gather_nd
from headrace.graph.ops.random.random import random_uniform
from headrace.graph.ops.reduction import reduce_all
from headrace.graph.ops.scatter import scatter_nd
from headrace.graph.typing.aliases import Structure, TensorLike

_INT32 = as_dtype("int32")


def _chosen(probability: Any, batch_size: Any, seed: int | None) -> Tensor:
    """Returns [batch] bool, true with the given probability."""
    drawn: Tensor = op("Less", random_uniform([batch_size], seed=seed), probability)
    return drawn


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Feeds given inputs, or with some probability the embeddings of sampled ids.

    Args:
      inputs, sequence_length, time_major: as in TrainingHelper.
      embedding: function of ids, or the table of embedding_lookup.
      sampling_probability: scalar from 0 to 1, or [batch].
      seed, scheduling_seed: seeds of the ids, and of the choice.
    Raises: ValueError if sampling_probability has a rank above 1.
    Source: Bengio et al. 2015.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        embedding: Any,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper", [sampling_probability]):
            self._embedding_fn = embedding_function(embedding)
            self._probability = _probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns sampled ids; -1 where the given input is used."""
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs]):
            chosen = _chosen(self._probability, self._batch_size, self._scheduling_seed)
            ids = categorical(outputs, self._seed)
            return op("Select", chosen, ids, op("Fill", op("Shape", ids), -1))

    def next_inputs(
        self,
        time: TensorLike,
        outputs: Any,
        state: Structure,
        sample_ids: Any,
        name: str | None = None,
    ) -> Any:
        """Returns the given inputs, replaced by embeddings where ids were sampled."""
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", [time, outputs]):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids)

            def mixed() -> Tensor:
                return _mixed(given, sample_ids > -1, lambda where: self._embedding_fn(
                    gather_nd(sample_ids, where)
                ))  # fmt: skip

            return finished, cond(reduce_all(finished), lambda: given, mixed), state


def _mixed(given: Tensor, chosen: Tensor, replace: Callable[[Tensor], Tensor]) -> Tensor:
    """Replaces the rows of a tensor that are chosen."""
    used, other = op("Where", chosen), op("Where", op("LogicalNot", chosen))
    shape = op("Shape", given)
    where, kept = op("Cast", used, DstT=_INT32), op("Cast", other, DstT=_INT32)
    result: Tensor = scatter_nd(where, replace(where), shape) + scatter_nd(
        kept, gather_nd(given, kept), shape
    )
    result.set_shape(given.get_shape())
    return result


def _probability(value: TensorLike) -> Tensor:
    result = convert_to_tensor(value, name="sampling_probability")
    if result.get_shape().ndims not in (0, 1):
        raise ValueError(
            "sampling_probability must be either a scalar or a vector. saw shape: "
            f"{result.get_shape()}"
        )
    return result


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Feeds given inputs, or with some probability the outputs of the step before.

    Args:
      inputs, sequence_length, time_major: as in TrainingHelper; one tensor.
      sampling_probability: scalar from 0 to 1, or [batch].
      next_inputs_fn: function of the outputs; by default the identity.
      seed: seed of the choice.
      auxiliary_inputs: [batch, time, ...], joined to the outputs in the last dimension.
    Raises: ValueError if sampling_probability has a rank above 1.
    Source: Bengio et al. 2015.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: TensorLike | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "ScheduledOutputTrainingHelper", [sampling_probability]):
            self._probability = _probability(sampling_probability)
            self._seed = seed
            self._next_inputs_fn = next_inputs_fn
            if next_inputs_fn is not None and not isinstance(next_inputs_fn, Layer):
                if not callable(next_inputs_fn):
                    raise TypeError("next_inputs_fn must be callable")
            self._auxiliary: Any = None
            joined = convert_to_tensor(inputs)
            if auxiliary_inputs is not None:
                more = convert_to_tensor(auxiliary_inputs)
                joined = op("ConcatV2", [joined, more], -1)
                swapped = more if time_major else with_time_swapped(more)
                self._auxiliary = unstacked(swapped)
            super().__init__(joined, sequence_length, time_major=time_major, name=name)

    def initialize(self, name: str | None = None) -> Any:
        """Returns (which sequences are empty, the inputs of step 0)."""
        return super().initialize(name)

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns [batch] int32: 1 where the outputs are fed, 0 where the given inputs are."""
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs]):
            chosen = _chosen(self._probability, self._batch_size, self._seed)
            return op("Cast", chosen, DstT=_INT32)

    def next_inputs(
        self,
        time: TensorLike,
        outputs: Any,
        state: Structure,
        sample_ids: Any,
        name: str | None = None,
    ) -> Any:
        """Returns the given inputs, replaced by outputs where they were chosen."""
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", [time, outputs]):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids)
            own = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)

            def mixed() -> Tensor:
                new = own
                if self._auxiliary is not None:
                    following = time + 1  # type: ignore[operator]
                    new = op("ConcatV2", [own, self._auxiliary.read(following)], -1)
                result: Tensor = op("Select", op("Cast", sample_ids, DstT="bool"), new, given)
                return result

            return finished, cond(reduce_all(finished), lambda: given, mixed), state
