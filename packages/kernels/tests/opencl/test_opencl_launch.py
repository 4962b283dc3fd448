"""Kernels through the launch API."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from launch_driver import BuildError, Kernels
from opencl_device import Device

pytestmark = pytest.mark.opencl

INTERNAL = 13


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    return Kernels()


@pytest.fixture(scope="module")
def own(kernels: Kernels) -> Device:
    """The device of the driver, which is a copy of the library."""
    return Device(kernels.device)


def on_device(device: Device, array: np.ndarray) -> int:
    data = device.allocate(array.nbytes)
    assert data is not None
    device.copy_in(data, array)
    return data


ADD = """
kernel void add(HR_IN(float, a), HR_IN(float, b), HR_OUT(float, y), int n) {
  HR_INPUT(float, a);
  HR_INPUT(float, b);
  HR_OUTPUT(float, y);
  const int i = (int)get_global_id(0);
  if (i < n) y[i] = a[i] + b[i];
}
"""


def test_tensors_are_parts_of_roots(kernels: Kernels, own: Device) -> None:
    a, b = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    x, y, z = on_device(own, a), on_device(own, b), on_device(own, a * 0)
    add = kernels.generate(ADD, "add")
    code, message = kernels.launch(add, 1024, 64, [x, y, z, ctypes.c_int32(1000)])
    assert code == 0, message
    # Views begin inside of allocations.
    views = [x + 4 * 10, z + 4 * 20, z + 4 * 900]
    code, message = kernels.launch(add, 64, 64, [*views, ctypes.c_int32(64)])
    assert code == 0, message
    result = np.zeros_like(a)
    own.copy_out(result, z)
    expected = a + b
    expected[900:964] = a[10:74] + expected[20:84]
    assert (result == expected).all()
    for data in (x, y, z):
        own.release(data)


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_int64), ("second", ctypes.c_float)]


def test_values_keep_their_types(kernels: Kernels, own: Device) -> None:
    text = """
    typedef struct { long first; float second; } Pair;
    kernel void values(HR_OUT(double, y), int a, long b, uint c, ulong d, float e, double f,
                       Pair g) {
      HR_OUTPUT(double, y);
      y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = e; y[5] = f; y[6] = g.first; y[7] = g.second;
    }
    """
    if not _has_double(kernels):
        pytest.skip("the device has no double")
    y = on_device(own, np.zeros(8))
    values = [
        ctypes.c_int32(-1),
        ctypes.c_int64(-(1 << 40)),
        ctypes.c_uint32((1 << 32) - 1),
        ctypes.c_uint64(1 << 60),
        ctypes.c_float(0.5),
        ctypes.c_double(0.1),
        Pair(1 << 41, 2.5),
    ]
    kernel = kernels.generate(text, "values")
    code, message = kernels.launch(kernel, 1, 1, [y, *values])
    assert code == 0, message
    result = np.zeros(8)
    own.copy_out(result, y)
    assert result.tolist() == [-1, -(2**40), 2**32 - 1, 2**60, 0.5, 0.1, 2**41, 2.5]
    own.release(y)


def _has_double(kernels: Kernels) -> bool:
    try:
        kernels.generate(
            "#if !HR_HAS_DOUBLE\n#error\n#endif\nkernel void has_double() {}", "has_double"
        )
    except BuildError:
        return False
    return True


def test_floats_of_16_bits_round_as_numpy_does(kernels: Kernels, own: Device) -> None:
    text = """
    kernel void round_trip(HR_IN(float, x), HR_OUT(ushort, h), HR_OUT(ushort, b),
                           HR_OUT(float, y)) {
      HR_INPUT(float, x);
      HR_OUTPUT(ushort, h);
      HR_OUTPUT(ushort, b);
      HR_OUTPUT(float, y);
      const int i = (int)get_global_id(0);
      h[i] = hr_float_to_half(x[i]);
      b[i] = hr_float_to_bfloat16(x[i]);
      y[i] = hr_half_to_float(h[i]) + hr_bfloat16_to_float(b[i]);
    }
    """
    rng = np.random.default_rng(0)
    values = (rng.standard_normal(1024) * 10.0 ** rng.integers(-9, 7, 1024)).astype(np.float32)
    values[:4] = [0, -0.0, np.inf, -np.inf]
    x = on_device(own, values)
    h, b, y = (on_device(own, np.zeros(1024, t)) for t in (np.uint16, np.uint16, np.float32))
    kernel = kernels.generate(text, "round_trip")
    code, message = kernels.launch(kernel, 1024, 64, [x, h, b, y])
    assert code == 0, message
    half, brain, total = (np.zeros(1024, t) for t in (np.uint16, np.uint16, np.float32))
    own.copy_out(half, h)
    own.copy_out(brain, b)
    own.copy_out(total, y)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    assert (half == expected.view(np.uint16)).all()
    assert (brain == values.astype(ml_dtypes.bfloat16).view(np.uint16)).all()
    sums = expected.astype(np.float32) + brain.view(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(total, sums, equal_nan=True)
    for data in (x, h, b, y):
        own.release(data)


def test_a_grid_without_items_is_valid(kernels: Kernels, own: Device) -> None:
    data = on_device(own, np.zeros(4, np.float32))
    add = kernels.generate(ADD, "add")
    assert kernels.launch(add, 0, 64, [data, data, data, ctypes.c_int32(0)]) == (0, "")
    own.release(data)


def test_errors_say_what_was_enqueued_and_where(kernels: Kernels, own: Device) -> None:
    add = kernels.generate(ADD, "add")
    data = on_device(own, np.zeros(64, np.float32))
    good = [data, data, data, ctypes.c_int32(0)]
    name = own.struct.description.decode().split(" (")[0]
    code, message = kernels.launch(add, 1 << 20, 1 << 19, good)
    assert code == INTERNAL
    assert "enqueue kernel 'add' with [1048576] items in groups of [524288]" in message
    assert f"CL_INVALID_WORK_GROUP_SIZE on {name}" in message
    code, message = kernels.launch(add, 64, 64, good[:3])
    assert (code, message) == (INTERNAL, "kernel 'add' has 7 OpenCL arguments, got 6")
    code, message = kernels.launch(add, 64, 64, [1234, *good[1:]])
    assert (code, message) == (
        INTERNAL,
        f"argument 0 of kernel 'add': CL_INVALID_MEM_OBJECT on {name}",
    )
    code, message = kernels.launch(add, 64, 64, [*good[:3], ctypes.c_int64(0)])
    assert code == INTERNAL and "argument 3 of kernel 'add': CL_INVALID_ARG_SIZE" in message
    # A failed launch leaves the kernel usable.
    assert kernels.launch(add, 64, 64, good) == (0, "")
    own.finish()
    own.release(data)


def test_threads_launch_one_kernel_with_arguments_of_their_own(
    kernels: Kernels, own: Device
) -> None:
    text = """
    kernel void count(HR_OUT_SHARED(int, y), int thread) {
      HR_OUTPUT(int, y);
      atomic_inc(&y[thread]);
    }
    """
    counts = np.zeros(8, np.int32)
    y = on_device(own, counts)
    kernel = kernels.generate(text, "count")
    kernels.launch_many(kernel, 1, 1, [y, ctypes.c_int32(0)], times=2000, threads=8)
    own.copy_out(counts, y)
    assert counts.tolist() == [2000] * 8
    own.release(y)


def test_a_launch_takes_microseconds(kernels: Kernels, own: Device) -> None:
    data = [on_device(own, np.zeros(256, np.float32)) for _ in range(3)]
    add = kernels.generate(ADD, "add")
    own.finish()
    spent = []
    for _ in range(20):
        arguments = [*data, ctypes.c_int32(256)]
        spent.append(kernels.launch_many(add, 256, 64, arguments, times=500, threads=1))
        own.finish()
    # Measured: 0.6 us with three tensors on PoCL; other work on the machine is not the subject.
    assert min(spent) < 10_000
    for address in data:
        own.release(address)
