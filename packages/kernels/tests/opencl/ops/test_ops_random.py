"""Random numbers of OpenCL devices are those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_close
from kernel_harness import Device, PreparedKernel, run_kernel
from ml_dtypes import bfloat16

DTYPES = ["float32", "float64", "float16", bfloat16]
SHAPES = [(0,), (1,), (7,), (1000,), (3, 50_001)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_uniform_numbers_have_the_cpus_bits(device: Device, dtype: str) -> None:
    for shape in SHAPES:
        size = np.array(shape, np.int32)
        kernels = [
            PreparedKernel("RandomUniform", size, dtype=dtype, seed=5, seed2=7, device=there)
            for there in (None, device)
        ]
        for _ in range(3):  # the stream goes on
            expected, actual = (kernel.compute() for kernel in kernels)
            np.testing.assert_array_equal(actual.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("op", ["RandomStandardNormal", "TruncatedNormal"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_numbers_are_the_cpus(device: Device, op: str, dtype: str) -> None:
    for shape in SHAPES:
        size = np.array(shape, np.int32)
        expected = run_kernel(op, size, dtype=dtype, seed=5, seed2=7)
        actual = run_kernel(op, size, dtype=dtype, seed=5, seed2=7, device=device)
        assert_close(actual, expected)


@pytest.mark.parametrize(
    "op", ["StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"]
)
def test_stateless_numbers_are_the_cpus(device: Device, op: str) -> None:
    for seed in ([1, 2], [-3, 2**40]):
        arguments = np.int32([400]), np.array(seed, np.int64)
        expected = run_kernel(op, *arguments, dtype="float32")
        assert_close(run_kernel(op, *arguments, dtype="float32", device=device), expected)
