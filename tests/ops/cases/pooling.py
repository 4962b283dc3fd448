"""Cases of the pooling family."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.case import Case, Derived, distinct, literal, real
from headrace.kernels.reference import oracle

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


def _output(op: str, attrs: dict[str, Any]) -> Derived:
    return Derived(lambda result: oracle.run(op, result[0], **attrs)[0])


_GRAD_TYPES = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
)
for _window, _y in zip(_WINDOWS, _OUT, strict=True):
    _ksize, _strides = literal(_window["ksize"]), literal(_window["strides"])
    _pool = (distinct(*_X), _output("MaxPool", _window))
    _padding = {"padding": _window["padding"]}
    CASES += [
        Case("MaxPoolGrad", (*_pool, real(*_y)), _window, dtypes=tuple(_GRAD_TYPES)),
        Case(
            "MaxPoolGradV2",
            (*_pool, real(*_y), _ksize, _strides),
            _padding,
            dtypes=tuple(_GRAD_TYPES),
        ),
        Case("MaxPoolGradGrad", (*_pool, real(*_X)), _window, dtypes=tuple(_GRAD_TYPES)),
        Case(
            "MaxPoolGradGradV2",
            (*_pool, real(*_X), _ksize, _strides),
            _padding,
            dtypes=tuple(_GRAD_TYPES),
        ),
        # TensorFlow has no CPU kernel for this one's second gradient
        Case(
            "MaxPoolGradWithArgmax",
            (
                distinct(*_X),
                real(*_y),
                Derived(
                    lambda result, w=_window: oracle.run("MaxPoolWithArgmax", result[0], **w)[1],
                    typed=False,
                ),
            ),
            _window,
            dtypes=tuple(_GRAD_TYPES),
            smooth=False,
        ),
        Case(
            "MaxPoolGradGradWithArgmax",
            (
                distinct(*_X),
                real(*_X),
                Derived(
                    lambda result, w=_window: oracle.run("MaxPoolWithArgmax", result[0], **w)[1],
                    typed=False,
                ),
            ),
            _window,
            dtypes=tuple(_GRAD_TYPES),
            smooth=False,
            in_tensorflow=False,
        ),
    ]
_POOL_3D = (distinct(1, 4, 5, 3, 2), _output("MaxPool3D", _3D))
# of any type: the catalogue has the forward op for floats alone
_POOL_3D_ANY = (
    distinct(1, 4, 5, 3, 2),
    Derived(
        lambda result: oracle.run("MaxPool3D", result[0].astype(np.float32), **_3D)[0].astype(
            result[0].dtype
        )
    ),
)
CASES += [
    Case("MaxPool3DGrad", (*_POOL_3D, real(1, 2, 3, 3, 2)), _3D),
    Case(
        "MaxPool3DGradGrad",
        (*_POOL_3D_ANY, real(1, 4, 5, 3, 2)),
        _3D,
        dtypes=tuple(_GRAD_TYPES),
        smooth=False,
    ),
    Case(
        "FractionalMaxPoolGrad",
        (
            distinct(2, 5, 6, 3),
            Derived(
                lambda result: np.maximum.reduceat(
                    np.maximum.reduceat(result[0], [0, 2], axis=1), [0, 2, 4], axis=2
                )
            ),
            real(2, 2, 3, 3),
            literal([0, 2, 5], "int64"),
            literal([0, 2, 4, 6], "int64"),
        ),
        dtypes=_SINGLE,
        smooth=False,
    ),
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
