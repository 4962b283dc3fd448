"""Helpers of BasicDecoder: what the inputs of the next step are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.seq2seq.decoder import with_time_swapped
from headrace.graph.control_flow.cond import cond
from headrace.graph.framework import nest
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.embedding import embedding_lookup
from headrace.graph.ops.random.random import multinomial
from headrace.graph.ops.reduction import argmax, reduce_all
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, Structure, TensorLike

_INT32 = as_dtype("int32")


class Helper:
    """Chooses the inputs of each step of a decoder; subclasses implement the methods."""

    @property
    def batch_size(self) -> Any:
        """Number of sequences, int32 scalar."""
        raise NotImplementedError

    @property
    def sample_ids_shape(self) -> TensorShape:
        """Shape of a sample, without the batch."""
        raise NotImplementedError

    @property
    def sample_ids_dtype(self) -> Any:
        """Dtype of a sample."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> Any:
        """Returns (finished, first inputs)."""
        raise NotImplementedError

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns the sample ids of a step, from the outputs of the cell."""
        raise NotImplementedError

    def next_inputs(
        self,
        time: TensorLike,
        outputs: Any,
        state: Structure,
        sample_ids: Any,
        name: str | None = None,
    ) -> Any:
        """Returns (finished, next inputs, next state)."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper made of functions.

    Args:
      initialize_fn: `f() -> finished, first inputs`.
      sample_fn: `f(time=, outputs=, state=) -> sample ids`.
      next_inputs_fn: `f(time=, outputs=, state=, sample_ids=) -> finished, next inputs, state`.
      sample_ids_shape: shape of a sample without the batch; a scalar by default.
      sample_ids_dtype: int32 by default.
    """

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: ShapeLike | None = None,
        sample_ids_dtype: DTypeLike | None = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._shape = TensorShape([] if sample_ids_shape is None else sample_ids_shape)
        self._dtype = as_dtype(sample_ids_dtype or _INT32)

    @property
    def batch_size(self) -> Any:
        """Number of sequences. Raises: ValueError before initialize."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    sample_ids_shape = property(lambda self: self._shape)
    sample_ids_dtype = property(lambda self: self._dtype)

    def initialize(self, name: str | None = None) -> Any:
        """Returns what initialize_fn returns."""
        with name_scope(name, "CustomHelperInitialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = op("Size", finished)
        return finished, inputs

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns what sample_fn returns."""
        with name_scope(name, "CustomHelperSample", [time, outputs]):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self,
        time: TensorLike,
        outputs: Any,
        state: Structure,
        sample_ids: Any,
        name: str | None = None,
    ) -> Any:
        """Returns what next_inputs_fn returns."""
        with name_scope(name, "CustomHelperNextInputs", [time, outputs]):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class _IdHelper(Helper):
    """Base class of helpers whose samples are int32 ids."""

    _batch_size: Any = None

    batch_size = property(lambda self: self._batch_size)
    sample_ids_shape = property(lambda self: TensorShape([]))
    sample_ids_dtype = property(lambda self: _INT32)


class TrainingHelper(_IdHelper):
    """Feeds given inputs; the samples are the largest outputs.

    Args:
      inputs: structure of [batch, time, ...], or time first with time_major.
      sequence_length: [batch] int32.
      time_major: whether the first dimension is time.
    Raises: ValueError if sequence_length is not a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: TensorLike,
        time_major: bool = False,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "TrainingHelper", [sequence_length]):
            inputs = nest.map_structure(convert_to_tensor, inputs)
            self._inputs = inputs
            if not time_major:
                inputs = nest.map_structure(with_time_swapped, inputs)
            self._input_arrays = nest.map_structure(unstacked, inputs)
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.get_shape().ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.get_shape()}"
                )
            self._zero_inputs = nest.map_structure(lambda t: op("ZerosLike", t[0]), inputs)
            self._batch_size = op("Size", self._sequence_length)

    inputs = property(lambda self: self._inputs, doc="The inputs, as given.")
    sequence_length = property(lambda self: self._sequence_length, doc="[batch] int32.")

    def initialize(self, name: str | None = None) -> Any:
        """Returns (which sequences are empty, the inputs of step 0)."""
        with name_scope(name, "TrainingHelperInitialize"):
            finished = op("Equal", self._sequence_length, 0)
            return finished, self._read(reduce_all(finished), 0)

    def _read(self, all_done: Tensor, time: Any) -> Any:
        """Returns the inputs of a step; zeros behind the end."""
        found = cond(
            all_done,
            lambda: nest.flatten(self._zero_inputs),
            lambda: [array.read(time) for array in nest.flatten(self._input_arrays)],
        )
        leaves = [found] if isinstance(found, Tensor) else list(found)
        for leaf, zero in zip(leaves, nest.flatten(self._zero_inputs)):
            leaf.set_shape(zero.get_shape())
        return nest.pack_sequence_as(self._zero_inputs, leaves)

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns the ids of the largest outputs."""
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            count_nodes(1)  # a cast to int32
            return argmax(outputs, axis=-1, output_type=_INT32)

    def next_inputs(
        self,
        time: TensorLike,
        outputs: Any,
        state: Structure,
        sample_ids: Any,
        name: str | None = None,
    ) -> Any:
        """Returns the inputs of the next step."""
        with name_scope(name, "TrainingHelperNextInputs", [time, outputs]):
            following = time + 1  # type: ignore[operator]
            finished = op("GreaterEqual", following, self._sequence_length)
            return finished, self._read(reduce_all(finished), following), state


def unstacked(x: Tensor) -> TensorArray:
    """Returns the steps of a sequence."""
    steps = op("Shape", x)[0]
    return TensorArray(
        dtype=x.dtype.base_dtype, size=steps, element_shape=x.get_shape()[1:]
    ).unstack(x)


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    """Returns a function of ids for a function or a table of embeddings."""
    if callable(embedding):
        found: Callable[[Any], Any] = embedding
        return found
    return lambda ids: embedding_lookup(embedding, ids)


def categorical(logits: Tensor, seed: int | None) -> Tensor:
    """Draws a class for each row of logits, int32."""
    return op("Cast", op("Reshape", multinomial(logits, 1, seed), [-1]), DstT=_INT32)


class GreedyEmbeddingHelper(_IdHelper):
    """Feeds the embeddings of the largest outputs.

    Args:
      embedding: function of ids, or the table of embedding_lookup.
      start_tokens: [batch] int32.
      end_token: int32 scalar that ends a sequence.
    Raises: ValueError for another rank of start_tokens or end_token.
    """

    def __init__(self, embedding: Any, start_tokens: TensorLike, end_token: TensorLike) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens, self._end_token = checked_tokens(start_tokens, end_token)
        self._batch_size = op("Size", self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> Any:
        """Returns (no sequence finished, embeddings of the start tokens)."""
        return op("Fill", op("Shape", self._start_tokens), False), self._start_inputs

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns the ids of the largest outputs. Raises: TypeError if outputs is no tensor."""
        _require_tensor(outputs)
        return argmax(outputs, axis=-1, output_type=_INT32)

    def next_inputs(
        self,
        time: TensorLike,
        outputs: Any,
        state: Structure,
        sample_ids: Any,
        name: str | None = None,
    ) -> Any:
        """Returns the embeddings of the samples."""
        finished = op("Equal", sample_ids, self._end_token)
        inputs = cond(
            reduce_all(finished),
            lambda: self._start_inputs,  # the loop ends: the values do not matter
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, inputs, state


def checked_tokens(start_tokens: TensorLike, end_token: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns start and end tokens as int32 tensors.

    Raises: ValueError unless they are a vector and a scalar.
    """
    start = convert_to_tensor(start_tokens, dtype=_INT32, name="start_tokens")
    end = convert_to_tensor(end_token, dtype=_INT32, name="end_token")
    if start.get_shape().ndims != 1:
        raise ValueError("start_tokens must be a vector")
    if end.get_shape().ndims != 0:
        raise ValueError("end_token must be a scalar")
    return start, end


def _require_tensor(outputs: object) -> None:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Feeds the embeddings of ids that are sampled from the outputs, which are logits.

    Args:
      embedding, start_tokens, end_token: as in GreedyEmbeddingHelper.
      softmax_temperature: divides the logits; None means 1.
      seed: seed of the ids.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: TensorLike,
        end_token: TensorLike,
        softmax_temperature: TensorLike | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns sampled ids. Raises: TypeError if outputs is no tensor."""
        _require_tensor(outputs)
        if self._softmax_temperature is not None:
            outputs = outputs / self._softmax_temperature
        return categorical(outputs, self._seed)


class InferenceHelper(Helper):
    """Feeds the samples of a function.

    Args:
      sample_fn: `f(outputs) -> samples`.
      sample_shape: shape of a sample without the batch.
      sample_dtype: dtype of a sample.
      start_inputs: [batch, ...] inputs of the first step.
      end_fn: `f(samples) -> finished`, [batch] bool.
      next_inputs_fn: function of the samples; by default the identity.
    """

    def __init__(
        self,
        sample_fn: Callable[..., Any],
        sample_shape: ShapeLike,
        sample_dtype: DTypeLike,
        start_inputs: TensorLike,
        end_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._shape = TensorShape(sample_shape)
        self._dtype = as_dtype(sample_dtype)
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = op("Shape", self._start_inputs)[0]

    batch_size = property(lambda self: self._batch_size)
    sample_ids_shape = property(lambda self: self._shape)
    sample_ids_dtype = property(lambda self: self._dtype)

    def initialize(self, name: str | None = None) -> Any:
        """Returns (no sequence finished, start_inputs)."""
        return op("Fill", op("Pack", [self._batch_size]), False), self._start_inputs

    def sample(
        self, time: TensorLike, outputs: Any, state: Structure, name: str | None = None
    ) -> Any:
        """Returns what sample_fn returns."""
        return self._sample_fn(outputs)

    def next_inputs(
        self,
        time: TensorLike,
        outputs: Any,
        state: Structure,
        sample_ids: Any,
        name: str | None = None,
    ) -> Any:
        """Returns the samples, or what next_inputs_fn makes of them."""
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
