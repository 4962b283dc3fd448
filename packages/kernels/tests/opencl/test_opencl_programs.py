"""Compiled programs: once in a process, once in the life of a cache folder, and errors."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launch_driver import BuildError, Kernels
from opencl_device import Device
from processes import run, shim, start

LOOK = """
from opencl_device import devices_of
from headrace.kernels import opencl
print(len(devices_of(opencl.capsule())), opencl.builds_from_source())
"""
pytestmark = [pytest.mark.opencl, pytest.mark.usefixtures("device")]


def look(folder: Path, **variables: str | None) -> list[int]:
    """The devices that a new process finds, and how many programs it compiles."""
    done = run(LOOK, HEADRACE_CACHE_DIR=str(folder), **variables)
    assert done.stderr == ""
    return [int(number) for number in done.stdout.split()]


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "opencl").iterdir())


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    return Kernels()


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    devices, built = look(tmp_path)
    assert devices >= 1 and built == len(entries(tmp_path))
    assert look(tmp_path) == [devices, 0]


def flip_a_byte(text: bytes) -> bytes:
    return text[:-7] + bytes([text[-7] ^ 1]) + text[-6:]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda text: text[: len(text) // 2], id="cut off"),
        pytest.param(lambda text: b"", id="empty"),
        pytest.param(lambda text: b"\0" * len(text), id="zeros"),
        pytest.param(flip_a_byte, id="one bit"),
        pytest.param(lambda text: text + b"!", id="too long"),
    ],
)
def test_a_damaged_entry_is_compiled_again_and_replaced(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    devices, built = look(tmp_path)
    good = [path.read_bytes() for path in entries(tmp_path)]
    for path in entries(tmp_path):
        path.write_bytes(damage(path.read_bytes()))
    assert look(tmp_path) == [devices, built]
    assert [len(path.read_bytes()) for path in entries(tmp_path)] == [len(text) for text in good]
    assert look(tmp_path) == [devices, 0]


def test_an_entry_under_another_name_is_not_used(tmp_path: Path) -> None:
    devices, built = look(tmp_path)
    path = entries(tmp_path)[0]
    text = path.read_bytes()
    other = tmp_path / "other"
    look(other, HEADRACE_OPENCL_DEVICES="none")
    (other / "opencl").mkdir(parents=True)
    swapped = bytearray(text)
    swapped[30:94] = b"0" * 64  # the key that it was written for
    (other / "opencl" / path.name).write_bytes(swapped)
    assert look(other)[1] == built


def test_an_entry_that_the_driver_refuses_is_compiled_again(tmp_path: Path) -> None:
    devices, built = look(tmp_path)
    for path in entries(tmp_path):
        text = path.read_bytes()
        header, binary = text[:156], b"no program of this driver"
        digest = hashlib.sha256(binary).hexdigest().encode()
        path.write_bytes(header[:-65] + digest + b"\n" + binary)
    assert look(tmp_path) == [devices, built]
    assert look(tmp_path) == [devices, 0]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    devices, built = look(tmp_path)
    path = entries(tmp_path)[0]
    moved = tmp_path / "moved"
    path.rename(moved)
    path.symlink_to(moved)
    assert look(tmp_path) == [devices, 1]
    assert not path.is_symlink() and moved.exists()


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    first = look(tmp_path / "file")
    assert first[1] > 0
    assert look(tmp_path / "file") == first


def test_four_processes_at_once_share_a_folder(tmp_path: Path) -> None:
    several = [start(LOOK, HEADRACE_CACHE_DIR=str(tmp_path)) for _ in range(4)]
    for process in several:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and err == "", err
        assert int(out.split()[0]) >= 1
    assert not [path for path in entries(tmp_path) if "partial" in path.name]
    assert look(tmp_path)[1] == 0


def test_a_process_killed_while_it_compiles_leaves_nothing_behind(tmp_path: Path) -> None:
    process = start(
        LOOK,
        HEADRACE_CACHE_DIR=str(tmp_path),
        HEADRACE_OPENCL_LIBRARY=shim(),
        HEADRACE_SHIM="slow build",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "building\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    devices, built = look(tmp_path)
    assert devices >= 1 and built >= 1
    assert look(tmp_path) == [devices, 0]


def test_what_killed_processes_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    folder = tmp_path / "opencl"
    folder.mkdir()
    for name, age in (("a.partial-1-1", 7200), ("b.partial-2-1", 60)):
        (folder / name).write_text("half a program")
        time = (folder / name).stat().st_mtime - age
        os.utime(folder / name, (time, time))
    look(tmp_path)
    left = [path.name for path in entries(tmp_path) if "partial" in path.name]
    assert left == ["b.partial-2-1"]


def test_threads_that_need_one_program_build_it_once(kernels: Kernels) -> None:
    new = time.time_ns() % 2**31  # tox keeps what an earlier run compiled
    text = f"kernel void once(HR_OUT(int, y)) {{ HR_OUTPUT(int, y); y[0] = {new}; }}"
    before = kernels.driver.driver_builds()
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(kernels.generate(text, "once")))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert kernels.driver.driver_builds() == before + 1


def test_options_make_programs_of_their_own(kernels: Kernels) -> None:
    text = "kernel void typed(HR_OUT(T, y)) { HR_OUTPUT(T, y); y[0] = 1; }"
    kernel = kernels.generate(text, "typed", "-DT=int")
    assert kernels.generate(text, "typed", "-DT=float") != kernel
    assert kernels.generate(text, "typed", "-DT=int") == kernel


def test_an_error_has_the_compilers_words(kernels: Kernels) -> None:
    with pytest.raises(BuildError) as caught:
        kernels.generate("kernel void wrong() { undeclared = 1; }", "wrong", "-DX=7")
    message = str(caught.value)
    assert message.startswith("compile a program for wrong (-cl-std=CL1.2 -DX=7")
    assert "CL_BUILD_PROGRAM_FAILURE on " in message
    assert "undeclared" in message


def test_an_error_names_what_is_not_there(kernels: Kernels) -> None:
    with pytest.raises(
        BuildError, match="find kernel 'missing' in probe.cl: CL_INVALID_KERNEL_NAME"
    ):
        kernels.find("probe.cl", "missing")
    with pytest.raises(BuildError, match="cannot read .*/none.cl: reinstall headrace-kernels"):
        kernels.find("none.cl", "missing")


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_digests_are_those_of_hashlib(kernels: Kernels, size: int) -> None:
    import ctypes

    data = bytes(i * 7 % 256 for i in range(size))
    digits = ctypes.create_string_buffer(65)
    kernels.driver.driver_sha256(data, ctypes.c_size_t(size), digits)
    assert digits.value.decode() == hashlib.sha256(data).hexdigest()
