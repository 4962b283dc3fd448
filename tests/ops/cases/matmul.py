"""Cases of the matmul family."""

from __future__ import annotations

from cases.case import Case, real

CASES = [
    Case("MatMul", (real(*a), real(*b)), {"transpose_a": ta, "transpose_b": tb})
    for a, b, ta, tb in [
        ((3, 4), (4, 5), False, False),
        ((4, 3), (4, 5), True, False),
        ((3, 4), (5, 4), False, True),
        ((4, 3), (5, 4), True, True),
        ((65, 33), (33, 17), False, False),
        ((1, 1), (1, 1), False, False),
        ((3, 0), (0, 5), False, False),
        ((0, 4), (4, 5), False, False),
    ]
]
CASES += [
    Case(
        "SparseMatMul",
        (real(3, 4), real(4, 5)),
        {"a_is_sparse": True},
        dtypes=("float32", "bfloat16"),
    )
]
for _op in ("BatchMatMul", "BatchMatMulV2"):
    CASES += [
        Case(_op, (real(2, 3, 4), real(2, 4, 5))),
        Case(_op, (real(2, 2, 4, 3), real(2, 2, 4, 5)), {"adj_x": True}),
        Case(_op, (real(2, 3, 4), real(2, 5, 4)), {"adj_y": True}),
        Case(_op, (real(0, 3, 4), real(0, 4, 5))),
        Case(_op, (real(7, 9), real(9, 11))),
    ]
CASES += [
    Case("BatchMatMulV2", (real(2, 1, 3, 4), real(5, 4, 2))),
    Case("BatchMatMulV2", (real(3, 4), real(6, 4, 2))),
    Case("BatchMatMulV2", (real(1, 4, 3), real(3, 2, 4)), {"adj_x": True, "adj_y": True}),
    Case("BatchMatMulV3", (real(2, 3, 4), real(4, 5)), {"Tout": "float32"}, dtypes=("float32",)),
    Case("BatchMatMulV3", (real(2, 3, 4), real(4, 5)), {"Tout": "int32"}, dtypes=("int8",)),
]
_NUMBERS = ("float32", "float64", "complex64", "int32")
CASES += [
    Case(
        "Einsum",
        ([real(*shape) for shape in shapes],),
        {"equation": equation},
        dtypes=_NUMBERS,
    )
    for equation, shapes in [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("i...,...j->j...", [(2, 3, 1), (3, 4, 2)]),
        ("...i->...", [(2, 3, 4)]),
        ("ijj,ik->k", [(2, 3, 3), (2, 4)]),
        ("i...i->...", [(3, 2, 3)]),
        ("ij->ji", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ii->i", [(4, 4)]),
        ("abc,cd->abd", [(2, 3, 4), (4, 5)]),
        ("bhwc,hkc->bwhk", [(2, 3, 4, 5), (3, 6, 5)]),
    ]
]
CASES += [
    Case(
        "_FusedMatMul",
        (real(3, 4), real(4, 5), [real(5)]),
        {"fused_ops": [b"BiasAdd", *activation]},
        dtypes=("float32", "float64", "float16", "bfloat16"),
        smooth=False,
        in_tensorflow=False,  # recorded results are of public ops
    )
    for activation in ([], [b"Relu"], [b"LeakyRelu"])
]
