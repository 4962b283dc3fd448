"""Copies of OpenCL devices, and their order with other work."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from launch_driver import Kernels
from opencl_device import Device, Profile

pytestmark = pytest.mark.opencl

INVALID_ARGUMENT = 3
# Slow enough that what is enqueued behind it waits.
SLOW = """
kernel void slow(HR_OUT(int, y), int n) {
  HR_OUTPUT(int, y);
  int x = 0;
  for (int i = 0; i < n; ++i) x = x * 1664525 + 1013904223 + y[0];
  y[1] = x;
}
"""


class Busy:
    """Keeps a device's queue busy for some milliseconds."""

    def __init__(self) -> None:
        self.kernels = Kernels()
        self.device = Device(self.kernels.device)
        self.kernel = self.kernels.generate(SLOW, "slow")
        self.data = self.device.allocate(64)
        assert self.data is not None
        self.device.copy_in(self.data, np.zeros(16, np.int32))

    def start(self, rounds: int = 20_000_000, profile: Profile | None = None) -> None:
        code, message = self.kernels.launch(
            self.kernel,
            1,
            1,
            [self.data, ctypes.c_int32(rounds)],
            profile.struct if profile else None,
        )
        assert code == 0, message


@pytest.fixture(scope="module")
def busy(device: Device) -> Iterator[Busy]:
    yield Busy()


def allocated(device: Device, *arrays: np.ndarray) -> list[int]:
    found = [device.allocate(array.nbytes) for array in arrays]
    assert all(found)
    return [data for data in found if data is not None]


@pytest.mark.parametrize("size", [1, 3, 4096, 1 << 20, 40 << 20])
def test_bytes_come_back(device: Device, size: int) -> None:
    there = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    back = np.zeros_like(there)
    (data,) = allocated(device, there)
    assert device.copy_in(data, there) == 0
    device.copy_out(back, data)
    assert (back == there).all()
    device.release(data)


@pytest.mark.parametrize("size", [8, 1 << 20, 50 << 20])
def test_a_copy_in_reads_before_it_returns_and_waits_for_earlier_work(
    busy: Busy, size: int
) -> None:
    device = busy.device
    there = np.arange(size // 8, dtype=np.int64)
    back = np.zeros_like(there)
    a, b = allocated(device, there, there)
    device.copy_in(a, there)
    busy.start()
    device.copy_within(b, a, size)  # reads a before the next copy changes it
    changing = there + 1
    assert device.copy_in(a, changing) == 0
    changing[:] = -1
    device.copy_out(back, b)
    assert (back == there).all()
    device.copy_out(back, a)
    assert (back == there + 1).all()
    device.release(a)
    device.release(b)


def test_a_copy_in_that_reports_its_end_reads_until_then(busy: Busy) -> None:
    device = busy.device
    there = np.arange(1000, dtype=np.int64)
    (data,) = allocated(device, there)
    busy.start()
    request = device.start_copy_in(data, there)
    device.flush()
    assert request.wait() == (0, "")
    back = np.zeros_like(there)
    device.copy_out(back, data)
    assert (back == there).all()
    device.release(data)


def test_notify_reports_the_end_of_earlier_work_once(busy: Busy) -> None:
    request = busy.device.notify()
    assert request.wait() == (0, "")
    busy.start(100_000_000)
    request = busy.device.notify()
    assert request.reports == []
    assert request.wait() == (0, "")
    busy.device.finish()
    assert len(request.reports) == 1


def test_released_memory_serves_what_is_enqueued_next(busy: Busy) -> None:
    device = busy.device
    there = np.arange(1 << 16, dtype=np.int64)
    target = np.zeros_like(there)
    a, b = allocated(device, there, there)
    device.copy_in(a, there)
    device.finish()
    busy.start()
    device.copy_within(b, a, there.nbytes)
    device.release(a)
    again = device.allocate(there.nbytes)
    assert again == a
    device.copy_in(a, there * 0)
    device.copy_out(target, b)
    assert (target == there).all()
    device.release(a)
    device.release(b)


@pytest.mark.skipif(
    os.environ.get("HEADRACE_OPENCL_TEMPLATES") != "gpu",
    reason="the host shares this memory; test_opencl_gpu_memory.py runs this test",
)
def test_work_behind_a_copy_to_the_host_need_not_wait_for_it(busy: Busy) -> None:
    device = busy.device
    source = np.arange(32 << 20, dtype=np.int64)
    back = np.zeros_like(source)
    (data,) = allocated(device, source)
    device.copy_in(data, source)
    for _ in range(10):
        profile = Profile()
        profile.struct.entry = 0
        busy.start(100_000, profile)
        device.finish()
        profile.struct.entry = 1
        request = device.start_copy_out(back, data, profile)
        profile.struct.entry = 2
        busy.start(100_000, profile)
        assert request.wait() == (0, "")
        assert (back == source).all()
        device.finish()
        ran = {entry: (start, end) for entry, _, start, end, _ in profile.added}
        assert sorted(ran) == [0, 1, 2]
        if ran[2][0] < ran[1][1]:
            break
    else:
        raise AssertionError("in ten attempts the kernel waited for the copy")
    device.release(data)


def test_notify_waits_for_copies_to_the_host(busy: Busy) -> None:
    device = busy.device
    source = np.arange(16 << 20, dtype=np.int64)
    back = np.zeros_like(source)
    (data,) = allocated(device, source)
    device.copy_in(data, source)
    device.finish()
    profile = Profile()
    copy = device.start_copy_out(back, data, profile)
    assert device.notify().wait() == (0, "")
    assert [what for _, what, *_ in profile.added] == ["copy to host"]
    assert copy.wait() == (0, "")
    assert (back == source).all()
    device.release(data)


def test_offsets_within_an_allocation_are_addresses(device: Device) -> None:
    there = np.arange(1000, dtype=np.int32)
    (data,) = allocated(device, there)
    device.copy_in(data, there)
    back = np.zeros(10, np.int32)
    device.copy_out(back, data + 4 * 77)
    assert back.tolist() == list(range(77, 87))
    assert device.copy_within(data, data + 4 * 500, 40) == 0
    device.copy_out(back, data)
    assert back.tolist() == list(range(500, 510))
    device.release(data)


def test_nothing_is_copied_at_once(device: Device) -> None:
    nothing = np.zeros(0, np.int32)
    (data,) = allocated(device, np.zeros(1))
    assert device.copy_in(data, nothing) == 0
    assert device.copy_within(data, data, 0) == 0
    assert device.start_copy_in(data, nothing).wait() == (0, "")
    assert device.start_copy_out(nothing, data).wait() == (0, "")
    device.release(data)


def test_addresses_that_are_not_of_the_device_are_refused(device: Device) -> None:
    host = np.zeros(100, np.int32)
    (data,) = allocated(device, host)
    assert device.copy_in(host.ctypes.data, host) == INVALID_ARGUMENT
    assert device.copy_within(data, host.ctypes.data, 4) == INVALID_ARGUMENT
    assert device.copy_out_code(host, 12345) == INVALID_ARGUMENT
    device.release(data)


def test_threads_copy_at_the_same_time(busy: Busy) -> None:
    device = busy.device
    wrong: list[int] = []

    def work(number: int) -> None:
        there = np.full(1 << 20, number, np.int32)
        back = np.zeros_like(there)
        (data,) = allocated(device, there)
        for _ in range(5):
            busy.start(1_000_000)
            device.copy_in(data, there)
            device.copy_out(back, data)
            if (back != number).any():
                wrong.append(number)
        device.release(data)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
