"""Shape rules of image ops."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    attr,
    int_of,
    same,
    show,
    sizes,
    with_rank,
)

Shapes = list[Shape]


def _resized(op: ShapeQuery, i: int) -> Shapes:
    images, size = with_rank(op.inputs[0], 4, "images"), with_rank(sizes(op, i), 2, "size")
    return [(images[0], *size, images[3])]


@shape_rule("resize")
def resize(op: ShapeQuery) -> Shapes:
    return _resized(op, 1)


@shape_rule("resize_by_input_2")
def resize_by_input_2(op: ShapeQuery) -> Shapes:
    return _resized(op, 2)


@shape_rule("crop_and_resize")
def crop_and_resize(op: ShapeQuery) -> Shapes:
    image, boxes = with_rank(op.inputs[0], 4, "image"), with_rank(op.inputs[1], 2, "boxes")
    which, size = with_rank(op.inputs[2], 1, "box_ind"), with_rank(sizes(op, 3), 2, "crop_size")
    if not same(boxes[0], which[0]) or boxes[1] not in (4, None):
        raise ValueError(f"boxes {show(boxes)} and box_ind {show(which)} are not [n, 4] and [n]")
    return [(which[0] if boxes[0] is None else boxes[0], *size, image[3])]


@shape_rule("sample_distorted_bounding_box")
def sample_distorted_bounding_box(op: ShapeQuery) -> Shapes:
    return [(3,), (3,), (1, 1, 4)]


@shape_rule("non_max_suppression")
def non_max_suppression(op: ShapeQuery) -> Shapes:
    """Indices (and scores) of the selected boxes; in later versions also their number."""
    boxes, scores = with_rank(op.inputs[0], 2, "boxes"), with_rank(op.inputs[1], 1, "scores")
    if not same(boxes[0], scores[0]):
        raise ValueError(f"boxes {show(boxes)} and scores {show(scores)} differ in number")
    n = None
    if attr(op, "pad_to_max_output_size", False):
        n = int_of(op, 2, "max_output_size")
    if op.n_outputs == 1:
        return [(n,)]
    return [*([(n,)] * (op.n_outputs - 1)), ()]


@shape_rule("colours")
def colours(op: ShapeQuery) -> Shapes:
    images = at_least(op.inputs[0], 1, "images")
    if images is None:
        return [None]
    if not same(images[-1], 3):
        raise ValueError(f"images {show(images)} must have 3 channels")
    return [(*images[:-1], 3)]


@shape_rule("combined_non_max_suppression")
def combined_non_max_suppression(op: ShapeQuery) -> Shapes:
    batch = with_rank(op.inputs[0], 4, "boxes")[0]
    return [(batch, None, 4), (batch, None), (batch, None), (batch,)]


@shape_rule("decode_image")
def decode_image(op: ShapeQuery) -> Shapes:
    if attr(op, "expand_animations"):
        return [None]
    return [(None, None, op.attrs["channels"] or None)]


@shape_rule("decode_gif")
def decode_gif(op: ShapeQuery) -> Shapes:
    return [(None, None, None, 3)]


@shape_rule("decode_wav")
def decode_wav(op: ShapeQuery) -> Shapes:
    channels, samples = (op.attrs[f"desired_{what}"] for what in ("channels", "samples"))
    return [(None if samples < 0 else samples, None if channels < 0 else channels), ()]


@shape_rule("audio_spectrogram")
def audio_spectrogram(op: ShapeQuery) -> Shapes:
    samples, channels = with_rank(op.inputs[0], 2, "input")
    window, stride = op.attrs["window_size"], op.attrs["stride"]
    if window < 2 or stride < 1:
        return [(channels, None, None)]
    frames = None if samples is None else max(0, 1 + (samples - window) // stride)
    # the window is padded to the next power of two
    return [(channels, frames, 1 + (1 << (window - 1).bit_length()) // 2)]


@shape_rule("mfcc")
def mfcc(op: ShapeQuery) -> Shapes:
    return [(*with_rank(op.inputs[0], 3, "spectrogram")[:2], op.attrs["dct_coefficient_count"])]


@shape_rule("extract_jpeg_shape")
def extract_jpeg_shape(op: ShapeQuery) -> Shapes:
    return [(3,)]


@shape_rule("encode_png")
def encode_png(op: ShapeQuery) -> Shapes:
    x = at_least(op.inputs[0], 3, "image")
    return [None if x is None else x[:-3]]
