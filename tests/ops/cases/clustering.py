"""Cases of the clustering family."""

from __future__ import annotations

from cases.case import Case, literal, real

_COUNTS = (literal(3, "int64"), literal(7, "int64"))
CASES = [
    Case("NearestNeighbors", (real(9, 3), real(5, 3), literal(1, "int64")), smooth=False),
    Case("NearestNeighbors", (real(9, 3), real(5, 3), literal(4, "int64")), smooth=False),
    Case("NearestNeighbors", (real(4, 3), real(5, 3), literal(8, "int64")), smooth=False),
    Case("NearestNeighbors", (real(4, 3), real(0, 3), literal(2, "int64")), smooth=False),
    Case(
        "KmeansPlusPlusInitialization",
        (real(9, 3), *_COUNTS, literal(0, "int64")),
        smooth=False,
        exact=False,
    ),
    Case(
        "KmeansPlusPlusInitialization",
        (real(9, 3), *_COUNTS, literal(-1, "int64")),
        smooth=False,
        exact=False,
    ),
    Case("KMC2ChainInitialization", (real(6), _COUNTS[1]), smooth=False, exact=False),
]
