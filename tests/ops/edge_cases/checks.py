"""Invalid sizes, names and shapes that are rejected although a result could be computed."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from edge_cases import EdgeCase, i32, i64, noise

EDGE_CASES: list[EdgeCase] = []

# One tag is a scalar, not a vector of one.
for shape in ((1,), (1, 1), (2,)):
    tag = np.full(shape, b"a", object)
    EDGE_CASES.append(EdgeCase("HistogramSummary", [tag, noise(3).astype(np.float32)]))
    EDGE_CASES.append(EdgeCase("ImageSummary", [tag, np.zeros((1, 2, 2, 1), np.float32)]))
    EDGE_CASES.append(
        EdgeCase("AudioSummary", [tag, np.zeros((1, 2), np.float32)], {"sample_rate": 8e3})
    )
    EDGE_CASES.append(
        EdgeCase("AudioSummaryV2", [tag, np.zeros((1, 2), np.float32), np.float32(8000)])
    )
    empty = np.full(shape, b"", object)
    EDGE_CASES.append(EdgeCase("TensorSummaryV2", [np.array(b"a", object), noise(3), empty]))
    EDGE_CASES.append(EdgeCase("TensorSummaryV2", [tag, noise(3), np.array(b"", object)]))

for formats in (("NHWC", "NCHW"), ("NDHWC", "NCDHW")):
    of = {"src_format": formats[0], "dst_format": formats[1]}
    for dims in ([2, 0], [4, 3], [2, 1], [2, 2], [4, 2], [3, 2], [5, 2], [3, 3], [0, 2], [4], [3]):
        EDGE_CASES.append(
            EdgeCase("DataFormatVecPermute", [i32(np.arange(np.prod(dims)).reshape(dims))], of)
        )

# Seeds of pooling that is not to be repeated.
for op in ("FractionalMaxPool", "FractionalAvgPool"):
    for seed, seed2 in ((1, 0), (0, 1 << 62)):
        of = {"seed": seed, "seed2": seed2, "deterministic": False}
        ratios = {"pooling_ratio": [1.0, 1.5, 1.4, 1.0]}
        EDGE_CASES.append(EdgeCase(op, [np.ones((2, 9, 3, 3), np.int32)], {**of, **ratios}))

# Rows of their own parameters count where they have no elements, one row for all does not.
MOST, STILL = np.float64(1), {"seed": 7, "seed2": 1}
for sizes in ([3, 0], [0, 3], [0]):
    for deviations in (-MOST, np.float64([1, 1, -1]), np.float64([1, 1, 1])):
        of = [i32(sizes), np.float64(0), deviations, -MOST, MOST]
        EDGE_CASES.append(EdgeCase("ParameterizedTruncatedNormal", of, STILL))
    for least in (np.float64(2), np.float64([0, 1, 0])):
        of = [i32(sizes), np.float64(0), MOST, least, MOST]
        EDGE_CASES.append(EdgeCase("ParameterizedTruncatedNormal", of, STILL))

BOX = np.float32([[[0.2, 0.2, 0.7, 0.8]]])
for size in ([-1, 5, 3], [5, -1, 3], [2**31 - 1, 5, 3]):
    EDGE_CASES.append(EdgeCase("SampleDistortedBoundingBox", [i32(size), BOX], {"seed": 3}))
    EDGE_CASES.append(
        EdgeCase("SampleDistortedBoundingBoxV2", [i64(size), BOX, np.float32(0.1)], {"seed": 3})
    )

LIMITS = [i32(1), i32(5), np.float32(0.5), np.float32(0.4)]
for boxes, scores in (
    ((2, 9, 3, 4), (8, 9, 3)),
    ((0, 9, 3, 4), (2, 9, 3)),
    ((2, 9, 1, 4), (2, 9, 3)),
    ((2, 9, 1, 4), (1, 9, 3)),
    ((2, 9, 1, 4), (2, 8, 3)),
    ((2, 9, 2, 4), (2, 9, 3)),
):
    of = [np.zeros(boxes, np.float32), np.zeros(scores, np.float32), *LIMITS]
    EDGE_CASES.append(EdgeCase("CombinedNonMaxSuppression", of))

for encoding in (b".*", b"", b"UTF-8", b"UTF8", b"ISO-8859-1"):
    for texts in ((5, 0), (1,)):
        x = np.full(texts, b"a", object)
        EDGE_CASES.append(EdgeCase("UnicodeDecode", [x], {"input_encoding": encoding}))
        EDGE_CASES.append(EdgeCase("UnicodeDecodeWithOffsets", [x], {"input_encoding": encoding}))
        of = {"input_encoding": encoding, "output_encoding": b"UTF-8"}
        EDGE_CASES.append(EdgeCase("UnicodeTranscode", [x], of))

# Gradients of nothing whose sizes do not fit: oneDNN takes float and bfloat16 here.
for dtype in (np.float16, ml_dtypes.bfloat16, np.float32):
    same = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    wide, change = noise(2, 5, 6, 3).astype(dtype), noise(2, 5, 6, 6).astype(dtype)
    for f in ([0, 1, 2, 3], [3, 3, 3, 0]):
        EDGE_CASES.append(
            EdgeCase("DepthwiseConv2dNativeBackpropFilter", [wide, i32(f), change], same)
        )
    of = [i32([2, 5, 6, 3]), noise(3, 3, 2, 0).astype(dtype), change]
    EDGE_CASES.append(EdgeCase("DepthwiseConv2dNativeBackpropInput", of, same))
    of = [noise(1, 7, 0, 2).astype(dtype), i32([3, 3, 2, 1]), noise(1, 3, 3, 2).astype(dtype)]
    valid = {"strides": [1, 2, 2, 1], "padding": "VALID"}
    EDGE_CASES.append(EdgeCase("DepthwiseConv2dNativeBackpropFilter", of, valid))
    flat, change = noise(1, 4, 4, 1).astype(dtype), noise(1, 5, 5, 2).astype(dtype)
    none = noise(3, 0, 1, 2).astype(dtype)
    EDGE_CASES.append(EdgeCase("Conv2DBackpropInput", [i32([1, 4, 4, 1]), none, change], same))
    EDGE_CASES.append(EdgeCase("Conv2DBackpropFilter", [flat, i32([3, 0, 1, 2]), change], same))
    deep, change = noise(1, 4, 4, 4, 1).astype(dtype), noise(1, 5, 5, 5, 2).astype(dtype)
    same, none = {"strides": [1] * 5, "padding": "SAME"}, noise(3, 0, 3, 1, 2).astype(dtype)
    EDGE_CASES.append(EdgeCase("Conv3DBackpropInputV2", [i32([1, 4, 4, 4, 1]), none, change], same))
    EDGE_CASES.append(
        EdgeCase("Conv3DBackpropFilterV2", [deep, i32([3, 0, 3, 1, 2]), change], same)
    )

# Logits and labels become matrices of one shape by broadcasting.
for logits, labels in (
    ([5], [2, 5]),
    ([4, 3], [3]),
    ([1], [4, 1]),
    ([4, 1], [1, 3]),
    ([4, 3], [4, 1]),
    ([4, 1], [4, 3]),
    ([], [2, 3]),
    ([2, 3], []),
    ([1, 3], [4, 3]),
    ([0], [2, 1]),
    ([], []),
    ([5], [5]),
    ([3], [4]),
    ([2, 2, 2], [2, 2]),
):
    for dtype in (np.float32, np.float64, np.float16):
        of = [np.asarray(noise(*logits), dtype), np.abs(np.asarray(noise(*labels), dtype))]
        EDGE_CASES.append(EdgeCase("SoftmaxCrossEntropyWithLogits", of))
