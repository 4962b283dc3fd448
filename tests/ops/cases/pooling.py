"""Cases of the pooling family."""

from __future__ import annotations

from typing import Any

from cases.case import Case, distinct, literal, real

_WINDOWS: list[dict[str, Any]] = [
    {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"},
    {"ksize": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "padding": "SAME"},
]
_OUT = [(2, 2, 3, 3), (2, 3, 6, 3), (2, 5, 6, 3)]
_X = (2, 5, 6, 3)
_SINGLE = ("float32", "float64")
CASES = []
for _window, _y in zip(_WINDOWS, _OUT, strict=True):
    _ksize, _strides = literal(_window["ksize"]), literal(_window["strides"])
    _padding = {"padding": _window["padding"]}
    CASES += [
        Case("MaxPool", (distinct(*_X),), _window),
        Case("AvgPool", (real(*_X),), _window),
        Case("MaxPoolV2", (distinct(*_X), _ksize, _strides), _padding),
        Case("MaxPoolWithArgmax", (distinct(*_X),), _window),
        Case("MaxPoolWithArgmax", (distinct(*_X),), {**_window, "include_batch_in_index": True}),
        Case("AvgPoolGrad", (literal(_X), real(*_y)), _window),
    ]
CASES += [
    Case(
        "MaxPool",
        (distinct(1, 4, 4, 1),),
        {
            "ksize": [1, 3, 3, 1],
            "strides": [1] * 4,
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 1, 0, 2, 0, 0],
        },
    ),
    Case("AvgPool", (real(0, 5, 6, 3),), _WINDOWS[0]),
    Case(
        "AvgPool",
        (real(2, 3, 5, 6),),
        {"ksize": [1, 1, 2, 3], "strides": [1, 1, 2, 2], "padding": "SAME", "data_format": "NCHW"},
        dtypes=_SINGLE,
        in_tensorflow=False,
    ),
    Case(
        "MaxPool",
        (distinct(2, 3, 5, 6),),
        {"ksize": [1, 1, 2, 3], "strides": [1, 1, 2, 2], "padding": "SAME", "data_format": "NCHW"},
        dtypes=_SINGLE,
        in_tensorflow=False,
    ),
]
_3D: dict[str, Any] = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 2, 1, 1], "padding": "SAME"}
CASES += [
    Case("MaxPool3D", (distinct(1, 4, 5, 3, 2),), _3D),
    Case("AvgPool3D", (real(1, 4, 5, 3, 2),), _3D),
    Case("AvgPool3D", (real(1, 4, 5, 3, 2),), {**_3D, "padding": "VALID"}),
    Case("AvgPool3DGrad", (literal([1, 4, 5, 3, 2]), real(1, 2, 3, 3, 2)), _3D),
]
# The gradients want a real output of the pool; a test makes it (`grad_cases`).
GRADIENTS = [
    ("MaxPool", "MaxPoolGrad", _X, _window, _y) for _window, _y in zip(_WINDOWS, _OUT, strict=True)
]
CASES += [
    Case(
        "FractionalAvgPoolGrad",
        (
            literal([2, 5, 6, 3], "int64"),
            real(2, 2, 3, 3),
            literal([0, 2, 5], "int64"),
            literal([0, 2, 4, 6], "int64"),
        ),
        {"overlapping": overlapping},
        smooth=False,
    )
    for overlapping in (False, True)
]
CASES += [
    Case(op, (real(2, 9, 8, 3),), {"pooling_ratio": [1.0, 1.5, 1.4, 1.0]}, exact=False)
    for op in ("FractionalMaxPool", "FractionalAvgPool")
]
