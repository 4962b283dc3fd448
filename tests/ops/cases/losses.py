"""Cases of the losses family."""

from __future__ import annotations

from cases.case import Case, floats, integers, literal, probabilities, real

CASES = [
    Case("SoftmaxCrossEntropyWithLogits", (real(4, 5), probabilities(4, 5)), flat_outputs=(1,)),
    Case("SoftmaxCrossEntropyWithLogits", (real(4, 5), real(1, 5, low=0, high=1)), smooth=False),
    Case("SoftmaxCrossEntropyWithLogits", (real(0, 5), real(0, 5, low=0, high=1))),
    Case("SparseSoftmaxCrossEntropyWithLogits", (real(4, 5), integers(4, high=5))),
    Case(
        "SparseSoftmaxCrossEntropyWithLogits", (real(65, 33), integers(65, high=33, dtype="int64"))
    ),
    Case("L2Loss", (real(4, 5),)),
    Case("L2Loss", (real(),)),
    Case("L2Loss", (real(0),)),
    Case("InTopK", (floats(6, 5), literal([0, 1, 2, 3, 4, 7])), {"k": 2}),
    Case("InTopKV2", (floats(6, 5), integers(6, high=5, dtype="int64"), literal(3, "int64"))),
    Case(
        "InTopKV2",
        (
            literal(
                [[1.0, 1.0, 0.0], [float("nan"), 1.0, 2.0], [float("inf"), 1.0, 0.0]], "float32"
            ),
            literal([1, 1, 1]),
            literal(1),
        ),
    ),
]
