"""Cases of the gather family."""

from __future__ import annotations

from cases.case import Case, integers, literal, real

CASES = [
    Case("Gather", (real(5, 3), integers(4, high=5))),
    Case("Gather", (real(5, 3), integers(2, 2, high=5, dtype="int64"))),
    Case("Gather", (real(5), integers(high=5))),
    Case("GatherV2", (real(5, 3), integers(4, high=5), literal(0))),
    Case("GatherV2", (real(4, 5, 3), integers(2, 3, high=3), literal(-1))),
    Case("GatherV2", (real(4, 5, 3), integers(high=5), literal(1, "int64"))),
    Case("GatherV2", (real(4, 5), integers(0, high=4), literal(0))),
    Case("GatherV2", (real(3, 4, 5), integers(3, 2, high=4), literal(1)), {"batch_dims": 1}),
    Case("GatherV2", (real(3, 2, 4, 5), integers(3, 2, 3, high=5), literal(3)), {"batch_dims": 2}),
    Case("GatherV2", (real(3, 4, 5), integers(3, 2, high=5), literal(2)), {"batch_dims": -1}),
    Case("GatherNd", (real(4, 5, 3), integers(6, 2, high=4))),
    Case("GatherNd", (real(4, 5, 3), integers(2, 3, 3, high=3))),
    Case("GatherNd", (real(4, 5), integers(3, 1, high=4, dtype="int64"))),
    Case("GatherNd", (real(4, 5), integers(2, 0, high=1))),
    Case("GatherNd", (real(4, 5), integers(2, high=4))),
    Case(
        "GatherTree",
        (
            integers(6, 3, 4, high=9),
            integers(6, 3, 4, high=4),
            literal([9, 4, 0]),
            literal(2),
        ),
        in_tensorflow=False,
    ),
]
