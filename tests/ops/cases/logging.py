"""Cases of the logging family."""

from __future__ import annotations

from cases.case import Case, flags, literal, real

_FLOATS = ("float32", "float64", "float16", "bfloat16")
CASES = [
    Case("Assert", (literal(True, "bool"), [real(3)]), dtypes=("float32",)),
    Case("CheckNumerics", (real(3, 4),), {"message": "m"}, dtypes=_FLOATS),
    Case("CheckNumericsV2", (real(3, 4),), {"message": "m"}, dtypes=_FLOATS, smooth=False),
    Case("Print", (real(3), [flags(2)]), dtypes=("float32",), smooth=False),
]
