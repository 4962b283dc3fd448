"""Where we answer otherwise than TensorFlow on purpose: op, words of a refusal, and the reason.

The words are of our refusal or of TensorFlow's; empty ones stand for other values. A pattern that
no longer occurs should go.
"""

from __future__ import annotations

import re

APART = (
    # TensorFlow reads or writes memory that is not the tensor's.
    ("BatchNormWithGlobalNormalization(Grad)?", "but there are", "sizes are not compared"),
    ("BlockLSTM(Grad)?(V2)?", "it must be", "shapes of gradients are not compared"),
    ("AvgPool(3D)?Grad", "grad is", "a gradient of other sizes is read beyond its end"),
    ("FractionalAvgPoolGrad", "out_backprop is", "channels that differ are written beside"),
    (r"\w+Grad", "shapes differ: input 0", "the second operand is read by the first one's size"),
    ("Resize(Bilinear|Bicubic)Grad", "batch or channels differ", "writes beside the image"),
    ("SparseRe(shape|duceSum|duceMax)", "out of bounds", "computes with an index outside"),
    ("DepthwiseConv2dNativeBackprop.*", "dilation", "dilations of the gradient are ignored"),
    # Sizes that TensorFlow keeps in 32 bits: 2^32 is 0 to it.
    ("RandomCrop", "4294967296", "sizes are cut to 32 bits"),
    ("Roll", "", "shifts near 2^63 overflow when the size is added"),
    # Members that the kernel leaves unset, after it has logged an error.
    ("ImageProjectiveTransformV[23]", "Invalid (mode|interpolation)", "goes on with an unset mode"),
    # Wrong values by Eigen, where ours are the limit or the mathematical value.
    ("Round", "", "Eigen rounds int64 to 0"),
    ("Erf", "", "Eigen's Erf of infinite doubles is NaN"),
    ("Sqrt", "", "Eigen's complex square root overflows above 1e307"),
    # An empty convolution: TensorFlow's result has the input's shape instead of the output's.
    ("Conv[23]D", "output 0: shape", "the shape of an empty result is the input's"),
    (".*Pool.*", "strides must be positive", "a stride over depth is never used"),
    # Bytes that are no message: TensorFlow drops them without a word.
    ("TensorSummaryV2", "no SummaryMetadata message", "damaged metadata is dropped"),
    # No value outside of TensorFlow.
    ("VarHandleOp|.*Queue(V2)?", "has no NumPy form", "handles are fetched as opaque bytes there"),
)


def why_apart(op: str, words: str, values: bool) -> str:
    """The reason why an op may be answered otherwise; empty where it may not."""
    for name, said, reason in APART:
        if re.fullmatch(name, op) and bool(said) == (not values or said.startswith("output")):
            if not said or re.search(said, words):
                return reason
    return ""
