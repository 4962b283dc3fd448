"""Convolutions on OpenCL devices and their gradients, against sums over windows in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import windows
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_device import assert_near, first_device
from kernel_harness import PreparedKernel, run_kernel

GRADIENT = 10  # times the tolerance: sums over all pixels

# input, filter, strides, padding, dilations
CASES = {
    "plain": ((2, 7, 9, 3), (3, 3, 3, 5), (1, 1), "SAME", (1, 1)),
    "wide": ((2, 9, 10, 16), (3, 3, 16, 32), (1, 1), "SAME", (1, 1)),
    "strided": ((1, 13, 8, 16), (3, 2, 16, 7), (2, 3), "SAME", (1, 1)),
    "valid": ((3, 10, 11, 5), (4, 3, 5, 2), (2, 1), "VALID", (1, 1)),
    "valid without padding": ((2, 9, 9, 3), (3, 3, 3, 16), (2, 2), "VALID", (1, 1)),
    "dilated": ((2, 12, 11, 20), (3, 3, 20, 4), (1, 1), "SAME", (2, 3)),
    "few channels, dilated": ((2, 12, 11, 3), (3, 3, 3, 4), (1, 1), "SAME", (2, 3)),
    "explicit": ((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), ((1, 2), (0, 3)), (1, 1)),
    "explicit, wide": ((2, 8, 8, 32), (3, 3, 32, 20), (2, 2), ((1, 2), (0, 3)), (1, 1)),
    "one by one": ((2, 6, 5, 16), (1, 1, 16, 33), (1, 1), "VALID", (1, 1)),
    "one by one, large planes": ((2, 12, 13, 16), (1, 1, 16, 36), (1, 1), "VALID", (1, 1)),
    "one by one, strided": ((2, 7, 5, 16), (1, 1, 16, 33), (2, 2), "VALID", (1, 1)),
    "stride beyond window": ((2, 9, 9, 12), (1, 1, 12, 4), (3, 3), "SAME", (1, 1)),
    "grouped": ((2, 6, 6, 6), (3, 3, 2, 9), (1, 1), "SAME", (1, 1)),
    "grouped, wide": ((2, 6, 6, 64), (3, 3, 16, 64), (1, 1), "SAME", (1, 1)),
    "many channels": ((1, 5, 6, 300), (3, 3, 300, 40), (1, 1), "SAME", (1, 1)),
    "one channel": ((5, 8, 8, 1), (5, 5, 1, 16), (1, 1), "SAME", (1, 1)),
    "many taps": ((1, 20, 19, 12), (13, 13, 12, 3), (1, 1), "SAME", (1, 1)),
    "many pixels": ((3, 40, 40, 12), (3, 3, 12, 6), (1, 1), "SAME", (1, 1)),
    # Sums that GPUs cut into parts.
    "few pixels": ((1, 5, 4, 48), (3, 3, 48, 24), (1, 1), "SAME", (1, 1)),
    "few pixels, strided": ((1, 6, 5, 24), (7, 7, 24, 32), (2, 2), "SAME", (1, 1)),
    "few pixels, not all used": ((1, 5, 5, 8), (1, 1, 8, 1100), (2, 2), "SAME", (1, 1)),
    "few pixels, in groups": ((1, 4, 4, 126), (3, 3, 63, 18), (1, 1), "SAME", (1, 1)),
}
DEPTHWISE = {
    "plain": ((2, 7, 9, 3), (3, 3, 3, 1), (1, 1), "SAME", (1, 1)),
    "multiplied": ((2, 9, 8, 5), (3, 2, 5, 3), (2, 2), "SAME", (1, 1)),
    "wide": ((2, 9, 21, 33), (3, 3, 33, 1), (1, 1), "VALID", (1, 1)),
    "strided": ((1, 19, 20, 80), (3, 3, 80, 1), (2, 2), "SAME", (1, 1)),
    "dilated": ((1, 9, 9, 4), (3, 3, 4, 2), (1, 1), "SAME", (2, 2)),
    "many taps": ((1, 30, 9, 16), (7, 7, 16, 1), (1, 1), "SAME", (1, 1)),
}


class Case:
    """A convolution, its operands, and what it and its gradients should be."""

    def __init__(self, case: tuple[Any, ...], dtype: str, first: bool, depthwise: bool) -> None:
        x, f, strides, padding, dilations = case
        rng = np.random.default_rng(0)
        pads = padding if isinstance(padding, tuple) else (padding, padding)
        parts = zip(x[1:-1], f, strides, dilations, pads, strict=False)
        self.axes = [windows.axis(*part) for part in parts]
        self.groups = x[-1] if depthwise else x[-1] // f[-2]
        out = f[-1] * f[-2] if depthwise else f[-1]
        self.x = rng.standard_normal(x).astype(dtype)
        self.f = rng.standard_normal(f).astype(dtype)
        self.dy = rng.standard_normal((x[0], *(a.out for a in self.axes), out)).astype(dtype)
        self.first, self.depthwise = first, depthwise
        self.attrs: dict[str, Any] = {
            "strides": self._order(strides),
            "dilations": self._order(dilations),
            "data_format": "NCHW" if first else "NHWC",
            "padding": padding if isinstance(padding, str) else "EXPLICIT",
        }
        if not isinstance(padding, str):
            flat = [p for pair in padding for p in pair]
            self.attrs["explicit_paddings"] = [0, 0, 0, 0, *flat] if first else [0, 0, *flat, 0, 0]

    def _order(self, values: Sequence[int]) -> list[int]:
        return [1, 1, *values] if self.first else [1, *values, 1]

    def placed(self, images: np.ndarray) -> np.ndarray:
        return windows.channels_first(images) if self.first else images

    @property
    def filter(self) -> np.ndarray:
        f = self.f.astype(np.float64)
        return windows.as_grouped(f) if self.depthwise else f

    def check(self) -> None:
        """Runs the op and its gradients."""
        op = "DepthwiseConv2dNative" if self.depthwise else "Conv2D"
        device, attrs = first_device(), self.attrs
        x, dy = self.placed(self.x), self.placed(self.dy)
        wide_x, wide_dy = self.x.astype(np.float64), self.dy.astype(np.float64)
        got = run_kernel(op, x, self.f, device=device, **attrs)
        want = windows.convolve(wide_x, self.filter, self.axes, self.groups)
        assert_near(got, self.placed(want))
        sizes = np.array(x.shape, np.int32)
        got = run_kernel(f"{op}BackpropInput", sizes, self.f, dy, device=device, **attrs)
        want = windows.convolve_to_input(self.x.shape, self.filter, wide_dy, self.axes, self.groups)
        assert_near(got, self.placed(want), GRADIENT)
        sizes = np.array(self.f.shape, np.int32)
        got = run_kernel(f"{op}BackpropFilter", x, sizes, dy, device=device, **attrs)
        want = windows.convolve_to_filter(
            wide_x, self.filter.shape, wide_dy, self.axes, self.groups
        )
        assert_near(got, want.reshape(self.f.shape), GRADIENT)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("first", [False, True], ids=["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_convolution_and_gradients(dtype: str, first: bool, name: str) -> None:
    Case(CASES[name], dtype, first, depthwise=False).check()


@pytest.mark.parametrize("name", DEPTHWISE)
@pytest.mark.parametrize("first", [False, True], ids=["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_depthwise_convolution_and_gradients(dtype: str, first: bool, name: str) -> None:
    Case(DEPTHWISE[name], dtype, first, depthwise=True).check()


SPACE = st.integers(1, 17)
EDGE = st.tuples(st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 3),
    space=st.tuples(SPACE, SPACE),
    channels=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    size=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    padding=st.one_of(st.sampled_from(["SAME", "VALID"]), st.tuples(EDGE, EDGE)),
)
def test_drawn_convolutions(
    batch: int,
    space: tuple[int, int],
    channels: tuple[int, int],
    size: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    padding: Any,
) -> None:
    pads = padding if isinstance(padding, tuple) else ((0, 0), (0, 0))
    for i in range(2):
        reach = (size[i] - 1) * dilations[i] + 1
        if padding != "SAME" and reach > space[i] + sum(pads[i]):
            return
    case = ((batch, *space, channels[0]), (*size, *channels), strides, padding, dilations)
    Case(case, "float32", first=False, depthwise=False).check()


@pytest.mark.parametrize(
    "shapes", [((0, 5, 5, 3), (3, 3, 3, 4)), ((2, 0, 5, 3), (3, 3, 3, 4))], ids=str
)
def test_nothing_is_convolved_to_zeros(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, f = (np.zeros(s, np.float32) for s in shapes)
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    got = run_kernel("Conv2D", x, f, device=first_device(), **attrs)
    assert got.shape == (*x.shape[:3], 4)
    sizes = np.array(f.shape, np.int32)
    got = run_kernel("Conv2DBackpropFilter", x, sizes, got, device=first_device(), **attrs)
    np.testing.assert_array_equal(got, np.zeros_like(f))


@pytest.mark.parametrize("size, depthwise", [(3, False), (3, True), (1, False)])
def test_parts_of_sums_of_half_are_not_rounded(size: int, depthwise: bool) -> None:
    # Each of the parts is beyond the range of half; their sum is not.
    f = (size, size, 4, 1 if depthwise else 4)
    case = Case(((1, 400, 300, 4), f, (1, 1), "VALID", (1, 1)), "float16", False, depthwise)
    case.x[:] = 1
    case.dy[:, ::2], case.dy[:, 1::2] = 4, -4
    case.dy[:, : case.dy.shape[1] // 2] += 4
    case.dy[:, case.dy.shape[1] // 2 :] -= 4
    case.check()


@pytest.mark.parametrize("depthwise", [False, True])
def test_the_same_input_gives_the_same_bits(depthwise: bool) -> None:
    shapes = DEPTHWISE["many taps"] if depthwise else CASES["many pixels"]
    case = Case(shapes, "float32", False, depthwise)
    sizes = np.array(case.f.shape, np.int32)
    op = "DepthwiseConv2dNativeBackpropFilter" if depthwise else "Conv2DBackpropFilter"
    kernel = PreparedKernel(op, case.x, sizes, case.dy, device=first_device(), **case.attrs)
    first = kernel.compute()
    for _ in range(5):
        np.testing.assert_array_equal(kernel.compute(), first)
