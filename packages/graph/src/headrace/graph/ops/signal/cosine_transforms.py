"""Discrete cosine transforms."""

from __future__ import annotations

import math
from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.creation import range as _range
from headrace.graph.ops.linalg.fourier import irfft, rfft
from headrace.graph.typing.aliases import TensorLike


def dct(
    input: TensorLike,  # noqa: A002 - TF's name
    type: int = 2,  # noqa: A002 - TF's name
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the discrete cosine transform along the last axis.

    Args:
      input: [..., samples] float32 or float64.
      type: 1, 2, 3 or 4.
      n: number of samples to use: the input is cut or padded with zeros.
      axis: -1.
      norm: None, or "ortho" for an orthonormal transform (not of type 1).
    Returns: [..., samples], dtype of the input.
    Raises: ValueError for other arguments; NotImplementedError for another axis.
    """
    with name_scope(name, "dct", [input]):
        x = convert_to_tensor(input)
        _check(x, type, n, axis, norm)
        if n is not None:
            x = _resized(x, n)
        size: Any = x.get_shape()[-1].value
        if size is None:
            size = op("Shape", x)[-1]
        result: Tensor = (_first, _second, _third, _fourth)[type - 1](x, size, norm)
        result.set_shape(x.get_shape())
        return result


def idct(
    input: TensorLike,  # noqa: A002 - TF's name
    type: int = 2,  # noqa: A002 - TF's name
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the inverse of dct, up to a factor: dct of type 3 for type 2, and the reverse.

    Only with norm="ortho" is it the exact inverse.

    Args: as in dct.
    """
    with name_scope(name, "idct", [input]):
        return dct(input, type={1: 1, 2: 3, 3: 2, 4: 4}.get(type, type), n=n, axis=axis, norm=norm)


def _check(x: Tensor, kind: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if kind == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        size = x.get_shape()[-1].value if n is None else n
        if size is not None and size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _resized(x: Tensor, n: int) -> Tensor:
    """Cuts the last axis to n elements, or pads it with zeros."""
    shape = x.get_shape()
    x = x[..., :n]
    more = n - op("Shape", x)[-1]
    before = op("Fill", op("Pack", [op("Rank", x) - 1, 2]), 0)
    result: Tensor = op("Pad", x, op("ConcatV2", [before, op("Pack", [op("Pack", [0, more])])], 0))
    if shape.ndims is not None:
        result.set_shape([*shape.as_list()[:-1], n])
    return result


def _rotations(x: Tensor, size: Any, angle: float, first: float = 0.0) -> Any:
    """Returns exp(i * angle * (k + first) / size) for k below size."""
    dtype = x.dtype.base_dtype
    places = op("Cast", _range(size), DstT=dtype) + constant(first, dtype)
    angles = places * constant(angle, dtype) / op("Cast", size, DstT=dtype)
    return op("Complex", op("Cos", angles), op("Sin", angles), Tout=_complex(x))


def _complex(x: Tensor) -> str:
    return "complex128" if x.dtype.base_dtype.name == "float64" else "complex64"


def _as_complex(x: Tensor) -> Any:
    return op("Complex", x, op("ZerosLike", x), Tout=_complex(x))


def _real(x: Any) -> Any:
    return op("Real", x, Tout="float64" if x.dtype.name == "complex128" else "float32")


def _weights(x: Tensor, size: Any, first: Any, rest: Any) -> Any:
    """Returns [first, rest, rest, ...]."""
    is_first = op("Equal", _range(size), 0)
    shape = op("Shape", is_first)
    return op("Select", is_first, op("Fill", shape, first), op("Fill", shape, rest))


def _first(x: Tensor, size: Any, norm: str | None) -> Any:
    mirrored = op("ConcatV2", [x, x[..., -2:0:-1]], -1)
    return _real(rfft(mirrored))


def _second(x: Tensor, size: Any, norm: str | None) -> Any:
    spectrum = rfft(x, [2 * size])[..., :size]
    result = 2.0 * _real(spectrum * _rotations(x, size, -math.pi / 2.0))
    if norm == "ortho":
        first = 0.5 * op("Rsqrt", op("Cast", size, DstT=x.dtype.base_dtype))
        result = result * _weights(x, size, first, first * math.sqrt(2.0))
    return result


def _third(x: Tensor, size: Any, norm: str | None) -> Any:
    count = op("Cast", size, DstT=x.dtype.base_dtype)
    if norm == "ortho":
        root = op("Sqrt", count)
        x = x * _weights(x, size, root, root * math.sqrt(0.5))
    else:
        x = x * count
    turned = _as_complex(2.0 * x) * _rotations(x, size, math.pi / 2.0)
    return irfft(turned, [2 * size])[..., :size]


def _fourth(x: Tensor, size: Any, norm: str | None) -> Any:
    turned = _as_complex(x) * _rotations(x, size, -math.pi / 2.0)
    wide = op("ConcatV2", [turned, op("ZerosLike", turned)], -1)
    spectrum = op("FFT", wide)[..., :size]
    result = 2.0 * _real(spectrum * _rotations(x, size, -math.pi / 2.0, first=0.5))
    if norm == "ortho":
        count = op("Cast", size, DstT=x.dtype.base_dtype)
        result = result * math.sqrt(0.5) * op("Rsqrt", count)
    return result
