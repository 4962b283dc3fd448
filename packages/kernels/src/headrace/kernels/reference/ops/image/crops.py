"""Crops, glimpses and projective transforms of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.image.resizing import Weights
from headrace.kernels.reference.ops.image.scaling import check_output_size
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel


def _crop_places(low: float, high: float, size: int, out: int) -> np.ndarray:
    """Where the rows of a crop lie, in rows of the image; single, as their halves are rounded."""
    first, last, span = np.float32(low), np.float32(high), np.float32(size - 1)
    if out > 1:
        step = (last - first) * span / np.float32(out - 1)
        return first * span + np.arange(out, dtype=np.float32) * step
    return np.array([np.float32(0.5) * (first + last) * span])


def _crop_weights(attrs: Attrs, low: float, high: float, size: int, out: int) -> Weights:
    """Rows of zeros where the crop is outside of the image."""
    at = _crop_places(low, high, size, out)
    inside = (at >= 0) & (at <= size - 1)
    weights = np.zeros((out, size))
    rows, at = np.flatnonzero(inside), at[inside]
    if attrs["method"] == b"nearest":
        weights[rows, np.floor(at + 0.5).astype(int)] = 1
        return weights
    share = (at - np.floor(at)).astype(np.float64)
    np.add.at(weights, (rows, np.floor(at).astype(int)), 1 - share)
    np.add.at(weights, (rows, np.ceil(at).astype(int)), share)
    return weights


@kernel("CropAndResize")
def crop_and_resize(
    attrs: Attrs, image: np.ndarray, boxes: np.ndarray, box_ind: np.ndarray, size: np.ndarray
) -> np.ndarray:
    height, width = size.tolist()
    if height <= 0 or width <= 0:
        raise InvalidArgumentError(
            None, None, f"crop dimensions must be positive, they are {height}, {width}"
        )
    crops = np.empty((len(boxes), height, width, image.shape[3]), np.float32)
    for crop, (y1, x1, y2, x2), index in zip(crops, boxes.tolist(), box_ind.tolist(), strict=True):
        if not 0 <= index < len(image):
            raise InvalidArgumentError(None, None, "box_index has values outside [0, batch_size)")
        rows = _crop_weights(attrs, y1, y2, image.shape[1], height)
        columns = _crop_weights(attrs, x1, x2, image.shape[2], width)
        crop[...] = np.einsum("hi,ijc,wj->hwc", rows, wide(image[index]), columns)
        crop[rows.sum(axis=1) == 0] = attrs["extrapolation_value"]
        crop[:, columns.sum(axis=1) == 0] = attrs["extrapolation_value"]
    return crops


@kernel("CropAndResizeGradImage")
def crop_and_resize_grad_image(
    attrs: Attrs, grads: np.ndarray, boxes: np.ndarray, box_ind: np.ndarray, size: np.ndarray
) -> np.ndarray:
    result = np.zeros(tuple(size.tolist()))
    for grad, (y1, x1, y2, x2), index in zip(grads, boxes.tolist(), box_ind.tolist(), strict=True):
        rows = _crop_weights(attrs, y1, y2, result.shape[1], grad.shape[0])
        columns = _crop_weights(attrs, x1, x2, result.shape[2], grad.shape[1])
        result[index] += np.einsum("hi,hwc,wj->ijc", rows, wide(grad), columns)
    return result.astype(numpy_type(attrs["T"]))


def _crop_slopes(low: float, high: float, size: int, out: int) -> tuple[np.ndarray, ...]:
    """d place / d low, d place / d high, and d weights / d place."""
    at = _crop_places(low, high, size, out)
    if out > 1:
        along_high = np.arange(out) * (size - 1) / (out - 1)
        along_low = (size - 1) - along_high
    else:
        along_low = along_high = np.array([0.5 * (size - 1)])
    inside = (at >= 0) & (at <= size - 1)
    slopes = np.zeros((out, size))
    rows = np.flatnonzero(inside)
    np.add.at(slopes, (rows, np.floor(at[inside]).astype(int)), -1)
    np.add.at(slopes, (rows, np.ceil(at[inside]).astype(int)), 1)
    return along_low, along_high, slopes


@kernel("CropAndResizeGradBoxes")
def crop_and_resize_grad_boxes(
    attrs: Attrs, grads: np.ndarray, image: np.ndarray, boxes: np.ndarray, box_ind: np.ndarray
) -> np.ndarray:
    result = np.zeros(boxes.shape)
    rows_of = zip(result, grads, boxes.tolist(), box_ind.tolist(), strict=True)
    for slope, grad, (y1, x1, y2, x2), index in rows_of:
        height, width = grad.shape[:2]
        rows = _crop_weights(attrs, y1, y2, image.shape[1], height)
        columns = _crop_weights(attrs, x1, x2, image.shape[2], width)
        y_low, y_high, d_rows = _crop_slopes(y1, y2, image.shape[1], height)
        x_low, x_high, d_columns = _crop_slopes(x1, x2, image.shape[2], width)
        pixels = wide(image[index])
        by_row = np.einsum("hi,ijc,wj,hwc->h", d_rows, pixels, columns, wide(grad))
        by_column = np.einsum("hi,ijc,wj,hwc->w", rows, pixels, d_columns, wide(grad))
        slope[:] = [by_row @ y_low, by_column @ x_low, by_row @ y_high, by_column @ x_high]
    return result.astype(np.float32)


@stateful_kernel("ExtractGlimpse", "ExtractGlimpseV2")
def extract_glimpse(attrs: Attrs) -> Callable[..., np.ndarray]:
    generator = np.random.default_rng()
    noise = attrs["noise"] or (b"uniform" if attrs["uniform_noise"] else b"gaussian")
    if noise not in (b"uniform", b"gaussian", b"zero"):
        raise InvalidArgumentError(
            None,
            None,
            "The noise could only be uniform, gaussian, or zero, got "
            + attrs["noise"].decode(errors="replace"),
        )
    if attrs["uniform_noise"] and noise != b"uniform":
        raise InvalidArgumentError(
            None, None, "The uniform_noise should not be True when noise is not uniform"
        )

    def compute(x: np.ndarray, size: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        height, width = size.tolist()
        result = np.empty((len(x), height, width, x.shape[3]), x.dtype)
        for glimpse, image, (dy, dx) in zip(result, x, offsets.tolist(), strict=True):
            if noise == b"uniform":
                span = image.min(), image.max()
                glimpse[...] = generator.uniform(*span, glimpse.shape)
            elif noise == b"gaussian":
                glimpse[...] = generator.normal(image.mean(), image.std(), glimpse.shape)
            else:
                glimpse[...] = 0
            starts = [
                _glimpse_start(attrs, offset, n, out)
                for offset, n, out in zip((dy, dx), image.shape[:2], (height, width), strict=True)
            ]
            sizes = zip(starts, image.shape[:2], (height, width), strict=True)
            spans = [(max(s, 0), min(s + out, n), s) for s, n, out in sizes]
            (top, bottom, y), (left, right, x0) = spans
            if top < bottom and left < right:
                glimpse[top - y : bottom - y, left - x0 : right - x0] = image[
                    top:bottom, left:right
                ]
        return result

    return compute


def _glimpse_start(attrs: Attrs, offset: float, size: int, out: int) -> int:
    if not np.isfinite(offset):
        return -(2**31)  # what C makes of it: outside of the image
    if attrs["normalized"]:
        offset *= size
    if attrs["centered"]:
        offset = offset / 2 + size / 2
        return int(offset - out / 2)
    return int(offset)


# ---- projective transforms ----


def _rounded(x: np.ndarray) -> np.ndarray:
    """To the nearest whole number, halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _folded(at: np.ndarray, size: int, mode: bytes) -> np.ndarray:
    """Coordinates brought into the image by the fill mode."""
    if mode == b"CONSTANT":
        return at
    if size == 1:
        return np.zeros_like(at)
    if mode == b"REFLECT":
        period = 2 * size
        at = np.mod(at, period)
        at = np.where(at >= size, period - 1 - at, at)
    elif mode == b"WRAP":
        below = at + size * (np.trunc(-at / (size - 1)) + 1)
        above = at - size * np.trunc(at / (size - 1))
        at = np.where(at < 0, below, np.where(at > size - 1, above, at))
    return np.clip(at, 0, size - 1)


