"""A new graph for each test; makes the modules of this folder importable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace.graph as hr

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as fresh:
        yield fresh


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With HEADRACE_FAKE_DEVICE=1, tests of how the host executes a step are skipped."""
    if os.environ.get("HEADRACE_FAKE_DEVICE") == "1":
        for item in items:
            marker = item.get_closest_marker("host_execution")
            if marker is not None:
                item.add_marker(pytest.mark.skip(reason=marker.args[0]))


@pytest.fixture(scope="session", autouse=True)
def accelerator(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With HEADRACE_FAKE_DEVICE=1, all sessions of this process have fake devices of type GPU.

    HEADRACE_FAKE_LATENCY_US and HEADRACE_FAKE_SEED are those of FakeDevice.set_latency_us.
    """
    if os.environ.get("HEADRACE_FAKE_DEVICE") == "1":
        from fake_device import fake_devices

        for device in fake_devices(tmp_path_factory.mktemp("fake_device")):
            latency = float(os.environ.get("HEADRACE_FAKE_LATENCY_US", "50"))
            device.set_latency_us(latency, int(os.environ.get("HEADRACE_FAKE_SEED", "0")))


@pytest.fixture(scope="session")
def counter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of malloc_counter.c, compiled."""
    if sys.platform != "linux":
        pytest.skip("loading before the C library is Linux's")
    built = tmp_path_factory.mktemp("counter") / "malloc_counter.so"
    source = Path(__file__).parent / "malloc_counter.c"
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", built, source]
    subprocess.run(command, check=True)
    return str(built)
