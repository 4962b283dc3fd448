"""Boxes in images: drawn, sampled, and chosen so that they do not overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.random import node_generator
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel

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
    if colours.shape[1] < depth:
        raise InvalidArgumentError(
            None,
            None,
            "colors must have equal or more channels than the image provided: "
            f"{list(colours.shape)}",
        )
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
    if size.size != 3:
        raise InvalidArgumentError(
            None, None, f"image_size must contain 3 elements, it is {list(size.shape)}"
        )
    height, width = int(size[0]), int(size[1])
    for name, length in (("height", height), ("width", width)):
        if not 0 <= length < 2**31 - 1:  # TensorFlow compares a negative one as unsigned
            raise InvalidArgumentError(None, None, f"image {name} cannot be >= int32 max")
    for name in ("aspect_ratio_range", "area_range"):
        if len(attrs[name]) != 2:
            raise InvalidArgumentError(
                None,
                None,
                f"{name.replace('_', ' ').capitalize()} field must specify 2 dimensions, "
                f"has {len(attrs[name])}",
            )
    objects = boxes.reshape(-1, 4).tolist()
    outside = [x for x in boxes.ravel().tolist() if not 0 <= x <= 1]
    if outside:
        raise InvalidArgumentError(
            None, None, f"All bounding box coordinates must be in [0.0, 1.0]: {outside[0]:g}"
        )
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
    with np.errstate(all="ignore"):  # NaN for an image without rows or columns
        corners = np.array([y, x, y + h, x + w], np.float32) / np.array(
            [height, width] * 2, np.float32
        )
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
    if scores.shape[:2] != boxes.shape[:2] or boxes.shape[2] not in (1, scores.shape[2]):
        raise InvalidArgumentError(
            None,
            None,
            "boxes and scores must have same batch size and boxes, and boxes one class or those of "
            f"scores: boxes is {list(boxes.shape)}, scores is {list(scores.shape)}",
        )
    classes = scores.shape[2]
    size = int(total)
    for name, count in (("max_size_per_class", per_class), ("max_total_size", total)):
        if count <= 0:
            raise InvalidArgumentError(None, None, f"{name} must be positive, it is {count}")
    if not 0 <= iou <= 1:
        raise InvalidArgumentError(None, None, f"iou_threshold must be in [0, 1], it is {iou}")
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