@kernel("ImageProjectiveTransformV2")
def image_projective_transform_v2(
    attrs: Attrs, images: np.ndarray, transforms: np.ndarray, size: np.ndarray
) -> np.ndarray:
    return image_projective_transform(attrs, images, transforms, size, np.float32(0))


@kernel("ImageProjectiveTransformV3")
def image_projective_transform(
    attrs: Attrs, images: np.ndarray, transforms: np.ndarray, size: np.ndarray, fill: Any
) -> np.ndarray:
    check_output_size(size)
    if attrs["interpolation"] not in (b"NEAREST", b"BILINEAR"):
        raise InvalidArgumentError(None, None, f"Invalid interpolation: {attrs['interpolation']!r}")
    if attrs["fill_mode"] not in (b"REFLECT", b"WRAP", b"CONSTANT", b"NEAREST"):
        raise InvalidArgumentError(None, None, f"Invalid mode: {attrs['fill_mode']!r}")
    height, width = size.tolist()
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    mode = attrs["fill_mode"]
    result = np.empty((len(images), height, width, images.shape[3]), images.dtype)
    for number, image in enumerate(images):
        a, b, c, d, e, f, g, h = wide(transforms[number % len(transforms)])
        below = g * x + h * y + 1
        at_x, at_y = (a * x + b * y + c) / below, (d * x + e * y + f) / below
        at_x, at_y = _folded(at_x, image.shape[1], mode), _folded(at_y, image.shape[0], mode)

        def pixel(rows: np.ndarray, columns: np.ndarray, image: np.ndarray = image) -> np.ndarray:
            inside = (rows >= 0) & (rows < image.shape[0])
            inside &= (columns >= 0) & (columns < image.shape[1])
            safe = np.where(inside, rows, 0).astype(int), np.where(inside, columns, 0).astype(int)
            return np.where(inside[..., np.newaxis], wide(image[safe]), float(fill))

        if attrs["interpolation"].upper() == b"NEAREST":
            shown = pixel(_rounded(at_y), _rounded(at_x))
        else:
            y0, x0 = np.floor(at_y), np.floor(at_x)
            v, u = (at_y - y0)[..., np.newaxis], (at_x - x0)[..., np.newaxis]
            top = (1 - u) * pixel(y0, x0) + u * pixel(y0, x0 + 1)
            bottom = (1 - u) * pixel(y0 + 1, x0) + u * pixel(y0 + 1, x0 + 1)
            shown = (1 - v) * top + v * bottom
        result[number] = np.where((below == 0)[..., np.newaxis], float(fill), shown)
    return result
