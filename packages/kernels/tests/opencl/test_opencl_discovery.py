"""Which devices are offered, and what is said about those that are not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from opencl_device import Device
from processes import environment, run, shim

NEEDS_DEVICE = pytest.mark.opencl
LOOK = """
from opencl_device import devices_of
from headrace.kernels import opencl
for device in devices_of(opencl.capsule()):
    print(device.struct.description.decode())
devices_of(opencl.capsule())
"""


def look(**variables: str | None) -> tuple[list[str], str]:
    """The descriptions of the devices that a new process finds, and what it logs."""
    done = run(LOOK, **variables)
    return done.stdout.splitlines(), done.stderr


def listed(**variables: str | None) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "headrace.kernels.opencl"]
    done = subprocess.run(command, env=environment(**variables), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def vendors() -> list[Path]:
    return sorted(Path("/etc/OpenCL/vendors").glob("*.icd"))


@NEEDS_DEVICE
def test_a_device_is_described_for_people_and_for_the_runtime(device: Device) -> None:
    assert device.struct.type == b"GPU"
    assert re.fullmatch(r".+ \(OpenCL \d\.\d, driver .+\)", device.struct.description.decode())
    assert device.struct.memory_bytes > 0
    assert device.memory().limit == device.struct.memory_bytes


def test_importing_looks_for_nothing() -> None:
    code = """
import sys
from headrace.kernels import opencl
opencl.capsule()
assert "pyopencl" not in sys.modules
with open("/proc/self/maps") as maps:
    assert "libOpenCL" not in maps.read()
"""
    run(code)


@pytest.mark.parametrize("folder", ["pyopencl/.libs", "pyopencl.libs"])
def test_the_loader_in_the_wheel_of_pyopencl_is_found_without_importing_it(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / "pyopencl").mkdir()
    (tmp_path / "pyopencl" / "__init__.py").write_text("raise AssertionError('imported')")
    (tmp_path / folder).mkdir(exist_ok=True)
    library = tmp_path / folder / "libOpenCL-5519dec5.so.1.0.0"
    library.touch()
    code = """
