"""Window functions of signals."""

from __future__ import annotations

import math

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.creation import ones
from headrace.graph.ops.arrays.creation import range as _range
from headrace.graph.ops.signal.framing import known_int
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def hann_window(
    window_length: TensorLike,
    periodic: bool | TensorLike = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Returns a Hann window.

    Args:
      window_length: number of samples.
      periodic: for spectra (of even length: one period), instead of symmetric.
      dtype: floating point.
    Returns: [window_length] of dtype.
    Raises: ValueError for another dtype, or a length that is not a scalar.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: TensorLike,
    periodic: bool | TensorLike = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Returns a Hamming window; see hann_window."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: str | None,
    default_name: str,
    window_length: TensorLike,
    periodic: bool | TensorLike,
    dtype: DTypeLike,
    a: float,
    b: float,
) -> Tensor:
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {kind}")
    with name_scope(name, default_name, [window_length, periodic]):
        count_nodes(3 if isinstance(window_length, Tensor) else -6)
        length = convert_to_tensor(window_length, dtype="int32", name="window_length")
        if length.get_shape().ndims not in (None, 0):
            raise ValueError(f"window_length must be a scalar. Got {length.get_shape()}")
        size = known_int(length)
        if size == 1:
            return ones([1], kind)
        even = 1 - op("FloorMod", length, 2)
        is_periodic = op("Cast", convert_to_tensor(periodic, dtype="bool"), DstT="int32")
        period = op("Cast", length + is_periodic * even - 1, DstT=kind)
        places = op("Cast", _range(length), DstT=kind)
        # of one sample, the period is zero and the window 1
        window = a - b * op("Cos", constant(2.0 * math.pi, kind) * places / period)
        is_one = op("Fill", op("Shape", window), op("Equal", length, 1))
        result: Tensor = op("Select", is_one, op("OnesLike", window), window)
        result.set_shape([size])
        return result
