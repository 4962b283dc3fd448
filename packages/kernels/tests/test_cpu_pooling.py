"""Pooling of the cpu table against windows in NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import windows
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError, UnimplementedError

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
TOLERANCE = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 1.6e-2}

# input, window, strides, padding
CASES = {
    "halved": ((2, 8, 6, 3), (2, 2), (2, 2), "VALID"),
    "overlapping": ((2, 9, 7, 5), (3, 2), (2, 1), "SAME"),
    "wide": ((1, 7, 9, 130), (3, 3), (1, 1), "SAME"),
    "one": ((3, 5, 5, 65), (1, 1), (2, 2), "SAME"),
    "plain rows": ((2, 7, 600, 3), (2, 3), (2, 2), "SAME"),
    "dense rows": ((2, 6, 41, 10), (3, 3), (1, 1), "SAME"),
    "gaps in rows": ((1, 9, 50, 1), (2, 2), (3, 5), "VALID"),
    "many positions": ((2, 17, 31, 7), (8, 8), (4, 4), "VALID"),
    "wider than the image": ((2, 4, 3, 5), (2, 5), (1, 2), "SAME"),
    "whole": ((2, 5, 6, 4), (5, 6), (1, 1), "VALID"),
    "space": ((2, 5, 6, 7, 3), (2, 3, 2), (2, 2, 1), "SAME"),
    "empty": ((0, 5, 5, 3), (2, 2), (2, 2), "SAME"),
}


class Case:
    def __init__(self, name, dtype, first=False):
        x, window, strides, padding = CASES[name]
        self.axes = [
            windows.axis(*p, 1, padding) for p in zip(x[1:-1], window, strides, strict=True)
        ]
        rng = np.random.default_rng(0)
        # Few distinct values, so that maxima tie.
        self.x = rng.integers(0, 5, x).astype(dtype)
        self.dy = rng.integers(-4, 5, (x[0], *(a.out for a in self.axes), x[-1])).astype(dtype)
        self.first, self.dtype, self.space = first, np.dtype(dtype), len(x) == 5
        order = (lambda v: [1, 1, *v]) if first else (lambda v: [1, *v, 1])
        self.attrs = {"ksize": order(window), "strides": order(strides), "padding": padding}
        if first:
            self.attrs["data_format"] = "NCDHW" if self.space else "NCHW"
        self.three = "3D" if self.space else ""

    def maxima(self, x=None):
        """Values and the flat position in space of the first of each."""
        x = (self.x if x is None else x).astype(np.float64)
        best = np.full(self.dy.shape, -np.inf)
        at = np.zeros(self.dy.shape, np.int64)
        sizes = [a.size for a in self.axes]
        for _, o, i in windows.meetings(self.axes):
            flat = np.ravel_multi_index(np.broadcast_arrays(*i), sizes)[None, ..., None]
            part, before = x[(slice(None), *i)], best[(slice(None), *o)]
            better = part > before
            best[(slice(None), *o)] = np.where(better, part, before)
            at[(slice(None), *o)] = np.where(better, flat, at[(slice(None), *o)])
        return best, at

    def counts(self):
        counts = np.zeros([a.out for a in self.axes])
        for _, o, _ in windows.meetings(self.axes):
            counts[o] += 1
        return counts[..., None]

    def averages(self):
        total = np.zeros(self.dy.shape)
        for _, o, i in windows.meetings(self.axes):
            total[(slice(None), *o)] += self.x.astype(np.float64)[(slice(None), *i)]
        return total / self.counts()

    def average_gradient(self):
        dx, dy = np.zeros(self.x.shape), self.dy.astype(np.float64) / self.counts()
        for _, o, i in windows.meetings(self.axes):
            dx[(slice(None), *i)] += dy[(slice(None), *o)]
        return dx

    def scattered(self, at):
        n, c = self.x.shape[0], self.x.shape[-1]
        dx = np.zeros((n, int(np.prod(self.x.shape[1:-1])), c))
        flat = at.reshape(n, int(np.prod(at.shape[1:-1])), c)
        images, channels = np.arange(n)[:, None, None], np.arange(c)[None, None]
        np.add.at(dx, (images, flat, channels), self.dy.astype(np.float64).reshape(flat.shape))
        return dx.reshape(self.x.shape)

    def shared(self, best):
        x, dx = self.x.astype(np.float64), np.zeros(self.x.shape)
        for _, o, i in windows.meetings(self.axes):
            o, i = (slice(None), *o), (slice(None), *i)
            dx[i] += np.where(x[i] == best[o], self.dy.astype(np.float64)[o], 0)
        return dx

    def placed(self, a):
        return windows.channels_first(a) if self.first else a

    def near(self, got, want):
        assert got.dtype == self.dtype
        assert got.shape == want.shape
        tolerance = TOLERANCE.get(self.dtype.name, 0)
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance * 8)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.uint8])
@pytest.mark.parametrize("first", [False, True])
def test_max_pool_and_gradients(name, dtype, first):
    case = Case(name, dtype, first)
    if case.space and dtype in (np.float64, np.int32, np.uint8):
        dtype = np.float32
        case = Case(name, dtype, first)
    best, at = case.maxima()
    op = f"MaxPool{case.three}"
    x, dy = case.placed(case.x), case.placed(case.dy)
    got = run_kernel(op, x, threads=2, **case.attrs)
    case.near(got, case.placed(best))
    if dtype is np.uint8:  # the sums of the gradient wrap around
        return
    # In three dimensions every element that equals the maximum counts, as in TensorFlow.
    expected = case.shared(best) if case.space else case.scattered(at)
    case.near(run_kernel(f"{op}Grad", x, got, dy, threads=2, **case.attrs), case.placed(expected))
    case.near(run_kernel(f"{op}GradGrad", x, got, x, **case.attrs), case.placed(best))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [False, True])
def test_average_pool_counts_only_what_the_window_covers(name, dtype, first):
    case = Case(name, dtype, first)
    op = f"AvgPool{case.three}"
    x, dy = case.placed(case.x), case.placed(case.dy)
    case.near(run_kernel(op, x, threads=2, **case.attrs), case.placed(case.averages()))
    sizes = np.array(x.shape, np.int32)
    case.near(
        run_kernel(f"{op}Grad", sizes, dy, threads=2, **case.attrs),
        case.placed(case.average_gradient()),
    )


@pytest.mark.parametrize("name", ["halved", "overlapping", "wide"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("include_batch", [False, True])
def test_argmax_is_the_flat_index_of_the_first_maximum(name, index, include_batch):
    case = Case(name, np.float32)
    best, at = case.maxima()
    n, _, _, c = case.x.shape
    want = at * c + np.arange(c)
    if include_batch:
        want = want + (np.arange(n) * case.x[0].size)[:, None, None, None]
    attrs = {**case.attrs, "Targmax": index, "include_batch_in_index": include_batch}
    got, where = run_kernel("MaxPoolWithArgmax", case.x, **attrs)
    case.near(got, best)
    np.testing.assert_array_equal(where, want.astype(index))
    case.near(
        run_kernel("MaxPoolGradWithArgmax", case.x, case.dy, where, **attrs), case.scattered(at)
    )
    case.near(run_kernel("MaxPoolGradGradWithArgmax", case.x, case.x, where, **attrs), best)


def test_v2_takes_window_and_strides_as_inputs():
    case = Case("overlapping", np.float32)
    best, at = case.maxima()
    ksize, strides = (np.array(case.attrs[k], np.int32) for k in ("ksize", "strides"))
    got = run_kernel("MaxPoolV2", case.x, ksize, strides, padding="SAME")
    case.near(got, best)
    got = run_kernel("MaxPoolGradV2", case.x, got, case.dy, ksize, strides, padding="SAME")
    case.near(got, case.scattered(at))


def test_nan_is_the_maximum_of_its_windows():
    x = np.zeros((1, 4, 4, 3), np.float32)
    x[0, 1, 1, 2] = np.nan
    x[0, 0, 0, 2] = np.inf
    got = run_kernel("MaxPool", x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    assert np.isnan(got[0, 0, 0, 2])
    assert np.isfinite(np.delete(got.ravel(), 2)).all()


def test_an_argmax_outside_its_image_is_named():
    x, where = np.zeros((2, 2, 2, 1), np.float32), np.array([0, 4], np.int64).reshape(2, 1, 1, 1)
    with pytest.raises(InvalidArgumentError, match="argmax 4 at 1"):
        run_kernel("MaxPoolGradWithArgmax", x, np.ones((2, 1, 1, 1), np.float32), where,
                   ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")  # fmt: skip


def oracle_of_max_pool(x, dy, size, stride, padding):
    """Maxima and their gradient, window by window; NaN wins, then the first of the largest."""
    axes = [windows.axis(n, size, stride, 1, padding) for n in x.shape[1:3]]
    y, dx = np.zeros_like(dy), np.zeros_like(x)
    images, channels = np.arange(x.shape[0])[:, None], np.arange(x.shape[3])[None]
    for i, j in np.ndindex(*dy.shape[1:3]):
        low = [a.stride * o - a.low for a, o in zip(axes, (i, j), strict=True)]
        rows, columns = (
            np.arange(max(0, f), min(n, f + size)) for f, n in zip(low, x.shape[1:3], strict=True)
        )
        part = x[:, rows[:, None], columns[None]].reshape(x.shape[0], -1, x.shape[3])
        at = np.argmax(part, axis=1)  # NumPy, too, takes the first NaN, or the first of the largest
        y[:, i, j] = np.take_along_axis(part, at[:, None], 1)[:, 0]
        row, column = rows[at // len(columns)], columns[at % len(columns)]
        dx[images, row, column, channels] += dy[:, i, j]
    return y, dx


def random_max_pools():
    """Shapes whose channels fill registers of every width and none, values with NaN, inf, ties."""
    rng = np.random.default_rng(7)
    for case in range(60):
        size, stride = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        padding = "SAME" if case % 2 else "VALID"
        channels = int(rng.choice([3, 4, 8, 12, 16, 24, 32, 48]))
        extent = rng.integers(size, size + 9, 2)
        x = rng.standard_normal((int(rng.integers(1, 4)), *extent, channels)).astype(np.float32)
        if case % 3 == 0:
            x = np.round(x)  # ties
            x[rng.random(x.shape) < 0.1] *= -0.0
        if case % 4 == 0:
            for value in (np.nan, np.inf, -np.inf, 3e38, 1e-41):
                x[rng.random(x.shape) < 0.02] = value
        attrs = {"ksize": [1, size, size, 1], "strides": [1, stride, stride, 1], "padding": padding}
        axes = [windows.axis(n, size, stride, 1, padding) for n in extent]
        dy = rng.standard_normal((x.shape[0], *(a.out for a in axes), channels)).astype(np.float32)
        yield x, dy, size, stride, padding, attrs


def test_random_windows_with_nan_inf_and_ties_agree_with_the_oracle():
    for x, dy, size, stride, padding, attrs in random_max_pools():
        y, dx = oracle_of_max_pool(x, dy, size, stride, padding)
        for threads in (1, 2):
            got = run_kernel("MaxPool", x, threads=threads, **attrs)
            np.testing.assert_array_equal(got, y)
            # Gradients of channels with NaN are added last, so that sums may round otherwise.
            gradient = run_kernel("MaxPoolGrad", x, y, dy, threads=threads, **attrs)
            np.testing.assert_allclose(gradient, dx, rtol=2e-6, atol=2e-6)


RESULTS_OF_ONE_LEVEL = """
import hashlib, test_cpu_pooling
from kernel_harness import run_kernel
digest = hashlib.sha256()
for x, dy, *_, attrs in test_cpu_pooling.random_max_pools():
    y = run_kernel("MaxPool", x, **attrs)
    digest.update(y.tobytes() + run_kernel("MaxPoolGrad", x, y, dy, **attrs).tobytes())
