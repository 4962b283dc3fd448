"""Arrays to tensors and back, and variables."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from headrace.formats import dtypes
from kernel_harness.abi import REF, RESOURCE, STRING, String, Tensor, driver


def dtype_number(array: np.ndarray) -> int:
    if array.dtype == object or array.dtype.kind in "SU":
        return STRING
    return int(dtypes.as_dtype(array.dtype))


def is_plain(array: np.ndarray) -> bool:
    """Whether the elements are bytes that may lie in memory of a device."""
    return dtype_number(array) != STRING


def as_array(value: Any) -> np.ndarray:
    if isinstance(value, (bytes, str)):
        value = np.array(value.encode() if isinstance(value, str) else value, dtype=object)
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        array = array.astype(object)
    return array if array.flags.c_contiguous else np.array(array, order="C")


def to_tensor(array: np.ndarray, device: int | None = None) -> Tensor:
    """A tensor with memory of its own, on the host or on a device."""
    tensor = Tensor(dtype=dtype_number(array), rank=array.ndim)
    for i, size in enumerate(array.shape):
        tensor.dims[i] = size
    driver.driver_allocate_on(device, ctypes.byref(tensor))
    if device is not None:
        if tensor.bytes:
            driver.driver_copy_in(device, tensor.data, array.ctypes.data, tensor.bytes)
    elif tensor.dtype == STRING:
        for i, text in enumerate(array.ravel()):
            text = text.encode() if isinstance(text, str) else text
            at = tensor.data + i * ctypes.sizeof(String)
            driver.driver_set_string(at, text, len(text))
    elif tensor.bytes:
        ctypes.memmove(tensor.data, array.ctypes.data, tensor.bytes)
    return tensor


def to_array(tensor: Tensor) -> np.ndarray:
    shape = tuple(tensor.dims[i] for i in range(tensor.rank))
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.dtype == STRING:
        strings = ctypes.cast(tensor.data, ctypes.POINTER(String))
        flat = np.empty(count, dtype=object)
        for i in range(count):
            flat[i] = ctypes.string_at(strings[i].data, strings[i].size) if strings[i].size else b""
        return flat.reshape(shape)
    numpy_type = np.dtype(dtypes.as_dtype(tensor.dtype).as_numpy_dtype)
    array = np.empty(shape, dtype=numpy_type)
    device = driver.driver_device_of(tensor.owner)
    if array.nbytes and device:
        driver.driver_copy_out(device, array.ctypes.data, tensor.data, array.nbytes)
    elif array.nbytes:
        ctypes.memmove(array.ctypes.data, tensor.data, array.nbytes)
    return array


class Variable:
    """A variable that a kernel reads and writes, of either kind.

    Args:
      value: what it holds; None if it is uninitialised.
      dtype: needed where value is None.
      device: in whose memory it is; None: the host's.
    """

    def __init__(self, value: Any, dtype: Any = None, device: Any = None) -> None:
        array = None if value is None else as_array(value)
        self.dtype = int(dtypes.as_dtype(dtype)) if array is None else dtype_number(array)
        tensor = None if array is None else to_tensor(array)
        self._slot = driver.driver_new_slot(
            None if tensor is None else ctypes.byref(tensor), device and device.address
        )
        if tensor is not None:
            driver.driver_release(tensor.owner)
        self._handle = ctypes.c_void_p(self._slot)

    @property
    def value(self) -> np.ndarray | None:
        """A copy of what it holds now."""
        tensor = Tensor()
        held = driver.driver_slot_value(self._slot, ctypes.byref(tensor))
        return to_array(tensor) if held else None

    def _tensor(self, is_ref: bool) -> Tensor:
        # A reference edge has the variable's own shape; a handle is a scalar.
        tensor = Tensor()
        if is_ref and self.value is not None:
            driver.driver_slot_value(self._slot, ctypes.byref(tensor))
            tensor.owner = None
        tensor.dtype = REF + self.dtype if is_ref else RESOURCE
        tensor.bytes = ctypes.sizeof(self._handle)
        tensor.data = ctypes.addressof(self._handle)
        return tensor

    def __del__(self) -> None:
        driver.driver_end_slot(self._slot)
