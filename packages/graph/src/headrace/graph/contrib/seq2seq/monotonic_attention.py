"""Monotonic attention: the attended positions only move forward."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.seq2seq.attention import (
    BaseAttentionMechanism,
    _bahdanau_scores,
    luong_score,
)
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.layers.dense import Dense
from headrace.graph.ops.arrays.creation import one_hot
from headrace.graph.ops.elementwise.elementwise import clip_by_value
from headrace.graph.ops.random.random import random_normal
from headrace.graph.ops.reduction import cumprod, cumsum
from headrace.graph.typing.aliases import DTypeLike, TensorLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Constant
from headrace.graph.variables.variable_scope import variable_scope


def safe_cumprod(x: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
    """Returns the cumulative product by logarithms: its gradient is finite at zero.

    Args:
      x: elements from 0 to 1.
      args, kwargs: those of hr.cumsum.
    """
    with name_scope(None, "SafeCumprod", [x]):
        values = convert_to_tensor(x, name="x")
        tiny = float(np.finfo(values.dtype.as_numpy_dtype).tiny)
        result: Tensor = op(
            "Exp", cumsum(op("Log", clip_by_value(values, tiny, 1)), *args, **kwargs)
        )
        return result


def monotonic_attention(
    p_choose_i: TensorLike, previous_attention: TensorLike, mode: str
) -> Tensor:
    """Returns the attention of a step, from the probability to stop at each position.

    Args:
      p_choose_i: [batch, time] from 0 to 1; 0 or 1 for the mode "hard".
      previous_attention: [batch, time]; at first 1 at position 0.
      mode: "recursive" (for long memories), "parallel", or "hard".
    Returns: [batch, time].
    Raises: ValueError for another mode.
    Source: Raffel et al. 2017.
    """
    stop = convert_to_tensor(p_choose_i, name="p_choose_i")
    before = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        from headrace.graph.functional.folds import scan

        rows = op("Shape", stop)[0]
        ones = op("Fill", op("Pack", [rows, 1]), constant(1, stop.dtype.base_dtype))
        passed = op("ConcatV2", [ones, 1 - stop[:, :-1]], 1)
        turned = op("Transpose", passed, [1, 0]), op("Transpose", before, [1, 0])
        reached = scan(
            lambda x, y: op("Reshape", y[0] * x + y[1], op("Pack", [rows])),
            turned,
            op("Fill", op("Pack", [rows]), constant(0, stop.dtype.base_dtype)),
        )
        result: Tensor = stop * op("Transpose", reached, [1, 0])
        return result
    if mode == "parallel":
        passed = safe_cumprod(1 - stop, axis=1, exclusive=True)
        result = stop * passed * cumsum(before / clip_by_value(passed, 1e-10, 1.0), axis=1)
        return result
    if mode == "hard":
        allowed = stop * cumsum(before, axis=1)
        result = allowed * cumprod(1 - allowed, axis=1, exclusive=True)
        return result
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _probabilities(
    score: Tensor, previous: Tensor, noise: float, mode: str, seed: int | None = None
) -> Tensor:
    if noise > 0:
        score = score + noise * random_normal(
            op("Shape", score), dtype=score.dtype.base_dtype, seed=seed
        )
    if mode == "hard":
        stop = op("Cast", score > 0, DstT=score.dtype.base_dtype)
    else:
        stop = op("Sigmoid", score)
    return monotonic_attention(stop, previous, mode)


class _MonotonicMechanism(BaseAttentionMechanism):
    """A mechanism whose first alignment is position 0."""

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
        """Returns 1 at position 0 of each memory."""
        first = op("Fill", op("Pack", [batch_size]), 0)
        return one_hot(first, self._alignments_size, dtype=dtype)


class BahdanauMonotonicAttention(_MonotonicMechanism):
    """Additive monotonic attention.

    Args:
      num_units, memory, memory_sequence_length, normalize, dtype: as in BahdanauAttention.
      score_mask_value: -inf by default.
      sigmoid_noise: deviation of normal noise that is added to the scores in training.
      sigmoid_noise_seed: its seed.
      score_bias_init: first value of a bias of the scores.
      mode: as in monotonic_attention.
    Source: Raffel et al. 2017.
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        score_mask_value: TensorLike | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=Dense(num_units, name="query_layer", use_bias=False, dtype=dtype),
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
            memory=memory,
            probability_fn=functools.partial(
                _probabilities, noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._score_bias_init = score_bias_init

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Returns (alignments, next state), each [batch, time]."""
        assert self.query_layer is not None
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            score = _bahdanau_scores(
                self.query_layer(query), self.keys, self._num_units, self._normalize
            )
            bias = get_variable("attention_score_bias", dtype=score.dtype.base_dtype, shape=(),
                                initializer=Constant(self._score_bias_init))  # fmt: skip
            alignments = self._probabilities(score + bias, state)
        return alignments, alignments


class LuongMonotonicAttention(_MonotonicMechanism):
    """Multiplicative monotonic attention; see BahdanauMonotonicAttention and LuongAttention."""

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        score_mask_value: TensorLike | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
            memory=memory,
            probability_fn=functools.partial(
                _probabilities, noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._scale = scale
        self._score_bias_init = score_bias_init

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Returns (alignments, next state), each [batch, time]."""
        with variable_scope(None, "luong_monotonic_attention", [query]):
            scale = None
            if self._scale:
                scale = get_variable("attention_g", dtype=query.dtype.base_dtype, shape=(),
                                     initializer=Constant(1.0))  # fmt: skip
            score = luong_score(query, self.keys, scale)
            bias = get_variable("attention_score_bias", dtype=score.dtype.base_dtype, shape=(),
                                initializer=Constant(self._score_bias_init))  # fmt: skip
            alignments = self._probabilities(score + bias, state)
        return alignments, alignments
