"""Cases of the image family."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from cases.case import Case, T, distinct, floats, integers, literal, real

_FLOATS = ("float32", "float64")
CASES = []
for _mode in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
    for _op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
        CASES += [
            Case(_op, (real(2, 5, 4, 3, low=0, high=9), literal(size)), _mode, smooth=False)
            for size in ([7, 9], [3, 2], [1, 1])
        ]
    CASES += [
        Case(
            "ResizeBilinearGrad",
            (floats(2, 7, 3, 2), real(2, 5, 4, 2)),
            _mode,
            dtypes=("float32",),
            smooth=False,
        ),
        Case(
            "ResizeBicubicGrad",
            (floats(2, 7, 3, 2), real(2, 5, 4, 2)),
            _mode,
            dtypes=("float32",),
            smooth=False,
        ),
        Case(
            "ResizeNearestNeighborGrad", (real(2, 7, 3, 2), literal([5, 4])), _mode, dtypes=_FLOATS
        ),
    ]
for _mode in ({}, {"align_corners": True}):
    CASES += [
        Case("ResizeArea", (real(1, 5, 4, 2, low=0, high=9), literal(size)), _mode)
        for size in ([3, 2], [7, 9])
    ]
for _kernel in "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split():
    CASES.append(
        Case(
            "ScaleAndTranslate",
            (
                real(1, 6, 7, 2),
                literal([5, 9]),
                literal([0.7, 1.4], "float32"),
                literal([0.5, -1.0], "float32"),
            ),
            {"kernel_type": _kernel},
            dtypes=("float32",),
            smooth=False,
        )
    )
CASES.append(
    Case(
        "ScaleAndTranslateGrad",
        (
            real(1, 5, 9, 2),
            real(1, 6, 7, 2),
            literal([0.7, 1.4], "float32"),
            literal([0.5, -1.0], "float32"),
        ),
        {"antialias": False},
        dtypes=("float32",),
        smooth=False,
    )
)
# In double, TensorFlow's weights are single all the same.
CASES += [
    Case(
        op,
        (floats(2, 7, 3, 2), real(2, 5, 4, 2)),
        _mode,
        dtypes=("float16", "bfloat16", "float64"),
        smooth=False,
        in_tensorflow=False,
    )
    for op in ("ResizeBilinearGrad", "ResizeBicubicGrad")
    for _mode in ({}, {"half_pixel_centers": True})
]
CASES += [
    Case("ResizeNearestNeighborGrad", (real(2, 7, 3, 2), literal([5, 4]))),
    Case(
        "AdjustContrast",
        (real(4, 5, 3, low=0, high=9), *(literal(v, "float32") for v in (1.5, 0.0, 8.0))),
        smooth=False,
        in_tensorflow=False,
    ),
]
_BOXES = literal([[0.1, 0.2, 0.9, 0.8], [0, 0, 1, 1], [-0.5, 0.3, 1.2, 0.1]], "float32")
_INDEX = literal([0, 1, 1])
for _method in ("bilinear", "nearest"):
    _attrs = {"method": _method}
    CASES += [
        Case(
            "CropAndResize",
            (real(2, 6, 5, 3, low=0, high=9), _BOXES, _INDEX, literal(size)),
            {**_attrs, "extrapolation_value": -1.0},
            smooth=False,
        )
        for size in ([4, 3], [1, 1])
    ]
    CASES.append(
        Case(
            "CropAndResizeGradImage",
            (floats(3, 4, 3, 2), _BOXES, _INDEX, literal([2, 6, 5, 2])),
            {**_attrs, "T": T},
            dtypes=("float32", "float16", "float64"),
        )
    )
CASES += [
    Case(
        "CropAndResizeGradBoxes",
        (floats(3, 4, 3, 2), real(2, 6, 5, 2), _BOXES, _INDEX),
        smooth=False,
    ),
    Case(
        "ExtractGlimpse",
        (floats(2, 6, 7, 2), literal([3, 3]), literal([[0.1, -0.2], [0, 0]], "float32")),
        {"uniform_noise": False, "noise": "zero"},
    ),
    Case(
        "ExtractGlimpseV2",
        (floats(2, 6, 7, 2), literal([4, 4]), literal([[1.0, 2.0], [-2, 4]], "float32")),
        {"uniform_noise": False, "noise": "zero", "centered": False, "normalized": False},
    ),
]
_TRANSFORM = literal([[1.1, 0.2, -0.5, -0.1, 0.9, 0.3, 0.01, 0.02]], "float32")
for _fill in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
    CASES += [
        Case(
            "ImageProjectiveTransformV3",
            (real(2, 5, 6, 2), _TRANSFORM, literal([6, 7]), literal(0.5, "float32")),
            {"interpolation": how, "fill_mode": _fill},
            dtypes=("float32",),
            smooth=False,
        )
        for how in ("NEAREST", "BILINEAR")
    ]
CASES += [
    Case(
        "ImageProjectiveTransformV2",
        (real(2, 5, 6, 2), _TRANSFORM, literal([6, 7])),
        {"interpolation": "BILINEAR"},
        dtypes=("float32",),
        smooth=False,
    ),
    Case("AdjustContrastv2", (real(2, 4, 5, 3, low=0, high=1), literal(1.5, "float32"))),
    Case("AdjustHue", (real(2, 4, 5, 3, low=0, high=1), literal(0.3, "float32"))),
    Case("AdjustSaturation", (real(2, 4, 5, 3, low=0, high=1), literal(1.5, "float32"))),
    Case("RGBToHSV", (real(4, 5, 3, low=0, high=1),), smooth=False),
    Case("RGBToHSV", (literal([[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.2]], "float32"),), smooth=False),
    Case("HSVToRGB", (real(4, 5, 3, low=0, high=1),), smooth=False),
    Case(
        "DrawBoundingBoxes",
        (
            real(2, 9, 8, 3, low=0, high=1),
            literal(
                [
                    [[0.1, 0.2, 0.8, 0.7], [-0.1, 0.5, 0.5, 1.4]],
                    [[0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5]],
                ],
                "float32",
            ),
        ),
        smooth=False,
    ),
    Case(
        "DrawBoundingBoxesV2",
        (
            real(1, 9, 8, 3, low=0, high=1),
            literal([[[0.1, 0.2, 0.8, 0.7]]], "float32"),
            literal([[0.1, 0.2, 0.3]], "float32"),
        ),
        smooth=False,
    ),
]
_SOME = literal(
    [
        [0, 0, 1, 1],
        [0, 0.1, 1, 1.1],
        [0, -0.1, 1, 0.9],
        [0, 10, 1, 11],
        [0, 10.1, 1, 11.1],
        [0, 100, 1, 101],
    ],
    "float32",
)
_SCORES = literal([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], "float32")
_HALF, _LEAST = literal(0.5, "float32"), literal(0.4, "float32")
CASES += [
    Case("NonMaxSuppression", (_SOME, _SCORES, literal(3)), {"iou_threshold": 0.5}),
    Case("NonMaxSuppressionV2", (_SOME, _SCORES, literal(30), _HALF)),
    Case("NonMaxSuppressionV3", (_SOME, _SCORES, literal(30), _HALF, _LEAST)),
    Case(
        "NonMaxSuppressionV4",
        (_SOME, _SCORES, literal(5), _HALF, _LEAST),
        {"pad_to_max_output_size": True},
    ),
    Case(
        "NonMaxSuppressionV5",
        (_SOME, _SCORES, literal(6), _HALF, literal(0.0, "float32"), literal(0.5, "float32")),
    ),
    Case(
        "NonMaxSuppressionV5",
        (_SOME, _SCORES, literal(6), _HALF, _LEAST, literal(0.0, "float32")),
        {"pad_to_max_output_size": True},
    ),
    Case("NonMaxSuppressionWithOverlaps", (floats(6, 6), _SCORES, literal(4), _HALF, _LEAST)),
    Case(
        "CombinedNonMaxSuppression",
        (floats(2, 9, 1, 4), floats(2, 9, 3), literal(3), literal(5), _HALF, _LEAST),
    ),
    Case(
        "CombinedNonMaxSuppression",
        (floats(2, 9, 3, 4), floats(2, 9, 3), literal(1), literal(5), _HALF, _LEAST),
        {"pad_per_class": True},
    ),
    Case(
        "SampleDistortedBoundingBoxV2",
        (
            literal([40, 50, 3]),
            literal([[[0.2, 0.2, 0.7, 0.8]]], "float32"),
            literal(0.1, "float32"),
        ),
        {"seed": 3},
        exact=False,
    ),
    Case(
        "SampleDistortedBoundingBox",
        (literal([40, 50, 3]), literal([[[0.2, 0.2, 0.7, 0.8]]], "float32")),
        {"seed": 3},
        exact=False,
    ),
]


def _png() -> bytes:
    """Four by three pixels of red to blue."""
    rows = b"".join(
        b"\0" + bytes([60 * x, 10 * y, 255 - 60 * x][c] for x in range(4) for c in range(3))
        for y in range(3)
    )

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 3, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


_WAV = (
    b"RIFF"
    + struct.pack("<I", 44)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 2, 8000, 32000, 4, 16)
    + b"data"
    + struct.pack("<I", 8)
    + np.array([1, -2, 32767, -32768], "<i2").tobytes()
)
# Smooth enough for differences: nothing on an edge between pixels, channels apart.
_COLOURS = [[0.9, 0.5, 0.2], [0.3, 0.8, 0.6], [0.1, 0.4, 0.7], [0.2, 0.9, 0.5], [0.6, 0.3, 0.9]]
CASES += [
    *[
        Case(_op, (distinct(1, 4, 3, 2), literal([6, 5])), _mode, dtypes=("float32",))
        for _op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor")
        for _mode in ({}, {"half_pixel_centers": True})
    ],
    Case(
        "ScaleAndTranslate",
        (
            real(1, 6, 7, 2),
            literal([5, 9]),
            literal([0.7, 1.4], "float32"),
            literal([0.5, -1.0], "float32"),
        ),
        {"antialias": False},
        dtypes=("float32",),
    ),
    Case(
        "CropAndResize",
        (
            real(2, 6, 5, 3),
            literal([[0.12, 0.23, 0.83, 0.71], [0.31, 0.17, 0.93, 0.9]], "float32"),
            literal([0, 1]),
            literal([3, 2]),
        ),
        dtypes=("float32",),
    ),
    Case("RGBToHSV", (literal(_COLOURS, T),), dtypes=("float64",)),
]
CASES += [
    Case("DecodePng", (literal(_png(), "string"),)),
    Case("DecodePng", (literal(_png(), "string"),), {"channels": 4}),
    Case("DecodePng", (literal(_png(), "string"),), {"channels": 1}),
    Case("DecodePng", (literal(_png(), "string"),), {"dtype": "uint16"}),
    Case("DecodeImage", (literal(_png(), "string"),)),
    Case("EncodePng", (real(5, 4, 3, low=0, high=255),), exact=False),
    Case("EncodeJpeg", (integers(5, 4, 3, high=256, dtype="uint8"),), exact=False),
    Case(
        "EncodeJpegVariableQuality",
        (integers(5, 4, 3, high=256, dtype="uint8"), literal(80)),
        exact=False,
    ),
    Case("DecodeWav", (literal(_WAV, "string"),)),
    Case("DecodeWav", (literal(_WAV, "string"),), {"desired_samples": 3, "desired_channels": 1}),
    Case("EncodeWav", (floats(6, 2, low=-1), literal(8000))),
    Case("AudioSpectrogram", (floats(50, 2, low=-1),), {"window_size": 12, "stride": 5}),
    Case(
        "AudioSpectrogram",
        (floats(50, 1, low=-1),),
        {"window_size": 16, "stride": 8, "magnitude_squared": True},
    ),
    Case("Mfcc", (floats(1, 3, 129, low=0.1), literal(16000))),
]
