"""Cases of the scatter family: those that make a new tensor."""

from __future__ import annotations

from cases.case import Case, distinct, literal, real

_ROWS = literal([[4], [0], [4], [2]])
_CELLS = literal([[1, 2], [0, 0], [1, 2]], "int64")
# rows that meet are added; strings, which TensorFlow would join, are not added
_NUMBERS = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "complex64")
CASES = [
    Case("ScatterNd", (_ROWS, real(4, 3), literal([5, 3]))),
    Case("ScatterNd", (_CELLS, real(3), literal([2, 3], "int64"))),
    Case(
        "ScatterNd",
        (literal([[[0], [1]], [[1], [2]]]), real(2, 2, 4), literal([3, 4])),
        dtypes=_NUMBERS,
    ),
]
for _op in "TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin".split():
    CASES += [
        Case(_op, (distinct(5, 3), _ROWS, distinct(4, 3, shift=0.0625))),
        Case(_op, (distinct(2, 3), _CELLS, distinct(3, shift=0.0625))),
    ]
CASES += [
    Case("TensorScatterUpdate", (real(5, 3), literal([[4], [0], [2]]), real(3, 3))),
    Case("ScatterNdNonAliasingAdd", (real(5, 3), _ROWS, real(4, 3))),
    Case("DynamicPartition", (real(5, 3), literal([2, 0, 2, 1, 0])), {"num_partitions": 4}),
    Case("DynamicPartition", (real(2, 3), literal([[1, 0, 1], [0, 0, 1]])), {"num_partitions": 2}),
]
for _op in ("DynamicStitch", "ParallelDynamicStitch"):
    CASES += [
        Case(
            _op,
            ([literal([0, 4]), literal([[1, 3], [2, 0]])], [real(2, 3), real(2, 2, 3)]),
            smooth=_op == "DynamicStitch",  # the other promises nothing of an index that repeats
        ),
        Case(_op, ([literal([5, 4]), literal([[1, 3], [2, 0]])], [real(2, 3), real(2, 2, 3)])),
        Case(_op, ([literal(1), literal([0, 2])], [real(), real(2)])),
    ]
