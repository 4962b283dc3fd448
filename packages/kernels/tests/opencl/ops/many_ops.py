"""Runs many ops on the first OpenCL device, so that their programs are compiled."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from kernel_harness import Library, Variable, run_kernel  # noqa: E402

from headrace.kernels import opencl  # noqa: E402

DEVICE = Library(opencl.capsule()).devices()[0]


def run(op: str, *inputs: Any, **attrs: Any) -> Any:
    return run_kernel(op, *inputs, device=DEVICE, **attrs)


def variable(value: np.ndarray) -> Variable:
    return Variable(value, device=DEVICE)


def elementwise() -> None:
    a, b = np.ones((64, 128), np.float32), np.ones(128, np.float32)
    half = a.astype(np.float16)
    for op in ("AddV2", "Mul", "Pow", "Less"):
        run(op, a, b)
        run(op, a, a)
    run("AddV2", a[:, :127], b[:127])
    run("Sub", half, half)
    for op in ("Tanh", "Exp", "Sigmoid", "Relu"):
        run(op, a)
    run("_FusedElementwise", [a, b], program=["Mul t0 i0 i1", "Sigmoid t1 t0"], T="float32")


def reductions() -> None:
    a = np.ones((64, 128), np.float32)
    for axes in ([0], [1], [0, 1]):
        run("Sum", a, np.array(axes, np.int32))
        run("Max", a.astype(np.float16), np.array(axes, np.int32))
    run("Sum", np.ones(1 << 20, np.float32), np.int32([0]))
    run("ArgMax", a, np.int32(1))
    for k in (5, 100):
        run("TopKV2", a, np.int32(k))
        run("TopKV2", a.astype(np.float16), np.int32(k))
    run("Cumsum", a, np.int32(1))
    run("Cumprod", np.ones(1 << 16, np.float16), np.int32(0), reverse=True)
    ids = np.arange(64) // 3
    for fold in ("Sum", "Max"):
        run("Segment" + fold, a, ids)
        run("UnsortedSegment" + fold, a.astype(np.float16), ids, np.int32(64))
    run("ScatterNd", ids[:, None], a, np.int64([64, 128]))
    run("Softmax", a)
    run("SparseSoftmaxCrossEntropyWithLogits", a, np.zeros(64, np.int64))
    program = ["Mul t0 i0 i1", "Sum o t0"]
    run("_FusedReduction", [a, a[0]], program=program, reduced=1, T="float32")


def arrays() -> None:
    a = np.ones((64, 128), np.float32)
    run("Transpose", a, np.int32([1, 0]))
    run("ConcatV2", [a, a], np.int32(1))
    run("GatherV2", a, np.int32([0]), np.int32(0))
    run("Pad", a, np.int32([[1, 1], [0, 0]]))
    paddings = np.int32([[1, 1], [0, 2]])
    for value in (a, a.astype(np.float16)):
        run("MirrorPadGrad", run("MirrorPad", value, paddings, mode="REFLECT"), paddings,
            mode="REFLECT")  # fmt: skip
    for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
        run(op, np.int32([100]), dtype="float32")


def windows() -> None:
    rng = np.random.default_rng(0)
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    for dtype in (np.float32, np.float16):
        for channels in (3, 32):  # unaligned, aligned
            x = rng.standard_normal((2, 16, 16, channels)).astype(dtype)
            sizes = np.array(x.shape, np.int32)
            for op, f in (("Conv2D", x[0, :3, :3, :, None].repeat(32, -1)),
                          ("DepthwiseConv2dNative", x[0, :3, :3, :, None])):  # fmt: skip
                y = run(op, x, f, **attrs)
                run(f"{op}BackpropInput", sizes, f, y, **attrs)
                run(f"{op}BackpropFilter", x, np.array(f.shape, np.int32), y, **attrs)
            y = run("MaxPool", x, ksize=[1, 2, 2, 1], **attrs)
            run("MaxPoolGrad", x, y, y, ksize=[1, 2, 2, 1], **attrs)
            run("AvgPoolGrad", sizes, run("AvgPool", x, ksize=[1, 2, 2, 1], **attrs),
                ksize=[1, 2, 2, 1], **attrs)  # fmt: skip


def training() -> None:
    a, number = np.ones((64, 128), np.float32), np.float32(0.5)
    var, m, v = (variable(a) for _ in range(3))
    run("ResourceApplyGradientDescent", var, number, a)
    run("ResourceApplyAdam", var, m, v, *[number] * 6, a)
    run("ResourceScatterAdd", var, np.int32([0]), a[:1], dtype="float32")
    x, c = np.ones((4, 8, 8, 32), np.float32), np.ones(32, np.float32)
    run("FusedBatchNormV3", x, c, c, c, c)
    run("FusedBatchNormGradV3", x, x, c, c, c, np.zeros(0, np.float32))


if __name__ == "__main__":
    elementwise()
    reductions()
    arrays()
    windows()
    training()
