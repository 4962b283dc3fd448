"""Bounding boxes: drawing, non-maximum suppression, random crops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike

_FLOAT = as_dtype("float32")
_NO_LIMIT = float("-inf")


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Draws boxes on images.

    Args:
      images: [batch, height, width, channels] float or half, from 0 to 1.
      boxes: [batch, n, 4] float: y1, x1, y2, x2 as fractions of height and width.
      colors: [m, channels] float, used cyclically; ten default colours if None.
    """
    with name_scope(name, "draw_bounding_boxes", [images, boxes]) as scope:
        if colors is None:
            return op("DrawBoundingBoxes", images, boxes, name=scope)
        return op("DrawBoundingBoxesV2", images, boxes, colors, name=scope)


def _number(value: Any, like: Tensor) -> Tensor:
    return convert_to_tensor(value, dtype=like.dtype.base_dtype)


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    name: str | None = None,
) -> Tensor:
    """Selects boxes in order of score, skipping those that overlap a selected box too much.

    Args:
      boxes: [n, 4] float: two opposite corners y1, x1, y2, x2.
      scores: [n] float.
      max_output_size: [] int32, maximum number of boxes.
      iou_threshold: greatest allowed intersection over union.
      score_threshold: boxes with scores at or below it are ignored.
    Returns: [m] int32, indices of boxes.
    """
    with name_scope(name, "non_max_suppression"):
        scores = convert_to_tensor(scores)
        limits = [_number(v, scores) for v in (iou_threshold, score_threshold)]
        return op("NonMaxSuppressionV3", boxes, scores, max_output_size, *limits)


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Same as non_max_suppression, with scores; soft_nms_sigma > 0 lowers scores of overlaps.

    Returns: indices [m] int32, scores [m].
    Source: Bodla et al. 2017.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        scores = convert_to_tensor(scores)
        limits = [_number(v, scores) for v in (iou_threshold, score_threshold, soft_nms_sigma)]
        result = op("NonMaxSuppressionV5", boxes, scores, max_output_size, *limits)
        return result[0], result[1]


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Same as non_max_suppression, optionally padded with zeros.

    Args:
      pad_to_max_output_size: pad the indices to max_output_size.
      the others: as in non_max_suppression.
    Returns: indices [m] or [max_output_size] int32, and the number of valid ones, [] int32.
    """
    with name_scope(name, "non_max_suppression_padded"):
        scores = convert_to_tensor(scores)
        limits = [_number(v, scores) for v in (iou_threshold, score_threshold)]
        result = op(
            "NonMaxSuppressionV4",
            boxes,
            scores,
            max_output_size,
            *limits,
            pad_to_max_output_size=pad_to_max_output_size,
        )
        return result[0], result[1]


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    name: str | None = None,
) -> Tensor:
    """Same as non_max_suppression, with given overlaps.

    Args:
      overlaps: [n, n] float, overlap of each pair of boxes.
      overlap_threshold: greatest allowed overlap.
      the others: as in non_max_suppression.
    """
    with name_scope(name, "non_max_suppression_overlaps"):
        limits = [convert_to_tensor(v, dtype=_FLOAT) for v in (overlap_threshold, score_threshold)]
        return op("NonMaxSuppressionWithOverlaps", overlaps, scores, max_output_size, *limits)


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """Runs non_max_suppression for each class of each image, and selects the best boxes of all.

    Args:
      boxes: [batch, n, 1 or classes, 4] float.
      scores: [batch, n, classes] float.
      max_output_size_per_class, max_total_size: maximum numbers of boxes.
      pad_per_class: pad to the number of boxes that all classes together can give.
      clip_boxes: clip coordinates to [0, 1].
    Returns: boxes, scores, classes, and the number of valid boxes of each image.
    """
    with name_scope(name, "combined_non_max_suppression"):
        limits = [convert_to_tensor(v, dtype=_FLOAT) for v in (iou_threshold, score_threshold)]
        scores = convert_to_tensor(scores)
        result = op(
            "CombinedNonMaxSuppression",
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            *limits,
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
        most = _most(scores, max_output_size_per_class, max_total_size, pad_per_class)
        if most is not None:
            result[0].set_shape([None, most, 4])
            result[1].set_shape([None, most])
            result[2].set_shape([None, most])
        return result


def _most(scores: Tensor, per_class: Any, total: Any, pad_per_class: bool) -> int | None:
    """Returns the static number of boxes per image, or None."""
    known = [constant_value(v) if isinstance(v, Tensor) else v for v in (per_class, total)]
    classes = scores.get_shape().as_list()[-1] if scores.get_shape().ndims else None
    if known[1] is None or not pad_per_class:
        return None if known[1] is None else int(known[1])
    if known[0] is None or classes is None:
        return None
    return min(int(known[1]), int(known[0]) * classes)


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """Samples a random crop that shows enough of one of the objects.

    Args:
      image_size: [3] ints: height, width, channels.
      bounding_boxes: [batch, n, 4] float, boxes of the objects.
      seed, seed2: seeds of the crop.
      min_object_covered: minimum fraction of a box in the crop.
      aspect_ratio_range: range of width / height; 0.75 to 1.33 by default.
      area_range: range of the crop's fraction of the image; 0.05 to 1 by default.
      max_attempts: attempts before the whole image is returned; 100 by default.
      use_image_if_no_bounding_boxes: use the whole image as the box if there are none.
    Returns: (begin [3], size [3]) to slice the image, and bboxes [1, 1, 4] float to draw the crop.
    """
    with name_scope(name, "sample_distorted_bounding_box"):
        attrs: dict[str, Any] = {"seed": seed or 0, "seed2": seed2 or 0}
        if aspect_ratio_range is not None:
            attrs["aspect_ratio_range"] = [float(v) for v in aspect_ratio_range]
        if area_range is not None:
            attrs["area_range"] = [float(v) for v in area_range]
        if max_attempts is not None:
            attrs["max_attempts"] = max_attempts
        if use_image_if_no_bounding_boxes is not None:
            attrs["use_image_if_no_bounding_boxes"] = use_image_if_no_bounding_boxes
        return op(
            "SampleDistortedBoundingBoxV2", image_size, bounding_boxes, min_object_covered, **attrs
        )
