"""Stateless random tensors: the seed alone determines the values."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.random.random import _shape
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


def stateless_uniform(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Samples from the uniform distribution over [minval, maxval).

    Args:
      shape: shape of the result.
      seed: [2] int32 or int64.
      minval, maxval: bounds; 0 and 1 by default for floats. For integers both may be None, for the
        full range of the dtype.
      dtype: dtype of the result.
    Raises: ValueError for an integer dtype with only one bound.
    """
    requested = as_dtype(dtype)
    if requested.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {requested.name}, minval and maxval must be both `None` or "
                f"both non-`None`; got minval={minval!r} and maxval={maxval!r}"
            )
    elif maxval is None:
        maxval = 1
    with name_scope(name or "stateless_random_uniform") as scope:
        if requested.is_integer and minval is None:
            return op("StatelessRandomUniformFullInt", _shape(shape), seed, dtype=requested,
                      name=scope)  # fmt: skip
        low = convert_to_tensor(minval, dtype=requested, name="min")
        high = convert_to_tensor(maxval, dtype=requested, name="max")
        if requested.is_integer:
            return op("StatelessRandomUniformInt", _shape(shape), seed, low, high, name=scope)
        unit = op("StatelessRandomUniform", _shape(shape), seed, dtype=requested)
        return op("AddV2", unit * (high - low), low, name=scope)


def stateless_normal(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Samples from a normal distribution. Args: seed: [2] int32 or int64."""
    return _normal("StatelessRandomNormal", shape, seed, mean, stddev, dtype,
                   name or "stateless_random_normal")  # fmt: skip


def stateless_truncated_normal(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Samples from a normal distribution, truncated at two standard deviations."""
    return _normal("StatelessTruncatedNormal", shape, seed, mean, stddev, dtype,
                   name or "stateless_truncated_normal")  # fmt: skip


def _normal(
    op_type: str, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: str
) -> Tensor:
    requested = as_dtype(dtype)
    with name_scope(name) as scope:
        middle = convert_to_tensor(mean, dtype=requested, name="mean")
        spread = convert_to_tensor(stddev, dtype=requested, name="stddev")
        unit = op(op_type, _shape(shape), seed, dtype=requested)
        return op("AddV2", unit * spread, middle, name=scope)


def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Samples class indices by unnormalised log-probabilities: [batch, num_samples]."""
    return op("StatelessMultinomial", logits, num_samples, seed,
              output_dtype=as_dtype(output_dtype), name=name)  # fmt: skip


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Same as stateless_multinomial."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name)
