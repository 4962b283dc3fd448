"""The driver in C that fills in what a runtime would, and its structs."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from headrace import formats
from headrace.formats import kernel_abi

_CONSTANTS = kernel_abi.constants()
STRING, RESOURCE, REF = (_CONSTANTS[f"HR_{name}"] for name in ("STRING", "RESOURCE", "REF"))
VIEW = _CONSTANTS["HR_KERNEL_VIEW"]

Tensor: Any = kernel_abi.structure("hr_tensor")
String: Any = kernel_abi.structure("hr_string")
KernelRegistration: Any = kernel_abi.structure("hr_kernel")
HrDevice: Any = kernel_abi.structure("hr_device")


class Attr(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_float),
        ("text", String),
        ("tensor", ctypes.POINTER(Tensor)),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_void_p),
        ("n", ctypes.c_size_t),
        ("list", ctypes.c_void_p),
        ("ranks", ctypes.c_void_p),
        ("dims_list", ctypes.c_void_p),
    ]


class Node(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("api", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("op", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("n_inputs", ctypes.c_int32),
        ("n_outputs", ctypes.c_int32),
        ("input_dtypes", ctypes.c_void_p),
        ("output_dtypes", ctypes.c_void_p),
        ("n_attrs", ctypes.c_int32),
        ("attrs", ctypes.c_void_p),
        ("input_ranges", ctypes.c_void_p),
        ("output_ranges", ctypes.c_void_p),
        ("message", ctypes.c_char * 1024),
    ]


def compile_driver() -> ctypes.CDLL:
    source = Path(__file__).with_name("driver.c")
    include = Path(formats.__path__[0]) / "include"
    digest = hashlib.sha256(source.read_bytes())
    for header in ("kernel.h", "device.h"):
        digest.update((include / "headrace" / header).read_bytes())
    name = f"headrace_kernel_harness_{os.getuid()}_{digest.hexdigest()[:16]}.so"
    target = Path(tempfile.gettempdir()) / name
    if not target.exists():
        compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
        partial = target.with_suffix(f".{os.getpid()}")
        command = [*compiler, "-shared", "-fPIC", "-O1", f"-I{include}", str(source)]
        subprocess.run([*command, "-o", str(partial)], check=True)
        partial.replace(target)
    library = ctypes.CDLL(str(target))
    library.driver_new_slot.restype = ctypes.c_void_p
    library.driver_new_slot.argtypes = [ctypes.POINTER(Tensor), ctypes.c_void_p]
    library.driver_allocate_on.argtypes = [ctypes.c_void_p, ctypes.POINTER(Tensor)]
    library.driver_device_of.restype = ctypes.c_void_p
    library.driver_device_of.argtypes = [ctypes.c_void_p]
    for copy in (library.driver_copy_in, library.driver_copy_out):
        copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.driver_end_slot.argtypes = [ctypes.c_void_p]
    library.driver_slot_value.argtypes = [ctypes.c_void_p, ctypes.POINTER(Tensor)]
    library.driver_release.argtypes = [ctypes.c_void_p]
    library.driver_retain.argtypes = [ctypes.c_void_p]
    library.driver_destroy.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.driver_depends_on_data.argtypes = [ctypes.c_void_p]
    library.driver_end_call.argtypes = [ctypes.c_void_p]
    library.driver_node_size.restype = ctypes.c_size_t
    library.driver_live_buffers.restype = ctypes.c_int64
    library.driver_overrun_buffers.restype = ctypes.c_int64
    library.driver_set_string.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    if library.driver_node_size() != ctypes.sizeof(Node):
        raise RuntimeError("abi.py and driver.c disagree about struct node")
    return library


driver = compile_driver()


def live_buffers() -> int:
    """How many counted buffers exist: leaks show as a growing number."""
    return int(driver.driver_live_buffers())
