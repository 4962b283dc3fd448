"""What both sides compute, by name: shapes, and how much work each is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """`goal`: how fast Headrace shall be, relative to PyTorch. work: of `unit`, in one run."""

    kind: str
    sizes: tuple[int, ...]
    work: float
    unit: str
    goal: float


def _sgemm(n: int, goal: float) -> Case:
    return Case("matmul", (n, n, n), 2 * n**3, "GFLOP/s", goal)


def _convolution(kind: str, batch: int, side: int, channels: int, out: int) -> Case:
    work = 2 * batch * side * side * 9 * channels * out
    return Case(kind, (batch, side, channels, out), work, "GFLOP/s", 0.5)


def _memory(kind: str, n: int, arrays: int) -> Case:
    return Case(kind, (n,), 4 * arrays * n, "GB/s", 0.85)


def _values(kind: str, *sizes: int) -> Case:
    """Ops that are quick if all of the device has work, whatever the shape. sizes[:2]: of x."""
    return Case(kind, sizes, sizes[0] * sizes[1], "Gvalues/s", 0.5)


N = 1 << 28
CASES = {
    "sgemm 1024": _sgemm(1024, 0.7),
    "sgemm 4096": _sgemm(4096, 0.85),
    "sgemm 8192": _sgemm(8192, 0.85),
    "perceptron layer": Case("matmul", (256, 512, 784), 2 * 256 * 512 * 784, "GFLOP/s", 0.7),
    "add": _memory("add", N, 3),
    "relu": _memory("relu", N, 2),
    "sum": _memory("sum", N, 1),
    "convolution 3x3, 56, 64": _convolution("convolution", 64, 56, 64, 64),
    "convolution 3x3, 14, 256": _convolution("convolution", 64, 14, 256, 256),
    "to input 3x3, 28, 128": _convolution("to input", 64, 28, 128, 128),
    "to filter 3x3, 28, 128": _convolution("to filter", 64, 28, 128, 128),
    "sums of 64k rows by id": _values("segments", 1 << 16, 1024, 32000),
    "sums of 1M numbers by id": _values("segments", 1 << 20, 1, 10),
    "softmax, short rows": _values("softmax", 1 << 21, 21),
    "softmax, long rows": _values("softmax", 32, 1 << 17),
    "running sum of 16M": _values("running sum", 1, 1 << 24),
    "largest 8 of 200k": _values("largest", 4, 200_000, 8),
    "largest 1000 of 200k": _values("largest", 4, 200_000, 1000),
}
MODELS = {"mnist": 0.7, "cifar": 0.7, "lstm": 0.7, "resnet50": 0.7}  # goals, of steps in a second


def small(case: Case) -> Case:
    """The case at a size for a machine without a GPU: to see that it runs."""
    sizes = tuple(min(s, 64) if case.unit == "GFLOP/s" else min(s, 1 << 16) for s in case.sizes)
    return Case(case.kind, sizes, 1, case.unit, case.goal)
