"""Windows whose strides, dilations and paddings are none."""

from __future__ import annotations

from edges import Edge, i32, noise

EDGES: list[Edge] = []

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
        EDGES.append(Edge(op, [IMAGE, forward], attrs))
        EDGES.append(Edge(f"{op}BackpropInput", [IMAGE_SIZES, FILTER, change], attrs, note))
        EDGES.append(Edge(f"{op}BackpropFilter", [IMAGE, FILTER_SIZES, change], attrs, note))
for s in ([1, 2, 3, 1], [2, 1, 1, 1], [1, 0, 0, 1], [1, 2, 2, 2], [1, 1, 1]):
    EDGES.append(
        Edge(
            "DepthwiseConv2dNative",
            [noise(1, 5, 5, 2), noise(2, 2, 2, 1)],
            {"strides": s, "padding": "VALID"},
        )
    )
    EDGES.append(
        Edge("Conv2D", [noise(1, 5, 5, 2), noise(2, 2, 2, 3)], {"strides": s, "padding": "VALID"})
    )
EDGES.append(
    Edge(
        "DepthwiseConv2dNative",
        [noise(1, 5, 5, 2), noise(2, 2, 2, 1)],
        {"strides": S1, "padding": "VALID", "explicit_paddings": [0, 0, 1, 1, 1, 1, 0, 0]},
    )
)
EDGES.append(
    Edge(
        "DepthwiseConv2dNative",
        [noise(1, 5, 5, 2), noise(2, 2, 2, 1)],
        {"strides": S1, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1, 1, 1, 0, 0]},
    )
)
EDGES.append(
    Edge(
        "DepthwiseConv2dNative",
        [noise(1, 5, 5, 2), noise(2, 2, 2, 1)],
        {"strides": S1, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1, 1, 1]},
    )
)
EDGES.append(
    Edge(
        "Conv2D",
        [noise(1, 5, 5, 2), noise(2, 2, 2, 1)],
        {"strides": S1, "padding": "VALID", "explicit_paddings": [0, 0, 1, 1, 1, 1, 0, 0]},
    )
)
EDGES.append(
    Edge(
        "DepthwiseConv2dNativeBackpropInput",
        [i32([1, 7, 7, 2]), noise(3, 3, 2, 1), noise(1, 3, 3, 2)],
        {"strides": [1, 2, 2, 1], "padding": "SAME"},
    )
)
EDGES.append(
    Edge(
        "DepthwiseConv2dNativeBackpropInput",
        [i32([1, 7, 7, 2]), noise(3, 3, 2, 1), noise(1, 3, 3, 2)],
        {"strides": [1, 2, 2, 1], "padding": "VALID"},
    )
)
EDGES.append(
    Edge(
        "DepthwiseConv2dNativeBackpropFilter",
        [noise(1, 7, 7, 2), i32([1, 1, 3, 0]), noise(1, 3, 3, 2)],
        {"strides": [1, 2, 2, 1], "padding": "VALID"},
        IGNORED,
    )
)
