"""Inputs of a rank that an op does not accept, such as a vector in place of a scalar."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, i64, noise, words

NONE = np.zeros(0, np.float32)
EDGE_CASES: list[EdgeCase] = [
    EdgeCase("OneHot", [i32([1, 0]), i32(2), NONE, np.float32(0)]),  # SIGSEGV before
    EdgeCase("OneHot", [i32([1, 0]), i32(2), words([]), words(b"")]),
    EdgeCase("OneHot", [i32([1, 0]), i32([2]), np.float32(1), np.float32(0)]),
    EdgeCase("Fill", [i32([2]), NONE]),
    EdgeCase("ArgMax", [noise(2, 3), i32([1])]),
    EdgeCase("Cumsum", [noise(2, 3), i32([1, 0])]),
    EdgeCase("AdjustHue", [noise(2, 3), np.float32(0)]),
    EdgeCase("AdjustHue", [noise(2, 2, 3), np.float32([0])]),
    EdgeCase(
        "BatchNormWithGlobalNormalizationGrad",
        [noise(2, 3, 4, 3), noise(3), noise(3), noise(3), noise(8)],
        {"variance_epsilon": 0.01, "scale_after_normalization": True},
    ),
    EdgeCase("BiasAdd", [noise(2, 4), noise(4)], {"data_format": "NCHW"}),
    EdgeCase("MatrixDiagV2", [noise(4, 3), i32(0), i32(-1), i32(-1), NONE]),
    EdgeCase("MatrixDiagPartV2", [noise(4, 3), i32(0), np.float32([0])]),
    EdgeCase("TensorScatterSub", [noise(4), i32([[1]]), np.float32(1)]),
    EdgeCase("TensorScatterUpdate", [noise(4), i32([[1]]), np.float32(1)]),
    EdgeCase("StridedSlice", [noise(4), i32(1), i32(2), i32(1)]),
    EdgeCase("StringSplitV2", [words([[b"a b"]]), words(b" ")]),
    EdgeCase("SpaceToBatchND", [noise(1, 4, 1), i32(2), i32([[0, 0]])]),
    EdgeCase("UnsortedSegmentJoin", [words([b"a"]), i32([0]), i32([2])], {"separator": b""}),
    EdgeCase("DecodeCSV", [words([b"1"]), np.float32([[1]])]),
    EdgeCase("InplaceAdd", [noise(4, 2), i32([1]), noise(1, 2, 1)]),
    EdgeCase("BroadcastGradientArgs", [i32([1]), i32([[1]])]),
    EdgeCase("ReverseV2", [noise(3), i32([[0]])]),
    EdgeCase("UniqueV2", [noise(3), i64(0)]),
    EdgeCase("StatelessRandomUniformInt", [i32([2]), i32([1, 2]), i32([0]), i32(3)]),
    EdgeCase("DeserializeSparse", [words([[b"a", b"b"]])], {"dtype": 1}),
    *[
        EdgeCase(op, [x, axes], {"keep_dims": axes.size == 1})
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
    EdgeCase("MirrorPad", [noise(2), i32([1, 1])], {"mode": "REFLECT"}),
]
