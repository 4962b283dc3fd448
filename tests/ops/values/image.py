"""Images: colours by their matrices, sizes by hand."""

from __future__ import annotations

import numpy as np

from values.value_case import call

_RED = np.float32([[[[1.0, 0.0, 0.0]]]])
_YIQ = np.float32([[[[0.3, 0.1, -0.2]]]])
# TensorFlow's tf.image.yiq_to_rgb prints this matrix.
_RGB_OF_YIQ = np.array(
    [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
)
_GREY = np.float32([[[[0.5, 0.5, 0.5]]]])
_RAMP = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
_TALL = np.arange(6, dtype=np.float32).reshape(3, 2, 1)
_ROWS = np.float32([[[1.0], [2.0]], [[1.0], [2.0]]])
_BOXES = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]])
_SCORES = np.float32([0.9, 0.8, 0.7])
_WIDE = np.repeat(np.repeat(_GREY, 180, 1), 180, 2)
_TWICE = np.repeat(np.repeat(_RAMP, 2, 1), 2, 2)

CASES = [
    call("image.rgb_to_yuv", _RED, gives=np.float32([[[[0.299, -0.14714119, 0.61497538]]]])),
    call("image.yuv_to_rgb", np.float32([[[[0.299, -0.14714119, 0.61497538]]]]), gives=_RED),
    call("image.rgb_to_yiq", _RED, gives=np.float32([[[[0.299, 0.59590059, 0.2115]]]])),
    call("image.yiq_to_rgb", _YIQ, gives=np.float32(_YIQ @ _RGB_OF_YIQ)),
    call("image.hsv_to_rgb", np.float32([[[[0.0, 1.0, 1.0]]]]), gives=_RED),
    call("image.adjust_brightness", _GREY, 0.25, gives=_GREY + 0.25),
    call("image.adjust_saturation", _RED, 0.0, gives=np.ones((1, 1, 1, 3), np.float32)),
    call("image.adjust_hue", _RED, 1 / 3, gives=np.float32([[[[0.0, 1.0, 0.0]]]])),
    call("image.random_saturation", _GREY, 0.5, 1.5, gives=_GREY),  # grey stays grey
    call("image.flip_up_down", _RAMP, gives=_RAMP[:, ::-1]),
    call("image.transpose_image", _TALL, gives=_TALL.transpose(1, 0, 2)),
    call("image.total_variation", _RAMP, gives=np.float32([6.0])),  # |1| + |1| + |2| + |2|
    call("image.resize_nearest_neighbor", _RAMP, [4, 4], gives=_TWICE),
    call("image.resize_area", _TWICE, [2, 2], gives=_RAMP),
    call(
        "image.resize_bilinear",
        _RAMP,
        [2, 3],
        align_corners=True,
        gives=np.float32([[0, 0.5, 1], [2, 2.5, 3]]).reshape(1, 2, 3, 1),
    ),  # fmt: skip
    call("image.resize_bicubic", _RAMP, [2, 2], gives=_RAMP),
    call(
        "image.resize_image_with_pad",
        _RAMP,
        2,
        4,
        gives=np.float32([[0, 0, 1, 0], [0, 2, 3, 0]]).reshape(1, 2, 4, 1),
    ),  # fmt: skip
    call(
        "image.extract_patches",
        _RAMP,
        [1, 2, 2, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        "VALID",
        gives=np.float32([0, 1, 2, 3]).reshape(1, 1, 1, 4),
    ),  # fmt: skip
    call(
        "image.extract_glimpse",
        _RAMP,
        [1, 1],
        [[0.0, 0.0]],
        centered=False,
        normalized=False,
        gives=np.float32([[[[0.0]]]]),
    ),  # fmt: skip
    call("image.non_max_suppression", _BOXES, _SCORES, 3, gives=np.int32([0, 2])),
    call(
        "image.non_max_suppression_with_scores",
        _BOXES,
        _SCORES,
        3,
        gives=[np.int32([0, 2]), np.float32([0.9, 0.7])],
    ),  # fmt: skip
    call(
        "image.non_max_suppression_overlaps",
        np.float32([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]),
        _SCORES,
        3,
        gives=np.int32([0, 2]),
    ),  # fmt: skip
    call(
        "image.combined_non_max_suppression",
        _BOXES[None, :, None],
        _SCORES[None, :, None],
        2,
        2,
        clip_boxes=False,
        gives=[_BOXES[None, [0, 2]], np.float32([[0.9, 0.7]]), np.float32([[0, 0]]), np.int32([2])],
    ),  # fmt: skip
    call(
        "image.ssim_multiscale",
        _WIDE,
        _WIDE,
        1.0,
        gives=np.float32([1.0]),
    ),  # fmt: skip
    call(
        "image.draw_bounding_boxes",
        np.ones((1, 3, 3, 3), np.float32),
        np.zeros((1, 0, 4), np.float32),
        gives=np.ones((1, 3, 3, 3), np.float32),
    ),  # fmt: skip
    # Both rows are equal, so that turning the image over changes nothing.
    call("image.random_flip_up_down", _ROWS, gives=_ROWS),
]
