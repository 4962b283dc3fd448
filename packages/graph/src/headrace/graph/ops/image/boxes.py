"""Boxes on images: drawn, chosen among overlapping ones, sampled for crops."""

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
    """Images with boxes drawn on them.

    Args:
      images: [batch, height, width, channels] float or half, from 0 to 1.
      boxes: [batch, n, 4] float: y1, x1, y2, x2 as shares of height and width.
      colors: [m, channels] float, used in turn; ten of the library's by default.
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
    """The boxes of the highest scores of which no two overlap too much.

    Args:
      boxes: [n, 4] float: two opposite corners y1, x1, y2, x2; scores: [n] float.
      max_output_size: [] int32, the most to choose.
      iou_threshold: intersection over union above which the lower score goes.
      score_threshold: what a score must be above.
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
    """As non_max_suppression; with soft_nms_sigma above 0, overlaps lower the scores instead.

    Returns: indices [m] int32, scores [m].
    Source: Bodla et al. 2017.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        scores = convert_to_tensor(scores)
        limits = [_number(v, scores) for v in (iou_threshold, score_threshold, soft_nms_sigma)]
        made = op("NonMaxSuppressionV5", boxes, scores, max_output_size, *limits)
        return made[0], made[1]


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """As non_max_suppression, with the indices filled up by zeros where it is asked for.

    Returns: indices [m] or [max_output_size] int32, and how many of them count.
    """
    with name_scope(name, "non_max_suppression_padded"):
        scores = convert_to_tensor(scores)
        limits = [_number(v, scores) for v in (iou_threshold, score_threshold)]
        made = op(
            "NonMaxSuppressionV4",
            boxes,
            scores,
            max_output_size,
            *limits,
            pad_to_max_output_size=pad_to_max_output_size,
        )
        return made[0], made[1]


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _NO_LIMIT,
    name: str | None = None,
) -> Tensor:
    """As non_max_suppression, by given overlaps. Args: overlaps: [n, n] float."""
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
    """non_max_suppression of each class of each image, and the best of what it leaves.

    Args:
      boxes: [batch, n, 1 or classes, 4] float; scores: [batch, n, classes] float.
      max_output_size_per_class, max_total_size: the most to choose.
      pad_per_class: fill up to what the classes may give; clip_boxes: to between 0 and 1.
    Returns: boxes, scores, classes, and how many of each image count.
    """
    with name_scope(name, "combined_non_max_suppression"):
        limits = [convert_to_tensor(v, dtype=_FLOAT) for v in (iou_threshold, score_threshold)]
        scores = convert_to_tensor(scores)
        made = op(
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
            made[0].set_shape([None, most, 4])
            made[1].set_shape([None, most])
            made[2].set_shape([None, most])
        return made


def _most(scores: Tensor, per_class: Any, total: Any, pad_per_class: bool) -> int | None:
    """How many boxes of each image are given, where the graph knows it."""
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
    """A crop drawn at random that shows enough of one of the objects.

    Args:
      image_size: [3] ints: height, width, channels; bounding_boxes: [batch, n, 4] float.
      min_object_covered: the least share of a box that the crop must show.
      aspect_ratio_range, area_range: of the crop; from 0.75 to 1.33, 0.05 to 1 by default.
      max_attempts: before the whole image is taken; 100 by default.
      use_image_if_no_bounding_boxes: take the image as the only box where there is none.
    Returns: (begin [3], size [3], to slice the image with; bboxes [1, 1, 4] float, to draw it).
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
