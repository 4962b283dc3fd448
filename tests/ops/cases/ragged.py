"""Cases of the families ragged and boosted_trees."""

from __future__ import annotations

from cases.case import Case, literal, real

_SPLITS = literal([0, 2, 2, 5], "int64")
_INNER = literal([0, 1, 3, 3, 4, 7], "int32")
_ROWIDS = literal([0, 0, 2, 2, 2], "int64")
_ALL = literal(-1, "int64")
CASES = [
    Case(
        "RaggedTensorToTensor",
        (_ALL, real(5), real(), [_SPLITS]),
        {"row_partition_types": ["ROW_SPLITS"]},
    ),
    Case(
        "RaggedTensorToTensor",
        (literal([4, 2], "int32"), real(5), real(), [literal(3, "int64"), _ROWIDS]),
        {"row_partition_types": ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]},
        dtypes=("float32", "string"),
    ),
    Case(
        "RaggedTensorToTensor",
        (
            literal([-1, 4, -1, 2], "int64"),
            real(7, 2),
            real(2),
            [literal([0, 2, 2, 5], "int32"), _INNER],
        ),
        {"row_partition_types": ["ROW_SPLITS", "ROW_SPLITS"]},
        dtypes=("float64", "int32"),
    ),
    Case("RaggedTensorToSparse", ([_SPLITS], real(5))),
    Case(
        "RaggedTensorToSparse",
        ([literal([0, 2, 2, 5], "int32"), _INNER], real(7, 2)),
        dtypes=("float32", "string"),
    ),
    Case("RaggedGather", ([_SPLITS], real(5, 2), literal([2, 0, 2, 1])), {"OUTPUT_RAGGED_RANK": 1}),
    Case(
        "RaggedGather",
        ([literal([0, 2, 2, 5], "int32"), _INNER], real(7), literal([[2, 0], [1, 2]], "int64")),
        {"OUTPUT_RAGGED_RANK": 3},
        dtypes=("float32", "float64"),
    ),
    Case(
        "RaggedGather",
        ([_SPLITS], real(5), literal(2)),
        {"OUTPUT_RAGGED_RANK": 0},
        dtypes=("float32",),
    ),
    Case(
        "RaggedRange",
        (literal([1, 5, 2]), literal([4, 5, -3]), literal([1, 1, -2])),
        smooth=False,
    ),
    Case(
        "RaggedRange",
        (literal(0.5, "float32"), literal([1, 2.5], "float32"), literal(0.1, "float32")),
        {"Tsplits": "int32"},
        smooth=False,
    ),
    Case(
        "RaggedRange",
        (literal(0.5, "float64"), literal(1.7, "float64"), literal(0.1, "float64")),
        smooth=False,
    ),
    Case(
        "RaggedRange",
        (literal([3], "int64"), literal([-8], "int64"), literal([-3], "int64")),
        smooth=False,
    ),
    Case(
        "RaggedRange",
        (literal([1], "bfloat16"), literal([3], "bfloat16"), literal([0.25], "bfloat16")),
        smooth=False,
        in_tensorflow=False,
    ),
    Case(
        "BoostedTreesBucketize",
        (
            [literal([-5.0, 1, 1.5, 3, 9, float("nan")], "float32"), real(6)],
            [literal([1.0, 2, 3], "float32"), literal([0.5], "float32")],
        ),
        smooth=False,
        in_tensorflow=False,  # 2.21 has no kernel; 1.15 gives the same
    ),
]
