"""The kernel ABI for Python: the structs of kernel.h and device.h as ctypes, read from the headers.

For Python code that reads the table of a kernel library, or makes one.
"""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache, lru_cache
from typing import Any

from headrace.formats.headers import include_dir

_SCALARS: dict[str, Any] = {
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "hr_dtype": ctypes.c_int32,
    "hr_code": ctypes.c_int32,
    "hr_compute": ctypes.c_void_p,
    "hr_device_done": ctypes.c_void_p,
}


@lru_cache(maxsize=1)
def _header() -> str:
    """The text of device.h and kernel.h without comments."""
    texts = []
    for name in ("device.h", "kernel.h"):
        with open(os.path.join(include_dir(), "headrace", name), encoding="utf-8") as file:
            texts.append(re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL))
    return "\n".join(texts)


@lru_cache(maxsize=1)
def constants() -> dict[str, int]:
    """Returns the enumerators and number macros of the header, by name."""
    found = re.findall(r"\b(HR_\w+) = (\d+)", _header())
    found += re.findall(r"#define (HR_\w+) (\d+)\n", _header())
    return {name: int(value) for name, value in found}


def capsule_name() -> bytes:
    """Returns the name of a PyCapsule with a kernel table."""
    found = re.search(r'#define HR_KERNEL_TABLE_CAPSULE "([^"]+)"', _header())
    assert found
    return found[1].encode()


@cache
def structure(name: str) -> type[ctypes.Structure]:
    """Returns a struct of the header as a ctypes.Structure: structure("hr_kernel").

    A pointer to characters is a c_char_p, except for a field `data`, whose bytes may contain zeros.
    Any other pointer, and a function, is a c_void_p.

    Raises: KeyError for a name that the header does not define.
    """
    body = re.search(rf"\bstruct {name} \{{(.*?)\n\}}", _header(), re.DOTALL)
    if body is None:
        raise KeyError(name)
    fields = [field for text in body[1].split(";") for field in _fields(" ".join(text.split()))]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def _fields(declaration: str) -> list[tuple[str, Any]]:
    """The fields of one declaration: "int32_t rank" or "int32_t n_inputs, n_outputs"."""
    if not declaration:
        return []
    function = re.search(r"\(\*(\w+)\)", declaration)
    if function:
        return [(function[1], ctypes.c_void_p)]
    found = re.fullmatch(r"(.*?[\s*])(\w+(?:\[\w+\])?(?:, \w+)*)", declaration)
    assert found, declaration
    kind = found[1].replace("const ", "").replace("volatile ", "").replace("struct ", "").strip()
    fields = []
    for name in found[2].split(", "):
        plain, _, size = name.rstrip("]").partition("[")
        field = ctypes.c_void_p if plain == "data" else _type(kind)
        if size:
            field = field * (constants().get(size) or int(size))
        fields.append((plain, field))
    return fields


def _type(kind: str) -> Any:
    if kind.startswith("char"):
        return ctypes.c_char_p
    if "*" in kind:
        return ctypes.c_void_p
    return _SCALARS.get(kind) or structure(kind)


def read_table(capsule: Any) -> tuple[Any, list[Any]]:
    """Returns the hr_kernel_table in a capsule, and its kernels.

    The capsule must stay alive while they are used. Fields that the library's kernels lack, since
    it was built before they were added, are zero.
    """
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(capsule, capsule_name())
    size = ctypes.c_uint32.from_address(address).value
    table = _record("hr_kernel_table", address, size)
    step = table.kernel_size
    kernels = [
        _record("hr_kernel", table.kernels + number * step, step)
        for number in range(table.n_kernels)
    ]
    return table, kernels


def _record(name: str, address: int, size: int) -> Any:
    """A struct at an address; a shorter one is copied and padded with zeros."""
    kind = structure(name)
    if size >= ctypes.sizeof(kind):
        return kind.from_address(address)
    record = kind()
    ctypes.memmove(ctypes.addressof(record), address, size)
    return record


def make_capsule(table: Any) -> Any:
    """Returns a PyCapsule with an hr_kernel_table; the caller keeps both alive."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(table), _CAPSULE_NAME, None)


_CAPSULE_NAME = capsule_name()  # a capsule refers to its name, so the name lives as long
