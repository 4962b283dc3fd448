"""Diagonals, slices and images whose shapes do not fit the tensor that they are written to."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, ramp, words

EDGE_CASES: list[EdgeCase] = []
for shape, diagonal in (
    ((2, 3, 4), (2, 3)),
    ((2, 3, 4), (3, 2)),
    ((2, 3, 4), (6,)),
    ((2, 3, 4), (1, 2, 3)),
    ((2, 3, 4), (3,)),
    ((0, 3, 4), (0, 3)),
    ((0, 3, 4), (5, 3, 0)),
    ((3, 0), (0,)),
    ((2, 3, 0), (3, 0)),
):
    EDGE_CASES.append(EdgeCase("MatrixSetDiag", [ramp(*shape), -ramp(*diagonal)]))
    for k in (i32(0), i32([0, 0])):
        EDGE_CASES.append(EdgeCase("MatrixSetDiagV3", [ramp(*shape), -ramp(*diagonal), k]))
for band in ((2, 2, 3), (2, 6), (4, 3), (12,), (1, 2, 2, 3)):
    EDGE_CASES.append(EdgeCase("MatrixSetDiagV3", [ramp(2, 3, 4), -ramp(*band), i32([0, 1])]))
for bounds in (
    (i32([0]), i32([1]), i32([1])),
    (i32(0), i32([1]), i32([1])),
    (i32([0]), i32(1), i32([1])),
    (i32([0]), i32([1]), i32(1)),
    (i32([[0]]), i32([[1]]), i32([[1]])),
    (i32([0, 0]), i32([1]), i32([1])),
    (i32([0, 0, 0]), i32([1, 1, 1]), i32([1, 1, 1])),
):
    EDGE_CASES.append(EdgeCase("TensorStridedSliceUpdate", [ramp(3, 2), *bounds, -ramp(1, 2)]))
for value in ((), (2,), (3, 3), (0, 2), (2, 0)):
    bounds = i32([1]), i32([1]), i32([1])
    EDGE_CASES.append(EdgeCase("TensorStridedSliceUpdate", [ramp(3, 2), *bounds, -ramp(*value)]))
# Values that are stretched to the slice, whose new axes count and whose shrunk ones do not.
X = ramp(3, 4)
for value in ((), (1,), (2,), (1, 1), (2, 1), (1, 2), (3,), (1, 2, 2), (2, 2, 1), (1, 1, 1), (0,)):
    for end, masks in (
        ([2, 3], {}),
        ([0, 3], {}),
        ([2, 3], {"shrink_axis_mask": 1}),
        ([2, 3], {"shrink_axis_mask": 3}),
        ([2, 0, 3], {"new_axis_mask": 2}),
    ):
        begin, ones = [0, 1] if len(end) == 2 else [0, 0, 1], [1] * len(end)
        bounds = i32(begin), i32(end), i32(ones)
        EDGE_CASES.append(
            EdgeCase("TensorStridedSliceUpdate", [X, *bounds, -1 - ramp(*value)], masks)
        )
for image in ((0, 5, 5, 1), (1, 0, 5, 1), (1, 5, 0, 3)):
    for dtype in (np.float32, np.uint8):
        EDGE_CASES.append(EdgeCase("ImageSummary", [words(b"a"), np.zeros(image, dtype)]))
