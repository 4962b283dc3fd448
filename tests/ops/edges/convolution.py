"""Windows whose strides, dilations and paddings are none."""

from __future__ import annotations

from edges import Edge, i32, noise

EDGES: list[Edge] = []

IGNORED = "TensorFlow ignores the dilations of this gradient, and shapes that do not fit"
S1 = [1, 1, 1, 1]
for d in ([], [0, 0, 0, 0], [1, 0, 1, 1], [1, 2, 3, 1], [2, 2, 2, 2], [1, -1, -1, 1], [1, 1, 1]):
    EDGES.append(
        Edge(
            "DepthwiseConv2dNative",
            [noise(1, 5, 5, 2), noise(2, 2, 2, 1)],
            {"strides": S1, "padding": "VALID", "dilations": d},
        )
    )
    EDGES.append(
        Edge(
            "DepthwiseConv2dNativeBackpropInput",
            [i32([1, 5, 5, 2]), noise(2, 2, 2, 1), noise(1, 4, 4, 2)],
            {"strides": S1, "padding": "VALID", "dilations": d},
            IGNORED,
        )
    )
    EDGES.append(
        Edge(
            "DepthwiseConv2dNativeBackpropFilter",
            [noise(1, 5, 5, 2), i32([2, 2, 2, 1]), noise(1, 4, 4, 2)],
            {"strides": S1, "padding": "VALID", "dilations": d},
            IGNORED,
        )
    )
    EDGES.append(
        Edge(
            "Conv2D",
            [noise(1, 5, 5, 2), noise(2, 2, 2, 3)],
            {"strides": S1, "padding": "VALID", "dilations": d},
        )
    )
    EDGES.append(
        Edge(
            "Conv2DBackpropInput",
            [i32([1, 5, 5, 2]), noise(2, 2, 2, 1), noise(1, 4, 4, 1)],
            {"strides": S1, "padding": "VALID", "dilations": d},
        )
    )
    EDGES.append(
        Edge(
            "Conv2DBackpropFilter",
            [noise(1, 5, 5, 2), i32([2, 2, 2, 1]), noise(1, 4, 4, 1)],
            {"strides": S1, "padding": "VALID", "dilations": d},
        )
    )
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
