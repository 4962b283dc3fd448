"""Cases of the convolution family."""

from __future__ import annotations

from cases.case import Case, distinct, literal, positive, real

_FLOATS = ("float32", "float64", "float16", "bfloat16")

# input, filter, attributes
_CONV2D = [
    ((2, 5, 6, 3), (3, 3, 3, 4), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    ((2, 5, 6, 3), (3, 2, 3, 4), {"strides": [1, 2, 2, 1], "padding": "VALID"}),
    ((1, 7, 7, 2), (1, 1, 2, 5), {"strides": [1, 3, 2, 1], "padding": "SAME"}),
    (
        (1, 9, 8, 2),
        (3, 3, 2, 3),
        {"strides": [1] * 4, "padding": "SAME", "dilations": [1, 2, 2, 1]},
    ),
    (
        (1, 9, 8, 2),
        (2, 3, 2, 3),
        {"strides": [1] * 4, "padding": "VALID", "dilations": [1, 3, 2, 1]},
    ),
    (
        (1, 4, 4, 1),
        (3, 3, 1, 1),
        {"strides": [1] * 4, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0]},
    ),
    ((0, 5, 5, 3), (3, 3, 3, 2), {"strides": [1] * 4, "padding": "SAME"}),
    ((1, 4, 4, 6), (3, 3, 2, 9), {"strides": [1] * 4, "padding": "SAME"}),
]
CASES = [
    # TensorFlow 2.21 gives an empty batch the channels of the input.
    Case("Conv2D", (real(*x), real(*f)), attrs, dtypes=(*_FLOATS, "int32"), in_tensorflow=x[0] > 0)
    for x, f, attrs in _CONV2D
]
CASES += [
    Case(
        "Conv2D",
        (real(2, 3, 5, 6), real(3, 3, 3, 4)),
        {"strides": [1, 1, 2, 1], "padding": padding, "data_format": "NCHW"},
        dtypes=("float32", "float64"),
        in_tensorflow=False,
    )
    for padding in ("SAME", "VALID")
]
_BACK = [
    ((2, 5, 6, 3), (3, 3, 3, 4), (2, 5, 6, 4), {"strides": [1] * 4, "padding": "SAME"}),
    ((2, 5, 6, 3), (3, 2, 3, 4), (2, 2, 3, 4), {"strides": [1, 2, 2, 1], "padding": "VALID"}),
    ((1, 6, 8, 2), (3, 3, 2, 3), (1, 3, 4, 3), {"strides": [1, 2, 2, 1], "padding": "SAME"}),
    (
        (1, 4, 4, 1),
        (3, 3, 1, 2),
        (1, 5, 5, 2),
        {"strides": [1] * 4, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0]},
    ),
]
for _x, _f, _y, _attrs in _BACK:
    CASES += [
        Case("Conv2DBackpropInput", (literal(_x), real(*_f), real(*_y)), _attrs, dtypes=_FLOATS),
        Case("Conv2DBackpropFilter", (real(*_x), literal(_f), real(*_y)), _attrs, dtypes=_FLOATS),
    ]
_X, _F, _Y, _ATTRS = _BACK[0]
CASES += [
    Case(
        "Conv2DBackpropInputV2",
        (real(*_X), real(*_F), real(*_Y)),
        _ATTRS,
        dtypes=_FLOATS,
        smooth=False,
        in_tensorflow=False,
    ),
    Case(
        "Conv2DBackpropFilterV2",
        (real(*_X), real(*_F), real(*_Y)),
        _ATTRS,
        dtypes=_FLOATS,
        smooth=False,
        in_tensorflow=False,
    ),
    Case(
        "Conv2DBackpropInput",
        (literal([1, 9, 8, 2]), real(3, 3, 2, 3), real(1, 9, 8, 3)),
        {"strides": [1] * 4, "padding": "SAME", "dilations": [1, 2, 2, 1]},
        dtypes=("float32", "float64"),
        smooth=False,
        in_tensorflow=False,
    ),
    Case(
        "Conv2DBackpropInput",
        (literal([1, 2, 6, 8]), real(3, 3, 2, 3), real(1, 3, 6, 8)),
        {"strides": [1] * 4, "padding": "SAME", "data_format": "NCHW"},
        dtypes=("float32",),
        in_tensorflow=False,
    ),
    Case(
        "Conv2DBackpropFilter",
        (real(1, 2, 6, 8), literal([3, 3, 2, 3]), real(1, 3, 6, 8)),
        {"strides": [1] * 4, "padding": "SAME", "data_format": "NCHW"},
        dtypes=("float32",),
        in_tensorflow=False,
    ),
]
_DEPTHWISE = [
    ((2, 5, 6, 3), (3, 3, 3, 2), (2, 5, 6, 6), {"strides": [1] * 4, "padding": "SAME"}),
    ((1, 7, 7, 2), (3, 3, 2, 1), (1, 3, 3, 2), {"strides": [1, 2, 2, 1], "padding": "VALID"}),
]
for _x, _f, _y, _attrs in _DEPTHWISE:
    CASES += [
        Case("DepthwiseConv2dNative", (real(*_x), real(*_f)), _attrs),
        Case("DepthwiseConv2dNativeBackpropInput", (literal(_x), real(*_f), real(*_y)), _attrs),
        Case("DepthwiseConv2dNativeBackpropFilter", (real(*_x), literal(_f), real(*_y)), _attrs),
    ]
