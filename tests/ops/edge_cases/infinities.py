"""Images and depthwise convolutions with infinities and NaN, and without elements."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, noise

INF, NAN = np.inf, np.nan
EDGE_CASES: list[EdgeCase] = []


def _with(x: np.ndarray, *values: float) -> np.ndarray:
    x = x.copy()
    x.reshape(-1)[3 : 3 + 5 * len(values) : 5] = values
    return x


X, FILTER = noise(1, 5, 6, 2), noise(3, 3, 2, 2)
for values in ((), (INF,), (INF, -INF, NAN)):
    for size in ([4, 5],) if values else ([4, 5], [8, 3]):
        scale = np.float32([size[0] / 5, size[1] / 6])
        for kernel in (b"lanczos3", b"triangle", b"box", b"gaussian", b"keyscubic"):
            for antialias in (True, False):
                of = {"kernel_type": kernel, "antialias": antialias}
                moved = [scale, np.float32([0.3, -0.2])]
                grads = _with(noise(1, *size, 2), *values)
                EDGE_CASES.append(
                    EdgeCase("ScaleAndTranslate", [_with(X, *values), i32(size), *moved], of)
                )
                EDGE_CASES.append(EdgeCase("ScaleAndTranslateGrad", [grads, X, *moved], of))
    for padding, stride, out in ((b"SAME", 1, (5, 6)), (b"VALID", 2, (2, 2))):
        of = {"strides": [1, stride, stride, 1], "padding": padding}
        dy, shape = noise(1, *out, 4), i32([1, 5, 6, 2])
        x, kernel, grad = _with(X, *values), _with(FILTER, *values), _with(dy, *values)
        to_input, to_filter = (f"DepthwiseConv2dNativeBackprop{to}" for to in ("Input", "Filter"))
        EDGE_CASES += [
            EdgeCase("DepthwiseConv2dNative", [x, FILTER], of),
            EdgeCase("DepthwiseConv2dNative", [X, kernel], of),
            EdgeCase(to_input, [shape, FILTER, grad], of),
            EdgeCase(to_input, [shape, kernel, dy], of),
            EdgeCase(to_filter, [X, i32([3, 3, 2, 2]), grad], of),
            EdgeCase(to_filter, [x, i32([3, 3, 2, 2]), dy], of),
        ]

# Filters without elements.
for depth, multiplier in ((0, 2), (3, 0)):
    of = {"strides": [1, 1, 1, 1], "padding": b"SAME"}
    EDGE_CASES.append(
        EdgeCase(
            "DepthwiseConv2dNative", [noise(2, 5, 6, depth), noise(3, 3, depth, multiplier)], of
        )
    )

# Gradients without rows: nothing arrives.
of = {"kernel_type": b"lanczos3", "antialias": True}
one = np.float32([1, 1])
EDGE_CASES.append(
    EdgeCase("ScaleAndTranslateGrad", [noise(1, 0, 4, 2), noise(1, 3, 4, 2), one, one], of)
)
