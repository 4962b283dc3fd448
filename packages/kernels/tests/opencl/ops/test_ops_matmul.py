"""Matrix products on OpenCL devices, against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_device import assert_near, first_device
from kernel_harness import PreparedKernel, run_kernel

from headrace.formats.errors import InvalidArgumentError

DTYPES = ["float32", "float64", "float16"]
FLAGS = [(False, False), (True, False), (False, True), (True, True)]

# Full and cut tiles, one vector and two, several blocks of k, packed panels, sums in parts.
SIZES = [
    (1, 1, 1),
    (1, 512, 784),
    (5, 7, 3),
    (32, 10, 512),
    (64, 64, 64),
    (96, 33, 257),
    (97, 100, 300),
    (300, 260, 270),
    (17, 16, 5000),
    (33, 48, 20),
]


def matrix(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def operands(m: int, n: int, k: int, flags: tuple[bool, bool], dtype: str) -> list[np.ndarray]:
    a = matrix((k, m) if flags[0] else (m, k), dtype)
    return [a, matrix((n, k) if flags[1] else (k, n), dtype, 1)]


def product(a: np.ndarray, b: np.ndarray, flags: tuple[bool, bool]) -> np.ndarray:
    a, b = a.astype(np.float64), b.astype(np.float64)
    a = np.swapaxes(a, -1, -2) if flags[0] else a
    return a @ (np.swapaxes(b, -1, -2) if flags[1] else b)


def multiply(a: np.ndarray, b: np.ndarray, flags: tuple[bool, bool]) -> np.ndarray:
    return run_kernel(
        "MatMul", a, b, device=first_device(), transpose_a=flags[0], transpose_b=flags[1]
    )


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_any_size(
    dtype: str, flags: tuple[bool, bool], size: tuple[int, int, int]
) -> None:
    a, b = operands(*size, flags, dtype)
    got = multiply(a, b, flags)
    assert got.dtype == dtype
    assert_near(got, product(a, b, flags))


@settings(max_examples=40, deadline=None)
@given(
    m=st.integers(0, 130),
    n=st.integers(0, 130),
    k=st.integers(0, 600),
    flags=st.sampled_from(FLAGS),
)
def test_products_of_drawn_sizes(m: int, n: int, k: int, flags: tuple[bool, bool]) -> None:
    a, b = operands(m, n, k, flags, "float32")
    assert_near(multiply(a, b, flags), product(a, b, flags))


BATCHES = [
    ((3,), (3,)),
    ((2, 3), (2, 3)),
    ((1,), (4,)),
    ((2, 1, 3), (1, 4, 1)),
    ((), (5,)),
    ((3, 1, 2, 1, 2), (1, 2, 1, 3, 1)),
    ((0,), (0,)),
]


@pytest.mark.parametrize("batches", BATCHES, ids=str)
@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_products_of_batches(
    flags: tuple[bool, bool], batches: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    a, b = operands(9, 18, 20, flags, "float32")
    a = matrix((*batches[0], *a.shape), "float32")
    b = matrix((*batches[1], *b.shape), "float32", 1)
    got = run_kernel("BatchMatMulV2", a, b, device=first_device(), adj_x=flags[0], adj_y=flags[1])
    assert_near(got, product(a, b, flags))


def test_more_products_than_a_grid_has_groups() -> None:
    a, b = matrix((70000, 2, 3), "float32"), matrix((70000, 3, 1), "float32", 1)
    got = run_kernel("BatchMatMulV2", a, b, device=first_device())
    assert_near(got, product(a, b, (False, False)))


def test_what_is_not_a_number_stays_in_its_row() -> None:
    a, b = operands(20, 40, 30, (False, False), "float32")
    a[3, 29] = np.nan
    got = multiply(a, b, (False, False))
    assert np.isnan(got[3]).all()
    assert np.isfinite(np.delete(got, 3, axis=0)).all()


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_sums_of_batches_in_parts(flags: tuple[bool, bool]) -> None:
    a, b = operands(9, 18, 3000, flags, "float32")
    a, b = matrix((3, *a.shape), "float32"), matrix((3, *b.shape), "float32", 1)
    got = run_kernel("BatchMatMulV2", a, b, device=first_device(), adj_x=flags[0], adj_y=flags[1])
    assert_near(got, product(a, b, flags))


def test_sums_of_batches_in_parts_of_many_processors() -> None:
    program = f"{Path(__file__).name}::test_sums_of_batches_in_parts[(True, False)]"
    first_device()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", program],
        cwd=Path(__file__).parent,
        env={**os.environ, "POCL_MAX_PTHREAD_COUNT": "16"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("n", [16, 15])
def test_parts_of_sums_of_half_are_not_rounded(n: int) -> None:
    # Each of the parts is beyond the range of half; their sum is not.
    a, b = np.ones((17, 5000), np.float16), np.full((5000, n), 200, np.float16)
    b[2500:] = -199
    assert_near(multiply(a, b, (False, False)), product(a, b, (False, False)))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_same_input_gives_the_same_bits(dtype: str) -> None:
    a, b = operands(17, 16, 20000, (False, False), dtype)
    kernel = PreparedKernel("MatMul", a, b, device=first_device())
    first = kernel.compute()
    for _ in range(5):
        np.testing.assert_array_equal(kernel.compute(), first)


def test_inner_sizes_that_differ_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"\[2,3\]|\[2, 3\]"):
        run_kernel("MatMul", matrix((2, 3), "float32"), matrix((4, 2), "float32"),
                   device=first_device())  # fmt: skip
