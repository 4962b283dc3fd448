"""Resized images: a matrix for either axis, its transpose for the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel

Weights = np.ndarray  # [out, in]: what each output row takes of each input row


def _scale(attrs: Attrs, size: int, out: int) -> float:
    if attrs["align_corners"] and out > 1:
        return float(np.float32(size - 1) / np.float32(out - 1))
    return float(np.float32(size) / np.float32(out))


def _sources(attrs: Attrs, size: int, out: int) -> np.ndarray:
    """Where each output row's centre lies among the input's rows."""
    scale = np.float32(_scale(attrs, size, out))
    rows = np.arange(out, dtype=np.float32)
    if attrs["half_pixel_centers"]:
        return (rows + np.float32(0.5)) * scale - np.float32(0.5)
    return rows * scale


def _linear(attrs: Attrs, size: int, out: int) -> Weights:
    at = _sources(attrs, size, out)
    floor = np.floor(at)
    share = (at - floor).astype(np.float64)
    low = np.clip(floor, 0, size - 1).astype(int)
    high = np.clip(np.ceil(at), 0, size - 1).astype(int)
    weights = np.zeros((out, size))
    np.add.at(weights, (np.arange(out), low), 1 - share)
    np.add.at(weights, (np.arange(out), high), share)
    return weights


def _cubic(attrs: Attrs, size: int, out: int) -> Weights:
    """Keys's kernel, tabulated in 1024 steps as TensorFlow has it."""
    half = attrs["half_pixel_centers"]
    a = -0.5 if half else -0.75
    at = _sources(attrs, size, out)
    floor = np.floor(at).astype(int)
    step = np.rint((at - floor) * 1024) / 1024

    def near(x: np.ndarray) -> np.ndarray:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: np.ndarray) -> np.ndarray:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    weights = np.zeros((out, size))
    taps = [far(step + 1), near(step), near(1 - step), far(2 - step)]
    for offset, tap in zip(range(-1, 3), taps, strict=True):
        place = floor + offset
        inside = np.clip(place, 0, size - 1)
        if half:  # what lies outside does not count
            tap = np.where(place == inside, tap, 0)
        np.add.at(weights, (np.arange(out), inside), tap)
    if half:
        total = weights.sum(axis=1, keepdims=True)
        weights = np.where(np.abs(total) > 1e-30, weights / np.where(total, total, 1), weights)
    return weights


def _nearest(attrs: Attrs, size: int, out: int) -> Weights:
    scale = np.float32(_scale(attrs, size, out))
    rows = np.arange(out, dtype=np.float32)
    if attrs["half_pixel_centers"]:
        at = np.floor((rows + np.float32(0.5)) * scale)
    elif attrs["align_corners"]:
        at = np.floor(rows * scale + np.float32(0.5))
    else:
        at = np.floor(rows * scale)
    weights = np.zeros((out, size))
    weights[np.arange(out), np.clip(at, 0, size - 1).astype(int)] = 1
    return weights


def _area(attrs: Attrs, size: int, out: int) -> Weights:
    scale = _scale(attrs, size, out)
    weights = np.zeros((out, size))
    for row in range(out):
        start, end = row * scale, (row + 1) * scale
        for place in range(int(np.floor(start)), int(np.ceil(end))):
            overlap = min(place + 1, end) - max(place, start)
            weights[row, min(place, size - 1)] += overlap / scale
    return weights


_Axis = Callable[[Attrs, int, int], Weights]


def _resized(axis: _Axis, attrs: Attrs, images: np.ndarray, size: np.ndarray) -> np.ndarray:
    height, width = size.tolist()
    if height <= 0 or width <= 0:
        raise InvalidArgumentError(
            None, None, f"output dimensions must be positive: {[height, width]}"
        )
    rows, columns = axis(attrs, images.shape[1], height), axis(attrs, images.shape[2], width)
    return np.einsum("hi,nijc,wj->nhwc", rows, wide(images), columns)


def _resized_back(axis: _Axis, attrs: Attrs, grads: np.ndarray, shape: Any) -> np.ndarray:
    rows, columns = axis(attrs, shape[1], grads.shape[1]), axis(attrs, shape[2], grads.shape[2])
    return np.einsum("hi,nhwc,wj->nijc", rows, wide(grads), columns)


@kernel("ResizeBilinear")
def resize_bilinear(attrs: Attrs, images: np.ndarray, size: np.ndarray) -> np.ndarray:
    return _resized(_linear, attrs, images, size).astype(np.float32)


@kernel("ResizeBilinearGrad")
def resize_bilinear_grad(attrs: Attrs, grads: np.ndarray, original: np.ndarray) -> np.ndarray:
    return _resized_back(_linear, attrs, grads, original.shape).astype(original.dtype)


@kernel("ResizeBicubic")
def resize_bicubic(attrs: Attrs, images: np.ndarray, size: np.ndarray) -> np.ndarray:
    return _resized(_cubic, attrs, images, size).astype(np.float32)


@kernel("ResizeBicubicGrad")
def resize_bicubic_grad(attrs: Attrs, grads: np.ndarray, original: np.ndarray) -> np.ndarray:
    return _resized_back(_cubic, attrs, grads, original.shape).astype(original.dtype)


@kernel("ResizeNearestNeighbor")
def resize_nearest(attrs: Attrs, images: np.ndarray, size: np.ndarray) -> np.ndarray:
    height, width = size.tolist()
    rows = _nearest(attrs, images.shape[1], height).argmax(axis=1)
    columns = _nearest(attrs, images.shape[2], width).argmax(axis=1)
    return images[:, rows][:, :, columns]


@kernel("ResizeNearestNeighborGrad")
def resize_nearest_grad(attrs: Attrs, grads: np.ndarray, size: np.ndarray) -> np.ndarray:
    height, width = size.tolist()
    shape = (len(grads), height, width, grads.shape[3])
    return _resized_back(_nearest, attrs, grads, shape).astype(grads.dtype)


@kernel("ResizeArea")
def resize_area(attrs: Attrs, images: np.ndarray, size: np.ndarray) -> np.ndarray:
    return _resized(_area, attrs, images, size).astype(np.float32)
