"""A fake accelerator: computes what the CPU does, late, in memory that the host must not touch.

    gpu, other = fake_devices(folder)  # /device:GPU:0 and 1 of sessions that are opened from now on
    gpu.set_latency_us(200, seed=7)    # random times, of that mean

fake_device.c says what the memory is like, fake_kernels.c how kernels of the CPU run there.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.formats import dtypes, kernel_abi, op_catalogue
from headrace.formats.op_signature import Arg, Signature
from headrace.formats.services import KERNELS, find_service

TYPE = "GPU"
_CONSTANTS = kernel_abi.constants()
_VIEW, _DATA_SHAPE = _CONSTANTS["HR_KERNEL_VIEW"], _CONSTANTS["HR_KERNEL_DATA_SHAPE"]
_Kernel: Any = kernel_abi.structure("hr_kernel")
_Table: Any = kernel_abi.structure("hr_kernel_table")
Device: Any = kernel_abi.structure("hr_device")
Memory: Any = kernel_abi.structure("hr_device_memory")
_Counts: Any = type(
    "FakeCounts",
    (ctypes.Structure,),
    {
        "_fields_": [
            (name, ctypes.c_int64)
            for name in "launches copies_in copies_out copies_within bytes_in bytes_out".split()
        ]
    },
)
Done = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)
_FUNCTIONS = {
    "allocate": ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p),
    "release": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p),
    "describe_memory": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t),
    "memory": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p),
    "reset_peak": ctypes.CFUNCTYPE(None, ctypes.c_void_p),
    "set_limit": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64),
    "copy_in": ctypes.CFUNCTYPE(
        ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_int64, *[ctypes.c_void_p] * 3
    ),
    "copy_out": ctypes.CFUNCTYPE(
        ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_int64, *[ctypes.c_void_p] * 3
    ),
    "copy_within": ctypes.CFUNCTYPE(
        ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p
    ),
    "flush": ctypes.CFUNCTYPE(None, ctypes.c_void_p),
    "notify": ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3),
}

# Dtypes whose elements are plain bytes, in the names of constraints.
_PLAIN = (
    "float double half bfloat16 int32 int64 int8 int16 uint8 uint16 uint32 uint64 complex64 "
    "complex128 bool qint8 quint8 qint32 qint16 quint16"
).split()
_HOST_TYPES = (int(dtypes.string), int(dtypes.resource), int(dtypes.variant))
# Their outputs are small, and read on the host: they run there at once, as on TensorFlow's GPUs.
_HOST_OPS = frozenset(
    ["BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset", "Rank", "Shape", "ShapeN", "Size"]
)
# Kernels of these write variables only through begin_write, in the order of their first inputs.
_UPDATES = ("optimizers", "scatter", "slicing", "state")
_RANDOM = ("candidate_sampling", "random")
_NO_UPDATES = ("CountUpTo", "ResourceCountUpTo")  # their error is how a program ends
_ARITHMETIC = ("activations", "elementwise", "losses", "matmul", "normalization", "reduction")

_kept: list[object] = []  # what the kernels point to, for as long as the process lives
_installed: list[FakeDevice] = []


class FakeDevice:
    """One device. Times and faults are of this device alone."""

    def __init__(self, library: ctypes.CDLL, address: int) -> None:
        self.library = library
        self.address = address
        self.record = Device.from_address(address)
        self._of_address = ctypes.c_void_p(address)

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function of its hr_device."""
        return _FUNCTIONS[name](getattr(self.record, name))(self._of_address, *arguments)

    @property
    def memory(self) -> Any:
        """An hr_device_memory: in_use, peak, reserved, limit, live, allocated."""
        memory = Memory()
        self.call("memory", ctypes.addressof(memory))
        return memory

    @property
    def holders(self) -> str:
        """Who holds memory, the largest first."""
        text = ctypes.create_string_buffer(1 << 16)
        self.call("describe_memory", text, len(text))
        return text.value.decode()

    def set_limit(self, limit: int) -> None:
        """Bounds its memory, in bytes."""
        self.call("set_limit", limit)

    def reset_peak(self) -> None:
        """Makes the peak of its memory what is in use."""
        self.call("reset_peak")

    @property
    def counts(self) -> Any:
        """The launches, copies_in, copies_out, copies_within, bytes_in, bytes_out so far."""
        counts = _Counts()
        self.library.fake_counts(self._of_address, ctypes.byref(counts))
        return counts

    def set_latency_us(self, latency_us: float, seed: int = 0) -> None:
        """Sets the time from the enqueueing of work until it runs.

        Args:
          latency_us: the time, in microseconds.
          seed: if not 0, times are random, up to twice as long.
        """
        latency_ns = ctypes.c_int64(int(latency_us * 1000))
        self.library.fake_set_latency(self._of_address, latency_ns, ctypes.c_uint64(seed))

    def wait_for_flush(self, wait: bool = True) -> None:
        """Sets whether work waits for a flush, a copy_out or a notify."""
        self.library.fake_wait_for_flush(self._of_address, int(wait))

    def fail_allocation_after(self, n: int) -> None:
        """Lets the allocation after the next n fail; a negative n: none."""
        self.library.fake_fail_allocation(self._of_address, ctypes.c_int64(n))

    def fail_launch_after(self, n: int, late: bool = False) -> None:
        """Lets the kernel after the next n fail: when it is called, or late, when it runs."""
        self.library.fake_fail_launch(self._of_address, ctypes.c_int64(n), int(late))

    def fail_copy_after(self, n: int, late: bool = False) -> None:
        """Lets the copy after the next n fail: when it is called, or late, when it runs."""
        self.library.fake_fail_copy(self._of_address, ctypes.c_int64(n), int(late))


