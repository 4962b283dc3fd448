"""Headrace's kernels on an OpenCL device, called one by one through the tests' harness."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from gpu.cases import Case

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packages" / "kernels" / "tests"))


def devices() -> list[Any]:
    """The devices that the library found."""
    from kernel_harness.table import Library

    from headrace.kernels import opencl

    return Library(opencl.capsule()).devices()


def seconds(case: Case, device: Any) -> float:
    """What one run of a case takes on the device, apart from copies."""
    kernel = _kernel(case, device)
    kernel.compute()
    runs, fewest, most = 8, [], []
    for _ in range(5):
        fewest.append(_timed(kernel, 1))
        most.append(_timed(kernel, 1 + runs))
    return max((min(most) - min(fewest)) / runs, 1e-9)


def _timed(kernel: Any, repeats: int) -> float:
    start = time.perf_counter()
    kernel.compute(repeats)
    return time.perf_counter() - start


def _kernel(case: Case, device: Any) -> Any:
    from kernel_harness import PreparedKernel

    rng = np.random.default_rng(0)

    def some(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    if case.kind == "matmul":
        m, n, k = case.sizes
        return PreparedKernel("MatMul", some(m, k), some(k, n), device=device)
    if case.kind in ("add", "relu", "sum"):
        (n,) = case.sizes
        if case.kind == "add":
            return PreparedKernel("AddV2", some(n), some(n), device=device)
        if case.kind == "relu":
            return PreparedKernel("Relu", some(n), device=device)
        return PreparedKernel("Sum", some(n), np.array([0], np.int32), device=device)
    if case.unit == "Gvalues/s":
        x, count = some(*case.sizes[:2]), case.sizes[-1]
        if case.kind == "segments":
            ids = rng.integers(0, count, len(x), np.int32)
            return PreparedKernel("UnsortedSegmentSum", x, ids, np.int32(count), device=device)
        if case.kind == "softmax":
            return PreparedKernel("Softmax", x, device=device)
        if case.kind == "running sum":
            return PreparedKernel("Cumsum", x, np.int32(1), device=device)
        return PreparedKernel("TopKV2", x, np.int32(count), device=device)
    batch, side, channels, out = case.sizes
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    x, f, dy = (
        some(batch, side, side, channels),
        some(3, 3, channels, out),
        some(batch, side, side, out),
    )
    if case.kind == "convolution":
        return PreparedKernel("Conv2D", x, f, device=device, **attrs)
    if case.kind == "to input":
        sizes = np.array(x.shape, np.int32)
        return PreparedKernel("Conv2DBackpropInput", sizes, f, dy, device=device, **attrs)
    sizes = np.array(f.shape, np.int32)
    return PreparedKernel("Conv2DBackpropFilter", x, sizes, dy, device=device, **attrs)
