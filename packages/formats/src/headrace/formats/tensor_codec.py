"""Converts NumPy arrays to TensorProto messages and back; safe for untrusted messages."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace.formats import dtypes
from headrace.formats.dtypes import DType
from headrace.formats.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.formats.proto.tensor_pb2 import (
    ResourceHandleProto,
    TensorProto,
    TensorShapeProto,
    VariantTensorDataProto,
)
from headrace.formats.proto.types_pb2 import DataType

# Size limit of a message that repeats its last value; protobuf's limit bounds all others.
MAX_EXPANDED_BYTES = 2**31 - 1
# NumPy's limit; TensorFlow's is 254.
MAX_RANK = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
# Below this size, searching for a run of equal values is not worthwhile.
_MIN_COMPRESSED_BYTES = 64

# The field of TensorProto with the elements of each dtype.
_FIELD_OF_DTYPE: dict[int, str] = {
    d.as_datatype_enum: field
    for field, members in {
        "float_val": (dtypes.float32,),
        "double_val": (dtypes.float64,),
        "int_val": (
            dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint16, dtypes.uint8,
            dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2,
            dtypes.qint8, dtypes.quint8, dtypes.qint16, dtypes.quint16, dtypes.qint32,
        ),
        "int64_val": (dtypes.int64,),
        "uint32_val": (dtypes.uint32,),
        "uint64_val": (dtypes.uint64,),
        "bool_val": (dtypes.bool,),
        "half_val": (dtypes.half, dtypes.bfloat16),
        "scomplex_val": (dtypes.complex64,),
        "dcomplex_val": (dtypes.complex128,),
        "string_val": (dtypes.string,),
        "resource_handle_val": (dtypes.resource,),
        "variant_val": (dtypes.variant,),
        "float8_val": (
            dtypes.float8_e5m2, dtypes.float8_e4m3fn, dtypes.float8_e4m3fnuz,
            dtypes.float8_e4m3b11fnuz, dtypes.float8_e5m2fnuz, dtypes.float4_e2m1fn,
        ),
    }.items()
    for d in members
}  # fmt: skip

# The dtype of values that are messages.
_DTYPE_OF_MESSAGE: dict[type, DType] = {
    ResourceHandleProto: dtypes.resource,
    VariantTensorDataProto: dtypes.variant,
}

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    verify_shape: bool = False,
) -> TensorProto:
    """Encodes an array or a nested list.

    Args:
      values: array, scalar or nested list. Without dtype, Python ints become int32 (int64 if they
        do not fit) and Python floats float32; arrays keep their dtype.
      dtype: dtype of the tensor; arrays are cast, Python values must be representable.
      shape: shape of the tensor; the last value is repeated if there are too few values.
      verify_shape: require values to have exactly `shape`.
    Returns: a TensorProto.
    Raises: TypeError for values that dtype cannot represent, or with verify_shape for another
      shape; ValueError for None, ragged lists, values out of range, a negative size, no values, or
      more values than shape holds.
    """
    requested = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if shape is None:
        quick = _scalar_proto(values, requested)
        if quick is not None:
            return quick
    array, found = _as_array(values, requested)
    if shape is None:
        dims: tuple[int, ...] = array.shape
    else:
        dims = tuple(int(d) for d in shape)
        _check_values_fit(array, dims, verify_shape)
    number: Any = found.as_datatype_enum  # the stubs require the enum type
    proto = TensorProto(dtype=number, tensor_shape=make_shape_proto(dims))
    _encode(proto, array.reshape(-1), found, math.prod(dims))
    return proto


def make_ndarray(proto: Any, max_expanded_bytes: int = MAX_EXPANDED_BYTES) -> np.ndarray:
    """Decodes a TensorProto of Headrace or TensorFlow to an array.

    Args:
      proto: the message.
      max_expanded_bytes: greatest size in bytes of an array that repeats the last value.
    Returns: a new writable array; strings as an object array of bytes, resources and variants as
      object arrays of their messages.
    Raises: InvalidArgumentError, before allocating, for an unknown dtype, an unknown, negative or
      overflowing shape, or a shape that disagrees with the stored elements; ResourceExhaustedError
      if memory runs out.
    """
    dtype = _known_dtype(proto.dtype)
    dims = _checked_dims(proto.tensor_shape)
    count = math.prod(dims)
    field = _FIELD_OF_DTYPE[dtype.as_datatype_enum]
    try:
        if proto.tensor_content:
            if dtype.size == 0:
                raise _invalid(f"tensor_content cannot hold a {dtype.name} tensor")
            return _from_content(proto.tensor_content, dtype, dims, count)
        stored = getattr(proto, field)
        components = 2 if dtype.is_complex else 1
        if len(stored) % components:
            raise _invalid(f"{field} holds {len(stored)} numbers, an odd count for {dtype.name}")
        present = len(stored) // components
        if present > count:
            raise _invalid(f"{field} holds {present} values but shape {list(dims)} takes {count}")
        width = dtype.size or 8
        if present < count and count * width > max_expanded_bytes:
            raise _invalid(
                f"shape {list(dims)} of {dtype.name} would expand {present} values to "
                f"{count * width} bytes, more than the {max_expanded_bytes} allowed"
            )
        if dtype.size == 0:
            return _decode_objects(stored, dtype, dims, count)
        return _decode_numbers(stored, field, dtype, dims, count)
    except MemoryError as error:
        raise ResourceExhaustedError(
            None, None, f"TensorProto: no memory for shape {list(dims)} of {dtype.name}"
        ) from error


def make_shape_proto(shape: Iterable[int | None] | None) -> TensorShapeProto:
    """Encodes a shape: None is an unknown rank, None as a dimension an unknown size."""
    proto = TensorShapeProto()
    if shape is None:
        proto.unknown_rank = True
    else:
        add = proto.dim.add
        for size in shape:
            add(size=-1 if size is None else size)
    return proto


def shape_from_proto(proto: Any) -> tuple[int | None, ...] | None:
    """Decodes a TensorShapeProto to a tuple, or None for an unknown rank.

    Raises: InvalidArgumentError for sizes below -1.
    """
    if proto.unknown_rank:
        return None
    sizes: list[int | None] = []
    for d in proto.dim:
        if d.size < -1:
            raise _invalid(f"dimension {len(sizes)} of the shape is {d.size}")
        sizes.append(None if d.size == -1 else d.size)
    return tuple(sizes)


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, f"TensorProto: {text}")


# Encoding


def _scalar_proto(value: Any, requested: DType | None) -> TensorProto | None:
    """Fast path without NumPy for common Python scalars; returns None for other values."""
    kind = type(value)
    if kind is float:
        if requested is None or requested is dtypes.float32:
            if abs(value) <= 3.4028235677973366e38 or not math.isfinite(value):
                return _scalar_of(DataType.DT_FLOAT, float_val=(value,))
        elif requested is dtypes.float64:
            return _scalar_of(DataType.DT_DOUBLE, double_val=(value,))
    elif kind is int:
        if requested is None or requested is dtypes.int32:
            if -(2**31) <= value < 2**31:
                return _scalar_of(DataType.DT_INT32, int_val=(value,))
        elif requested is dtypes.float32 and -(2**24) <= value <= 2**24:
            return _scalar_of(DataType.DT_FLOAT, float_val=(value,))
        elif requested is dtypes.int64 and -(2**63) <= value < 2**63:
            return _scalar_of(DataType.DT_INT64, int64_val=(value,))
    elif kind is bool and (requested is None or requested is dtypes.bool):
        return _scalar_of(DataType.DT_BOOL, bool_val=(value,))
    return None


def _scalar_of(number: Any, **values: Any) -> TensorProto:
    return TensorProto(dtype=number, tensor_shape=TensorShapeProto(), **values)


def _as_array(values: Any, requested: DType | None) -> tuple[np.ndarray, DType]:
    if values is None:
        raise ValueError("None has no tensor value")
    if isinstance(values, (np.ndarray, np.generic)):
        array = np.asarray(values)
        found = requested or dtypes.as_dtype(array.dtype)
        if found is dtypes.string or found.size == 0:
            return array, found
        target = np.dtype(found.as_numpy_dtype)
        if array.dtype.kind == "O":
            return _python_values_to_array(array.tolist(), found), found
        if found.is_quantized:
            return array.view(target[0]) if array.dtype == target else array.astype(
                target[0]
            ), found
        return array.astype(target, copy=False), found
    if requested is None:
        array = _plain_array(values)
        found = _inferred(array)
        if found in (dtypes.string, dtypes.resource, dtypes.variant):
            return array, found
        if array.dtype.kind in "iuf" and not _holds_arrays(values):
            return array.astype(found.as_numpy_dtype), found
        found = dtypes.as_dtype(array.dtype)
        return array, found
    return _python_values_to_array(values, requested), requested


def _plain_array(values: Any) -> np.ndarray:
    try:
        array = np.asarray(values)
    except UnicodeDecodeError:  # a mixture of str and bytes
        return np.array(values, dtype=object)
    except ValueError as error:
        raise ValueError(f"values do not form a rectangle: {error}") from error
    if array.dtype.kind in "US":
        # NumPy's fixed-width strings drop trailing zero bytes.
        return np.array(values, dtype=object)
    return array


def _inferred(array: np.ndarray) -> DType:
    kind = array.dtype.kind
    if kind == "O":
        kinds = {type(v) for v in array.flat}
        if kinds <= {str, bytes, np.str_, np.bytes_}:
            return dtypes.string
        other = next(iter(kinds - {str, bytes}))
        if other in _DTYPE_OF_MESSAGE:
            return _DTYPE_OF_MESSAGE[other]
        raise TypeError(
            f"no dtype holds values of type {other.__name__!r}: give numbers, bools or strings"
        )
    if kind == "i" and array.dtype.itemsize == 8:
        fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        return dtypes.int32 if fits else dtypes.int64
    if kind == "f" and array.dtype == np.float64:
        return dtypes.float32
    return dtypes.as_dtype(array.dtype)


def _holds_arrays(values: Any) -> bool:
    """Returns whether a nested list contains arrays, whose dtype is kept; scalars do not count."""
    while isinstance(values, (list, tuple)):
        if not values:
            return False
        values = values[0]
    return not isinstance(values, np.generic) and hasattr(values, "__array__")


def _python_values_to_array(values: Any, dtype: DType) -> np.ndarray:
    if dtype is dtypes.string:
        array = np.array(values, dtype=object)
        _check_element_types(array, dtype, (str, bytes))
        return array
    if dtype.size == 0:
        return np.array(values, dtype=object)
    target = np.dtype(dtype.as_numpy_dtype)
    if dtype.is_quantized:
        target = target[0]
    if type(values) not in (int, float) or not dtype.is_floating:
        plain = _plain_array(values)
        if plain.size and not _kind_fits(plain, dtype):
            _raise_wrong_type(plain, dtype)
        if plain.size and dtype.is_integer:
            _check_range(plain, dtype)  # NumPy 1 would only warn, and wrap around
    if target.kind not in "biufc":  # ml_dtypes converts from float
        plain = np.asarray(values, dtype=np.float64 if dtype.is_floating else None)
        return plain.astype(target)
    with np.errstate(over="ignore"):  # values too large for the dtype become infinite
        return np.asarray(values, dtype=target)


def _check_range(array: np.ndarray, dtype: DType) -> None:
    low, high = int(dtype.min), int(dtype.max)
    for value in (array.min(), array.max()):
        if not low <= int(value) <= high:
            raise ValueError(f"{value} is out of range for {dtype.name}, {low} to {high}")


def _kind_fits(array: np.ndarray, dtype: DType) -> bool:
    kind = array.dtype.kind
    if dtype.is_bool:
        return kind == "b"
    if dtype.is_integer or dtype.is_quantized:
        return kind in "iu" or (kind == "O" and all(isinstance(v, int) for v in array.flat))
    if dtype.is_floating:
        return kind in "iufV" or (kind == "O" and all(isinstance(v, int) for v in array.flat))
    return kind in "iufc"


def _raise_wrong_type(array: np.ndarray, dtype: DType) -> None:
    first = array.flat[0]
    first = first.item() if isinstance(first, np.generic) else first
    raise TypeError(
        f"expected {dtype.name}, got {first!r} of type {type(first).__name__!r}: "
        "convert it or name another dtype"
    )


def _check_element_types(array: np.ndarray, dtype: DType, allowed: tuple[type, ...]) -> None:
    for value in array.flat:
        if not isinstance(value, allowed):
            raise TypeError(
                f"expected {dtype.name}, got {value!r} of type {type(value).__name__!r}: "
                "convert it or name another dtype"
            )


def _check_values_fit(array: np.ndarray, dims: tuple[int, ...], verify_shape: bool) -> None:
    if any(d < 0 for d in dims):
        raise ValueError(f"shape {list(dims)} has a negative size")
    if verify_shape and array.shape != dims:
        raise TypeError(f"expected values of shape {list(dims)}, got {list(array.shape)}")
    count = math.prod(dims)
    if array.size > count:
        raise ValueError(f"shape {list(dims)} holds {count} values, {array.size} were given")
    if count and not array.size:
        raise ValueError(f"shape {list(dims)} holds {count} values, none were given")


def _encode(proto: TensorProto, flat: np.ndarray, dtype: DType, count: int) -> None:
    field = _FIELD_OF_DTYPE[dtype.as_datatype_enum]
    if dtype is dtypes.string:
        strings = [v if type(v) is bytes else _as_bytes(v) for v in flat.tolist()]
        proto.string_val.extend(strings[: _tail_start(strings)])
        return
    if dtype.size == 0:
        getattr(proto, field).extend(flat.tolist())
        return
    if flat.size == count and count > 1:
        if count * dtype.size >= _MIN_COMPRESSED_BYTES:
            kept = _distinct_prefix(flat)
            if kept * 2 <= count:
                _encode_list(proto, field, flat[:kept])
                return
        if sys.byteorder == "big":
            flat = flat.byteswap()
        proto.tensor_content = flat.tobytes()
        return
    _encode_list(proto, field, flat)


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8")
    raise TypeError(f"expected string, got {value!r} of type {type(value).__name__!r}")


def _tail_start(strings: list[bytes]) -> int:
    """Returns how many strings to store so that repeating the last one restores the rest."""
    kept = len(strings)
    while kept > 1 and strings[kept - 1] == strings[kept - 2]:
        kept -= 1
    return kept if kept * 2 <= len(strings) else len(strings)


def _distinct_prefix(flat: np.ndarray) -> int:
    """Returns how many elements to store so that repeating the last one restores all bits."""
    size = flat.dtype.itemsize
    bits = np.ascontiguousarray(flat).view(_BITS.get(size, np.uint64)).reshape(flat.size, -1)
    last = bits[-1]
    if (bits[-2] != last).any():
        return flat.size
    half = flat.size // 2
    if (bits[half:] != last).any():  # the caller only uses a prefix of at most half
        return flat.size
    different = np.flatnonzero((bits[:half] != last).any(axis=1))
    return int(different[-1]) + 2 if different.size else 1


def _encode_list(proto: TensorProto, field: str, flat: np.ndarray) -> None:
    if field == "float8_val":
        proto.float8_val = flat.tobytes()
        return
    if field == "half_val":
        flat = flat.view(np.uint16)
    elif field in ("scomplex_val", "dcomplex_val"):
        flat = flat.view(flat.real.dtype)
    elif field == "int_val" and flat.dtype.kind not in "iu":
        flat = flat.astype(np.int32)
    getattr(proto, field).extend(flat.tolist())


# Decoding


def _known_dtype(number: int) -> DType:
    try:
        dtype = dtypes.as_dtype(number).base_dtype
    except TypeError:
        raise _invalid(f"dtype {number} is unknown") from None
    return dtype


def _checked_dims(shape: Any) -> tuple[int, ...]:
    if shape.unknown_rank:
        raise _invalid("the shape has unknown rank")
    if len(shape.dim) > MAX_RANK:
        raise _invalid(f"rank {len(shape.dim)} is above {MAX_RANK}")
    dims = tuple(d.size for d in shape.dim)
    bound = 1
    for i, size in enumerate(dims):
        if size < 0:
            raise _invalid(f"dimension {i} of shape {list(dims)} is negative")
        bound *= max(size, 1)
    if bound >= 2**59:  # the size in bytes must fit 63 bits, also with a zero dimension
        raise _invalid(f"shape {list(dims)} has too many elements")
    return dims


def _from_content(content: bytes, dtype: DType, dims: tuple[int, ...], count: int) -> np.ndarray:
    if len(content) != count * dtype.size:
        raise _invalid(
            f"tensor_content has {len(content)} bytes but shape {list(dims)} of {dtype.name} "
            f"takes {count * dtype.size}"
        )
    array = np.frombuffer(content, dtype=dtype.as_numpy_dtype).reshape(dims).copy()
    return array.byteswap() if sys.byteorder == "big" else array


def _decode_objects(stored: Any, dtype: DType, dims: tuple[int, ...], count: int) -> np.ndarray:
    array = np.empty(count, dtype=object)
    values = list(stored)
    if len(values) < count:
        if not values and dtype is not dtypes.string:
            raise _invalid(f"no value for shape {list(dims)} of {dtype.name}")
        array[len(values) :] = values[-1:] or b""
    if values:
        # one by one, because NumPy would iterate over messages
        for i, value in enumerate(values):
            array[i] = value
    return array.reshape(dims)


def _decode_numbers(
    stored: Any, field: str, dtype: DType, dims: tuple[int, ...], count: int
) -> np.ndarray:
    target = np.dtype(dtype.as_numpy_dtype)
    if not len(stored):
        return np.zeros(dims, target)
    if field == "float8_val":
        values = np.frombuffer(stored, dtype=target)
    elif field == "half_val":
        values = np.array(stored, dtype=np.int32).astype(np.uint16).view(target)
    elif dtype.is_complex:
        real = np.float32 if dtype is dtypes.complex64 else np.float64
        values = np.array(stored, dtype=real).view(target)
    elif dtype.is_quantized:
        values = np.array(stored, dtype=np.int64).astype(target[0]).view(target)
    elif field == "int_val":
        values = np.array(stored, dtype=np.int32).astype(target)
    else:
        values = np.array(stored, dtype=target)
    if len(values) == count:
        return values.reshape(dims).copy() if not values.flags.writeable else values.reshape(dims)
    array = np.empty(count, target)
    array[: len(values)] = values
    array[len(values) :] = values[-1]
    return array.reshape(dims)