def fake_devices(
    folder: Path, count: int = 2, *, memory_bytes: int = 2 << 30, int32: bool = True
) -> list[FakeDevice]:
    """Returns the devices, which the first call adds to the process.

    Args:
      folder: for the compiled library.
      count: of devices.
      memory_bytes: of each device, and its limit at first.
      int32: False: no arithmetic of int32 on the devices, as on TensorFlow's GPUs.
    """
    if not _installed:
        from headrace.runtime.kernels import kernel_table
        from headrace.runtime.kernels.kernel_libraries import load_kernels

        library = build_library(folder)
        load_kernels()
        _installed.extend(make_devices(library, count, memory_bytes))
        kernel_table.add_library(make_table(library, int32=int32))
    return _installed


def build_library(folder: Path) -> ctypes.CDLL:
    """Compiles the device; needs no runtime."""
    built = folder / "fake_device.so"
    compile_sources(built, SOURCES, "-O2", "-shared", "-fPIC", *_sanitizer_flags())
    return ctypes.CDLL(str(built))


def _sanitizer_flags() -> list[str]:
    """Those of tox -e asan and tsan, whose other code is instrumented as well."""
    chosen = {"address": "address,undefined", "thread": "thread"}
    sanitizer = chosen.get(os.environ.get("HEADRACE_SANITIZE", ""))
    return [f"-fsanitize={sanitizer}", "-fno-omit-frame-pointer"] if sanitizer else []


SOURCES = ("fake_blocks.c", "fake_device.c", "fake_kernels.c", "fake_kernel_call.cpp")


def compile_sources(built: Path, sources: tuple[str, ...], *flags: str) -> None:
    """Compiles sources of this folder."""
    here = Path(__file__).parent
    include = Path(kernel_abi.__file__).parent / "include"
    command = [os.environ.get("CC", "cc"), "-g", "-pthread", "-fexceptions", "-Wall", "-Wextra"]
    command += ["-Werror", *flags, f"-I{include}", "-o", str(built)]
    subprocess.run([*command, *(str(here / name) for name in sources), "-lstdc++"], check=True)


def make_devices(library: ctypes.CDLL, count: int, memory_bytes: int) -> list[FakeDevice]:
    """Makes the devices of a library, once."""
    library.fake_make_devices.restype = ctypes.POINTER(ctypes.c_void_p)
    addresses = library.fake_make_devices(count, ctypes.c_int64(memory_bytes))
    return [FakeDevice(library, addresses[i]) for i in range(count)]


def make_table(library: ctypes.CDLL, *, int32: bool = True) -> Any:
    """Returns a capsule with the kernel table of the devices."""
    kernels = list(device_kernels(library, int32=int32))
    rows = (_Kernel * len(kernels))(*kernels)
    table = _Table(
        size=ctypes.sizeof(_Table),
        abi=_CONSTANTS["HR_KERNEL_ABI"],
        library=b"fake",
        version=b"0",
        kernel_size=ctypes.sizeof(_Kernel),
        n_kernels=len(rows),
        kernels=ctypes.addressof(rows),
        devices=ctypes.cast(library.fake_list_devices, ctypes.c_void_p).value,
    )
    _kept.extend([library, kernels, rows, table])
    return kernel_abi.make_capsule(table)


