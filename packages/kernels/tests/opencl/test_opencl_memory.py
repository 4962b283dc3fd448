"""Memory of OpenCL devices: what the pool serves, counts, refuses and says."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opencl_device import Device

pytestmark = pytest.mark.opencl

ALIGNMENT = 256
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), st.integers(1, 3 << 20)),
        st.tuples(st.just("release"), st.integers(0, 1000)),
    ),
    max_size=60,
)


def rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@given(steps=STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_allocations_are_disjoint_aligned_and_counted(device: Device, steps: list[Any]) -> None:
    before = device.memory()
    device.reset_peak()
    live: dict[int, int] = {}
    peak = before.in_use
    made = 0
    for verb, number in steps:
        if verb == "allocate":
            data = device.allocate(number)
            assert data is not None and data % ALIGNMENT == 0
            for other, size in live.items():
                assert data + rounded(number) <= other or other + size <= data
            live[data] = rounded(number)
            made += 1
        elif live:
            data = sorted(live)[number % len(live)]
            device.release(data)
            del live[data]
        now = device.memory()
        peak = max(peak, now.in_use)
        assert now.in_use - before.in_use == sum(live.values())
        assert now.live - before.live == len(live)
        assert now.peak == peak
        assert now.in_use <= now.reserved
    assert device.memory().allocated == before.allocated + made
    for data in live:
        device.release(data)
    assert device.memory().in_use == before.in_use


def test_ten_thousand_allocations_of_changing_sizes_do_not_grow_the_pool(device: Device) -> None:
    def rounds(n: int) -> None:
        held: list[int] = []
        for i in range(n):
            data = device.allocate(1 + i * 7919 % (1 << 20))
            assert data is not None
            held.append(data)
            if len(held) > 20:
                device.release(held.pop(i * 31 % 20))
        for data in held:
            device.release(data)

    rounds(500)
    before = device.memory()
    rounds(10_000)
    after = device.memory()
    assert after.reserved == before.reserved
    assert after.in_use == before.in_use


def test_threads_get_memory_of_their_own(device: Device) -> None:
    before = device.memory()
    wrong: list[str] = []

    def work(number: int) -> None:
        mine = np.full(1000, number, np.int32)
        back = np.zeros_like(mine)
        for _ in range(50):
            data = device.allocate(mine.nbytes, f"thread {number}")
            assert data is not None
            device.copy_in(data, mine)
            device.copy_out(back, data)
            if (back != number).any():
                wrong.append(f"thread {number} read {back[back != number][0]}")
            device.release(data)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert device.memory().in_use == before.in_use


def test_a_limit_fails_allocations_and_keeps_what_lives(device: Device) -> None:
    before = device.memory()
    held = device.allocate(1 << 20, "the one that lives")
    assert held is not None
    device.set_limit(device.memory().in_use + (1 << 20))
    try:
        within = device.allocate(1 << 20)
        assert within is not None
        assert device.allocate(1, "too much") is None
        text = device.describe()
        assert "'too much' failed: the limit is" in text
        assert "the one that lives" in text
        device.release(within)
        again = device.allocate(1 << 20)
        assert again is not None
        device.release(again)
    finally:
        device.set_limit(before.limit)
        device.release(held)


def test_an_allocation_beyond_the_largest_of_the_device_says_so(device: Device) -> None:
    assert device.allocate(1 << 50, "huge") is None
    text = device.describe()
    assert "1024.00 TiB for 'huge' failed" in text
    assert "CL_DEVICE_MAX_MEM_ALLOC_SIZE" in text
    assert device.allocate(0) is None


def test_holders_are_listed_by_size(device: Device) -> None:
    sizes = [(1, "small"), (3, "large"), (1, "twice"), (1, "twice")]
    held = [device.allocate(size << 20, name) for size, name in sizes]
    lines = device.describe().splitlines()
    expected = ["3.00 MiB  large", "2.00 MiB  twice (2 allocations)", "1.00 MiB  small"]
    order = [lines.index(line) for line in expected]
    assert order == sorted(order)
    for data in held:
        assert data is not None
        device.release(data)


@pytest.mark.parametrize("size", [1, 2, 17])
def test_a_description_that_is_too_long_is_cut(device: Device, size: int) -> None:
    assert len(device.describe(size)) == size - 1


def test_the_address_of_an_allocation_is_no_memory_of_the_host(device: Device) -> None:
    data = device.allocate(1 << 16)
    assert data is not None
    host = [np.zeros(1 << 16, np.uint8) for _ in range(20)]
    for array in host:
        start = array.ctypes.data
        assert start + array.nbytes <= data or data + (1 << 16) <= start
    device.release(data)
