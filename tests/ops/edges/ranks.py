"""Inputs of a rank that an op never takes: what should be a scalar is a vector, and the like."""

from __future__ import annotations

import numpy as np

from edges import Edge, i32, i64, noise, words

NONE = np.zeros(0, np.float32)
EDGES: list[Edge] = [
    Edge("OneHot", [i32([1, 0]), i32(2), NONE, np.float32(0)]),  # SIGSEGV before
    Edge("OneHot", [i32([1, 0]), i32(2), words([]), words(b"")]),
    Edge("OneHot", [i32([1, 0]), i32([2]), np.float32(1), np.float32(0)]),
    Edge("Fill", [i32([2]), NONE]),
    Edge("ArgMax", [noise(2, 3), i32([1])]),
    Edge("Cumsum", [noise(2, 3), i32([1, 0])]),
    Edge("AdjustHue", [noise(2, 3), np.float32(0)]),
    Edge("AdjustHue", [noise(2, 2, 3), np.float32([0])]),
    Edge(
        "BatchNormWithGlobalNormalizationGrad",
        [noise(2, 3, 4, 3), noise(3), noise(3), noise(3), noise(8)],
        {"variance_epsilon": 0.01, "scale_after_normalization": True},
    ),
    Edge("BiasAdd", [noise(2, 4), noise(4)], {"data_format": "NCHW"}),
    Edge("MatrixDiagV2", [noise(4, 3), i32(0), i32(-1), i32(-1), NONE]),
    Edge("MatrixDiagPartV2", [noise(4, 3), i32(0), np.float32([0])]),
    Edge("TensorScatterSub", [noise(4), i32([[1]]), np.float32(1)]),
    Edge("TensorScatterUpdate", [noise(4), i32([[1]]), np.float32(1)]),
    Edge("StridedSlice", [noise(4), i32(1), i32(2), i32(1)]),
    Edge("StringSplitV2", [words([[b"a b"]]), words(b" ")]),
    Edge("SpaceToBatchND", [noise(1, 4, 1), i32(2), i32([[0, 0]])]),
    Edge("UnsortedSegmentJoin", [words([b"a"]), i32([0]), i32([2])], {"separator": b""}),
    Edge("DecodeCSV", [words([b"1"]), np.float32([[1]])]),
    Edge("InplaceAdd", [noise(4, 2), i32([1]), noise(1, 2, 1)]),
    Edge("BroadcastGradientArgs", [i32([1]), i32([[1]])]),
    Edge("ReverseV2", [noise(3), i32([[0]])]),
    Edge("UniqueV2", [noise(3), i64(0)]),
    Edge("StatelessRandomUniformInt", [i32([2]), i32([1, 2]), i32([0]), i32(3)]),
    Edge("DeserializeSparse", [words([[b"a", b"b"]])], {"dtype": 1}),
    *[
        Edge(op, [x, axes], {"keep_dims": axes.size == 1})
        for op, x in (("All", noise(3, 2) > 0), ("Max", noise(3, 2)), ("Mean", noise(3, 2)))
        for axes in (
            i32([[0, 1]]),
            i32([[0], [1]]),
            i32([[[-1]]]),
            np.zeros((3, 0), np.int32),
            i32([[0, 0]]),
            i32([[5]]),
        )
    ],
    Edge("MirrorPad", [noise(2), i32([1, 1])], {"mode": "REFLECT"}),
]