import os
from headrace.kernels.opencl.loading import bundled_loader
print(bundled_loader())
print(os.environ["PYOPENCL_HOME"])
"""
    found = run(code, PYTHONPATH=str(tmp_path), PYOPENCL_HOME=None).stdout.splitlines()
    assert found == [str(library), str(tmp_path / "pyopencl")]


# ---- choice -------------------------------------------------------------------------------------


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
def test_processors_are_used_only_where_they_are_asked_for() -> None:
    everything, _ = look()
    assert look(HEADRACE_OPENCL_DEVICES="none") == ([], "")
    names = [name for name in look(HEADRACE_OPENCL_DEVICES=None)[0] if "pthread" in name]
    assert names == []
    assert look(HEADRACE_OPENCL_DEVICES="0")[0] == everything[:1]


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("chosen", ["portable computing", "POCL 3", "0, pthread"])
def test_a_device_is_chosen_by_parts_of_names_and_versions(chosen: str) -> None:
    if "pthread" not in "".join(look()[0]):
        pytest.skip("PoCL is not installed")
    found, log = look(HEADRACE_OPENCL_DEVICES=chosen)
    assert len(found) >= 1 and log == ""


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
def test_a_choice_that_matches_nothing_is_reported() -> None:
    found, log = look(HEADRACE_OPENCL_DEVICES="0,Voodoo 2")
    assert len(found) == 1
    assert log == (
        "HEADRACE_OPENCL_DEVICES: no device matches 'Voodoo 2': "
        "`python -m headrace.kernels.opencl` lists the devices\n"
    )


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
def test_two_platforms_of_one_name_are_told_apart_by_number() -> None:
    variables = {"HEADRACE_OPENCL_LIBRARY": shim(), "HEADRACE_SHIM": "two platforms"}
    text = listed(**variables)
    numbers = re.findall(r"^(\d+): ", text, re.MULTILINE)
    assert numbers == [str(i) for i in range(len(numbers))] and len(numbers) % 2 == 0
    last = numbers[-1]
    assert len(look(HEADRACE_OPENCL_DEVICES=last, **variables)[0]) == 1
    assert len(look(HEADRACE_OPENCL_DEVICES=f"{last},0,{last}", **variables)[0]) == 2


# ---- drivers that do not work -------------------------------------------------------------------


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            "no build",
            "compile probe.cl .*CL_BUILD_PROGRAM_FAILURE on .*unknown target CPU 'generic'",
        ),
        ("no results", "a test kernel gave -?\\d+ instead of 1"),
        ("no context", "create a context: CL_DEVICE_NOT_AVAILABLE on "),
        ("no memory", "for 'probe' failed: CL_MEM_OBJECT_ALLOCATION_FAILURE"),
    ],
)
def test_a_device_that_does_not_work_is_left_out_and_reported_once(
    tmp_path: Path, fault: str, reason: str
) -> None:
    variables = {
        "HEADRACE_OPENCL_LIBRARY": shim(),
        "HEADRACE_SHIM": fault,
        "HEADRACE_CACHE_DIR": str(tmp_path),
        "HEADRACE_OPENCL_DEVICES": "0",
    }
    found, log = look(**variables)
    assert found == []
    assert re.search(reason, log, re.DOTALL), log
    assert log.count("is not used:") == 1
    assert re.search(rf"does not work: .*{reason}", listed(**variables), re.DOTALL)


def test_a_library_that_cannot_be_loaded_is_reported() -> None:
    found, log = look(HEADRACE_OPENCL_LIBRARY="/nowhere/libOpenCL.so")
    assert found == []
    assert log.startswith("HEADRACE_OPENCL_LIBRARY cannot be used: /nowhere/libOpenCL.so: ")
    assert log.count("\n") == 1


def test_a_library_of_something_else_is_reported() -> None:
    found, log = look(HEADRACE_OPENCL_LIBRARY="libm.so.6")
    assert found == []
    assert "libm.so.6 has no clGetPlatformIDs" in log


def test_a_system_without_platforms_has_no_devices_and_no_errors() -> None:
    variables = {"HEADRACE_OPENCL_LIBRARY": shim(), "HEADRACE_SHIM": "no platforms"}
    assert look(**variables) == ([], "")
    assert "No OpenCL devices: install" in listed(**variables)


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
def test_drivers_that_cannot_be_loaded_are_passed_over(tmp_path: Path) -> None:
    if not vendors():
        pytest.skip("the drivers are not listed in /etc/OpenCL/vendors")
    (tmp_path / "a_bad_path.icd").write_text(
        "/opt/anaconda1anaconda2anaconda3/lib/libintelocl.so\n"
    )
    (tmp_path / "empty.icd").write_text("")
    (tmp_path / "no_driver.icd").write_text("libm.so.6\n")
    assert look(OCL_ICD_VENDORS=str(tmp_path)) == ([], "")
    for path in vendors():
        shutil.copy(path, tmp_path)
    assert look(OCL_ICD_VENDORS=str(tmp_path)) == look()


# ---- the command --------------------------------------------------------------------------------


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
def test_the_command_lists_devices_by_number() -> None:
    text = listed()
    assert re.search(r"^0: .+ \((GPU|CPU|accelerator), [\d.]+ GiB\)$", text, re.MULTILINE)
    assert "platform " in text and "driver " in text
    assert "works; used" in text
    assert "HEADRACE_OPENCL_DEVICES is 'all'." in text
    assert "works; not used" in listed(HEADRACE_OPENCL_DEVICES="none")


# ---- forks --------------------------------------------------------------------------------------


@NEEDS_DEVICE
@pytest.mark.usefixtures("device")
def test_a_child_of_a_fork_has_no_devices_and_says_so_once() -> None:
    code = """
import os, warnings
import numpy as np
from opencl_device import devices_of
from headrace.kernels import opencl
warnings.simplefilter("ignore")  # that a process with threads forks
(device, *_) = devices_of(opencl.capsule())
data = device.allocate(400)
host = np.arange(100, dtype=np.int32)
device.copy_in(data, host)
device.copy_within(data, data + 40, 40)
child = os.fork()
if child == 0:
    assert devices_of(opencl.capsule()) == devices_of(opencl.capsule()) == []
    assert device.allocate(100) is None
    assert device.copy_in(data, host) == device.copy_within(data, data + 40, 40) == 14
    assert device.copy_out_code(host, data) == 14
    code, text = device.notify().wait()
    assert code == 14 and "this process is a fork" in text
    assert "this process is a fork" in device.describe()
    device.release(data)
    device.flush()
    raise SystemExit(7)  # with the functions of atexit
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
device.copy_out(host, data)
assert host[:10].tolist() == list(range(10, 20))
"""
    warning = run(code).stderr
    assert warning.startswith("no OpenCL devices: this process is a fork of one that uses OpenCL")
    assert warning.count("'spawn'") == warning.count("\n") == 1


def test_a_child_of_a_process_without_devices_says_nothing() -> None:
    code = """
import os, warnings
from opencl_device import devices_of
from headrace.kernels import opencl
warnings.simplefilter("ignore")
assert devices_of(opencl.capsule()) == []
child = os.fork()
if child == 0:
    assert devices_of(opencl.capsule()) == []
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    assert run(code, HEADRACE_OPENCL_DEVICES="none").stderr == ""
