"""When traced work ran, on the system clock."""

from __future__ import annotations

import ctypes
import time

import numpy as np
import pytest
from launch_driver import Kernels
from opencl_device import Device, Profile

pytestmark = pytest.mark.opencl

SPIN = """
kernel void spin(HR_OUT(int, y), int n) {
  HR_OUTPUT(int, y);
  int x = 0;
  for (int i = 0; i < n; ++i) x = x * 1664525 + 1013904223 + y[0];
  y[1] = x;
}
"""


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    return Kernels()


def test_traced_work_is_reported_before_its_step_ends(kernels: Kernels) -> None:
    device = Device(kernels.device)
    host = np.zeros(1 << 20, np.int32)
    data, other = device.allocate(host.nbytes), device.allocate(host.nbytes)
    assert data and other
    spin = kernels.generate(SPIN, "spin")
    kernels.launch(spin, 1, 1, [data, ctypes.c_int32(10)])  # compiled for the group's size
    device.finish()
    profile = Profile()
    began = time.time_ns()
    for entry in range(3):
        profile.struct.entry = entry
        arguments = [data, ctypes.c_int32(20_000_000)]
        assert kernels.launch(spin, 1, 1, arguments, profile.struct)[0] == 0
    profile.struct.entry = 3
    device.copy_within(other, data, host.nbytes, profile)
    profile.struct.entry = 4
    device.copy_in(other, host, profile)
    profile.struct.entry = 5
    device.copy_out(host, other, profile)
    ended = time.time_ns()
    # Nothing more is reported: the profile may end now.
    assert [entry for entry, *_ in profile.added] == [0, 1, 2, 3, 4, 5]
    names = ["spin", "spin", "spin", "copy", "copy to device", "copy to host"]
    assert [name for _, name, *_ in profile.added] == names
    assert [size for *_, size in profile.added] == [0, 0, 0, *[host.nbytes] * 3]
    for (_, _, start, end, _), (_, _, next_start, _, _) in zip(
        profile.added, profile.added[1:], strict=False
    ):
        assert start <= end <= next_start + 100_000  # the offset of the clocks is refined
    slack = 2_000_000
    assert began - slack <= profile.added[0][2]
    assert profile.added[-1][3] <= ended + slack
    spun = sum(end - start for _, name, start, end, _ in profile.added if name == "spin")
    assert 0.3 * (ended - began) < spun < 1.05 * (ended - began)
    device.release(data)
    device.release(other)


def test_work_without_a_profile_is_not_reported(kernels: Kernels) -> None:
    device = Device(kernels.device)
    host = np.zeros(100, np.int32)
    data = device.allocate(host.nbytes)
    assert data
    profile = Profile()
    device.copy_in(data, host, profile)
    device.copy_in(data, host)
    device.finish()
    assert len(profile.added) == 1
    device.release(data)
