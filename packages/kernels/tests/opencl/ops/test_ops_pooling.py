"""Pooling on OpenCL devices and its gradients, against the kernels of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_device import assert_near, first_device
from kernel_harness import run_kernel

# input, window, strides, padding
CASES = {
    "halved": ((2, 8, 6, 3), (2, 2), (2, 2), "VALID"),
    "halved, with a rest": ((2, 9, 7, 32), (2, 2), (2, 2), "VALID"),
    "halved, beyond the border": ((2, 9, 7, 40), (2, 2), (2, 2), "SAME"),
    "overlapping": ((2, 9, 7, 5), (3, 2), (2, 1), "SAME"),
    "wide": ((1, 7, 9, 130), (3, 3), (1, 1), "SAME"),
    "one": ((3, 5, 5, 65), (1, 1), (2, 2), "SAME"),
    "whole vectors": ((2, 9, 9, 32), (3, 3), (2, 2), "SAME"),
    "many positions": ((2, 17, 31, 7), (8, 8), (4, 4), "VALID"),
    "wider than the image": ((2, 4, 3, 5), (2, 5), (1, 2), "SAME"),
    "whole": ((2, 5, 6, 4), (5, 6), (1, 1), "VALID"),
    "gaps": ((1, 9, 20, 16), (2, 2), (3, 5), "VALID"),
    "empty": ((0, 5, 5, 3), (2, 2), (2, 2), "SAME"),
}


def pooled_everywhere(
    x: np.ndarray, window: Any, strides: Any, padding: str, first: bool = False
) -> None:
    """Pools x on the device and the CPU, and takes the gradients there."""
    rng = np.random.default_rng(1)
    x = np.ascontiguousarray(np.moveaxis(x, -1, 1)) if first else x
    order = (lambda v: [1, 1, *v]) if first else (lambda v: [1, *v, 1])
    attrs = {
        "ksize": order(window),
        "strides": order(strides),
        "padding": padding,
        "data_format": "NCHW" if first else "NHWC",
    }
    device = first_device()
    y = run_kernel("MaxPool", x, **attrs)
    np.testing.assert_array_equal(run_kernel("MaxPool", x, device=device, **attrs), y)
    assert_near(run_kernel("AvgPool", x, device=device, **attrs), run_kernel("AvgPool", x, **attrs))
    dy = rng.integers(-4, 5, y.shape).astype(x.dtype)
    want = run_kernel("MaxPoolGrad", x, y, dy, **attrs)
    assert_near(run_kernel("MaxPoolGrad", x, y, dy, device=device, **attrs), want)
    sizes = np.array(x.shape, np.int32)
    want = run_kernel("AvgPoolGrad", sizes, dy, **attrs)
    assert_near(run_kernel("AvgPoolGrad", sizes, dy, device=device, **attrs), want, 10)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("first", [False, True], ids=["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_pooling_and_gradients(dtype: str, first: bool, name: str) -> None:
    shape, *rest = CASES[name]
    # Few distinct values, so that maxima tie.
    x = np.random.default_rng(0).integers(0, 5, shape).astype(dtype)
    pooled_everywhere(x, *rest, first)


@pytest.mark.parametrize("size", [2, 3], ids=["apart", "overlapping"])
def test_what_is_not_a_number_is_never_lost(size: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 9, 9, 20)).astype(np.float32)
    x[rng.uniform(size=x.shape) < 0.05] = np.nan
    x[rng.uniform(size=x.shape) < 0.05] = -np.inf
    attrs = {"ksize": [1, size, size, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    y = run_kernel("MaxPool", x, **attrs)
    np.testing.assert_array_equal(run_kernel("MaxPool", x, device=first_device(), **attrs), y)
    dy = np.ones_like(y)
    want = run_kernel("MaxPoolGrad", x, y, dy, **attrs)
    got = run_kernel("MaxPoolGrad", x, y, dy, device=first_device(), **attrs)
    np.testing.assert_array_equal(got, want)


def test_sizes_as_inputs() -> None:
    x = np.random.default_rng(0).standard_normal((1, 6, 6, 17)).astype(np.float32)
    sizes, strides = np.array([1, 2, 2, 1], np.int32), np.array([1, 2, 2, 1], np.int32)
    want = run_kernel("MaxPoolV2", x, sizes, strides, padding="SAME")
    got = run_kernel("MaxPoolV2", x, sizes, strides, padding="SAME", device=first_device())
    np.testing.assert_array_equal(got, want)


SPACE = st.integers(1, 14)
SIZE = st.tuples(st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 3),
    space=st.tuples(SPACE, SPACE),
    channels=st.integers(1, 40),
    size=SIZE,
    strides=SIZE,
    padding=st.sampled_from(["SAME", "VALID"]),
)
def test_drawn_pools(
    batch: int, space: Any, channels: int, size: Any, strides: Any, padding: str
) -> None:
    if padding == "VALID" and (size[0] > space[0] or size[1] > space[1]):
        return
    x = np.random.default_rng(0).integers(0, 5, (batch, *space, channels)).astype(np.float32)
    pooled_everywhere(x, size, strides, padding)
