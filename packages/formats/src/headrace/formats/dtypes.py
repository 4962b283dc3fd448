"""DTypes: names, sizes and limits of tensor element types, as in TensorFlow 1.x."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

_REF_OFFSET = 100


class DType:
    """The type of a tensor's elements; a reference type denotes a mutable tensor.

    Attributes:
      name: "float32", ... or "float32_ref".
      as_datatype_enum: number in the DataType enum; a reference type has its base's number plus
        100.
      size: size of one element in bytes; 0 for string, resource and variant.
    """

    __slots__ = (
        "_base",
        "_numpy",
        "_ref",
        "_type_enum",
        "as_datatype_enum",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_quantized",
        "is_ref_dtype",
        "is_unsigned",
        "name",
        "size",
    )

    as_datatype_enum: int
    name: str
    size: int
    is_bool: builtins.bool
    is_complex: builtins.bool
    is_floating: builtins.bool
    is_integer: builtins.bool
    is_quantized: builtins.bool
    is_ref_dtype: builtins.bool
    is_unsigned: builtins.bool
    _base: DType
    _ref: DType

    def __init__(self, number: int, name: str, size: int, kind: str, numpy_type: Any) -> None:
        self.as_datatype_enum = self._type_enum = number
        self.name = name
        self.size = size
        self.is_floating = kind == "f"
        self.is_integer = kind in "iu"
        self.is_unsigned = kind == "u"
        self.is_complex = kind == "c"
        self.is_bool = kind == "b"
        self.is_quantized = kind == "q"
        self.is_ref_dtype = number > _REF_OFFSET
        self._numpy = numpy_type

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy type of arrays with this dtype; object for string, resource and variant."""
        if isinstance(self._numpy, str):
            import ml_dtypes  # imported late: it takes 10 ms, and few programs need it

            numpy_type = getattr(ml_dtypes, self._numpy)
            self._base._numpy = self._base._ref._numpy = numpy_type
        return self._numpy

    @property
    def base_dtype(self) -> DType:
        """The non-reference type: the type itself, or the base of a reference type."""
        return self._base

    @property
    def real_dtype(self) -> DType:
        """float32 for complex64, float64 for complex128, the type itself otherwise."""
        if self._base is complex64:
            return float32_ref if self.is_ref_dtype else float32
        if self._base is complex128:
            return float64_ref if self.is_ref_dtype else float64
        return self

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """False for resource and variant, which arrays cannot hold by value."""
        return self._base not in (resource, variant)

    @property
    def min(self) -> Any:
        """Lowest finite value. Raises: TypeError for types that are neither float nor integer."""
        return self._extreme("min")

    @property
    def max(self) -> Any:
        """Highest finite value. Raises: TypeError for types that are neither float nor integer."""
        return self._extreme("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """Intensity range (low, high) of an image: (0, 1) for floats, (0, max) for integers."""
        if self.is_bool:
            return False, True
        if self.is_floating:
            return 0, 1
        return 0, self.max

    def _extreme(self, which: str) -> Any:
        if not (self.is_floating or self.is_integer):
            raise TypeError(
                f"{self.name} has no {which}imum value: it is neither float nor integer"
            )
        if isinstance(self._numpy, str) or self._numpy.__module__ == "ml_dtypes":
            import ml_dtypes

            info = ml_dtypes.finfo if self.is_floating else ml_dtypes.iinfo
            return getattr(info(self.as_numpy_dtype), which)
        if self.is_floating:
            return getattr(np.finfo(self.as_numpy_dtype), which)
        return getattr(np.iinfo(self.as_numpy_dtype), which)

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Returns whether a tensor of type `other` can be used where this type is required."""
        other = as_dtype(other)
        return self.as_datatype_enum in (
            other.as_datatype_enum,
            other._base.as_datatype_enum,
        )

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        if isinstance(other, int):
            return self.as_datatype_enum == other
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __index__(self) -> int:
        return self.as_datatype_enum

    def __repr__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


# Number, name, name in the DataType enum, size in bytes, kind, NumPy type.
# A string in the last column is a name in ml_dtypes.
_ROWS: tuple[tuple[int, str, str, int, str, Any], ...] = (
    (1, "float32", "float", 4, "f", np.float32),
    (2, "float64", "double", 8, "f", np.float64),
    (3, "int32", "int32", 4, "i", np.int32),
    (4, "uint8", "uint8", 1, "u", np.uint8),
    (5, "int16", "int16", 2, "i", np.int16),
    (6, "int8", "int8", 1, "i", np.int8),
    (7, "string", "string", 0, "s", np.object_),
    (8, "complex64", "complex64", 8, "c", np.complex64),
    (9, "int64", "int64", 8, "i", np.int64),
    (10, "bool", "bool", 1, "b", np.bool_),
    (11, "qint8", "qint8", 1, "q", np.dtype([("qint8", np.int8)])),
    (12, "quint8", "quint8", 1, "q", np.dtype([("quint8", np.uint8)])),
    (13, "qint32", "qint32", 4, "q", np.dtype([("qint32", np.int32)])),
    (14, "bfloat16", "bfloat16", 2, "f", "bfloat16"),
    (15, "qint16", "qint16", 2, "q", np.dtype([("qint16", np.int16)])),
    (16, "quint16", "quint16", 2, "q", np.dtype([("quint16", np.uint16)])),
    (17, "uint16", "uint16", 2, "u", np.uint16),
    (18, "complex128", "complex128", 16, "c", np.complex128),
    (19, "float16", "half", 2, "f", np.float16),
    (20, "resource", "resource", 0, "r", np.object_),
    (21, "variant", "variant", 0, "v", np.object_),
    (22, "uint32", "uint32", 4, "u", np.uint32),
    (23, "uint64", "uint64", 8, "u", np.uint64),
    (24, "float8_e5m2", "float8_e5m2", 1, "f", "float8_e5m2"),
    (25, "float8_e4m3fn", "float8_e4m3fn", 1, "f", "float8_e4m3fn"),
    (26, "float8_e4m3fnuz", "float8_e4m3fnuz", 1, "f", "float8_e4m3fnuz"),
    (27, "float8_e4m3b11fnuz", "float8_e4m3b11fnuz", 1, "f", "float8_e4m3b11fnuz"),
    (28, "float8_e5m2fnuz", "float8_e5m2fnuz", 1, "f", "float8_e5m2fnuz"),
    (29, "int4", "int4", 1, "i", "int4"),
    (30, "uint4", "uint4", 1, "u", "uint4"),
    (31, "int2", "int2", 1, "i", "int2"),
    (32, "uint2", "uint2", 1, "u", "uint2"),
    (33, "float4_e2m1fn", "float4_e2m1fn", 1, "f", "float4_e2m1fn"),
)

# Values that as_dtype finds by one lookup: DTypes, numbers, names, Python and NumPy types.
_KNOWN: dict[Any, DType] = {}


def _define(row: tuple[int, str, str, int, str, Any]) -> DType:
    number, name, enum_name, size, kind, numpy_type = row
    value = DType(number, name, size, kind, numpy_type)
    reference = DType(number + _REF_OFFSET, name + "_ref", size, kind, numpy_type)
    value._base = reference._base = value
    value._ref = reference._ref = reference
    _KNOWN[number] = _KNOWN[name] = _KNOWN[enum_name] = value
    _KNOWN[number + _REF_OFFSET] = reference
    _KNOWN[name + "_ref"] = _KNOWN[enum_name + "_ref"] = reference
    if kind in "fiucb" and not isinstance(numpy_type, str):
        _KNOWN[numpy_type] = _KNOWN[np.dtype(numpy_type)] = value
    elif kind == "q":
        _KNOWN[numpy_type] = value
    return value


_BY_NUMBER: dict[int, DType] = {row[0]: _define(row) for row in _ROWS}

float32 = _BY_NUMBER[1]
float64 = _BY_NUMBER[2]
int32 = _BY_NUMBER[3]
uint8 = _BY_NUMBER[4]
int16 = _BY_NUMBER[5]
int8 = _BY_NUMBER[6]
string = _BY_NUMBER[7]
complex64 = _BY_NUMBER[8]
int64 = _BY_NUMBER[9]
bool = _BY_NUMBER[10]
qint8 = _BY_NUMBER[11]
quint8 = _BY_NUMBER[12]
qint32 = _BY_NUMBER[13]
bfloat16 = _BY_NUMBER[14]
qint16 = _BY_NUMBER[15]
quint16 = _BY_NUMBER[16]
uint16 = _BY_NUMBER[17]
complex128 = _BY_NUMBER[18]
float16 = _BY_NUMBER[19]
resource = _BY_NUMBER[20]
variant = _BY_NUMBER[21]
uint32 = _BY_NUMBER[22]
uint64 = _BY_NUMBER[23]
float8_e5m2 = _BY_NUMBER[24]
float8_e4m3fn = _BY_NUMBER[25]
float8_e4m3fnuz = _BY_NUMBER[26]
float8_e4m3b11fnuz = _BY_NUMBER[27]
float8_e5m2fnuz = _BY_NUMBER[28]
int4 = _BY_NUMBER[29]
uint4 = _BY_NUMBER[30]
int2 = _BY_NUMBER[31]
uint2 = _BY_NUMBER[32]
float4_e2m1fn = _BY_NUMBER[33]

half = float16
float = float32
double = float64

float16_ref = half_ref = float16._ref
float32_ref = float32._ref
float64_ref = double_ref = float64._ref
int8_ref = int8._ref
int16_ref = int16._ref
int32_ref = int32._ref
int64_ref = int64._ref
uint8_ref = uint8._ref
uint16_ref = uint16._ref
uint32_ref = uint32._ref
uint64_ref = uint64._ref
bool_ref = bool._ref
string_ref = string._ref
complex64_ref = complex64._ref
complex128_ref = complex128._ref
bfloat16_ref = bfloat16._ref
resource_ref = resource._ref
variant_ref = variant._ref
qint8_ref = qint8._ref
qint16_ref = qint16._ref
qint32_ref = qint32._ref
quint8_ref = quint8._ref
quint16_ref = quint16._ref

QUANTIZED_DTYPES = frozenset(d for v in _BY_NUMBER.values() if v.is_quantized for d in (v, v._ref))

_KNOWN[builtins.float] = float32
_KNOWN[builtins.bool] = bool
_KNOWN[builtins.int] = int64
_KNOWN[builtins.complex] = complex128
_KNOWN[builtins.str] = _KNOWN[builtins.bytes] = _KNOWN[builtins.object] = string
_KNOWN[np.str_] = _KNOWN[np.bytes_] = _KNOWN[np.object_] = string

_ENUM_NAMES = {row[0]: "DT_" + row[2].upper() for row in _ROWS}


def as_dtype(type_value: Any) -> DType:
    """Converts a value to a DType.

    Args:
      type_value: a DType, a DataType number, a name ("float32", "float", "float32_ref"),
        a Python or NumPy type, or anything with a `dtype`.
    Raises: TypeError if no dtype corresponds to the value.
    """
    if type(type_value) is DType:
        return type_value
    try:
        known = _KNOWN.get(type_value)
    except TypeError:  # not hashable
        known = None
    if known is not None:
        return known
    found = _from_numpy(type_value)
    if found is None:
        raise TypeError(
            f"cannot convert {type_value!r} to a dtype: give a dtype, a name such as 'float32', "
            "a NumPy type or a DataType number"
        )
    return found


def _from_numpy(type_value: Any) -> DType | None:
    if type_value is None or isinstance(type_value, (str, int)):
        return None
    inner = getattr(type_value, "dtype", None)
    if isinstance(inner, DType):
        return None  # a tensor or a variable is no dtype
    try:
        numpy_dtype = np.dtype(inner if isinstance(inner, np.dtype) else type_value)
    except TypeError:
        return None
    if numpy_dtype.kind in "SUOT":
        return string
    if numpy_dtype.names is not None:
        return _KNOWN.get(numpy_dtype)
    # The name covers both byte orders, long long and the types of ml_dtypes.
    found = _KNOWN.get(numpy_dtype.name)
    return None if found is None or found is string else found


def datatype_name(dtype: DType) -> str:
    """Returns the DataType enum's name, such as "DT_HALF" or "DT_FLOAT_REF"."""
    return _ENUM_NAMES[dtype._base.as_datatype_enum] + ("_REF" if dtype.is_ref_dtype else "")
