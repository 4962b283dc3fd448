"""Converts Python values to the array of a Const node, with TF 1.x's dtype inference."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.framework.tensor_shape import Dimension, TensorShape, as_dims
from headrace.graph.typing.aliases import DTypeLike


def make_array(
    value: Any, dtype: DTypeLike | None = None, shape: Any = None, verify_shape: bool = False
) -> tuple[np.ndarray, int]:
    """Converts a value to a read-only array that no caller shares, and its DataType number.

    Raises: as `constant`.
    """
    requested = None if dtype is None else as_dtype(dtype).base_dtype
    if value is None:
        raise ValueError("None values not supported.")
    if hasattr(value, "tensor_shape"):  # TensorProto
        from headrace.formats import tensor_codec

        value = tensor_codec.make_ndarray(value)
    array, found = _array_and_type(value, requested)
    if shape is not None:
        array = _filled(array, as_dims(shape), verify_shape)
    array.flags.writeable = False
    return array, found.as_datatype_enum


def _array_and_type(value: Any, requested: DType | None) -> tuple[np.ndarray, DType]:
    kind = type(value)
    if requested is not None and kind is float and requested.is_floating:
        return np.array(value, requested.as_numpy_dtype), requested
    if requested is None and kind is float:
        return np.array(value, np.float32), as_dtype(1)
    if kind is np.ndarray or isinstance(value, np.generic):
        return _from_numpy(value, requested)
    if isinstance(value, TensorShape):
        value = value.as_list()
        if None in value:
            raise ValueError(
                f"Cannot convert a partially known TensorShape {TensorShape(value)} to a Tensor: "
                "use hr.shape for sizes that are known only at run time"
            )
    return _from_python(value, requested)


def _from_numpy(value: Any, requested: DType | None) -> tuple[np.ndarray, DType]:
    array = np.asarray(value)
    if array.dtype.kind in "SUO":
        return _from_strings(array, requested)
    own = as_dtype(array.dtype)
    if requested is None or requested is own:
        # A row-major copy: the caller may modify the array later.
        return np.array(array, own.as_numpy_dtype, order="C"), own
    if requested.is_quantized:
        return np.array(array).astype(requested.as_numpy_dtype), requested
    # As in TF 1.x an array is cast to dtype, except from complex to real.
    if requested.as_datatype_enum == 7 or (own.is_complex and not requested.is_complex):
        raise _conversion_error(value, requested)
    return np.array(array).astype(requested.as_numpy_dtype), requested


def _from_strings(array: np.ndarray, requested: DType | None) -> tuple[np.ndarray, DType]:
    if array.dtype.kind == "O":
        flat = array.ravel()
        if not all(isinstance(v, (str, bytes)) for v in flat):
            if requested is None or requested.as_datatype_enum != 7:
                return _from_python(array.tolist(), requested)
            raise _conversion_error(array, requested)
    if requested is not None and requested.as_datatype_enum != 7:
        raise _conversion_error(array, requested)
    result = np.empty(array.shape, object)
    flat_in = array.ravel()
    flat_out = result.reshape(-1)
    for i, v in enumerate(flat_in):
        flat_out[i] = v.encode() if isinstance(v, str) else bytes(v)
    return result, as_dtype(7)


def _from_python(value: Any, requested: DType | None) -> tuple[np.ndarray, DType]:
    value = _unwrapped(value)
    kinds: set[str] = set()
    _collect_kinds(value, kinds)
    if "other" in kinds:
        raise _conversion_error(value, requested)
    if "str" in kinds:
        if len(kinds) > 1 or (requested is not None and requested.as_datatype_enum != 7):
            raise _conversion_error(value, requested)
        return _from_strings(_object_array(value), requested)
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(
            f"Argument must be a dense tensor: {value!r} - its rows have different lengths"
        ) from None
    except OverflowError:
        raise _conversion_error(value, requested) from None
    if array.dtype.kind == "O":
        raise _conversion_error(value, requested)
    if requested is None:
        return _inferred(array, kinds)
    if not _python_fits(kinds, requested):
        raise _conversion_error(value, requested)
    if requested.is_integer and array.size:
        low, high = int(requested.min), int(requested.max)
        if int(array.min()) < low or int(array.max()) > high:
            raise _conversion_error(value, requested)
    if requested.is_quantized:
        result = np.empty(array.shape, requested.as_numpy_dtype)
        result[requested.name] = array
        return result, requested
    return np.array(array.astype(requested.as_numpy_dtype)), requested


def _inferred(array: np.ndarray, kinds: set[str]) -> tuple[np.ndarray, DType]:
    if array.dtype.kind == "f" and "numpy" not in kinds:
        return array.astype(np.float32), as_dtype(1)
    if array.dtype.kind in "iu" and "numpy" not in kinds:
        if array.size == 0 or (int(array.max()) < 2**31 and int(array.min()) >= -(2**31)):
            return array.astype(np.int32), as_dtype(3)
        if array.dtype.kind == "u":
            raise _conversion_error(array, as_dtype(9))
        return array, as_dtype(9)
    if array.size == 0 and not kinds:  # [] or nested empty lists
        return array.astype(np.float32), as_dtype(1)
    return array, as_dtype(array.dtype)


def _python_fits(kinds: set[str], requested: DType) -> bool:
    if requested.as_datatype_enum == 7:
        return not kinds
    if requested.is_bool:
        return kinds <= {"bool", "numpy"}
    if requested.is_complex:  # in Python, bools are numbers
        return True
    if requested.is_floating:
        return "complex" not in kinds
    if requested.is_integer or requested.is_quantized:
        return not kinds & {"complex", "float"}
    return False


def _collect_kinds(value: Any, kinds: set[str]) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _collect_kinds(item, kinds)
    elif isinstance(value, (bool, np.bool_)):
        kinds.add("bool")
    elif isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "SUO":
            kinds.add("str")
        else:
            kinds.add("numpy")
            kinds.add({"f": "float", "c": "complex", "b": "bool"}.get(value.dtype.kind, "int"))
    elif isinstance(value, numbers.Integral):
        kinds.add("int")
    elif isinstance(value, numbers.Real):
        kinds.add("float")
    elif isinstance(value, numbers.Complex):
        kinds.add("complex")
    elif isinstance(value, (str, bytes)):
        kinds.add("str")
    else:
        kinds.add("other")


def _unwrapped(value: Any) -> Any:
    """Converts Dimensions to ints, at any depth; None is rejected later, with its message."""
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, (list, tuple)):
        return [_unwrapped(v) for v in value]
    if hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    return value


def _object_array(value: Any) -> np.ndarray:
    if isinstance(value, (str, bytes)):
        array = np.empty((), object)
        array[()] = value
        return array
    array = np.array(value, object)
    return array


def _conversion_error(value: Any, requested: DType | None) -> TypeError:
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    if requested is None:
        return TypeError(
            f"Failed to convert object of type {type(value)} to Tensor. Contents: {shown}. "
            "Consider casting elements to a supported type."
        )
    return TypeError(
        f"Expected {requested.name}, but got {shown} of type '{type(value).__name__}'."
    )


def _filled(array: np.ndarray, dims: Any, verify: bool) -> np.ndarray:
    if dims is None or None in dims:
        raise ValueError(f"a constant needs a fully defined shape, not {TensorShape(dims)}")
    size = 1
    for d in dims:
        size *= d
    if array.size == size:
        if verify and array.shape != dims:
            raise TypeError(f"Expected Tensor's shape: {dims}, got {array.shape}.")
        return array.reshape(dims)
    if size == 0 and not verify:
        return np.empty(dims, array.dtype)
    if verify:
        raise TypeError(f"Expected Tensor's shape: {dims}, got {array.shape}.")
    if array.size > size or array.size == 0:
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {array.size}"
            if array.size
            else f"no element provided to fill shape {list(dims)}"
        )
    result = np.empty(size, array.dtype)
    result[: array.size] = array.ravel()
    result[array.size :] = array.ravel()[-1]
    return result.reshape(dims)