def device_kernels(library: ctypes.CDLL, *, int32: bool = True) -> Iterator[Any]:
    """Makes the registrations of the devices, from those of the CPU library."""
    library.fake_wrap_kernel.argtypes = [ctypes.c_void_p] * 2
    for kernel in [*_cpu_kernels(), *_own_kernels(library)]:
        signature = op_catalogue.signature(kernel.op.decode())
        made = _Kernel.from_buffer_copy(kernel)
        made.device_type = TYPE.encode()
        if kernel.flags & _VIEW:
            yield made
        elif signature.name in _HOST_OPS:
            if signature.name not in ("Rank", "Shape", "ShapeN", "Size"):  # these read no element
                made.host_inputs = (1 << len(signature.inputs)) - 1
            made.host_outputs = (1 << len(signature.outputs)) - 1
            yield made
        elif reason_against(kernel, signature) is None:
            constraint = _constraint(kernel, signature, int32)
            if constraint is None:
                continue
            text = ctypes.create_string_buffer(constraint.encode())
            _kept.append(text)
            made.constraint = ctypes.cast(text, ctypes.c_char_p)
            if library.fake_wrap_kernel(ctypes.addressof(kernel), ctypes.addressof(made)):
                raise RuntimeError("fake_kernels.c has no room for more kernels")
            yield made


def reason_against(kernel: Any, signature: Signature) -> str | None:
    """Why a kernel of host memory cannot run on the device, or None if it can."""
    inputs = list(signature.inputs)
    outputs = list(signature.outputs)
    updates = 0
    while inputs and _is_variable(inputs[0]):
        updates += 1
        del inputs[0]
    if kernel.flags & _DATA_SHAPE or signature.data_shape:
        return "shapes of outputs depend on data"
    if not kernel.compute:
        return "it is asynchronous"
    if any(a.dtype in _HOST_TYPES or a.is_ref for a in inputs):
        return "it reads strings, resources or variants"
    if updates:
        if op_catalogue.family(signature.name) not in _UPDATES or signature.name in _NO_UPDATES:
            return "its resource is no variable, or its errors belong to the program"
        outputs = [a for a in outputs if not a.is_ref]
    elif not outputs or (signature.stateful and op_catalogue.family(signature.name) not in _RANDOM):
        return "it has effects on the host"
    if any(a.dtype in _HOST_TYPES or a.is_ref for a in outputs):
        return "it writes strings, resources or variants"
    return None


def _is_variable(arg: Arg) -> bool:
    return arg.is_ref or arg.dtype == int(dtypes.resource)


def _constraint(kernel: Any, signature: Signature, int32: bool) -> str | None:
    """The dtypes that the device has for a kernel; None if there are none."""
    allowed = dict(
        clause.split("=") for clause in (kernel.constraint or b"").decode().split(";") if clause
    )
    clauses = []
    names = {arg.type_attr or arg.type_list_attr for arg in (*signature.inputs, *signature.outputs)}
    for name in sorted({*names, *allowed} - {""}):
        found = allowed[name].split("|") if name in allowed else _PLAIN
        if not int32 and name == "T" and op_catalogue.family(signature.name) in _ARITHMETIC:
            found = [dtype for dtype in found if dtype != "int32"]
        found = [dtype for dtype in found if dtype in _PLAIN]
        if not found:
            return None
        clauses.append(f"{name}={'|'.join(found)}")
    return ";".join(clauses)


def _cpu_kernels() -> list[Any]:
    capsule = find_service(KERNELS, "cpu")()
    table, kernels = kernel_abi.read_table(capsule)
    assert table.kernel_size == ctypes.sizeof(_Kernel)
    _kept.extend([capsule, kernels])
    return kernels


def _own_kernels(library: ctypes.CDLL) -> list[Any]:
    library.fake_own_kernels.restype = ctypes.c_void_p
    n = ctypes.c_int32()
    address = library.fake_own_kernels(ctypes.byref(n))
    size = ctypes.sizeof(_Kernel)
    return [_Kernel.from_address(address + i * size) for i in range(n.value)]
