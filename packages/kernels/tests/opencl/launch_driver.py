"""Compiles the driver in C++ with the library's layers below its ops, once for each content."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from headrace import formats
from headrace.kernels import opencl

INSTALLED = Path(opencl.__path__[0])
CHECKOUT = Path(__file__).parents[2] / "src" / "headrace" / "kernels"
LAYERS = ("api", "memory", "device", "programs", "launch", "discovery")


class Argument(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint8), ("bytes", ctypes.c_size_t), ("data", ctypes.c_void_p)]


MEMORY, LOCAL, VALUE = range(3)


@lru_cache(maxsize=1)
def driver() -> ctypes.CDLL:
    root = CHECKOUT / "opencl"
    if not root.is_dir():
        pytest.skip("the C++ sources are not here")
    sources = [p for layer in LAYERS for p in sorted((root / layer).glob("*.cpp"))]
    sources.append(Path(__file__).with_name("launch_driver.cpp"))
    headers = [p for layer in LAYERS for p in sorted((root / layer).glob("*.hpp"))]
    digest = hashlib.sha256()
    include = Path(formats.__path__[0]) / "include"
    for path in [*sources, *headers, *sorted((include / "headrace").glob("*.h"))]:
        digest.update(path.read_bytes())
    name = f"headrace_opencl_driver_{os.getuid()}_{digest.hexdigest()[:16]}"
    target = Path(tempfile.gettempdir()) / f"{name}.so"
    if not target.exists():
        _compile(sources, [root, CHECKOUT, include], target)
    library = ctypes.CDLL(str(target))
    for function, result in {
        "driver_device": ctypes.c_void_p,
        "driver_find": ctypes.c_void_p,
        "driver_generate": ctypes.c_void_p,
        "driver_builds": ctypes.c_int64,
        "driver_launch_many": ctypes.c_int64,
        "driver_time_allocations": ctypes.c_int64,
    }.items():
        getattr(library, function).restype = result
    library.driver_configure(os.fsencode(INSTALLED / "sources"))
    return library


def _compile(sources: list[Path], include: list[Path], target: Path) -> None:
    compiler = (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()
    flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
    flags += [f"-I{folder}" for folder in include]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def compiled(number: int) -> str:
            made = f"{folder}/{number}.o"
            command = [*compiler, *flags, "-c", str(sources[number]), "-o", made]
            subprocess.run(command, check=True)
            return made

        objects = list(pool.map(compiled, range(len(sources))))
        partial = f"{target}.{os.getpid()}"
        linked = [*compiler, "-shared", "-pthread", *objects, "-ldl", "-o", partial]
        subprocess.run(linked, check=True)
        os.replace(partial, target)


class BuildError(Exception):
    """A kernel that cannot be found, with the reason."""


class Kernels:
    """Kernels of the first device, found and launched through the launch API."""

    def __init__(self) -> None:
        self.driver = driver()
        self.device = self.driver.driver_device()

    def generate(self, text: str, function: str, options: str = "") -> int:
        error = ctypes.create_string_buffer(8192)
        found = self.driver.driver_generate(
            ctypes.c_void_p(self.device),
            text.encode(),
            options.encode(),
            function.encode(),
            error,
            ctypes.c_size_t(8192),
        )
        return self._checked(found, error)

    def find(self, source: str, function: str, defines: str = "") -> int:
        error = ctypes.create_string_buffer(8192)
        found = self.driver.driver_find(
            ctypes.c_void_p(self.device),
            source.encode(),
            defines.encode(),
            function.encode(),
            error,
            ctypes.c_size_t(8192),
        )
        return self._checked(found, error)

    @staticmethod
    def _checked(found: int | None, error: Any) -> int:
        if found is None:
            raise BuildError(error.value.decode())
        return found

    def launch(
        self,
        kernel: int,
        items: int,
        group: int,
        arguments: list[Any],
        profile: Any = None,
    ) -> tuple[int, str]:
        """Returns the hr_code and the error's text. An int is an address, a ctypes value itself."""
        error = ctypes.create_string_buffer(1024)
        array, _ = self.arguments(arguments)
        code = self.driver.driver_launch(
            ctypes.c_void_p(self.device),
            ctypes.c_void_p(kernel),
            ctypes.c_int64(items),
            ctypes.c_int64(group),
            array,
            len(arguments),
            ctypes.byref(profile) if profile is not None else None,
            error,
            ctypes.c_size_t(1024),
        )
        return code, error.value.decode()

    def launch_many(
        self, kernel: int, items: int, group: int, arguments: list[Any], times: int, threads: int
    ) -> int:
        """Returns the nanoseconds of a launch."""
        array, _ = self.arguments(arguments)
        spent = self.driver.driver_launch_many(
            ctypes.c_void_p(self.device),
            ctypes.c_void_p(kernel),
            ctypes.c_int64(items),
            ctypes.c_int64(group),
            array,
            len(arguments),
            times,
            threads,
        )
        assert spent >= 0, f"hr_code {-spent}"
        return int(spent)

    @staticmethod
    def arguments(values: list[Any]) -> tuple[Any, list[Any]]:
        array = (Argument * len(values))()
        for argument, value in zip(array, values, strict=True):
            if isinstance(value, int):
                argument.kind, argument.data = MEMORY, value
            else:
                argument.kind, argument.bytes = VALUE, ctypes.sizeof(value)
                argument.data = ctypes.addressof(value)
        return array, values
