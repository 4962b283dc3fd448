"""Pooling with invalid gradients, sequences, strides and paddings."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, i64, noise, ramp

UNCHECKED = "TensorFlow never compares the gradient's shape with the pooled input's"
UNUSED = "TensorFlow takes any stride over depth, which it never uses"
EDGE_CASES: list[EdgeCase] = []

# Sequences that do not rise to the sizes, and what was pooled being something else.
X = noise(2, 5, 6, 3)
FITS = (i64([0, 2, 5]), i64([0, 2, 4, 6]))
for rows, columns in (
    FITS,
    (i64([0, 2, 5]), i64([1, 1, 2, 5])),
    (i64([2, 0, 0]), i64([0, 2, 4, 6])),
    (i64([0, 2, 4]), i64([0, 2, 4, 6])),
    (i64([0, 2, 9]), i64([0, 2, 4, 6])),
    (i64([0, 2]), i64([0, 2, 4, 6])),
    (i64([0, 2, 4, 5]), i64([0, 2, 4, 6])),
    (i64([-1, 2, 5]), i64([0, 2, 4, 6])),
    (i64([0, 2, 5]), i64([0, 2, -4, 6])),
    (i64([0, 0, 5]), i64([0, 0, 0, 0])),
):
    for overlapping in (False, True):
        EDGE_CASES.append(
            EdgeCase(
                "FractionalAvgPoolGrad",
                [i64([2, 5, 6, 3]), ramp(2, 2, 3, 3), rows, columns],
                {"overlapping": overlapping},
            )
        )
for dims in (
    [2, 5, 6, 3],
    [1, 5, 6, 3],
    [2, 5, 6, 2],
    [2, 4, 6, 3],
    [2, 0, 0, 3],
    [2, 5, 6],
    [-1, 5, 6, 3],
):
    difference = (
        "TensorFlow writes beside the image" if dims in ([2, 5, 6, 2], [1, 5, 6, 3]) else ""
    )
    EDGE_CASES.append(
        EdgeCase("FractionalAvgPoolGrad", [i64(dims), ramp(2, 2, 3, 3), *FITS], {}, difference)
    )
for y, dy in (
    ((2, 2, 3, 3), (2, 2, 3, 3)),
    ((2, 2, 2, 3), (2, 2, 2, 3)),
    ((2, 2, 3, 3), (2, 2, 2, 3)),
    ((2, 2, 3), (2, 2, 3)),
):
    EDGE_CASES.append(EdgeCase("FractionalMaxPoolGrad", [X, noise(*y), ramp(*dy), *FITS]))
WHOLE = ramp(1, 5, 6, 1)
POOLED = WHOLE[:, [1, 4]][:, :, 1::2].copy()
for rows in (FITS[0], i64([0, 2, 9])):
    EDGE_CASES.append(
        EdgeCase("FractionalMaxPoolGrad", [WHOLE, POOLED, noise(1, 2, 3, 1), rows, FITS[1]])
    )
for ratio in (
    [1.0, 1.5, 1.5, 1.0],
    [1.0, 0.5, 1.5, 1.0],
    [1.0, 9.0, 1.5, 1.0],
    [2.0, 1.5, 1.5, 1.0],
    [1.0, 1.5, 1.5, 2.0],
    [1.0, 1.5, 1.5],
    [1.0, 1.0, 1.0, 1.0],
):
    for op in ("FractionalAvgPool", "FractionalMaxPool"):
        if ratio != [1.0, 1.5, 1.5, 1.0]:
            of = {"pooling_ratio": ratio, "seed": 1, "seed2": 1, "deterministic": True}
            EDGE_CASES.append(EdgeCase(op, [X], of))

# Gradients of other shapes.
FLAT = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
DEEP = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}
for dims, dy in (
    ([1, 4, 4, 2], (1, 2, 2, 2)),
    ([1, 4, 4, 2], (1, 3, 2, 2)),
    ([1, 4, 4, 2], (1, 1, 2, 2)),
    ([1, 4, 4, 2], (2, 2, 2, 2)),
    ([1, 4, 4, 2], (1, 2, 2, 1)),
    ([1, 4, 4, 2], (1, 2, 2)),
    ([0, 0, 0, 0], (1, 2, 2, 2)),
    ([0, 4, 4, 2], (1, 2, 2, 2)),
    ([0, 4, 4, 2], (0, 2, 2, 2)),
    ([1, 4, 4, 2], (0, 2, 2, 2)),
):
    difference = UNCHECKED if dy in ((1, 2, 2, 1), (1, 1, 2, 2)) else ""
    EDGE_CASES.append(EdgeCase("AvgPoolGrad", [i32(dims), ramp(*dy)], FLAT, difference))
    EDGE_CASES.append(
        EdgeCase("MaxPoolGrad", [noise(*[d for d in dims]), ramp(*dy), ramp(*dy)], FLAT)
    )
for dims, dy in (
    ([1, 4, 5, 3, 2], (1, 2, 3, 2, 2)),
    ([1, 4, 5, 3, 2], (1, 7, 3, 2, 2)),
    ([1, 4, 5, 3, 2], (1, 1, 3, 2, 2)),
    ([1, 4, 5, 3, 2], (2, 2, 3, 2, 2)),
    ([0, 4, 5, 3, 2], (0, 2, 3, 2, 2)),
    ([0, 0, 0, 0, 0], (1, 2, 3, 2, 2)),
):
    difference = UNCHECKED if dims[1] and dy[1] != 2 or dims == [0] * 5 else ""
    EDGE_CASES.append(EdgeCase("AvgPool3DGrad", [i32(dims), ramp(*dy)], DEEP, difference))
    EDGE_CASES.append(EdgeCase("MaxPool3DGrad", [noise(*dims), ramp(*dy), ramp(*dy)], DEEP))
# The gradients that compare with orig_output: of the pooled values, of others, of NaN.
for ops, at, of in (
    (("MaxPoolGradGrad",), (1, 4, 4, 2), FLAT),
    (("MaxPool3DGrad", "MaxPool3DGradGrad"), (1, 4, 5, 3, 2), DEEP),
):
    x = np.float32(np.arange(np.prod(at)).reshape(at) % 5)
    steps = (-(-n // 2) for n in at[1:-1])
    y = np.full((1, *steps, 2), 4, np.float32)
    y[:, 1] = 3
    with_nan = x.copy()
    with_nan[0, 1, 1] = np.nan
    for op in ops:
        grad = noise(*(y.shape if op == "MaxPool3DGrad" else x.shape))
        EDGE_CASES += [EdgeCase(op, [x, y, grad], of), EdgeCase(op, [with_nan, y, grad], of)]
        EDGE_CASES.append(EdgeCase(op, [with_nan, np.full_like(y, np.nan), grad], of))

# Paddings as large as the window.
for pads in (
    [0, 0, 1, 1, 0, 1, 0, 0],
    [0, 0, 2, 0, 0, 0, 0, 0],
    [0, 0, 0, 2, 0, 0, 0, 0],
    [0, 0, 0, 0, 2, 0, 0, 0],
    [0, 0, 0, 0, 0, 2, 0, 0],
    [0, 0, -1, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0, 0, 0],
    [],
):
    of = {**FLAT, "padding": "EXPLICIT", "explicit_paddings": pads}
    EDGE_CASES.append(EdgeCase("MaxPool", [noise(1, 4, 4, 1)], of))
    dy = noise(1, 2 + sum(pads[2:4]) // 2, 2 + sum(pads[4:6]) // 2, 1)
    EDGE_CASES.append(EdgeCase("MaxPoolGrad", [noise(1, 4, 4, 1), dy, dy], of))
NOT_EXPLICIT = {**FLAT, "explicit_paddings": [0, 0, 1, 1, 0, 1, 0, 0]}
dy = noise(1, 2, 2, 1)
EDGE_CASES.append(EdgeCase("MaxPoolGrad", [noise(1, 4, 4, 1), dy, dy], NOT_EXPLICIT))
EDGE_CASES.append(EdgeCase("MaxPool", [noise(1, 4, 4, 1)], NOT_EXPLICIT))
for strides in (
    [1, 2, 2, 0],
    [1, 2, 2, 2],
    [0, 2, 2, 1],
    [1, 0, 2, 1],
    [1, 2, -1, 1],
    [1, 2, 2, -1],
    [2, 2, 2, 1],
):
    difference = UNUSED if strides[3] < 1 else ""
    x, valid = noise(1, 4, 4, 2), {"padding": "VALID"}
    EDGE_CASES.append(
        EdgeCase("MaxPoolV2", [x, i32([1, 2, 2, 1]), i32(strides)], valid, difference)
    )
    EDGE_CASES.append(EdgeCase("MaxPool", [x], {**FLAT, "strides": strides}))
    EDGE_CASES.append(EdgeCase("AvgPool", [x], {**FLAT, "strides": strides}, difference))

# What was pooled has another shape than pooling gives; gradients of windows beyond the input.
TALL = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}
for dtype in (np.int16, np.float32):
    x, fits = noise(2, 5, 6, 3).astype(dtype), noise(2, 3, 6, 3).astype(dtype)
    for shape in ((8, 3, 6, 3), (2, 3, 6, 3), (2, 3, 6, 2), (2, 3, 6)):
        other = noise(*shape).astype(dtype)
        EDGE_CASES.append(EdgeCase("MaxPoolGrad", [x, other, fits], TALL))
        EDGE_CASES.append(EdgeCase("MaxPoolGrad", [x, fits, other], TALL))
SQUARE = {"ksize": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
for dims in ([2, 1, 2, 3], [2, 3, 5, 3], [2, 5, 3, 3], [2, 5, 5, 3]):
    EDGE_CASES.append(
        EdgeCase("AvgPoolGrad", [i32(dims), noise(2, 5, 5, 3).astype(np.float64)], SQUARE)
    )
