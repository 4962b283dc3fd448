"""An hr_device through ctypes."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from headrace.formats import kernel_abi

DeviceStruct: Any = kernel_abi.structure("hr_device")
MemoryStruct: Any = kernel_abi.structure("hr_device_memory")
ProfileStruct: Any = kernel_abi.structure("hr_profile")
_POINTER, _INT64, _INT32, _SIZE = (
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int32,
    ctypes.c_size_t,
)
_DONE = ctypes.CFUNCTYPE(None, _POINTER, _INT32, ctypes.c_char_p)
_ADD = ctypes.CFUNCTYPE(None, _POINTER, _INT32, ctypes.c_char_p, _INT64, _INT64, _INT64)


def devices_of(capsule: Any) -> list[Device]:
    """The devices in a kernel table."""
    table, _ = kernel_abi.read_table(capsule)
    n = _INT32()
    listed = ctypes.CFUNCTYPE(ctypes.POINTER(_POINTER), ctypes.POINTER(_INT32))(table.devices)
    array = listed(ctypes.byref(n))
    return [Device(array[i]) for i in range(n.value)]


class Request:
    """The end of a request to a device, reported by a callback."""

    def __init__(self) -> None:
        self.reports: list[tuple[int, str]] = []
        self._ended = threading.Event()
        self._callback = _DONE(self._end)
        self.pointer = ctypes.cast(self._callback, _POINTER)

    def _end(self, _: Any, code: int, message: bytes) -> None:
        self.reports.append((code, message.decode()))
        self._ended.set()

    def wait(self) -> tuple[int, str]:
        assert self._ended.wait(60), "the device does not report the end"
        return self.reports[0]


class Profile:
    """Collects what a device reports about traced work."""

    def __init__(self) -> None:
        self.added: list[tuple[int, str, int, int, int]] = []
        self._add = _ADD(self._collect)
        self.struct = ProfileStruct(
            size=ctypes.sizeof(ProfileStruct), add=ctypes.cast(self._add, _POINTER)
        )

    def _collect(self, _: Any, entry: int, what: bytes, start: int, end: int, size: int) -> None:
        self.added.append((entry, what.decode(), start, end, size))


class Device:
    """An hr_device; requests return their hr_code, or what they return."""

    def __init__(self, address: int) -> None:
        self.address = address
        self.struct = DeviceStruct.from_address(address)
        copy = (_INT32, _POINTER, _POINTER, _POINTER, _INT64, _POINTER, _POINTER, _POINTER)
        self._allocate = self._function("allocate", _POINTER, _POINTER, _INT64, ctypes.c_char_p)
        self._release = self._function("release", None, _POINTER, _POINTER)
        self._describe = self._function("describe_memory", None, _POINTER, ctypes.c_char_p, _SIZE)
        self._memory = self._function("memory", None, _POINTER, _POINTER)
        self._reset_peak = self._function("reset_peak", None, _POINTER)
        self._set_limit = self._function("set_limit", None, _POINTER, _INT64)
        self._copy_in = self._function("copy_in", *copy)
        self._copy_out = self._function("copy_out", *copy)
        self._copy_within = self._function("copy_within", *copy[:6])
        self._flush = self._function("flush", None, _POINTER)
        self._notify = self._function("notify", None, _POINTER, _POINTER, _POINTER)

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        return ctypes.CFUNCTYPE(result, *arguments)(getattr(self.struct, name))

    def allocate(self, size: int, holder: str = "test") -> int | None:
        return self._allocate(self.address, size, holder.encode())

    def release(self, data: int) -> None:
        self._release(self.address, data)

    def describe(self, size: int = 1 << 16) -> str:
        text = ctypes.create_string_buffer(b"?" * (size - 1), size)
        self._describe(self.address, text, size)
        return text.value.decode()

    def memory(self) -> Any:
        memory = MemoryStruct()
        self._memory(self.address, ctypes.byref(memory))
        return memory

    def reset_peak(self) -> None:
        self._reset_peak(self.address)

    def set_limit(self, size: int) -> None:
        self._set_limit(self.address, size)

    def copy_in(self, to: int, source: Any, profile: Profile | None = None) -> int:
        """Copies an array; it may change afterwards."""
        return self._copy_in(
            self.address, to, source.ctypes.data, source.nbytes, _of(profile), None, None
        )

    def start_copy_in(self, to: int, source: Any, profile: Profile | None = None) -> Request:
        request = Request()
        data = source.ctypes.data
        code = self._copy_in(
            self.address, to, data, source.nbytes, _of(profile), request.pointer, None
        )
        assert code == 0
        return request

    def start_copy_out(self, to: Any, source: int, profile: Profile | None = None) -> Request:
        request = Request()
        data = to.ctypes.data
        code = self._copy_out(
            self.address, data, source, to.nbytes, _of(profile), request.pointer, None
        )
        assert code == 0
        return request

    def copy_out(self, to: Any, source: int, profile: Profile | None = None) -> None:
        code, message = self.start_copy_out(to, source, profile).wait()
        assert code == 0, message

    def copy_out_code(self, to: Any, source: int) -> int:
        """The hr_code of a copy that is refused."""
        data = to.ctypes.data
        return self._copy_out(self.address, data, source, to.nbytes, None, Request().pointer, None)

    def copy_within(self, to: int, source: int, size: int, profile: Profile | None = None) -> int:
        return self._copy_within(self.address, to, source, size, _of(profile))

    def flush(self) -> None:
        self._flush(self.address)

    def notify(self) -> Request:
        request = Request()
        self._notify(self.address, request.pointer, None)
        return request

    def finish(self) -> None:
        code, message = self.notify().wait()
        assert code == 0, message


def _of(profile: Profile | None) -> Any:
    return None if profile is None else ctypes.addressof(profile.struct)
