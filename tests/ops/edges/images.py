"""Images, sound and text: parameters that an op does not take, and values at its ends."""

from __future__ import annotations

import numpy as np

from edges import Edge, i32, i64, noise, words

BOXES = np.float32([[[0, 0, 1, 1]]])
EDGES: list[Edge] = [
    Edge(
        "ScaleAndTranslate",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([0, 1]), np.float32([0, 0])],
    ),
    Edge(
        "ScaleAndTranslate",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([1, -1]), np.float32([0, 0])],
    ),
    Edge(
        "ExtractGlimpseV2",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([[0, 0]])],
        {"noise": b"stone"},
    ),
    Edge(
        "ExtractGlimpseV2",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([[0, 0]])],
        {"noise": b"zero"},
    ),
    Edge(
        "ExtractGlimpseV2",
        [noise(1, 3, 3, 1), i32([2, 2]), np.float32([[0, 0]])],
        {"noise": b"zero", "uniform_noise": False},
    ),
    Edge("SampleDistortedBoundingBoxV2", [i32([4, 4, 3]), BOXES * 2, np.float32(0.1)]),
    Edge("SampleDistortedBoundingBox", [i32([4, 4, 3]), -BOXES]),
    Edge(
        "CombinedNonMaxSuppression",
        [noise(1, 2, 1, 4), noise(1, 2, 1), i32(0), i32(2), np.float32(0.5), np.float32(0)],
    ),
    Edge(
        "CombinedNonMaxSuppression",
        [noise(1, 2, 1, 4), noise(1, 2, 1), i32(1), i32(2), np.float32(1.5), np.float32(0)],
    ),
    Edge("ResizeNearestNeighbor", [noise(1, 2, 2, 1), i32([0, 2])]),
    Edge("ResizeBilinear", [noise(1, 2, 2, 1), i32([2, 0])]),
    Edge("Mfcc", [np.abs(noise(1, 2, 9)), i32(0)]),
    Edge("Mfcc", [np.abs(noise(1, 2, 9)), i32(16000)], {"filterbank_channel_count": 1}),
    Edge("DecodePaddedRaw", [words([b"ab"]), i32(0)], {"out_type": 4}),
    Edge("Substr", [words([b"abc", b"def"]), i32([0]), i32([1, 1])]),
    Edge("Substr", [words([b"abc", b"def"]), i32(0), i32([1])]),
    Edge(
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
    Edge(
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
    Edge("UnicodeEncode", [i32([97, 98]), i64([1, 2])], {"output_encoding": b"UTF-8"}),
    Edge("UnicodeEncode", [i32([97, 98]), i64([0, 2, 1])], {"output_encoding": b"UTF-8"}),
    Edge(
        "UnsortedSegmentJoin",
        [words([b"", b"e", b"", b"f"]), i32([0, 0, 1, 0]), i32(2)],
        {"separator": b"-"},
    ),
    Edge("ScalarSummary", [words([b"a"]), np.float32(1)]),
    Edge("PlaceholderWithDefault", [noise(3, 4)], {"shape": ()}),
    Edge("PlaceholderWithDefault", [noise(3)], {"shape": (3, 4)}),
]