_3D = [
    ((1, 4, 5, 6, 2), (2, 3, 3, 2, 3), (1, 4, 5, 6, 3), {"strides": [1] * 5, "padding": "SAME"}),
    (
        (2, 5, 4, 4, 1),
        (2, 2, 2, 1, 2),
        (2, 2, 2, 2, 2),
        {"strides": [1, 2, 2, 2, 1], "padding": "VALID"},
    ),
]
for _x, _f, _y, _attrs in _3D:
    CASES += [
        Case("Conv3D", (real(*_x), real(*_f)), _attrs),
        Case("Conv3DBackpropInputV2", (literal(_x), real(*_f), real(*_y)), _attrs),
        Case("Conv3DBackpropFilterV2", (real(*_x), literal(_f), real(*_y)), _attrs),
        Case("Conv3DBackpropInput", (real(*_x), real(*_f), real(*_y)), _attrs, smooth=False),
        Case("Conv3DBackpropFilter", (real(*_x), real(*_f), real(*_y)), _attrs, smooth=False),
    ]
_DILATION = {"strides": [1, 1, 2, 1], "rates": [1, 2, 1, 1], "padding": "SAME"}
CASES += [
    Case("Dilation2D", (distinct(1, 7, 6, 2), distinct(3, 2, 2)), _DILATION),
    Case(
        "Dilation2D", (distinct(1, 7, 6, 2), distinct(3, 2, 2)), {**_DILATION, "padding": "VALID"}
    ),
    Case(
        "Dilation2DBackpropInput",
        (distinct(1, 7, 6, 2), real(3, 2, 2), real(1, 7, 3, 2)),
        _DILATION,
        smooth=False,
    ),
    Case(
        "Dilation2DBackpropFilter",
        (distinct(1, 7, 6, 2), real(3, 2, 2), real(1, 7, 3, 2)),
        _DILATION,
        smooth=False,
    ),
    Case(
        "ExtractImagePatches",
        (real(2, 7, 6, 3),),
        {"ksizes": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1], "padding": "SAME"},
    ),
    Case(
        "ExtractImagePatches",
        (real(2, 7, 6, 3),),
        {"ksizes": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "rates": [1] * 4, "padding": "VALID"},
    ),
    Case(
        "ExtractVolumePatches",
        (real(1, 4, 5, 6, 2),),
        {"ksizes": [1, 2, 2, 3, 1], "strides": [1, 1, 2, 2, 1], "padding": "SAME"},
    ),
    Case("BiasAdd", (real(2, 3, 4), real(4))),
    Case("BiasAdd", (real(2, 4), real(4))),
    Case("BiasAdd", (real(2, 3, 4, 5), real(3)), {"data_format": "NCHW"}),
    Case("BiasAddV1", (real(2, 4), real(4))),
    Case("BiasAddGrad", (real(2, 3, 4),)),
    Case("BiasAddGrad", (real(2, 3, 4, 5),), {"data_format": "NCHW"}),
]
CASES += [
    Case(
        "_FusedConv2D",
        (real(2, 5, 6, 3), real(3, 2, 3, 4), arguments, []),
        {
            "fused_ops": fused_ops,
            "num_args": len(arguments),
            "strides": [1, 2, 1, 1],
            "padding": "SAME",
        },
        dtypes=("float32", "float64", "float16"),
        smooth=False,
        in_tensorflow=False,  # recorded results are of public ops
    )  # fmt: skip
    for arguments, fused_ops in [
        ([real(4)], [b"BiasAdd"]),
        ([real(4)], [b"BiasAdd", b"Relu"]),
        ([real(4), real(4), real(4), positive(4)], [b"FusedBatchNorm"]),
    ]
]
