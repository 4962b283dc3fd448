"""Images resized, recoloured, cut into boxes; sounds.

Images in files are in image_files.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.image_files import decoded, encoded_jpeg, encoded_png
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.random import node_generator
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel
from headrace.kernels.reference.summary import wav

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


def _sampled(attrs: Attrs, size: int, out: int, scale: float, shift: float) -> Weights:
    radius, value = _SAMPLING[attrs["kernel_type"]]
    stretch = max(1 / scale, 1.0) if attrs["antialias"] else 1.0
    centres = (np.arange(out) + 0.5) / scale - shift / scale
    distance = np.abs(np.arange(size) + 0.5 - centres[:, np.newaxis])
    weights = np.where(distance <= radius * stretch, value(distance / stretch), 0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(np.abs(total) > 1e-30, weights / np.where(total, total, 1), 0)
    outside = (centres < 0) | (centres > size)
    weights[outside] = 0
    return weights


def _both(attrs: Attrs, shape: Any, out: Any, scale: np.ndarray, shift: np.ndarray) -> Any:
    return (
        _sampled(attrs, shape[axis + 1], out[axis], float(scale[axis]), float(shift[axis]))
        for axis in (0, 1)
    )


@kernel("ScaleAndTranslate")
def scale_and_translate(
    attrs: Attrs, images: np.ndarray, size: np.ndarray, scale: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    rows, columns = _both(attrs, images.shape, size.tolist(), scale, shift)
    return np.einsum("hi,nijc,wj->nhwc", rows, wide(images), columns).astype(np.float32)


@kernel("ScaleAndTranslateGrad")
def scale_and_translate_grad(
    attrs: Attrs, grads: np.ndarray, original: np.ndarray, scale: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    rows, columns = _both(attrs, original.shape, grads.shape[1:3], scale, shift)
    return np.einsum("hi,nhwc,wj->nijc", rows, wide(grads), columns).astype(original.dtype)


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

    def compute(x: np.ndarray, size: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        height, width = size.tolist()
        result = np.empty((len(x), height, width, x.shape[3]), x.dtype)
        noise = b"uniform" if attrs["uniform_noise"] else attrs["noise"]
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


# ---- colours ----


@kernel("AdjustContrast")
def adjust_contrast(
    attrs: Attrs, images: np.ndarray, factor: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    return np.clip(_contrasted(images, factor), float(low), float(high)).astype(np.float32)


@kernel("AdjustContrastv2")
def adjust_contrast_v2(attrs: Attrs, images: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return _contrasted(images, factor).astype(images.dtype)


def _contrasted(images: np.ndarray, factor: np.ndarray) -> np.ndarray:
    values = images.astype(np.float64)
    mean = values.mean(axis=(-3, -2), keepdims=True)
    return (values - mean) * float(factor) + mean


def _hsv(rgb: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(rgb, -1, 0)
    value = rgb.max(axis=-1)
    span = value - rgb.min(axis=-1)
    saturation = np.where(value > 0, span / np.where(value > 0, value, 1), 0)
    norm = 1 / (6 * np.where(span > 0, span, 1))
    hue = np.where(
        red == value,
        norm * (green - blue),
        np.where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )
    hue = np.where(span > 0, hue, 0)
    return np.stack([np.where(hue < 0, hue + 1, hue), saturation, value], axis=-1)


def _rgb(hsv: np.ndarray) -> np.ndarray:
    hue, saturation, value = np.moveaxis(hsv, -1, 0)
    sixth = hue * 6
    parts = [np.abs(sixth - 3) - 1, 2 - np.abs(sixth - 2), 2 - np.abs(sixth - 4)]
    shades = np.stack([np.clip(p, 0, 1) for p in parts], axis=-1)
    s = saturation[..., np.newaxis]
    return ((1 - s) + s * shades) * value[..., np.newaxis]


@kernel("RGBToHSV")
def rgb_to_hsv(attrs: Attrs, images: np.ndarray) -> np.ndarray:
    return _hsv(wide(images)).astype(images.dtype)


@kernel("HSVToRGB")
def hsv_to_rgb(attrs: Attrs, images: np.ndarray) -> np.ndarray:
    return _rgb(wide(images)).astype(images.dtype)


@kernel("AdjustHue")
def adjust_hue(attrs: Attrs, images: np.ndarray, delta: np.ndarray) -> np.ndarray:
    hsv = _hsv(wide(images))
    hsv[..., 0] = np.mod(hsv[..., 0] + float(delta), 1.0)
    return _rgb(hsv).astype(images.dtype)


@kernel("AdjustSaturation")
def adjust_saturation(attrs: Attrs, images: np.ndarray, scale: np.ndarray) -> np.ndarray:
    hsv = _hsv(wide(images))
    hsv[..., 1] = np.clip(hsv[..., 1] * float(scale), 0, 1)
    return _rgb(hsv).astype(images.dtype)


# ---- boxes ----

_COLOURS = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip


@kernel("DrawBoundingBoxes")
def draw_bounding_boxes(attrs: Attrs, images: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    return draw_bounding_boxes_v2(attrs, images, boxes, np.empty((0, 4)))


@kernel("DrawBoundingBoxesV2")
def draw_bounding_boxes_v2(
    attrs: Attrs, images: np.ndarray, boxes: np.ndarray, colours: np.ndarray
) -> np.ndarray:
    result = images.copy()
    depth = images.shape[3]
    table = [list(c) for c in (colours.tolist() or _COLOURS)]
    if depth == 1 and not len(colours):
        table = [[1.0] * 4 for _ in table]
    last_row, last_column = images.shape[1] - 1, images.shape[2] - 1
    for image, of_image in zip(result, boxes, strict=True):
        for number, (y1, x1, y2, x2) in enumerate(of_image.tolist()):
            top, bottom = int(y1 * last_row), int(y2 * last_row)
            left, right = int(x1 * last_column), int(x2 * last_column)
            if top > bottom or left > right:
                continue
            if top > last_row or bottom < 0 or left > last_column or right < 0:
                continue
            colour = np.array(table[number % len(table)][:depth], images.dtype)
            rows = slice(max(top, 0), min(bottom, last_row) + 1)
            columns = slice(max(left, 0), min(right, last_column) + 1)
            for row in (top, bottom):
                if 0 <= row <= last_row:
                    image[row, columns] = colour
            for column in (left, right):
                if 0 <= column <= last_column:
                    image[rows, column] = colour
    return result


@stateful_kernel("SampleDistortedBoundingBox")
def sample_distorted_bounding_box(attrs: Attrs) -> Callable[..., Any]:
    generator, covered = node_generator(attrs), attrs["min_object_covered"]
    return lambda size, boxes: _sample_box(attrs, generator, size, boxes, covered)


@stateful_kernel("SampleDistortedBoundingBoxV2")
def sample_distorted_bounding_box_v2(attrs: Attrs) -> Callable[..., Any]:
    generator = node_generator(attrs)
    return lambda size, boxes, covered: _sample_box(attrs, generator, size, boxes, float(covered))


def _sample_box(
    attrs: Attrs,
    generator: np.random.Generator,
    size: np.ndarray,
    boxes: np.ndarray,
    covered: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random part of an image that shows enough of some object; all of it where none is found."""
    height, width = int(size[0]), int(size[1])
    objects = boxes.reshape(-1, 4).tolist()
    if not objects:
        if not attrs["use_image_if_no_bounding_boxes"]:
            raise InvalidArgumentError(
                None,
                None,
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes.",
            )
        objects = [[0.0, 0.0, 1.0, 1.0]]
    found = (0, 0, height, width)
    for _ in range(attrs["max_attempts"]):
        ratio = generator.uniform(*attrs["aspect_ratio_range"])
        area = generator.uniform(*attrs["area_range"]) * height * width
        h = int(round(np.sqrt(area / ratio)))
        w = int(round(h * ratio))
        if not (0 < h <= height and 0 < w <= width):
            continue
        y, x = int(generator.integers(0, height - h + 1)), int(generator.integers(0, width - w + 1))
        if any(_share((y, x, y + h, x + w), o, height, width) >= covered for o in objects):
            found = (y, x, h, w)
            break
    y, x, h, w = found
    corners = [y / height, x / width, (y + h) / height, (x + w) / width]
    return (
        np.array([y, x, 0], size.dtype),
        np.array([h, w, -1], size.dtype),
        np.array(corners, np.float32).reshape(1, 1, 4),
    )


