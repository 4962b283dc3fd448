"""Cases of the sparse family."""

from __future__ import annotations

from typing import Any

from cases.case import Case, Spec, literal, real

_NUMBERS = ("float32", "float64", "int32", "int64")
_FLOATS = ("float32", "float64")
_CELLS = literal([[0, 1], [1, 0], [1, 3], [3, 2]], "int64")
_SHAPE = literal([4, 5], "int64")
_A: tuple[Any, ...] = (_CELLS, real(4), _SHAPE)
_B: tuple[Any, ...] = (literal([[0, 0], [1, 3], [2, 4]], "int64"), real(3), _SHAPE)


def _i64(value: Any) -> Spec:
    return literal(value, "int64")


CASES = [
    Case("SparseToDense", (_CELLS, _SHAPE, real(4), real())),
    Case(
        "SparseToDense",
        (literal([3, 1]), literal([5]), real(), real()),
        {"validate_indices": False},
    ),
    Case("SparseToDense", (literal(3), literal([5]), real(), real())),
    Case("SparseReorder", (_i64([[3, 2], [1, 3], [0, 1], [1, 0]]), real(4), _SHAPE)),
    Case("SparseReshape", (_CELLS, _SHAPE, _i64([2, -1, 5]))),
    Case(
        "SparseConcat", ([_CELLS, _B[0]], [real(4), real(3)], [_SHAPE, _SHAPE]), {"concat_dim": 1}
    ),
    Case(
        "SparseConcat", ([_CELLS, _B[0]], [real(4), real(3)], [_SHAPE, _SHAPE]), {"concat_dim": -2}
    ),
    Case("SparseSplit", (_i64(1), *_A), {"num_split": 2}),
    Case("SparseSlice", (*_A, _i64([1, 0]), _i64([2, 9]))),
    Case(
        "SparseSliceGrad",
        (real(2), _CELLS, _i64([1, 0]), _i64([[0, 0], [0, 3]])),
        dtypes=_FLOATS,
    ),
    Case("SparseFillEmptyRows", (*_A, real())),
    Case("SparseFillEmptyRowsGrad", (_i64([2, 1]), real(4)), dtypes=_FLOATS),
    Case("SparseAdd", (*_A, *_B, literal(0.0, "float32")), dtypes=("float32",)),
    Case("SparseAdd", (*_A, *_B, literal(1.5, "float64")), dtypes=("float64",), smooth=False),
    Case(
        "SparseAddGrad",
        (real(5), _CELLS, _i64([[0, 1], [2, 2]]), _i64([[0, 1], [1, 0], [1, 3], [2, 2], [3, 2]])),
        dtypes=_FLOATS,
    ),
    Case("SparseTensorDenseAdd", (*_A, real(4, 5)), dtypes=_FLOATS),
    Case("SparseDenseCwiseAdd", (*_A, real(5))),
    Case("SparseDenseCwiseMul", (*_A, real(4, 1))),
    Case(
        "SparseDenseCwiseDiv",
        (*_A, real(4, 5, low=1, high=4)),
        dtypes=("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
    ),
    Case("SparseSoftmax", _A, dtypes=_FLOATS),
    Case("SparseSparseMaximum", (*_A, *_B), dtypes=_NUMBERS),
    Case("SparseSparseMinimum", (*_A, *_B), dtypes=_NUMBERS),
    Case("SparseTensorDenseMatMul", (*_A, real(5, 3)), dtypes=("float32", "float64", "complex64")),
    Case(
        "SparseTensorDenseMatMul",
        (*_A, real(3, 4)),
        {"adjoint_a": True, "adjoint_b": True},
        dtypes=("float32", "float64", "complex64"),
    ),
]
for _axes in ([0], [1], [0, 1], [-1], []):
    for _keep in (False, True):
        for _op in ("Sum", "Max"):
            CASES += [
                Case(
                    f"SparseReduce{_op}{_kind}",
                    (*_A, literal(_axes)),
                    {"keep_dims": _keep},
                )
                for _kind in ("", "Sparse")
            ]
_TEXT = literal(
    [b"a", b"b", b"c", b"a much longer feature of some sixty bytes, which is enough so"], "string"
)
CASES += [
    Case(
        "SparseCross",
        (
            [_CELLS, _B[0]],
            [_TEXT, literal([b"d", b"e", b"f"], "string")],
            [_SHAPE, _SHAPE],
            [literal([[b"x"], [b"y"], [b"z"], [b"w"]], "string")],
        ),
        {
            "hashed_output": False,
            "num_buckets": 0,
            "hash_key": 956888297470,
            "out_type": "string",
            "internal_type": "string",
        },
    ),
    Case(
        "SparseCross",
        ([_CELLS, _B[0]], [_TEXT, _i64([7, 8, 9])], [_SHAPE, _SHAPE], []),
        {
            "hashed_output": True,
            "num_buckets": 1000,
            "hash_key": 956888297470,
            "dense_types": [],
            "out_type": "int64",
            "internal_type": "int64",
        },
    ),
    Case("SerializeSparse", _A, dtypes=_NUMBERS, smooth=False, in_tensorflow=False),
    Case("SerializeManySparse", _A, dtypes=_NUMBERS, smooth=False, in_tensorflow=False),
]
for _name in ("a-b", "b-a", "intersection", "union"):
    _attrs = {"set_operation": _name}
    _values = _i64([3, 4, 3, 1])
    CASES += [
        Case(
            "DenseToDenseSetOperation",
            (_i64([[1, 2, 3], [4, 4, 5]]), _i64([[3, 9], [5, 1]])),
            _attrs,
        ),
        Case(
            "DenseToSparseSetOperation",
            (_i64([[1, 3], [3, 1], [2, 2], [1, 0]]), _CELLS, _values, _SHAPE),
            _attrs,
        ),
        Case(
            "SparseToSparseSetOperation",
            (_CELLS, _values, _SHAPE, _B[0], _i64([3, 3, 9]), _SHAPE),
            _attrs,
        ),
    ]
CASES += [
    Case("SetSize", (_CELLS, _i64([3, 4, 4, 1]), _SHAPE)),
    Case("EditDistance", (_CELLS, _i64([1, 2, 3, 4]), _SHAPE, _B[0], _i64([1, 3, 9]), _SHAPE)),
    Case(
        "EditDistance",
        (
            _CELLS,
            _i64([1, 2, 3, 4]),
            _SHAPE,
            _i64([[0, 0], [1, 0], [1, 1]]),
            _i64([1, 2, 9]),
            _SHAPE,
        ),
        {"normalize": False},
    ),
]
