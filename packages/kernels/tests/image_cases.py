"""Calls of image ops with TensorFlow's recorded results: golden/image_ops.npz.

Each case: key -> (op, inputs by name in the signature's order, attributes).
"""

from __future__ import annotations

import numpy as np


def _values(seed, shape, dtype=np.float32):
    x = np.random.RandomState(seed).random_sample(shape)
    return (x * 255).astype(dtype) if np.dtype(dtype).kind in "iu" else x.astype(dtype)


def _ints(*values):
    return np.array(values, np.int32)


CASES: dict[str, tuple[str, dict, dict]] = {}
X = (2, 5, 7, 3)
SIZES = {"up": (9, 11), "down": (3, 2), "one": (1, 1)}
RULES = {"plain": {}, "align": {"align_corners": True}, "half": {"half_pixel_centers": True}}
BOXES = np.array([[0.1, 0.2, 0.9, 0.8], [0, 0, 1, 1], [-0.3, 0.5, 1.2, 0.1]], np.float32)
CUT = {"boxes": BOXES, "box_ind": np.array([0, 1, 1], np.int32)}

for size, (h, w) in SIZES.items():
    for rule, attrs in RULES.items():
        for method in ("Bilinear", "Bicubic", "NearestNeighbor", "Area"):
            if method == "Area" and rule == "half":
                continue
            for dtype in (np.float32, np.uint8):
                inputs = {"images": _values(0, X, dtype), "size": _ints(h, w)}
                key = f"{method}-{size}-{rule}-{np.dtype(dtype).name}"
                CASES[key] = (f"Resize{method}", inputs, attrs)
            if method in ("Bilinear", "Bicubic"):
                inputs = {"grads": _values(1, (2, h, w, 3)), "original_image": _values(2, X)}
                CASES[f"{method}Grad-{size}-{rule}"] = (f"Resize{method}Grad", inputs, attrs)
            if method == "NearestNeighbor":
                inputs = {"grads": _values(1, (2, h, w, 3)), "size": _ints(5, 7)}
                CASES[f"NearestGrad-{size}-{rule}"] = ("ResizeNearestNeighborGrad", inputs, attrs)

for method in ("bilinear", "nearest"):
    for h, w in ((4, 3), (1, 1)):
        attrs = {"method": method}
        inputs = {
            "image": _values(3, X),
            **CUT,
            "crop_size": _ints(h, w),
        }
        CASES[f"crops-{method}-{h}"] = (
            "CropAndResize",
            inputs,
            {**attrs, "extrapolation_value": -2.0},
        )
        inputs = {"grads": _values(4, (3, h, w, 3)), **CUT,
                  "image_size": _ints(*X)}  # fmt: skip
        key = f"crops-to-image-{method}-{h}"
        CASES[key] = ("CropAndResizeGradImage", inputs, {**attrs, "T": np.float32})
for h, w in ((4, 3), (1, 1)):
    inputs = {
        "grads": _values(4, (3, h, w, 3)),
        "image": _values(3, X),
        **CUT,
    }
    CASES[f"crops-to-boxes-{h}"] = ("CropAndResizeGradBoxes", inputs, {"method": "bilinear"})

PIXELS = _values(5, (3, 4, 3))
PIXELS[0] = PIXELS[0, :, :1]  # greys
PIXELS[1, 0] = 0
CASES["to-hsv"] = ("RGBToHSV", {"images": PIXELS}, {})
CASES["to-rgb"] = ("HSVToRGB", {"images": PIXELS}, {})
for by in (0.3, -0.7, 1.5):
    CASES[f"hue-{by}"] = ("AdjustHue", {"images": PIXELS, "delta": np.float32(by)}, {})
    CASES[f"saturation-{by}"] = (
        "AdjustSaturation",
        {"images": PIXELS, "scale": np.float32(by)},
        {},
    )
    inputs = {"images": _values(6, X), "contrast_factor": np.float32(by)}
    CASES[f"contrast-{by}"] = ("AdjustContrastv2", inputs, {})

COLOURS = np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]], np.float32)
FRAMES = np.array([[[0.1, 0.1, 0.7, 0.8], [0.5, -0.2, 1.4, 0.4]]] * 2, np.float32)
DRAWN = {"images": _values(7, (2, 9, 8, 3)), "boxes": FRAMES}
CASES["boxes-drawn"] = ("DrawBoundingBoxes", DRAWN, {})
CASES["boxes-coloured"] = (
    "DrawBoundingBoxesV2",
    {**DRAWN, "colors": COLOURS},
    {},
)
CORNERS = _values(8, (12, 2))
BOXES12 = np.concatenate([CORNERS, CORNERS + 0.3], 1)
SCORES = _values(9, (12,))
NMS = {"boxes": BOXES12, "scores": SCORES, "max_output_size": np.int32(8)}
CASES["nms"] = ("NonMaxSuppression", NMS, {"iou_threshold": 0.3})
LIMIT, FLOOR = {"iou_threshold": np.float32(0.4)}, {"score_threshold": np.float32(0.25)}
CASES["nms2"] = ("NonMaxSuppressionV2", {**NMS, **LIMIT}, {})
CASES["nms3"] = ("NonMaxSuppressionV3", {**NMS, **LIMIT, **FLOOR}, {})
CASES["nms4"] = ("NonMaxSuppressionV4", {**NMS, **LIMIT, **FLOOR}, {"pad_to_max_output_size": True})
for sigma in (0.0, 0.4):
    soft = {"soft_nms_sigma": np.float32(sigma)}
    CASES[f"nms5-{sigma}"] = ("NonMaxSuppressionV5", {**NMS, **LIMIT, **FLOOR, **soft}, {})
OVERLAPS = _values(10, (12, 12))
CASES["nms-overlaps"] = (
    "NonMaxSuppressionWithOverlaps",
    {"overlaps": (OVERLAPS + OVERLAPS.T) / 2, "scores": SCORES, "max_output_size": np.int32(6),
     "overlap_threshold": np.float32(0.6), "score_threshold": np.float32(0.1)},
    {},
)  # fmt: skip

for padding in ("SAME", "VALID"):
    steps = {"strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1], "padding": padding}
    inputs = {"images": _values(11, (2, 7, 6, 3))}
    CASES[f"patches-{padding}"] = ("ExtractImagePatches", inputs, {"ksizes": [1, 3, 2, 1], **steps})
    inputs = {"input": _values(12, (2, 5, 4, 6, 2))}
    attrs = {"ksizes": [1, 2, 3, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": padding}
    CASES[f"volumes-{padding}"] = ("ExtractVolumePatches", inputs, attrs)
    x, f = _values(13, (2, 7, 6, 3)), _values(14, (3, 2, 3))
    CASES[f"dilation-{padding}"] = ("Dilation2D", {"input": x, "filter": f}, steps)
    dy = _values(15, (2, 4, 6, 3) if padding == "SAME" else (2, 3, 4, 3))
    grads = {"input": x, "filter": f, "out_backprop": dy}
    CASES[f"dilation-to-input-{padding}"] = ("Dilation2DBackpropInput", grads, steps)
    CASES[f"dilation-to-filter-{padding}"] = ("Dilation2DBackpropFilter", grads, steps)
