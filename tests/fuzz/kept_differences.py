"""Results that differ from TensorFlow's on purpose: op, words of an error, and the reason.

The words are from Headrace's error, from TensorFlow's, or from the description of different values;
without words, any different value matches. An entry for some inputs only names them. Entries that
no longer occur should be removed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz_case import Case

from headrace.formats.dtypes import as_dtype
from headrace.formats.proto.graph_pb2 import NodeDef
from headrace.formats.tensor_codec import make_ndarray

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
from kept_values import KEPT, where_kept  # noqa: E402

Inputs = list[np.ndarray]  # the values of a node's inputs in one run


def _any(x: np.ndarray, holds: Callable[[np.ndarray], Any]) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.any(holds(x)))


def _near_2_63(node: NodeDef, inputs: Inputs) -> bool:
    return any(x.dtype == np.int64 and _any(x, lambda v: np.abs(v / 2.0**62) > 1) for x in inputs)


def _beyond_32_bits(node: NodeDef, inputs: Inputs) -> bool:
    return any(x.dtype == np.int64 and _any(x, lambda v: (v >> 31) != 0) for x in inputs)


def _integers(node: NodeDef, inputs: Inputs) -> bool:
    return any(x.dtype.kind in "iu" for x in inputs)


def _complex_near_the_largest(node: NodeDef, inputs: Inputs) -> bool:
    def large(v: np.ndarray) -> np.ndarray:
        parts = np.maximum(np.abs(v.real), np.abs(v.imag))
        return np.isfinite(parts) & (parts > np.finfo(v.dtype).max / 4)

    return any(x.dtype.kind == "c" and _any(x, large) for x in inputs)


def _stride_over_depth(node: NodeDef, inputs: Inputs) -> bool:
    strides = list(node.attr["strides"].list.i)
    at = 1 if node.attr["data_format"].s.startswith(b"NC") else len(strides) - 1
    return len(strides) > 2 and strides[at] < 1 and min(strides[:at] + strides[at + 1 :]) > 0


def _shapes_differ(node: NodeDef, inputs: Inputs) -> bool:
    return len({x.shape for x in inputs}) > 1


def _depths_differ(node: NodeDef, inputs: Inputs) -> bool:
    return len({x.shape[-1] if x.ndim == 4 else x.size for x in inputs if x.ndim in (1, 4)}) > 1


def _batches_or_channels_differ(node: NodeDef, inputs: Inputs) -> bool:
    return len({(x.shape[0], x.shape[-1]) for x in inputs if x.ndim == 4}) > 1


def _channels_are_not_the_sizes_last(node: NodeDef, inputs: Inputs) -> bool:
    sizes = [x for x in inputs if x.ndim == 1 and x.size == 4]
    grads = [x for x in inputs if x.ndim == 4]
    return any(x.shape[i] != s[i] for x in grads for s in sizes for i in (0, 3))


def _pooled_otherwise(node: NodeDef, inputs: Inputs) -> bool:
    strides, windows = (list(node.attr[name].list.i) for name in ("strides", "ksize"))
    room = [0 if node.attr["padding"].s == b"SAME" else size - 1 for size in windows]

    def pooled(sizes: np.ndarray) -> tuple[int, ...]:
        each = zip(sizes.tolist(), room, strides, strict=False)
        return tuple(-(-(size - r) // max(s, 1)) for size, r, s in each)

    grads = [x for x in inputs if x.ndim == len(strides)]
    sizes = [x for x in inputs if x.ndim == 1 and x.size == len(strides)]
    return any(x.shape != pooled(s) for x in grads for s in sizes)


def _gradients_differ(node: NodeDef, inputs: Inputs) -> bool:
    """Gradients of a BlockLSTM without the shape [time, batch, cells] of the output."""
    if len(inputs) < 18 or inputs[1].ndim != 3 or inputs[2].ndim != 2:
        return False
    whole = inputs[1].shape[:2] + inputs[2].shape[-1:]
    return any(x.shape != whole for x in inputs[9:18])


def _index_outside(node: NodeDef, inputs: Inputs) -> bool:
    if len(inputs) < 3:
        return False
    indices, shape = inputs[0], inputs[1 if node.op == "SparseReshape" else 2]
    if indices.ndim != 2 or shape.shape != indices.shape[1:]:
        return False
    return _any(indices, lambda at: (at < 0) | (at >= shape))


def _not_of_the_integer(node: NodeDef, inputs: Inputs) -> bool:
    """Floats outside the range of the integer type of a Cast."""
    if not inputs:
        return False
    target = as_dtype(node.attr["DstT"].type).as_numpy_dtype
    x = inputs[0]
    if np.dtype(target).kind not in "iu" or x.dtype.kind in "biuOc":
        return False
    low, high = float(np.iinfo(target).min), float(np.iinfo(target).max) + 1
    wide = np.trunc(x.astype(np.float64))
    return _any(wide, lambda v: ~((v >= low) & (v < high)))


def _kept_value(node: NodeDef, inputs: Inputs) -> bool:
    return bool(np.any(where_kept(node.op, inputs)[0]))


def _dilated(node: NodeDef, inputs: Inputs) -> bool:
    return any(d != 1 for d in node.attr["dilations"].list.i)


class KeptDifference(NamedTuple):
    """A kept difference: a pattern of ops, words in the verdict, the reason, and the inputs."""

    op: str
    words: str
    reason: str
    where: Callable[[NodeDef, Inputs], bool] | None = None


KEPT_DIFFERENCES = (
    # TensorFlow reads or writes memory that is not the tensor's.
    KeptDifference(
        "BatchNormWithGlobalNormalization(Grad)?",
        "but there are",
        "sizes are not compared",
        _depths_differ,
    ),
    KeptDifference(
        "BlockLSTMGrad(V2)?",
        "dim_size",
        "shapes of gradients are not compared",
        _gradients_differ,
    ),
    KeptDifference(
        "AvgPool(3D)?Grad",
        "grad is",
        "a gradient of other sizes is read beyond its end",
        _pooled_otherwise,
    ),
    KeptDifference(
        "FractionalAvgPoolGrad",
        "out_backprop is",
        "channels that differ are written beside",
        _channels_are_not_the_sizes_last,
    ),
    KeptDifference(
        "(Sigmoid|Tanh|Sqrt|Rsqrt|Inv|Reciprocal)Grad",
        "shapes differ: input 0",
        "the second operand is read by the first one's size",
        _shapes_differ,
    ),
    KeptDifference(
        "Resize(Bilinear|Bicubic)Grad",
        "batch or channels differ",
        "writes beside the image",
        _batches_or_channels_differ,
    ),
    KeptDifference(
        "SparseRe(shape|duceSum|duceMax)(Sparse)?",
        "out of bounds",
        "computes with an index outside",
        _index_outside,
    ),
    KeptDifference(
        "DepthwiseConv2dNativeBackprop.*",
        "dilation",
        "dilations of the gradient are ignored",
        _dilated,
    ),
    # Sizes that TensorFlow keeps in 32 bits: 2^32 is 0 to it.
    KeptDifference(
        "RandomCrop",
        "larger than the image|too many elements",
        "sizes are cut to 32 bits",
        _beyond_32_bits,
    ),
    KeptDifference("Roll", "", "shifts near 2^63 overflow when the size is added", _near_2_63),
    # Members that the kernel leaves unset, after it has logged an error.
    KeptDifference(
        "ImageProjectiveTransformV[23]", "Invalid (mode|interpolation)", "goes on, mode unset"
    ),
    # Wrong values by Eigen, where ours are the limit or the mathematical value.
    KeptDifference("Round", "", "Eigen rounds integers to 0", _integers),
    KeptDifference("|".join(kept.op for kept in KEPT), "", "tests/ops/kept_values.py", _kept_value),
    KeptDifference(
        "Cast",
        "",
        "out of range its vector loop saturates, the rest wraps around",
        _not_of_the_integer,
    ),
    KeptDifference("Sqrt", "", "Eigen's complex square root overflows", _complex_near_the_largest),
    # An empty convolution: TensorFlow's result has the input's shape instead of the output's.
    KeptDifference(
        "Conv[23]D|DepthwiseConv2dNative",
        r"output 0: shape \([^)]*\b0\b",
        "an empty result has the input's shape",
    ),
    KeptDifference(".*Pool.*", "strides must be positive", "it is never used", _stride_over_depth),
    # Bytes that are not a message: TensorFlow drops them without a word.
    KeptDifference(
        "TensorSummaryV2", "no SummaryMetadata message", "corrupted metadata is dropped"
    ),
    # HR_MAX_RANK of kernel.h. TensorFlow's tensors have up to 254 dimensions, most of its kernels
    # that look at dimensions end at 8.
    KeptDifference(
        ".*",
        "above 8|8 are the most|more than 8 dimensions|at most 8 dimensions",
        "the kernel ABI's tensors have 8 dimensions",
    ),
    # No value outside of TensorFlow.
    KeptDifference(
        "VarHandleOp|.*Queue(V2)?", "has no NumPy form", "handles are fetched as opaque bytes"
    ),
)


def why_kept(case: Case, words: str, values: bool) -> str:
    """The reason why the result of a case may differ; empty if it may not."""
    op = case.ops[-1] if case.ops else ""
    nodes = [node for node in case.graph.node if node.op == op]
    for known in KEPT_DIFFERENCES:
        if not re.fullmatch(known.op, op):
            continue
        if bool(known.words) != (not values or known.words.startswith("output")):
            continue
        if known.words and not re.search(known.words, words):
            continue
        where = known.where
        if where is None or any(where(n, given) for n in nodes for given in _inputs(case, n)):
            return known.reason
    return ""


def has_no_kernel(words: str) -> bool:
    """Whether an error names an op without a kernel that tests/ops/missing_kernels.py lists."""
    from missing_kernels import NO_KERNEL, is_not_implemented

    named = re.search(r"kernel for '?(\w+)", words)
    if named is None or "none of the installed kernel libraries" not in words:
        return False
    return named.group(1) in NO_KERNEL or is_not_implemented(named.group(1))


def _inputs(case: Case, node: NodeDef) -> list[Inputs]:
    """The values of a node's inputs in each run, without computed ones."""
    held = {
        n.name: make_ndarray(n.attr["value"].tensor) for n in case.graph.node if n.op == "Const"
    }
    found = []
    for run in case.runs:
        fed = held | {name.partition(":")[0]: value for name, value in run.feeds.items()}
        names = [name.partition(":")[0] for name in node.input]
        found.append([fed[name] for name in names if name in fed])
    return found
