"""Cases of the control_flow family: ToBool, the only op of it that computes a value."""

from __future__ import annotations

from cases.case import Case, T, integers, literal, real

_NUMBERS = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
CASES = [
    *[Case("ToBool", (literal(value, T),), dtypes=_NUMBERS) for value in (0.0, -0.0, 2.5)],
    Case("ToBool", (real(2, 3),), dtypes=_NUMBERS),
    Case("ToBool", (real(0, 3),), dtypes=_NUMBERS),
    *[Case("ToBool", (literal(value, T),), dtypes=_INTEGERS) for value in (0, 1, 64)],
    Case("ToBool", (integers(2, high=5),), dtypes=_INTEGERS),
    *[Case("ToBool", (literal(value, "bool"),), dtypes=("bool",)) for value in (True, False)],
    *[Case("ToBool", (literal(value, "string"),), dtypes=("string",)) for value in (b"", b"0")],
]
