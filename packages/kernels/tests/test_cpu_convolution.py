"""Convolutions of the cpu table against sums over windows in NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import windows
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}

# input, filter, strides, padding, dilations
CASES = {
    "plain": ((2, 7, 9, 3), (3, 3, 3, 5), (1, 1), "SAME", (1, 1)),
    "strided": ((1, 13, 8, 4), (3, 2, 4, 7), (2, 3), "SAME", (1, 1)),
    "valid": ((3, 10, 11, 5), (4, 3, 5, 2), (2, 1), "VALID", (1, 1)),
    "dilated": ((2, 12, 11, 3), (3, 3, 3, 4), (1, 1), "SAME", (2, 3)),
    "explicit": ((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), ((1, 2), (0, 3)), (1, 1)),
    "one by one": ((2, 6, 5, 16), (1, 1, 16, 33), (1, 1), "VALID", (1, 1)),
    "stride beyond window": ((2, 9, 9, 3), (1, 1, 3, 4), (3, 3), "SAME", (1, 1)),
    "grouped": ((2, 6, 6, 6), (3, 3, 2, 9), (1, 1), "SAME", (1, 1)),
    "blocked": ((4, 17, 15, 32), (3, 3, 32, 64), (1, 1), "SAME", (1, 1)),
    "one channel": ((5, 8, 8, 1), (3, 3, 1, 16), (1, 1), "SAME", (1, 1)),
    "space": ((2, 5, 6, 7, 3), (3, 2, 3, 3, 4), (1, 2, 1), "SAME", (1, 1, 1)),
    "space valid": ((1, 6, 6, 5, 4), (2, 3, 3, 4, 8), (2, 1, 2), "VALID", (1, 1, 1)),
}
DEPTHWISE = {
    "plain": ((2, 7, 9, 3), (3, 3, 3, 1), (1, 1), "SAME", (1, 1)),
    "multiplied": ((2, 9, 8, 5), (3, 2, 5, 3), (2, 2), "SAME", (1, 1)),
    "wide": ((2, 9, 8, 33), (3, 3, 33, 1), (1, 1), "VALID", (1, 1)),
    "dilated": ((1, 9, 9, 4), (3, 3, 4, 2), (1, 1), "SAME", (2, 2)),
}


class Case:
    def __init__(self, case, dtype, first=False, depthwise=False):
        x, f, strides, padding, dilations = case
        nd = len(strides)
        rng = np.random.default_rng(0)
        pads = padding if isinstance(padding, tuple) else (padding,) * nd
        parts = zip(x[1:-1], f, strides, dilations, pads, strict=False)
        self.axes = [windows.axis(*part) for part in parts]
        self.groups = x[-1] if depthwise else x[-1] // f[-2]
        out = f[-1] * f[-2] if depthwise else f[-1]
        self.x = rng.standard_normal(x).astype(dtype)
        self.f = rng.standard_normal(f).astype(dtype)
        self.dy = rng.standard_normal((x[0], *(a.out for a in self.axes), out)).astype(dtype)
        self.first, self.depthwise, self.dtype = first, depthwise, np.dtype(dtype)
        order = (lambda v: [1, 1, *v]) if first else (lambda v: [1, *v, 1])
        self.attrs = {"strides": order(strides), "dilations": order(dilations)}
        if nd == 2 or first:
            self.attrs["data_format"] = ("NCDHW" if first else "NDHWC") if nd == 3 else (
                "NCHW" if first else "NHWC")  # fmt: skip
        self.attrs["padding"] = padding if isinstance(padding, str) else "EXPLICIT"
        if self.attrs["padding"] == "EXPLICIT":
            flat = [p for pair in padding for p in pair]
            self.attrs["explicit_paddings"] = [0, 0, 0, 0, *flat] if first else [0, 0, *flat, 0, 0]

    def wide(self, a):
        return a.astype(np.float64)

    @property
    def filter(self):
        f = self.wide(self.f)
        return windows.as_grouped(f) if self.depthwise else f

    def forward(self):
        return windows.convolve(self.wide(self.x), self.filter, self.axes, self.groups)

    def to_input(self):
        dy = self.wide(self.dy)
        return windows.convolve_to_input(self.x.shape, self.filter, dy, self.axes, self.groups)

    def to_filter(self):
        x, dy = self.wide(self.x), self.wide(self.dy)
        shape = self.filter.shape
        return windows.convolve_to_filter(x, shape, dy, self.axes, self.groups).reshape(
            self.f.shape
        )

    def placed(self, a):
        return windows.channels_first(a) if self.first else a

    def near(self, got, want):
        assert got.dtype == self.dtype
        assert got.shape == want.shape
        tolerance = TOLERANCE[self.dtype.name]
        scale = np.abs(want).max() if want.size else 1
        np.testing.assert_allclose(self.wide(got), want, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [False, True])
def test_convolution_and_gradients(name, dtype, first):
    case = Case(CASES[name], dtype, first)
    op, attrs, two = (
        ("Conv2D", case.attrs, True) if case.x.ndim == 4 else ("Conv3D", case.attrs, False)
    )
    got = run_kernel(op, case.placed(case.x), case.f, threads=2, **attrs)
    case.near(got, case.placed(case.forward()))
    x, dy = case.placed(case.x), case.placed(case.dy)
    v2 = "" if two else "V2"
    sizes = np.array(x.shape, np.int32)
    got = run_kernel(f"{op}BackpropInput{v2}", sizes, case.f, dy, threads=2, **attrs)
    case.near(got, case.placed(case.to_input()))
    sizes = np.array(case.f.shape, np.int32)
    got = run_kernel(f"{op}BackpropFilter{v2}", x, sizes, dy, threads=2, **attrs)
    case.near(got, case.to_filter())


@pytest.mark.parametrize("channels", [(3, 16), (16, 3), (8, 8)], ids=str)
def test_strided_points_of_few_channels_come_out_the_same_every_time(channels):
    # oneDNN 3.2's own kernel is wrong in a fifth of the runs with (3, 16).
    case = Case(((2, 8, 8, channels[0]), (1, 1, *channels), (2, 2), "SAME", (1, 1)), np.float32, 0)
    sizes = np.array(case.f.shape, np.int32)
    want = case.to_filter()
    for _ in range(100):
        got = run_kernel("Conv2DBackpropFilter", case.x, sizes, case.dy, threads=2, **case.attrs)
        case.near(got, want)


@pytest.mark.parametrize("name", DEPTHWISE)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [False, True])
def test_depthwise_convolution_and_gradients(name, dtype, first):
    case = Case(DEPTHWISE[name], dtype, first, depthwise=True)
    op, attrs = "DepthwiseConv2dNative", case.attrs
    x, dy = case.placed(case.x), case.placed(case.dy)
    case.near(run_kernel(op, x, case.f, threads=2, **attrs), case.placed(case.forward()))
    sizes = np.array(x.shape, np.int32)
    case.near(
        run_kernel(f"{op}BackpropInput", sizes, case.f, dy, **attrs), case.placed(case.to_input())
    )
    sizes = np.array(case.f.shape, np.int32)
    case.near(run_kernel(f"{op}BackpropFilter", x, sizes, dy, **attrs), case.to_filter())


@pytest.mark.parametrize("activation", ["Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("first", [False, True])
def test_fused_convolution_adds_bias_and_activates(activation, dtype, first):
    case = Case(CASES["plain"], dtype, first)
    bias = np.random.default_rng(1).standard_normal(5).astype(dtype)
    y = case.forward() + bias.astype(np.float64)
    want = {
        "Relu": np.maximum(y, 0),
        "Relu6": np.clip(y, 0, 6),
        "Elu": np.where(y < 0, np.expm1(y), y),
        "Tanh": np.tanh(y),
        "Sigmoid": 1 / (1 + np.exp(-y)),
        "LeakyRelu": np.where(y < 0, np.float32(0.2) * y, y),
    }[activation]
    fused = ["BiasAdd", activation]
    got = run_kernel("_FusedConv2D", case.placed(case.x), case.f, [bias], [], fused_ops=fused,
                     TArgs=[bias.dtype], num_args=1, threads=2, **case.attrs)  # fmt: skip
    case.near(got, case.placed(want))


@pytest.mark.parametrize("activation", ["Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"])
@pytest.mark.parametrize("channels", [(3, 5), (16, 32)])
def test_fused_convolution_keeps_nans_and_the_sign_of_zero(activation, channels):
    x = np.full((1, 4, 4, channels[0]), -1.0, np.float32)
    x[0, 0, 0, 0] = np.nan
    f = np.ones((1, 1, *channels), np.float32)
    y = run_kernel("_FusedConv2D", x, f, [np.zeros(channels[1], "f")], [], num_args=1,
                   fused_ops=["BiasAdd", activation], strides=[1, 1, 1, 1],
                   padding="VALID")  # fmt: skip
    assert np.isnan(y[0, 0, 0]).all() and not np.isnan(y[0, 1:]).any()
    if activation.startswith("Relu"):
        assert not np.signbit(y[0, 1:]).any()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("where", "value"),
    [("x", np.nan), ("x", np.inf), ("filter", np.nan), ("filter", -np.inf), ("bias", np.nan),
     ("x", 3e38), ("x", 1e-41), (None, 0)],
)  # fmt: skip
def test_relu_after_many_channels_of_a_few_keeps_every_nan(where, value, threads):
    # So many results per operand that the operands are looked through for what may make a NaN.
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, 12, 12, 2)).astype(np.float32)
    f = rng.standard_normal((3, 3, 2, 32)).astype(np.float32)
    bias = rng.standard_normal(32).astype(np.float32)
    if where:
        operand = {"x": x, "filter": f, "bias": bias}[where]
        operand.reshape(-1)[::29] = value
        if value == np.inf:
            operand.reshape(-1)[7::29] = -np.inf
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    with np.errstate(all="ignore"):
        linear = run_kernel("Conv2D", x, f, threads=threads, **attrs) + bias
        want = np.where(linear < 0, np.float32(0), linear)
    got = run_kernel("_FusedConv2D", x, f, [bias], [], num_args=1, fused_ops=["BiasAdd", "Relu"],
                     threads=threads, **attrs)  # fmt: skip
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert not np.signbit(got[~np.isnan(got)]).any()


def _statistics(channels, dtype):
    rng = np.random.default_rng(2)
    scale, offset, mean = (rng.standard_normal(channels).astype(dtype) for _ in range(3))
    return scale, offset, mean, rng.random(channels).astype(dtype)


def _normalised(x, f, statistics, attrs, activation=(), **more):
    return run_kernel("_FusedConv2D", x, f, list(statistics), [], num_args=4,
                      fused_ops=["FusedBatchNorm", *activation], TArgs=[x.dtype] * 4,
                      **attrs, **more)  # fmt: skip


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if len(case[0]) == 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("activation", [(), ("Relu",), ("LeakyRelu",)])
def test_fused_convolution_normalises_by_known_statistics(name, dtype, first, activation):
    case = Case(CASES[name], dtype, first)
    y = case.forward()
    scale, offset, mean, variance = statistics = _statistics(y.shape[-1], dtype)
    scale, offset, mean, variance = (a.astype(np.float64) for a in statistics)
    want = (y - mean) / np.sqrt(variance + np.float32(1e-3)) * scale + offset
    got = _normalised(case.placed(case.x), case.f, statistics, case.attrs, activation,
                      epsilon=1e-3, threads=2)  # fmt: skip
    below = {(): 1, ("Relu",): 0, ("LeakyRelu",): np.float32(0.2)}[activation]
    case.near(got, case.placed(np.where(want < 0, below * want, want)))


@pytest.mark.parametrize("shape", [((2, 8, 8, 16), (3, 3, 16, 32)), ((4, 12, 12, 2), (3, 3, 2, 32)),
                                   ((2, 6, 6, 6), (3, 3, 2, 9))])  # fmt: skip
@pytest.mark.parametrize(
    ("what", "value"),
    [("variance", 0), ("variance", np.nan), ("variance", -1), ("scale", 0), ("scale", np.inf),
     ("scale", 1e38), ("offset", np.nan), ("mean", np.inf), ("x", np.nan), ("x", np.inf),
     ("filter", np.nan), ("x", 3e38)],
)  # fmt: skip
@pytest.mark.parametrize("epsilon", [0.0, 1e-3])
def test_fused_normalisation_keeps_what_no_number_is(shape, what, value, epsilon):
    case = Case((*shape, (1, 1), "SAME", (1, 1)), np.float32)
    statistics = _statistics(case.dy.shape[-1], np.float32)
    operands = dict(zip(("scale", "offset", "mean", "variance", "x", "filter"),
                        (*statistics, case.x, case.f), strict=True))  # fmt: skip
    operands[what].reshape(-1)[::29] = value
    with np.errstate(all="ignore"):
        linear = run_kernel("Conv2D", case.x, case.f, threads=2, **case.attrs)
        # The order of FusedBatchNorm's own kernel.
        factor = statistics[0] / np.sqrt(statistics[3] + np.float32(epsilon))
        linear = linear * factor + (statistics[1] - statistics[2] * factor)
    for activation, want in (
        ((), linear), (("Relu",), np.where(linear < 0, np.float32(0), linear))
    ):  # fmt: skip
        got = _normalised(case.x, case.f, statistics, case.attrs, activation, epsilon=epsilon,
                          threads=2)  # fmt: skip
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        assert not activation or not np.signbit(got[~np.isnan(got)]).any()


def test_integers_convolve_exactly():
    case = Case(CASES["strided"], np.float64)
    x, f = (np.round(a * 9).astype(np.int32) for a in (case.x, case.f))
    got = run_kernel("Conv2D", x, f, **case.attrs)
    want = windows.convolve(x.astype(np.float64), f.astype(np.float64), case.axes)
    np.testing.assert_array_equal(got, want.astype(np.int32))


@pytest.mark.parametrize("x", [(0, 5, 5, 3), (2, 0, 5, 3)])
def test_empty_tensors_give_zeros(x):
    f, attrs = (3, 3, x[-1], 4), {"strides": [1, 1, 1, 1], "padding": "SAME"}
    y = (x[0], x[1], x[2], 4)
    got = run_kernel("Conv2D", np.ones(x, np.float32), np.ones(f, np.float32), **attrs)
    np.testing.assert_array_equal(got, np.zeros(y))
    got = run_kernel("Conv2DBackpropFilter", np.ones(x, np.float32), np.array(f, np.int32),
                     np.ones(y, np.float32), **attrs)  # fmt: skip
    np.testing.assert_array_equal(got, np.zeros(f))


def test_channels_that_do_not_fit_are_named():
    x, f = np.ones((1, 5, 5, 3), np.float32), np.ones((3, 3, 4, 2), np.float32)
    with pytest.raises(InvalidArgumentError, match=r"\[1, 5, 5, 3\].*\[3, 3, 4, 2\]"):
        run_kernel("Conv2D", x, f, strides=[1, 1, 1, 1], padding="SAME")


SHAPES_OF_ONE_PROCESS = """
import resource
import numpy as np
from kernel_harness import run_kernel
f = np.ones((3, 3, 1, 16), np.float32)
def resident():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize() / 2**20
for n in range(10_000):
    x = np.ones((1, 3 + n // 100, 3 + n % 100, 1), np.float32)
    run_kernel("Conv2D", x, f, strides=[1, 1, 1, 1], padding="SAME")
    if n == 1_000:
        before = resident()
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_ten_thousand_shapes_stay_in_bounded_memory():
    done = subprocess.run(
        [sys.executable, "-c", SHAPES_OF_ONE_PROCESS],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 24  # MiB between the 1,000th shape and the last
