"""Convolutions with invalid strides, dilations and paddings."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, noise

EDGE_CASES: list[EdgeCase] = []

IGNORED = "TensorFlow ignores the dilations of this gradient, and shapes that do not fit"
S1 = [1, 1, 1, 1]
ONE_STEP = {"strides": S1, "padding": "VALID"}
IMAGE, IMAGE_SIZES = noise(1, 5, 5, 2), i32([1, 5, 5, 2])
FILTER, FILTER_SIZES = noise(2, 2, 2, 1), i32([2, 2, 2, 1])
for d in ([], [0, 0, 0, 0], [1, 0, 1, 1], [1, 2, 3, 1], [2, 2, 2, 2], [1, -1, -1, 1], [1, 1, 1]):
    attrs = {**ONE_STEP, "dilations": d}
    for op, change, note in (
        ("DepthwiseConv2dNative", noise(1, 4, 4, 2), IGNORED),
        ("Conv2D", noise(1, 4, 4, 1), ""),
    ):
        forward = FILTER if op == "DepthwiseConv2dNative" else noise(2, 2, 2, 3)
        EDGE_CASES.append(EdgeCase(op, [IMAGE, forward], attrs))
        EDGE_CASES.append(
            EdgeCase(f"{op}BackpropInput", [IMAGE_SIZES, FILTER, change], attrs, note)
        )
        EDGE_CASES.append(
            EdgeCase(f"{op}BackpropFilter", [IMAGE, FILTER_SIZES, change], attrs, note)
        )
for s in ([1, 2, 3, 1], [2, 1, 1, 1], [1, 0, 0, 1], [1, 2, 2, 2], [1, 1, 1]):
    of = {"strides": s, "padding": "VALID"}
    EDGE_CASES.append(EdgeCase("DepthwiseConv2dNative", [IMAGE, FILTER], of))
    EDGE_CASES.append(EdgeCase("Conv2D", [IMAGE, noise(2, 2, 2, 3)], of))
for op, padding, pads in (
    ("DepthwiseConv2dNative", "VALID", [0, 0, 1, 1, 1, 1, 0, 0]),
    ("DepthwiseConv2dNative", "EXPLICIT", [0, 0, 1, 1, 1, 1, 0, 0]),
    ("DepthwiseConv2dNative", "EXPLICIT", [0, 0, 1, 1, 1, 1]),
    ("Conv2D", "VALID", [0, 0, 1, 1, 1, 1, 0, 0]),
):
    of = {"strides": S1, "padding": padding, "explicit_paddings": pads}
    EDGE_CASES.append(EdgeCase(op, [IMAGE, FILTER], of))
LARGE, GRADIENT = (1, 7, 7, 2), noise(1, 3, 3, 2)
for padding in ("SAME", "VALID"):
    of = {"strides": [1, 2, 2, 1], "padding": padding}
    inputs = [i32(LARGE), noise(3, 3, 2, 1), GRADIENT]
    EDGE_CASES.append(EdgeCase("DepthwiseConv2dNativeBackpropInput", inputs, of))
inputs = [noise(*LARGE), i32([1, 1, 3, 0]), GRADIENT]
EDGE_CASES.append(EdgeCase("DepthwiseConv2dNativeBackpropFilter", inputs, of))

# Nothing to compute: inputs, filters and gradients without elements.
for x, f, dy in (
    ([2, 5, 6, 3], [3, 3, 0, 4], [2, 5, 6, 4]),
    ([2, 5, 6, 3], [3, 3, 3, 0], [2, 5, 6, 0]),
    ([2, 5, 6, 3], [3, 3, 3, 0], [2, 5, 6, 4]),
    ([2, 5, 6, 3], [0, 3, 3, 4], [2, 5, 6, 4]),
    ([2, 5, 6, 0], [3, 3, 0, 4], [2, 5, 6, 4]),
    ([0, 5, 6, 3], [3, 3, 3, 4], [2, 5, 6, 4]),
    ([0, 5, 6, 3], [3, 3, 3, 4], [0, 5, 6, 4]),
    ([2, 0, 6, 3], [3, 3, 3, 4], [2, 5, 6, 4]),
    ([2, 5, 6, 3], [3, 3, 1, 1], [2, 5, 6, 1]),
    ([2, 5, 6, 3], [3, 3, 3, 4], [0, 5, 6, 4]),
    ([2, 5, 6, 3], [3, 3, 3, 4], [2, 0, 6, 4]),
):
    of = {"strides": S1, "padding": "SAME"}
    if 0 not in x:  # TensorFlow gives an empty result the input's shape
        EDGE_CASES.append(EdgeCase("Conv2D", [noise(*x), noise(*f)], of))
    if f[3] == dy[3]:
        EDGE_CASES.append(EdgeCase("Conv2DBackpropInput", [i32(x), noise(*f), noise(*dy)], of))
    EDGE_CASES.append(EdgeCase("Conv2DBackpropFilter", [noise(*x), i32(f), noise(*dy)], of))
    deep = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    x3, f3, dy3 = ([*v[:1], 2, *v[1:]] for v in (x, f, dy))
    if 0 not in x:
        EDGE_CASES.append(EdgeCase("Conv3D", [noise(*x3), noise(*f3)], deep))
    EDGE_CASES.append(EdgeCase("Conv3DBackpropInputV2", [i32(x3), noise(*f3), noise(*dy3)], deep))
    EDGE_CASES.append(EdgeCase("Conv3DBackpropFilterV2", [noise(*x3), i32(f3), noise(*dy3)], deep))
for x, f, dy in (
    ([1, 7, 7, 2], [0, 3, 2, 1], [1, 7, 7, 2]),
    ([1, 7, 7, 2], [3, 3, 2, 0], [1, 7, 7, 0]),
    ([1, 7, 7, 2], [3, 3, 0, 1], [1, 7, 7, 2]),
    ([0, 7, 7, 2], [3, 3, 2, 1], [1, 7, 7, 2]),
    ([0, 7, 7, 2], [3, 3, 2, 1], [0, 7, 7, 2]),
):
    of = {"strides": S1, "padding": "SAME"}
    EDGE_CASES.append(EdgeCase("DepthwiseConv2dNative", [noise(*x), noise(*f)], of))
    EDGE_CASES.append(
        EdgeCase("DepthwiseConv2dNativeBackpropInput", [i32(x), noise(*f), noise(*dy)], of)
    )
    EDGE_CASES.append(
        EdgeCase("DepthwiseConv2dNativeBackpropFilter", [noise(*x), i32(f), noise(*dy)], of)
    )
BIG = [1, 1, 1, 1, 1]
for d in ([1, 2**31, 1, 1], [1, 2**62, 1, 1], [1, 1, 2**31 - 1, 1], [1, 40, 40, 1]):
    of = {**ONE_STEP, "dilations": d}
    EDGE_CASES += [EdgeCase("Conv2D", [IMAGE, noise(size, size, 2, 3)], of) for size in (2, 1)]
    of = {"strides": BIG, "padding": "VALID", "dilations": [1, *d]}
    EDGE_CASES.append(EdgeCase("Conv3D", [noise(1, 2, 5, 5, 2), noise(1, 2, 2, 2, 3)], of))
for d in ([1, 2, 1, 1, 1], [2, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1, 2]):
    of = {"strides": BIG, "padding": "VALID", "dilations": d}
    EDGE_CASES.append(EdgeCase("Conv3D", [noise(1, 5, 5, 5, 2), noise(2, 2, 2, 2, 3)], of))

# Sizes that TensorFlow compares, or does not, where there is nothing to compute.
for dtype in (np.float32, np.float64):
    x3, f3, deep = [1, 4, 5, 6, 2], [2, 3, 3, 2, 3], {"strides": BIG, "padding": "SAME"}
    filter3 = noise(*f3).astype(dtype)
    for sizes in ([0, 1, 2, 3, 4], x3, [1, 4, 5, 6, 3], [2, 4, 5, 6, 2], x3[:4], [1, 0, 5, 6, 2]):
        for dy in ([1, 4, 5, 6, 3], [1, 0, 5, 6, 3], [1, 4, 5, 6, 2], [2, 4, 5, 6, 3]):
            change = noise(*dy).astype(dtype)
            EDGE_CASES.append(
                EdgeCase("Conv3DBackpropInputV2", [i32(sizes), filter3, change], deep)
            )
    for channels, depth in ((0, 17), (0, 6), (1, 6), (3, 6), (2, 6), (2, 0)):
        f, change = [1, 3, 3, channels, 3], noise(1, 4, 5, depth, 3).astype(dtype)
        full = noise(*x3).astype(dtype)
        EDGE_CASES.append(EdgeCase("Conv3DBackpropFilterV2", [full, i32(f), change], deep))
        EDGE_CASES.append(
            EdgeCase("Conv3DBackpropFilter", [full, noise(*f).astype(dtype), change], deep)
        )
    change = noise(1, 0, 5, 6, 3).astype(dtype)
    EDGE_CASES.append(
        EdgeCase("Conv3DBackpropInput", [noise(*x3).astype(dtype), filter3, change], deep)
    )
    flat, change = {"strides": S1, "padding": "SAME"}, noise(2, 5, 6, 6).astype(dtype)
    x = noise(2, 5, 6, 3).astype(dtype)
    for f in ([3, 3, 3, 2], [3, 3, 0, 2], [3, 3, 1, 2], [3, 3, 3, 0], [3, 3, 3], [3, 3, 2, 3]):
        EDGE_CASES.append(
            EdgeCase("DepthwiseConv2dNativeBackpropFilter", [x, i32(f), change], flat)
        )
        if len(f) == 4:
            filters = noise(*f).astype(dtype)
            for n in ([2], [2, 5, 6, 3], [2, 5, 6], [2, 5, 6, 2], [2, 5, 6, 0], [3, 5, 6, 3]):
                of = [i32(n), filters, change]
                EDGE_CASES.append(EdgeCase("DepthwiseConv2dNativeBackpropInput", of, flat))
for of in (
    {"strides": S1, "padding": "EXPLICIT"},
    {"strides": [1, 1, 1], "padding": "SAME"},
    {"strides": S1, "padding": "SAME", "dilations": [1, 1]},
    {"strides": S1, "padding": "SAME", "explicit_paddings": [1]},
):
    for op in ("Conv2D", "DepthwiseConv2dNative"):
        none = noise(0, 5, 5, 2)
        EDGE_CASES.append(
            EdgeCase(f"{op}BackpropFilter", [none, i32([2, 2, 2, 1]), noise(0, 5, 5, 2)], of)
        )
for sizes, rates, strides in (
    ([4, 3, 5, 1], S1, S1),
    ([1, 3, 5, 2], S1, S1),
    ([1, 3, 3, 1], [2, 1, 1, 1], S1),
    ([1, 3, 3, 1], [1, 1, 1, 2], S1),
    ([1, 3, 3, 1], S1, [2, 1, 1, 1]),
    ([1, 3, 3, 1], S1, [1, 1, 1, 2]),
    ([1, 0, 3, 1], S1, S1),
    ([1, 3, 3, 1], S1, S1),
):
    of = {"ksizes": sizes, "rates": rates, "strides": strides, "padding": "SAME"}
    EDGE_CASES.append(EdgeCase("ExtractImagePatches", [noise(2, 7, 6, 3)], of))
for sizes, strides in (
    ([2, 1, 1, 1, 1], BIG),
    ([1, 1, 1, 1, 2], BIG),
    ([1, 2, 2, 2, 1], [2, 1, 1, 1, 1]),
    ([1, 2, 2, 2, 1], [1, 1, 1, 1, 2]),
):
    of = {"ksizes": sizes, "strides": strides, "padding": "SAME"}
    EDGE_CASES.append(EdgeCase("ExtractVolumePatches", [noise(1, 4, 5, 6, 2)], of))
