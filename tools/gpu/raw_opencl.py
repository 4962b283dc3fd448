"""The few functions of OpenCL that probes need, through ctypes: nothing has to be built."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

POINTER, UINT, INT, SIZE, ULONG = (
    ctypes.c_void_p,
    ctypes.c_uint,
    ctypes.c_int,
    ctypes.c_size_t,
    ctypes.c_uint64,
)
GPU, ALL = 4, 0xFFFFFFFF
PROFILING = 2
QUEUED_START, QUEUED_END = 0x1282, 0x1283
FACTS = {
    "name": 0x102B,
    "version": 0x102F,
    "driver": 0x102D,
    "extensions": 0x1030,
    "compute units": 0x1002,
    "clock MHz": 0x100C,
    "memory": 0x101F,
    "largest allocation": 0x1010,
    "local memory": 0x1023,
    "largest group": 0x1004,
}
TEXTS = ("name", "version", "driver", "extensions")


class OpenCLError(RuntimeError):
    """A function of OpenCL returned an error."""


class Opencl:
    """OpenCL's loader."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)

    def call(self, name: str, *arguments: Any) -> None:
        function = getattr(self.library, name)
        function.restype = INT
        code = function(*arguments)
        if code:
            raise OpenCLError(f"{name} returned {code}")

    def make(self, name: str, *arguments: Any) -> POINTER:
        function, code = getattr(self.library, name), INT()
        function.restype = POINTER
        made = function(*arguments, ctypes.byref(code))
        if code.value:
            raise OpenCLError(f"{name} returned {code.value}")
        return POINTER(made)

    def devices(self, kind: int) -> list[RawDevice]:
        count = UINT()
        try:
            self.call("clGetPlatformIDs", 0, None, ctypes.byref(count))
        except OpenCLError:
            return []
        platforms = (POINTER * count.value)()
        self.call("clGetPlatformIDs", count, platforms, None)
        found = []
        for platform in platforms:
            n = UINT()
            try:
                self.call(
                    "clGetDeviceIDs", POINTER(platform), ULONG(kind), 0, None, ctypes.byref(n)
                )
            except OpenCLError:
                continue
            ids = (POINTER * n.value)()
            self.call("clGetDeviceIDs", POINTER(platform), ULONG(kind), n, ids, None)
            found += [RawDevice(self, POINTER(i)) for i in ids]
        return found


class RawDevice:
    """A device with a context and a queue, made when first needed."""

    def __init__(self, opencl: Opencl, device: POINTER) -> None:
        self.cl, self.id = opencl, device
        self._queue: POINTER | None = None

    def facts(self) -> dict[str, Any]:
        return {name: self._fact(name, number) for name, number in FACTS.items()}

    def _fact(self, name: str, number: int) -> Any:
        if name in TEXTS:
            text = ctypes.create_string_buffer(1 << 16)
            self.cl.call("clGetDeviceInfo", self.id, number, SIZE(len(text)), text, None)
            return text.value.decode()
        value = ULONG()
        self.cl.call("clGetDeviceInfo", self.id, number, SIZE(8), ctypes.byref(value), None)
        return value.value

    def open(self) -> None:
        if self._queue is None:
            ids = (POINTER * 1)(self.id)
            self.context = self.cl.make("clCreateContext", None, 1, ids, None, None)
            self._queue = self.cl.make(
                "clCreateCommandQueue", self.context, self.id, ULONG(PROFILING)
            )

    def build(self, source: str, options: str = "") -> POINTER:
        """A program; OpenCLError has the compiler's words."""
        self.open()
        text = ctypes.c_char_p(source.encode())
        program = self.cl.make(
            "clCreateProgramWithSource", self.context, 1, ctypes.byref(text), None
        )
        return self._built(program, options)

    def build_binary(self, binary: bytes, options: str = "") -> POINTER:
        self.open()
        data, size = ctypes.c_char_p(binary), SIZE(len(binary))
        program = self.cl.make(
            "clCreateProgramWithBinary", self.context, 1, (POINTER * 1)(self.id),
            ctypes.byref(size), ctypes.byref(data), None,
        )  # fmt: skip
        return self._built(program, options)

    def _built(self, program: POINTER, options: str) -> POINTER:
        try:
            self.cl.call("clBuildProgram", program, 0, None, options.encode(), None, None)
        except OpenCLError as error:
            log = ctypes.create_string_buffer(1 << 14)
            self.cl.call(
                "clGetProgramBuildInfo", program, self.id, 0x1183, SIZE(len(log)), log, None
            )
            raise OpenCLError(f"{error}: {log.value.decode(errors='replace').strip()}") from None
        return program

    def buffer(self, size: int) -> POINTER:
        self.open()
        return self.cl.make("clCreateBuffer", self.context, ULONG(1), SIZE(size), None)

    def run(self, program: POINTER, function: str, items: int, group: int, *given: Any) -> float:
        """Runs a kernel over a line of items. Returns: seconds on the device."""
        kernel = self.cl.make("clCreateKernel", program, function.encode())
        for i, value in enumerate(given):
            size = SIZE(ctypes.sizeof(value))
            self.cl.call("clSetKernelArg", kernel, i, size, ctypes.byref(value))
        event = POINTER()
        self.cl.call(
            "clEnqueueNDRangeKernel", self._queue, kernel, 1, None, ctypes.byref(SIZE(items)),
            ctypes.byref(SIZE(group)), 0, None, ctypes.byref(event),
        )  # fmt: skip
        self.cl.call("clFinish", self._queue)
        times = []
        for what in (QUEUED_START, QUEUED_END):
            at = ULONG()
            self.cl.call("clGetEventProfilingInfo", event, what, SIZE(8), ctypes.byref(at), None)
            times.append(at.value)
        return (times[1] - times[0]) * 1e-9

    def read(self, buffer: POINTER, count: int, dtype: str) -> np.ndarray:
        array = np.empty(count, dtype)
        self.cl.call(
            "clEnqueueReadBuffer", self._queue, buffer, UINT(1), SIZE(0), SIZE(array.nbytes),
            POINTER(array.ctypes.data), 0, None, None,
        )  # fmt: skip
        return array
