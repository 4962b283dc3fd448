"""Attention mechanisms: which part of a memory a query is about."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.layers.dense import Dense
from headrace.graph.layers.layer import Layer
from headrace.graph.ops.activations import softmax
from headrace.graph.ops.arrays.creation import one_hot, sequence_mask
from headrace.graph.ops.assertions import assert_positive
from headrace.graph.ops.matmul.matmul import matmul
from headrace.graph.ops.reduction import argmax, reduce_sum
from headrace.graph.rnn_cells.cell import zero_states
from headrace.graph.typing.aliases import DTypeLike, TensorLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Constant, Zeros
from headrace.graph.variables.variable_scope import variable_scope


class AttentionMechanism:
    """What AttentionWrapper needs: `f(query, state) -> alignments, next state`."""

    @property
    def alignments_size(self) -> Any:
        """Number of positions of the memory."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """Size of the state."""
        raise NotImplementedError


class BaseAttentionMechanism(AttentionMechanism):
    """Holds the memory, its keys and the layer of the queries.

    Args:
      query_layer: layer of the queries, or None.
      memory: [batch, time, ...].
      probability_fn: `f(score, state) -> alignments`.
      memory_sequence_length: [batch]; positions behind it count nothing.
      memory_layer: layer that makes keys of the memory.
      check_inner_dims_defined: require the sizes of the memory behind the first two.
      score_mask_value: score of positions behind the end; -inf by default.
    Raises: TypeError for layers or functions of another type; ValueError for unknown sizes.
    """

    def __init__(
        self,
        query_layer: Layer | None,
        memory: Any,
        probability_fn: Callable[..., Any],
        memory_sequence_length: TensorLike | None = None,
        memory_layer: Layer | None = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: TensorLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        for what, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not isinstance(layer, Layer):
                raise TypeError(f"{what} is not a Layer: {type(layer).__name__}")
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        self.query_layer = query_layer
        self.memory_layer = memory_layer
        self._given_probability_fn = probability_fn
        self._lengths = memory_sequence_length
        self._mask_value = score_mask_value
        with name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = _prepared(memory, memory_sequence_length, check_inner_dims_defined)
            keys = self._values if memory_layer is None else memory_layer(self._values)
            if custom_key_value_fn is not None:
                keys, self._values = custom_key_value_fn(keys, self._values)
            self._keys = keys
            self.dtype = keys.dtype.base_dtype
            shape = op("Shape", keys)
            static = keys.get_shape()
            self._batch_size = static[0].value or shape[0]
            self._alignments_size = static[1].value or shape[1]
            count_nodes(sum(static[i].value is None for i in (0, 1)) - 1)

    values = property(lambda self: self._values, doc="The memory, zero behind the lengths.")
    keys = property(lambda self: self._keys, doc="The memory behind memory_layer.")
    batch_size = property(lambda self: self._batch_size, doc="Number of memories.")
    alignments_size = property(lambda self: self._alignments_size)
    state_size = property(lambda self: self._alignments_size)

    def _probabilities(self, score: Tensor, state: Any) -> Tensor:
        if self._lengths is not None:
            value = self._mask_value
            if value is None:
                value = -np.inf
            score = masked_score(score, self._lengths, value)
        result: Tensor = self._given_probability_fn(score, state)
        return result

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
        """Returns zeros [batch, time]."""
        size = self._alignments_size
        if isinstance(size, Tensor):
            result: Tensor = op("Fill", op("Pack", [batch_size, size]), constant(0, dtype))
            return result
        zeros: Tensor = zero_states(size, batch_size, dtype)
        return zeros

    def initial_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the state before the first step: initial_alignments."""
        return self.initial_alignments(batch_size, dtype)


def _prepared(memory: Any, lengths: Any, check_inner: bool) -> Any:
    """Returns the memory with zeros behind the lengths."""
    memory = nest.map_structure(lambda m: convert_to_tensor(m, name="memory"), memory)
    if check_inner:
        for m in nest.flatten(memory):
            shape = m.get_shape()
            if shape.ndims is not None and not shape[2:].is_fully_defined():
                raise ValueError(
                    f"Expected memory {m.name} to have fully defined inner dims, but saw shape: "
                    f"{shape}"
                )
    if lengths is None:
        return memory
    count_nodes(2)  # the shape of the mask

    def zeroed(m: Tensor) -> Tensor:
        mask = sequence_mask(lengths, maxlen=op("Shape", m)[1], dtype=m.dtype.base_dtype)
        rank = m.get_shape().ndims
        ones = [1] * (rank - 2) if rank is not None else op("Fill", [op("Rank", m) - 2], 1)
        wide = op(
            "Reshape",
            mask,
            op("ConcatV2", [op("Shape", mask), convert_to_tensor(ones, "int32")], 0),
        )
        return m * wide

    return nest.map_structure(zeroed, memory)