print(digest.hexdigest())
"""


def test_every_processor_level_makes_the_same_bits():
    results = {
        level: subprocess.run(
            [sys.executable, "-c", RESULTS_OF_ONE_LEVEL],
            cwd=Path(__file__).parent,
            env=os.environ | {"HEADRACE_PROCESSOR_LEVEL": level},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for level in ("v4", "v3", "any")
    }
    assert len(set(results.values())) == 1, results


INDEXED = {
    "tiled": ((3, 8, 6, 16), (2, 2), (2, 2), "VALID"),
    "cut": ((3, 9, 7, 16), (2, 2), (2, 2), "SAME"),
    "overlapping": ((2, 11, 9, 32), (3, 3), (2, 2), "SAME"),
    "dense": ((2, 6, 7, 8), (3, 3), (1, 1), "SAME"),
    "gaps": ((2, 9, 10, 16), (2, 1), (3, 4), "VALID"),
    "few channels": ((2, 9, 7, 3), (3, 2), (2, 1), "SAME"),
    "some channels": ((2, 9, 7, 20), (3, 3), (2, 2), "SAME"),
    "wide window": ((2, 9, 30, 16), (1, 9), (1, 4), "SAME"),
    "explicit": ((2, 7, 7, 16), (3, 3), (2, 2), [0, 0, 1, 2, 2, 0, 0, 0]),
}
VALUES = {
    "ties": [0, 1, 2],
    "zeros": [0.0, -0.0],
    "nan": [0, 1, np.nan, 2],
    "infinities": [np.inf, -np.inf, 0],
    "lowest": [-np.inf],
}


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("first", [False, True])
def test_max_pool_with_its_index_has_the_bits_of_the_two_ops_apart(name, dtype, values, first):
    shape, window, strides, padding = INDEXED[name]
    rng = np.random.default_rng(len(name))
    x = rng.choice(np.array(VALUES[values]), shape).astype(dtype)
    order = (lambda v: [1, 1, *v]) if first else (lambda v: [1, *v, 1])
    attrs = {"ksize": order(window), "strides": order(strides), "padding": padding}
    if not isinstance(padding, str):
        paddings = [0, 0, 0, 0, *padding[2:6]] if first else padding
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": paddings}
    if first:
        x, attrs["data_format"] = windows.channels_first(x), "NCHW"
    for threads in (1, 2):
        y = run_kernel("MaxPool", x, threads=threads, **attrs)
        dy = rng.standard_normal(y.shape)
        if values in ("nan", "infinities"):  # MaxPoolGrad adds these in another order
            dy = rng.integers(-4, 5, y.shape)
        dy = dy.astype(dtype)
        dy.flat[::7] = -0.0
        got, index = run_kernel("_MaxPoolWithWindowIndex", x, threads=threads, **attrs)
        assert index.dtype == np.uint8
        assert index.shape == y.shape
        assert (bits(got) == bits(y)).all()
        apart = run_kernel("MaxPoolGrad", x, y, dy, threads=threads, **attrs)
        op = "_MaxPoolGradWithWindowIndex"
        together = run_kernel(op, np.zeros_like(x), index, dy, threads=threads, **attrs)
        assert (bits(together) == bits(apart)).all()


def test_a_window_of_more_than_nine_positions_has_no_index():
    x = np.zeros((1, 8, 8, 4), np.float32)
    attrs = {"ksize": [1, 2, 5, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
    with pytest.raises(UnimplementedError, match="no index of windows of 2 by 5"):
        run_kernel("_MaxPoolWithWindowIndex", x, **attrs)


@pytest.mark.parametrize("channels", [3, 8])  # loops and lanes
@pytest.mark.parametrize("number", [4, 250])
def test_an_index_outside_its_window_writes_nothing(channels, number):
    x = np.zeros((1, 8, 8, channels), np.float32)
    index, dy = np.full((1, 4, 4, channels), number, np.uint8), np.ones((1, 4, 4, channels), "f")
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    if channels == 3:
        with pytest.raises(InvalidArgumentError, match="not a position of its window"):
            run_kernel("_MaxPoolGradWithWindowIndex", x, index, dy, **attrs)
    else:  # each lane asks for the numbers of its window
        assert not run_kernel("_MaxPoolGradWithWindowIndex", x, index, dy, **attrs).any()
