"""Images, sound and text: parameters that are invalid or at the limits."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, i64, noise, words

BOXES = np.float32([[[0, 0, 1, 1]]])
EDGE_CASES: list[EdgeCase] = [
    EdgeCase(
        "ScaleAndTranslate",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([0, 1]), np.float32([0, 0])],
    ),
    EdgeCase(
        "ScaleAndTranslate",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([1, -1]), np.float32([0, 0])],
    ),
    EdgeCase(
        "ExtractGlimpseV2",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([[0, 0]])],
        {"noise": b"stone"},
    ),
    EdgeCase(
        "ExtractGlimpseV2",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([[0, 0]])],
        {"noise": b"zero"},
    ),
    EdgeCase(
        "ExtractGlimpseV2",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([[0, 0]])],
        {"noise": b"zero", "uniform_noise": False},
    ),
    EdgeCase("SampleDistortedBoundingBoxV2", [i32([4, 4, 3]), BOXES * 2, np.float32(0.1)]),
    EdgeCase("SampleDistortedBoundingBox", [i32([4, 4, 3]), -BOXES]),
    EdgeCase(
        "CombinedNonMaxSuppression",
        [noise(1, 2, 1, 4), noise(1, 2, 1), i32(0), i32(2), np.float32(0.5), np.float32(0)],
    ),
    EdgeCase(
        "CombinedNonMaxSuppression",
        [noise(1, 2, 1, 4), noise(1, 2, 1), i32(1), i32(2), np.float32(1.5), np.float32(0)],
    ),
    EdgeCase("ResizeNearestNeighbor", [noise(1, 2, 2, 1), i32([0, 2])]),
    EdgeCase("ResizeBilinear", [noise(1, 2, 2, 1), i32([2, 0])]),
    EdgeCase("Mfcc", [np.abs(noise(1, 2, 9)), i32(0)]),
    EdgeCase("Mfcc", [np.abs(noise(1, 2, 9)), i32(16000)], {"filterbank_channel_count": 1}),
    EdgeCase("DecodePaddedRaw", [words([b"ab"]), i32(0)], {"out_type": 4}),
    EdgeCase("Substr", [words([b"abc", b"def"]), i32([0]), i32([1, 1])]),
    EdgeCase("Substr", [words([b"abc", b"def"]), i32(0), i32([1])]),
    EdgeCase(
        "StringNGrams",
        [words([b"a", b"b"]), i64([1, 2])],
        {
            "separator": b"|",
            "ngram_widths": [2],
            "left_pad": b"",
            "right_pad": b"",
            "pad_width": 0,
            "preserve_short_sequences": False,
        },
    ),
    EdgeCase(
        "StringNGrams",
        [words([b"a", b"b"]), i64([0, 2])],
        {
            "separator": b"|",
            "ngram_widths": [0],
            "left_pad": b"",
            "right_pad": b"",
            "pad_width": 0,
            "preserve_short_sequences": False,
        },
    ),
    EdgeCase("UnicodeEncode", [i32([97, 98]), i64([1, 2])], {"output_encoding": b"UTF-8"}),
    EdgeCase("UnicodeEncode", [i32([97, 98]), i64([0, 2, 1])], {"output_encoding": b"UTF-8"}),
    EdgeCase(
        "UnsortedSegmentJoin",
        [words([b"", b"e", b"", b"f"]), i32([0, 0, 1, 0]), i32(2)],
        {"separator": b"-"},
    ),
    EdgeCase("ScalarSummary", [words([b"a"]), np.float32(1)]),
    EdgeCase("PlaceholderWithDefault", [noise(3, 4)], {"shape": ()}),
    EdgeCase("PlaceholderWithDefault", [noise(3)], {"shape": (3, 4)}),
]

# Sizes, qualities and modes that are none.
IMAGE = noise(1, 4, 5, 2)
TWO = np.float32([1, 1])
for size in ([0, -1], [0, 3], [3, 3], [-1, 2], [3], [2, 2, 2]):
    for op in ("ScaleAndTranslate",):
        EDGE_CASES.append(EdgeCase(op, [IMAGE, i32(size), TWO, np.float32([0, 0])]))
    EDGE_CASES.append(
        EdgeCase(
            "ImageProjectiveTransformV2",
            [IMAGE, noise(1, 8), i32(size)],
            {"interpolation": b"NEAREST"},
        )
    )
for scale, shift in (
    ([1, 1], [0]),
    ([1], [0, 0]),
    ([1, 1, 1], [0, 0]),
    ([1, 1], [0, 0, 0]),
    ([0, 1], [0, 0]),
):
    EDGE_CASES.append(
        EdgeCase("ScaleAndTranslate", [IMAGE, i32([3, 3]), np.float32(scale), np.float32(shift)])
    )
    EDGE_CASES.append(
        EdgeCase(
            "ScaleAndTranslateGrad",
            [noise(1, 3, 3, 2), IMAGE, np.float32(scale), np.float32(shift)],
        )
    )
UNSET = "TensorFlow logs the unknown mode and goes on with an unset one"
EDGE_CASES.append(
    EdgeCase(
        "ImageProjectiveTransformV2",
        [IMAGE, noise(1, 8), i32([3, 3])],
        {"interpolation": b"CUBIC"},
        UNSET,
    )
)
EDGE_CASES.append(
    EdgeCase(
        "ImageProjectiveTransformV2",
        [IMAGE, noise(1, 8), i32([3, 3])],
        {"interpolation": b"NEAREST", "fill_mode": b"other"},
        UNSET,
    )
)
for quality in (-100, -1, 0, 100, 101):
    if not 0 <= quality <= 100:
        EDGE_CASES.append(
            EdgeCase("EncodeJpegVariableQuality", [np.zeros((4, 4, 3), np.uint8), i32(quality)])
        )
        EDGE_CASES.append(
            EdgeCase("EncodeJpeg", [np.zeros((4, 4, 3), np.uint8)], {"quality": quality})
        )
BOXES = np.float32([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]])
SCORES = np.float32([0.9, 0.75, 0.6])
for sigma in (-0.1, -1.0, 0.0, 0.5):
    EDGE_CASES.append(
        EdgeCase(
            "NonMaxSuppressionV5",
            [BOXES, SCORES, i32(3), np.float32(0.5), np.float32(0), np.float32(sigma)],
        )
    )
for overlaps in (
    [[1, np.nan, 0], [np.nan, 1, 0], [0, 0, 1]],
    [[1, -np.inf, 0], [np.inf, 1, 0], [0, 1, 1]],
    [[1, 0.6, 0.5], [0, 1, 0], [0.5, 0.7, 1]],
    [[1, 0, 0], [0.6, 1, 0], [0, 0, 1]],
):
    EDGE_CASES.append(
        EdgeCase(
            "NonMaxSuppressionWithOverlaps",
            [np.float32(overlaps), SCORES, i32(3), np.float32(0.5), np.float32(-np.inf)],
        )
    )
for dims in ([2, 7, 3, 2], [1, 7, 3, 2], [1, 7, 3, 1], [0, 7, 3, 2], [3, 7, 3, 2]):
    for op in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
        for align, half in ((False, False), (True, True)):
            of = {"align_corners": align, "half_pixel_centers": half}
            EDGE_CASES.append(EdgeCase(op, [noise(*dims), noise(1, 5, 4, 2)], of))

# Positions beyond the image, crops and images without pixels, colours of other channels.
for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"):
    for dtype in (np.uint8, np.float32):
        of = {"align_corners": True, "half_pixel_centers": True}
        EDGE_CASES.append(EdgeCase(op, [np.ones((1, 3, 4, 2), dtype), i32([2, 2])], of))
for size in ([8, 0], [0, 0], [-1, 3], [1, 1]):
    for boxes in (0, 2):
        at = i32([0, 1][:boxes])
        EDGE_CASES.append(
            EdgeCase("CropAndResize", [noise(2, 6, 5, 3), noise(boxes, 4), at, i32(size)])
        )
for channels in (1, 3, 4):
    for colours in ((1, 1), (1, 0), (1, 3), (2, 4), (0, 3), (0, 1), (1,), (1, 5)):
        image, box = np.abs(noise(1, 9, 8, channels)), np.float32([[[0.1, 0.2, 0.8, 0.7]]])
        EDGE_CASES.append(EdgeCase("DrawBoundingBoxesV2", [image, box, noise(*colours)]))
for shape in ((1, 6, 7, 0), (1, 6, 7, 1), (0, 6, 7, 1), (1, 0, 7, 1)):
    EDGE_CASES.append(
        EdgeCase(
            "ScaleAndTranslate",
            [noise(*shape), i32([5, 9]), np.float32([1, 1]), np.float32([0, 0])],
        )
    )
for density in (-(2**62), 2**31):
    for name in ("x_density", "y_density"):
        EDGE_CASES.append(
            EdgeCase("EncodeJpeg", [np.full((8, 8, 3), 100, np.uint8)], {name: density})
        )
for size in ([2**31 - 1, 10, 3], [10, 2**31 - 1, 3], [10, 10]):
    EDGE_CASES.append(EdgeCase("SampleDistortedBoundingBox", [i32(size), BOXES], {"seed": 3}))