def masked_score(score: Tensor, lengths: TensorLike, value: TensorLike) -> Tensor:
    """Replaces the scores behind the lengths, which must be positive."""
    check = assert_positive(lengths, message="All values in memory_sequence_length must greater "
                            "than zero.")  # fmt: skip
    count_nodes(2)
    with get_default_graph().control_dependencies([check] if check is not None else []):
        mask = sequence_mask(lengths, maxlen=op("Shape", score)[1])
        filler = op("Fill", op("Shape", score), constant(value, score.dtype.base_dtype))
        result: Tensor = op("Select", mask, score, filler)
        return result


def luong_score(query: Tensor, keys: Tensor, scale: Any) -> Tensor:
    """Returns the products of a query with all keys, [batch, time].

    Raises: ValueError if their depths differ.
    """
    depth, key_units = query.get_shape()[-1].value, keys.get_shape()[-1].value
    if depth != key_units:
        raise ValueError(
            "Incompatible or unknown inner dimensions between query and keys.  Query "
            f"({query.name}) has units: {depth}.  Keys ({keys.name}) have units: {key_units}.  "
            "Perhaps you need to set num_units to the keys' dimension?"
        )
    score = matmul(op("ExpandDims", query, 1), keys, transpose_b=True)
    score = op("Squeeze", score, squeeze_dims=[1])
    result: Tensor = score if scale is None else scale * score
    return result


class LuongAttention(BaseAttentionMechanism):
    """Multiplicative attention.

    Args:
      num_units: depth of the keys, which is that of the queries.
      memory, memory_sequence_length, score_mask_value: as in BaseAttentionMechanism.
      scale: multiply the scores by a variable.
      probability_fn: function of the scores; softmax by default.
      dtype: dtype of the keys.
    Source: Luong et al. 2015.
    """

    _default_name = "LuongAttention"

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        chosen = probability_fn or softmax
        super().__init__(
            query_layer=None,
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
            memory=memory,
            probability_fn=lambda score, _: chosen(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._name = name

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Returns (alignments, next state), each [batch, time]."""
        with variable_scope(None, "luong_attention", [query]):
            scale = None
            if self._scale:
                scale = get_variable("attention_g", dtype=query.dtype.base_dtype, shape=(),
                                     initializer=Constant(1.0))  # fmt: skip
            alignments = self._probabilities(luong_score(query, self.keys, scale), state)
        return alignments, alignments


def bahdanau_score(query: Tensor, keys: Tensor, v: Any, g: Any = None, b: Any = None) -> Tensor:
    """Returns sum(v * tanh(keys + query + b)), [batch, time]; v is normalised to length g."""
    wide = op("ExpandDims", query, 1)
    if g is None:
        result: Tensor = reduce_sum(v * op("Tanh", keys + wide), [2])
        return result
    unit = g * v * op("Rsqrt", reduce_sum(op("Square", v)))
    result = reduce_sum(unit * op("Tanh", keys + wide + b), [2])
    return result


class BahdanauAttention(BaseAttentionMechanism):
    """Additive attention.

    Args:
      num_units: depth of the keys and of the query behind its layer.
      normalize: normalise the vector of the scores (Salimans and Kingma 2016).
      the others: as in LuongAttention.
    Source: Bahdanau et al. 2015.
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        chosen = probability_fn or softmax
        super().__init__(
            query_layer=Dense(num_units, name="query_layer", use_bias=False, dtype=dtype),
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
            memory=memory,
            probability_fn=lambda score, _: chosen(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._name = name

    def _score(self, query: Tensor) -> Tensor:
        assert self.query_layer is not None
        return _bahdanau_scores(self.query_layer(query), self.keys, self._num_units,
                                self._normalize)  # fmt: skip

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Returns (alignments, next state), each [batch, time]."""
        with variable_scope(None, "bahdanau_attention", [query]):
            alignments = self._probabilities(self._score(query), state)
        return alignments, alignments


def _bahdanau_scores(query: Tensor, keys: Tensor, num_units: int, normalize: bool) -> Tensor:
    dtype = query.dtype.base_dtype
    v = get_variable("attention_v", [num_units], dtype=dtype)
    if not normalize:
        return bahdanau_score(query, keys, v)
    length = get_variable("attention_g", dtype=dtype, shape=(),
                          initializer=Constant(math.sqrt(1.0 / num_units)))  # fmt: skip
    bias = get_variable("attention_b", [num_units], dtype=dtype, initializer=Zeros())
    return bahdanau_score(query, keys, v, length, bias)


def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Returns 1 at the largest element of the last axis, and 0 elsewhere.

    Args:
      logits: [..., n] of known last dimension.
    """
    with name_scope(name, "Hardmax", [logits]):
        x = convert_to_tensor(logits)
        depth: Any = x.get_shape()[-1].value
        if depth is None:
            depth = op("Shape", x)[-1]
        return one_hot(argmax(x, -1), depth, dtype=as_dtype(x.dtype).base_dtype)
