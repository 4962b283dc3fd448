"""Images resized, cropped and projected: a matrix for either axis, its transpose backwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel

Weights = np.ndarray  # [out, in]: what each output row takes of each input row


# ---- resizing: a matrix for either axis, its transpose for the gradient ----


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
    for name, given in (("scale", scale), ("translation", shift)):
        if given.size != 2:
            raise InvalidArgumentError(
                None, None, f"{name} must have two elements{list(given.shape)}"
            )
    return (
        _sampled(attrs, shape[axis + 1], out[axis], float(scale[axis]), float(shift[axis]))
        for axis in (0, 1)
    )


def _check_output_size(size: np.ndarray) -> None:
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
    _check_output_size(size)
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


# ---- crops ----


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
    _check_output_size(size)
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
