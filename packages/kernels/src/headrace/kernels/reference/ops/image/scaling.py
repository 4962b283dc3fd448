"""ScaleAndTranslate: each output row is a weighted sum of a span of input rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.image.resizing import Weights
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel

# kernel of ScaleAndTranslate -> its radius and its value
_SAMPLING: dict[bytes, tuple[float, Callable[[np.ndarray], np.ndarray]]] = {
    b"lanczos1": (1.0, lambda x: _lanczos(x, 1.0)),
    b"lanczos3": (3.0, lambda x: _lanczos(x, 3.0)),
    b"lanczos5": (5.0, lambda x: _lanczos(x, 5.0)),
    b"gaussian": (1.5, lambda x: np.where(x < 1.5, np.exp(-x * x / (2 * 0.5 * 0.5)), 0)),
    b"box": (1.0, lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))),
    b"triangle": (1.0, lambda x: np.maximum(1 - x, 0)),
    b"keyscubic": (2.0, lambda x: _keys(x)),
    b"mitchellcubic": (2.0, lambda x: _mitchell(x)),
}


def _lanczos(x: np.ndarray, radius: float) -> np.ndarray:
    value = np.sinc(x) * np.sinc(x / radius)
    return np.where(x <= radius, np.where(x <= 1e-3, 1.0, value), 0)


def _keys(x: np.ndarray) -> np.ndarray:
    near, far = ((1.5 * x - 2.5) * x) * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _mitchell(x: np.ndarray) -> np.ndarray:
    near = (((7 * x - 12) * x) * x + 16 / 3) / 6
    far = (((-7 / 3 * x + 12) * x - 20) * x + 32 / 3) / 6
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


class _Spans(NamedTuple):
    """Weights [out, in], of which each output reads `length` from its `first` on, also zeros."""

    weights: Weights
    first: np.ndarray
    length: int

    def transposed(self) -> _Spans:
        """The spans of a gradient: from the first to the last weight that is not 0."""
        if not self.weights.size:
            return _Spans(self.weights.T, np.zeros(self.weights.shape[1], int), 0)
        used = self.weights.T != 0
        first = used.argmax(axis=1)
        last = used.shape[1] - used[:, ::-1].argmax(axis=1)
        length = int(np.max(last - first, where=used.any(axis=1), initial=0))
        return _Spans(self.weights.T, first, length)

    def sums(self, x: np.ndarray, axis: int) -> np.ndarray:
        """Weighted sums along an axis; 0 times infinity within a span is NaN, as in TensorFlow."""
        if np.isfinite(x).all():
            return np.moveaxis(np.tensordot(self.weights, x, (1, axis)), 0, axis)
        x = np.moveaxis(x, axis, 0)
        with np.errstate(invalid="ignore"):
            sums = [
                np.einsum("i,i...->...", row[at : at + self.length], x[at : at + self.length])
                for row, at in zip(self.weights, self.first.tolist(), strict=True)
            ]
        return np.moveaxis(np.array(sums), 0, axis)


def _sampled(attrs: Attrs, size: int, out: int, scale: float, shift: float) -> _Spans:
    if attrs["kernel_type"] not in _SAMPLING:
        raise InvalidArgumentError(
            None, None, f"Unrecognized kernel type: {attrs['kernel_type'].decode(errors='replace')}"
        )
    if not scale > 0:
        raise InvalidArgumentError(None, None, f"Scale must be greater than zero, it is {scale}")
    radius, value = _SAMPLING[attrs["kernel_type"]]
    one, half = np.float32(1), np.float32(0.5)  # single, as places at a half or the radius are ties
    step = one / np.float32(scale)
    stretch = max(step, one) if attrs["antialias"] else one
    centres = (np.arange(out, dtype=np.float32) + half) * step - step * np.float32(shift)
    outside = (centres < 0) | (centres > size)
    reach = np.float32(radius) * stretch
    first, last = np.ceil(centres - reach - half), np.floor(centres + reach - half)
    first = np.where(outside, 0, np.clip(first, 0, size - 1)).astype(int)
    last = np.where(outside, -1, np.clip(last, 0, size - 1)).astype(int)
    at = np.arange(size)
    inside = (at >= first[:, np.newaxis]) & (at <= last[:, np.newaxis])
    distance = np.abs(at.astype(np.float32) + half - centres[:, np.newaxis])
    weights = np.where(inside, value(distance * (one / stretch)), 0).astype(np.float64)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(np.abs(total) > 1e-35, weights / np.where(total, total, 1), 0)
    return _Spans(weights, first, min(2 * math.ceil(reach) + 1, size))


def _both(attrs: Attrs, shape: Any, out: Any, scale: np.ndarray, shift: np.ndarray) -> Any:
    for name, argument in (("scale", scale), ("translation", shift)):
        if argument.size != 2:
            raise InvalidArgumentError(
                None, None, f"{name} must have two elements{list(argument.shape)}"
            )
    return (
        _sampled(attrs, shape[axis + 1], out[axis], float(scale[axis]), float(shift[axis]))
        for axis in (0, 1)
    )


def check_output_size(size: np.ndarray) -> None:
    if size.shape != (2,):
        raise InvalidArgumentError(
            None, None, f"output shape must have two elements{list(size.shape)}"
        )
    if (size <= 0).any():
        raise InvalidArgumentError(
            None, None, f"output dimensions must be positive, they are {size.tolist()}"
        )


@kernel("ScaleAndTranslate")
def scale_and_translate(
    attrs: Attrs, images: np.ndarray, size: np.ndarray, scale: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    check_output_size(size)
    if images.shape[3] == 0:
        raise InvalidArgumentError(None, None, "image must have at least one channel")
    if 0 in images.shape[1:3]:
        raise InvalidArgumentError(None, None, "input image must be of non-zero size")
    rows, columns = _both(attrs, images.shape, size.tolist(), scale, shift)
    return columns.sums(rows.sums(wide(images), 1), 2).astype(np.float32)


@kernel("ScaleAndTranslateGrad")
def scale_and_translate_grad(
    attrs: Attrs, grads: np.ndarray, original: np.ndarray, scale: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    rows, columns = _both(attrs, original.shape, grads.shape[1:3], scale, shift)
    found = columns.transposed().sums(rows.transposed().sums(wide(grads), 1), 2)
    return found.astype(original.dtype)
