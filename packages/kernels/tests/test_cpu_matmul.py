"""Matrix products of the cpu table against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError

# Small ones, then blocked ones: of one task, of several tasks of both directions, with B packed or
# read in place, of several blocks of k. Odd sizes end inside tiles.
SIZES = [(4, 4, 4), (1, 7, 3), (8, 32, 32), (17, 65, 33), (3, 1, 5), (1, 1, 1)]
# 1024 columns of A are copied tile by tile, as their rows would fill one set of the cache.
SIZES += [(150, 140, 1024), (420, 150, 1024)]
SIZES += [(65, 130, 70), (230, 301, 530), (15, 1100, 700), (150, 40, 290), (600, 33, 600)]
EMPTY = [(0, 3, 4), (3, 0, 4), (3, 4, 0)]
FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int32, np.int64, np.uint8, np.int16]
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}


def matrix(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 50, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def near(got, want, dtype, k):
    assert got.shape == want.shape
    assert got.dtype == dtype
    tolerance = TOLERANCE.get(np.dtype(dtype).name, 1e-5)
    kind = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    np.testing.assert_allclose(
        got.astype(kind), want.astype(kind), rtol=tolerance, atol=tolerance * (k + 1) ** 0.5
    )


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64, np.complex128])
@pytest.mark.parametrize("sizes", SIZES + EMPTY)
@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_matmul_is_numpys(sizes, dtype, transposed):
    m, n, k = sizes
    ta, tb = map(bool, transposed)
    rng = np.random.default_rng(1)
    a = matrix(rng, (k, m) if ta else (m, k), dtype)
    b = matrix(rng, (n, k) if tb else (k, n), dtype)
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    want = (x.T if ta else x) @ (y.T if tb else y)
    got = run_kernel("MatMul", a, b, transpose_a=ta, transpose_b=tb, threads=2)
    near(got, want, np.dtype(dtype), k)


PRODUCTS_OF_ONE_LEVEL = """
import sys
import numpy as np
import test_cpu_matmul as here
from kernel_harness import run_kernel
for m, n, k in here.SIZES:
    for dtype in (np.float32, np.float64):
        for ta, tb in ((False, False), (True, True)):
            rng = np.random.default_rng(5)
            a = here.matrix(rng, (k, m) if ta else (m, k), dtype)
            b = here.matrix(rng, (n, k) if tb else (k, n), dtype)
            want = (a.T if ta else a).astype(float) @ (b.T if tb else b).astype(float)
            got = [run_kernel("MatMul", a, b, transpose_a=ta, transpose_b=tb, threads=threads)
                   for threads in (1, 2, 2)]
            here.near(got[0], want, np.dtype(dtype), k)
            assert np.array_equal(got[1], got[0]) and np.array_equal(got[2], got[0])
"""


@pytest.mark.parametrize("level", ["v4", "v3", "any"])
def test_products_of_every_processor_level_are_numpys_and_the_same_on_any_threads(level):
    done = subprocess.run(
        [sys.executable, "-c", PRODUCTS_OF_ONE_LEVEL],
        cwd=Path(__file__).parent,
        env=os.environ | {"HEADRACE_PROCESSOR_LEVEL": level},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around(dtype):
    rng = np.random.default_rng(2)
    a, b = matrix(rng, (5, 9), dtype), matrix(rng, (9, 6), dtype)
    op = "BatchMatMulV2" if dtype == np.int16 else "MatMul"
    np.testing.assert_array_equal(run_kernel(op, a, b), a @ b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex64])
@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4, 5), (3, 5, 2)),
        ((2, 1, 4, 5), (3, 5, 2)),
        ((0, 4, 5), (5, 2)),
        ((70, 80), (2, 80, 90)),
    ],
)
def test_batches_broadcast(shapes, dtype):
    rng = np.random.default_rng(3)
    a, b = matrix(rng, shapes[0], dtype), matrix(rng, shapes[1], dtype)
    near(run_kernel("BatchMatMulV2", a, b, threads=2), np.matmul(a, b), a.dtype, 80)
    a, b = np.conj(np.swapaxes(a, -1, -2)), np.conj(np.swapaxes(b, -1, -2))
    got = run_kernel("BatchMatMulV2", a, b, adj_x=True, adj_y=True)
    want = np.matmul(np.conj(np.swapaxes(a, -1, -2)), np.conj(np.swapaxes(b, -1, -2)))
    near(got, want, a.dtype, 80)


def activation(name, x):
    return {
        "Relu": lambda: np.maximum(x, 0),
        "Relu6": lambda: np.clip(x, 0, 6),
        "Elu": lambda: np.where(x < 0, np.expm1(x), x),
        "Tanh": lambda: np.tanh(x),
        "Sigmoid": lambda: 1 / (1 + np.exp(-x)),
    }[name]()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_share_a_batch_of_large_products(dtype, threads):
    rng = np.random.default_rng(5)
    a, b = matrix(rng, (9, 70, 90), dtype), matrix(rng, (9, 65, 90), dtype)
    got = run_kernel("BatchMatMulV2", a, b, adj_y=True, threads=threads)
    near(got, np.einsum("bik,bjk->bij", a, b), np.dtype(dtype), 90)


@pytest.mark.parametrize("name", ["Relu", "Relu6", "Elu", "Tanh", "Sigmoid"])
@pytest.mark.parametrize("sizes", [(4, 5, 6), (70, 90, 80), (80, 1300, 40), (3, 4, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_fused_products_add_bias_and_activate(sizes, name, dtype):
    m, n, k = sizes
    rng = np.random.default_rng(4)
    a, b, bias = (matrix(rng, s, dtype) for s in ((m, k), (k, n), (n,)))
    want = a.astype(np.float64) @ b.astype(np.float64) + bias.astype(np.float64)
    got = run_kernel("_FusedMatMul", a, b, [bias], fused_ops=["BiasAdd", name], threads=2)
    near(got, activation(name, want), np.dtype(dtype), k)


def test_nan_and_infinity_spread_along_their_row_and_column_only():
    a = np.ones((40, 70), np.float32)
    b = np.ones((70, 60), np.float32)
    a[3, 4], b[5, 6] = np.nan, np.inf
    for rows in (40, 8):
        got = run_kernel("MatMul", a[:rows], b)
        assert np.isnan(got[3]).all()
        assert np.isinf(np.delete(got[:, 6], 3)).all()
        assert np.isfinite(np.delete(np.delete(got, 3, 0), 6, 1)).all()


def test_inner_sizes_that_differ_are_named():
    a, b = np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)
    with pytest.raises(InvalidArgumentError, match=r"a is \[2, 3\], b is \[4, 5\]"):
        run_kernel("MatMul", a, b)