def _share(part: tuple[int, ...], box: list[float], height: int, width: int) -> float:
    """How much of a box a part of the image shows."""
    top, left, bottom, right = (
        v * n for v, n in zip(box, (height, width, height, width), strict=True)
    )
    h = min(part[2], bottom) - max(part[0], top)
    w = min(part[3], right) - max(part[1], left)
    area = (bottom - top) * (right - left)
    return max(h, 0) * max(w, 0) / area if area > 0 else 0.0


# ---- boxes that do not overlap ----


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two boxes, whatever corners they name."""
    y1, y2 = min(a[0], a[2]), max(a[0], a[2])
    x1, x2 = min(a[1], a[3]), max(a[1], a[3])
    v1, v2 = min(b[0], b[2]), max(b[0], b[2])
    u1, u2 = min(b[1], b[3]), max(b[1], b[3])
    area, other = (y2 - y1) * (x2 - x1), (v2 - v1) * (u2 - u1)
    if area <= 0 or other <= 0:
        return 0.0
    shared = max(min(y2, v2) - max(y1, v1), 0) * max(min(x2, u2) - max(x1, u1), 0)
    return shared / (area + other - shared)


def _suppress(
    overlap: Callable[[int, int], float],
    scores: np.ndarray,
    most: int,
    iou: float,
    least: float = -np.inf,
    sigma: float = 0.0,
) -> tuple[list[int], list[float]]:
    """Best first, each dropped (or, with sigma, weakened) by those that were chosen before it.

    Source: Bodla et al., Soft-NMS, 2017.
    """
    left = [(float(s), i) for i, s in enumerate(scores.tolist()) if s > least]
    chosen: list[int] = []
    kept: list[float] = []
    begun = dict.fromkeys((i for _, i in left), 0)  # how many of the chosen were counted already
    while left and len(chosen) < most:
        place = max(range(len(left)), key=lambda k: (left[k][0], -left[k][1]))
        score, i = left.pop(place)
        before = score
        dropped = False
        for other in chosen[begun[i] :][::-1]:
            shared = overlap(i, other)
            if sigma > 0:
                score *= np.exp(-0.5 * shared * shared / sigma)
            elif shared > iou:
                dropped = True
            if dropped or score <= least:
                dropped = True
                break
        begun[i] = len(chosen)
        if dropped:
            continue
        if score == before:
            chosen.append(i)
            kept.append(score)
        else:
            left.append((score, i))
    return chosen, kept


def _suppressed(boxes: np.ndarray, scores: np.ndarray, most: Any, *limits: Any) -> Any:
    table = wide(boxes)
    return _suppress(
        lambda i, j: _overlap(table[i], table[j]), wide(scores), int(most), *map(float, limits)
    )


def _indices(chosen: list[int]) -> np.ndarray:
    return np.array(chosen, np.int32)


@kernel("NonMaxSuppression")
def non_max_suppression(
    attrs: Attrs, boxes: np.ndarray, scores: np.ndarray, most: np.ndarray
) -> np.ndarray:
    return _indices(_suppressed(boxes, scores, most, attrs["iou_threshold"])[0])


@kernel("NonMaxSuppressionV2", "NonMaxSuppressionV3")
def non_max_suppression_v3(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    return _indices(_suppressed(*inputs)[0])


def _padded(attrs: Attrs, values: np.ndarray, most: np.ndarray) -> np.ndarray:
    if not attrs["pad_to_max_output_size"]:
        return values
    return np.concatenate([values, np.zeros(int(most) - len(values), values.dtype)])


@kernel("NonMaxSuppressionV4")
def non_max_suppression_v4(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    chosen = _indices(_suppressed(*inputs)[0])
    return _padded(attrs, chosen, inputs[2]), np.array(len(chosen), np.int32)


@kernel("NonMaxSuppressionV5")
def non_max_suppression_v5(attrs: Attrs, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    chosen, scores = _suppressed(*inputs)
    kept = np.array(scores).astype(inputs[1].dtype)
    return (
        _padded(attrs, _indices(chosen), inputs[2]),
        _padded(attrs, kept, inputs[2]),
        np.array(len(chosen), np.int32),
    )


@kernel("NonMaxSuppressionWithOverlaps")
def non_max_suppression_with_overlaps(
    attrs: Attrs,
    overlaps: np.ndarray,
    scores: np.ndarray,
    most: np.ndarray,
    threshold: np.ndarray,
    least: np.ndarray,
) -> np.ndarray:
    chosen, _ = _suppress(
        lambda i, j: float(overlaps[i, j]), wide(scores), int(most), float(threshold), float(least)
    )
    return _indices(chosen)


@kernel("CombinedNonMaxSuppression")
def combined_non_max_suppression(
    attrs: Attrs,
    boxes: np.ndarray,
    scores: np.ndarray,
    per_class: np.ndarray,
    total: np.ndarray,
    iou: np.ndarray,
    least: np.ndarray,
) -> tuple[np.ndarray, ...]:
    classes = scores.shape[2]
    size = int(total)
    if attrs["pad_per_class"]:
        size = min(size, int(per_class) * classes)
    batch = len(boxes)
    out_boxes = np.zeros((batch, size, 4), np.float32)
    out_scores, out_classes = (
        np.zeros((batch, size), np.float32),
        np.zeros((batch, size), np.float32),
    )
    valid = np.zeros(batch, np.int32)
    for row in range(batch):
        found = []
        for c in range(classes):
            of_class = boxes[row, :, min(c, boxes.shape[2] - 1)]
            chosen, _ = _suppressed(of_class, scores[row, :, c], per_class, iou, least)
            found += [(float(scores[row, i, c]), c, of_class[i]) for i in chosen]
        found.sort(key=lambda entry: -entry[0])
        valid[row] = min(len(found), size)
        for place, (score, c, box) in enumerate(found[:size]):
            out_boxes[row, place] = np.clip(box, 0, 1) if attrs["clip_boxes"] else box
            out_scores[row, place], out_classes[row, place] = score, c
    return out_boxes, out_scores, out_classes, valid


# ---- files ----


@kernel("DecodeJpeg", "DecodePng", "DecodeBmp")
def decode_still(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    dtype = numpy_type(attrs.get("dtype", 4))
    return decoded(contents.item(), attrs["channels"], dtype)


@kernel("DecodeAndCropJpeg")
def decode_and_crop_jpeg(attrs: Attrs, contents: np.ndarray, window: np.ndarray) -> np.ndarray:
    y, x, height, width = window.tolist()
    image = decoded(contents.item(), attrs["channels"], np.dtype(np.uint8))
    if y < 0 or x < 0 or y + height > image.shape[0] or x + width > image.shape[1]:
        raise InvalidArgumentError(
            None, None, f"Invalid crop window {window.tolist()} of an image of {image.shape}"
        )
    return image[y : y + height, x : x + width].copy()


@kernel("DecodeGif")
def decode_gif(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    return decoded(contents.item(), 3, np.dtype(np.uint8), frames=True)


@kernel("DecodeImage")
def decode_image(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    frames = attrs["expand_animations"] and contents.item().startswith(b"GIF8")
    return decoded(contents.item(), attrs["channels"], numpy_type(attrs["dtype"]), frames=frames)


@kernel("ExtractJpegShape")
def extract_jpeg_shape(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    image = decoded(contents.item(), 0, np.dtype(np.uint8))
    return np.array(image.shape, numpy_type(attrs["output_type"]))


@kernel("EncodeJpeg")
def encode_jpeg(attrs: Attrs, image: np.ndarray) -> np.ndarray:
    return np.array(encoded_jpeg(image, attrs["quality"], attrs["progressive"]), object)


@kernel("EncodeJpegVariableQuality")
def encode_jpeg_variable_quality(
    attrs: Attrs, image: np.ndarray, quality: np.ndarray
) -> np.ndarray:
    return np.array(encoded_jpeg(image, int(quality)), object)


@kernel("EncodePng")
def encode_png(attrs: Attrs, image: np.ndarray) -> np.ndarray:
    flat = image.reshape((-1,) + image.shape[-3:])
    files = np.empty(len(flat), object)
    files[:] = [encoded_png(one) for one in flat]
    return files.reshape(image.shape[:-3])


# ---- sound ----


@kernel("EncodeWav")
def encode_wav(attrs: Attrs, audio: np.ndarray, rate: np.ndarray) -> np.ndarray:
    return np.array(wav(audio, int(rate)), object)


@kernel("DecodeWav")
def decode_wav(attrs: Attrs, contents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import io
    import wave

    try:
        with wave.open(io.BytesIO(contents.item())) as stream:
            if stream.getsampwidth() != 2:
                raise wave.Error(f"{8 * stream.getsampwidth()} bits a sample instead of 16")
            rate, channels = stream.getframerate(), stream.getnchannels()
            samples = np.frombuffer(stream.readframes(stream.getnframes()), "<i2")
    except (wave.Error, EOFError) as error:
        raise InvalidArgumentError(None, None, f"not a WAV file of 16 bits: {error}") from error
    audio = samples.reshape(-1, channels).astype(np.float32) / np.float32(32768)
    for axis, wanted in ((0, attrs["desired_samples"]), (1, attrs["desired_channels"])):
        if wanted > audio.shape[axis]:  # silence, and the first channel again
            missing = wanted - audio.shape[axis]
            widths = [(0, missing if a == axis else 0) for a in (0, 1)]
            audio = np.pad(audio, widths, mode="constant" if axis == 0 else "edge")
        elif wanted >= 0:
            audio = audio[:wanted] if axis == 0 else audio[:, :wanted]
    return np.ascontiguousarray(audio), np.array(rate, np.int32)


@kernel("AudioSpectrogram")
def audio_spectrogram(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    """Of each channel, frames of a Hann window, padded to a power of two."""
    size, stride = attrs["window_size"], attrs["stride"]
    length = 1 << max(int(np.ceil(np.log2(size))), 0)
    count = max((len(x) - size) // stride + 1, 0)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    result = np.zeros((x.shape[1], count, length // 2 + 1))
    for channel, frame in itertools.product(range(x.shape[1]), range(count)):
        piece = wide(x[frame * stride : frame * stride + size, channel]) * hann
        power = np.abs(np.fft.rfft(piece, length)) ** 2
        result[channel, frame] = power if attrs["magnitude_squared"] else np.sqrt(power)
    return result.astype(np.float32)


@kernel("Mfcc")
def mfcc(attrs: Attrs, spectrogram: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Cosine transform of the logarithm of a bank of triangles on the mel scale.

    Source: Davis and Mermelstein 1980, with HTK's mel scale.
    """
    bins = spectrogram.shape[-1]
    channels, coefficients = attrs["filterbank_channel_count"], attrs["dct_coefficient_count"]

    def mel(frequency: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(frequency) / 700.0)

    low, high = mel(attrs["lower_frequency_limit"]), mel(attrs["upper_frequency_limit"])
    centres = low + (high - low) * np.arange(1, channels + 2) / (channels + 1)
    step = 0.5 * float(rate) / (bins - 1)
    first = int(1.5 + attrs["lower_frequency_limit"] / step)
    last = int(attrs["upper_frequency_limit"] / step)
    bank = np.zeros((bins, channels))
    for i in range(first, min(last, bins - 1) + 1):
        at = mel(i * step)
        channel = int(np.searchsorted(centres, at, side="left")) - 1
        left = centres[channel] if channel >= 0 else low
        right = centres[channel + 1]
        weight = (right - at) / (right - left)
        if channel >= 0:
            bank[i, channel] += weight
        if channel + 1 < channels:
            bank[i, channel + 1] += 1 - weight
    energy = np.log(np.maximum(np.sqrt(wide(spectrogram)) @ bank, 1e-12))
    places = (np.arange(channels) + 0.5) * np.pi / channels
    cosines = np.sqrt(2 / channels) * np.cos(np.outer(np.arange(coefficients), places))
    return (energy @ cosines.T).astype(np.float32)
