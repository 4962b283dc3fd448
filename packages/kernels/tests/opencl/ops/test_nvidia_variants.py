"""Variants of products for NVIDIA's GPUs, with what only these have replaced: all around it is
tested, on any device."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest
from kernel_device import assert_near, first_device
from launch_driver import Kernels
from opencl_device import Device

VARIANTS = ["-DASYNC=1 -DSTAGES=4", "-DTF32=1", "-DTF32=1 -DASYNC=1 -DSTAGES=3"]
# One tile of columns: the driver launches lines of groups.
SIZES = [(132, 128, 44), (300, 20, 8), (4, 128, 52)]
ITEMS = 256  # of a group
INT, LONG = ctypes.c_int32, ctypes.c_int64


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    first_device()
    yield Kernels()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("flags", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_give_the_product(
    kernels: Kernels, variant: str, flags: tuple[int, int], size: tuple[int, int, int]
) -> None:
    m, n, k = size
    rng = np.random.default_rng(0)
    a = rng.standard_normal((k, m) if flags[0] else (m, k)).astype(np.float32)
    b = rng.standard_normal((n, k) if flags[1] else (k, n)).astype(np.float32)
    want = (a.T if flags[0] else a).astype(np.float64) @ (b.T if flags[1] else b)
    device = Device(kernels.device)
    places = []
    for array in (a, b, np.full((m, n), np.nan, np.float32)):
        place = device.allocate(array.nbytes)
        assert place and device.copy_in(place, array) == 0
        places.append(place)
    transposes = f" -DTRANSPOSE_A={flags[0]} -DTRANSPOSE_B={flags[1]} "
    kernel = kernels.find(
        "gemm/gemm_gpu.cl", "gemm", "-DTILE=128 -DALIGNED=1" + transposes + variant
    )
    sizes = [m, n, k, a.shape[1], b.shape[1], 1, k, 1]
    arguments = [*places, *(INT(s) for s in sizes), *(LONG(0) for _ in range(4))]
    got = np.empty((m, n), np.float32)
    code, message = kernels.launch(kernel, -(-m // 128) * ITEMS, ITEMS, arguments)
    assert code == 0, message
    device.copy_out(got, places[2])
    assert_near(got, want)
    for place in places:
        device.release(place)
