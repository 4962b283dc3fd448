"""Invalid sparse tensors: indices out of range or out of order, sizes that differ."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, i64, noise, ramp

OUTSIDE = "TensorFlow computes with an index outside of the shape"
C = i64([[0, 1], [1, 0], [1, 3], [3, 2]])
V = np.float32([1, 2, 3, 4])
S = i64([4, 5])
BAD = i64([[0, 1], [1, 9], [1, 3], [3, 2]])
NEG = i64([[0, 1], [-1, 0], [1, 3], [3, 2]])
B = i64([[0, 0], [1, 3], [2, 4]])
W = np.float32([1, 2, 3])
EDGE_CASES: list[EdgeCase] = []
for bad in (BAD, NEG):
    EDGE_CASES += [
        EdgeCase("SparseSplit", [i64(1), bad, V, S], {"num_split": 2}),
        EdgeCase("SparseSlice", [bad, V, S, i64([0, 0]), i64([4, 9])]),
        EdgeCase("SparseSparseMaximum", [bad, V, S, B, W, S]),
        EdgeCase("SparseSparseMinimum", [B, W, S, bad, V, S]),
        EdgeCase("SetSize", [bad, V.astype(np.int64), S]),
        EdgeCase(
            "SparseToSparseSetOperation",
            [bad, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S],
            {"set_operation": b"a-b"},
        ),
        EdgeCase(
            "DenseToSparseSetOperation",
            [np.ones((4, 5), np.int64), bad, i64([1, 2, 3, 4]), S],
            {"set_operation": b"a-b"},
        ),
        EdgeCase("SparseReorder", [bad, V, S]),
        EdgeCase("SparseReshape", [bad, S, i64([5, 4])], {}, OUTSIDE),
        EdgeCase("SparseSoftmax", [bad, V, S]),
        EdgeCase("SparseReduceSum", [bad, V, S, i32([0])], {}, OUTSIDE),
        EdgeCase("SparseReduceMax", [bad, V, S, i32([0])], {}, OUTSIDE),
        EdgeCase("SparseReduceSumSparse", [bad, V, S, i32([0])]),
        EdgeCase("SparseReduceMaxSparse", [bad, V, S, i32([1])]),
        EdgeCase("SparseDenseCwiseAdd", [bad, V, S, ramp(4, 5)]),
        EdgeCase("SparseDenseCwiseMul", [bad, V, S, ramp(4, 5)]),
        EdgeCase("SparseDenseCwiseDiv", [bad, V, S, ramp(4, 5)]),
        EdgeCase("SparseTensorDenseAdd", [bad, V, S, ramp(4, 5)]),
        EdgeCase("SparseTensorDenseMatMul", [bad, V, S, ramp(5, 2)]),
        EdgeCase("SparseConcat", [[bad, B], [V, W], [S, S]], {"concat_dim": 0}),
        EdgeCase("SparseAdd", [bad, V, S, B, W, S, np.float32(0)]),
        EdgeCase("SparseFillEmptyRows", [bad, V, S, np.float32(0)]),
        EdgeCase("SparseFillEmptyRows", [bad[:, ::-1].copy(), V, S, np.float32(0)]),
        EdgeCase("SparseToDense", [bad, S, V, np.float32(0)]),
        EdgeCase("SparseToDense", [bad, S, V, np.float32(0)], {"validate_indices": False}),
        EdgeCase("SerializeManySparse", [bad, V, S]),
        EdgeCase("SerializeManySparse", [bad[:, ::-1].copy(), V, S]),
        EdgeCase("SerializeSparse", [bad, V, S]),
        EdgeCase(
            "SparseCross",
            [[bad], [i64([1, 2, 3, 4])], [S], []],
            {
                "hashed_output": True,
                "num_buckets": 0,
                "hash_key": 1,
                "out_type": 9,
                "internal_type": 9,
            },
        ),
        EdgeCase(
            "EditDistance", [bad, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S], {"normalize": True}
        ),
    ]
UN = i64([[1, 0], [0, 1], [1, 3], [3, 2]])
EDGE_CASES += [
    EdgeCase("SparseSplit", [i64(1), UN, V, S], {"num_split": 2}),
    EdgeCase("SparseSplit", [i64(-1), C, V, S], {"num_split": 2}),
    EdgeCase("SparseSplit", [i64(2), C, V, S], {"num_split": 2}),
    EdgeCase("SparseSplit", [i64(1), C, V, S], {"num_split": 6}),
    EdgeCase("SparseSplit", [i64([1]), C, V, S], {"num_split": 2}),
    EdgeCase("SparseSplit", [i64([1]), C, V[:3], S], {"num_split": 2}),
    EdgeCase("SparseSlice", [UN, V, S, i64([0, 0]), i64([4, 9])]),
    EdgeCase("SparseSlice", [C, V, S, i64([0, 0]), i64([-1, 9])]),
    EdgeCase("SparseSlice", [C, V, S, i64([-1, 0]), i64([2, 9])]),
    EdgeCase("SparseSlice", [C, V, S, i64([9, 0]), i64([2, 9])]),
    EdgeCase("SparseSlice", [C, V, S, i64([0]), i64([2])]),
    EdgeCase("SparseSlice", [C, V, S, i64(0), i64(2)]),
    EdgeCase("SparseSlice", [C, V, S, i64([[0, 0]]), i64([2, 9])]),
    EdgeCase("SparseSlice", [C, V, S, i64([0, 0]), i64([2])]),
    EdgeCase("SparseSlice", [C, V[:3], S, i64([0, 0]), i64([2, 2])]),
    EdgeCase("SparseSlice", [C, V, i64([4, 5, 6]), i64([0, 0]), i64([2, 2])]),
    EdgeCase("SparseSparseMaximum", [UN, V, S, B, W, S]),
    EdgeCase("SparseSparseMaximum", [C, V, S, B, W, i64([4, 6])]),
    EdgeCase("SparseSparseMaximum", [C, V, S, B, W, i64([4])]),
    EdgeCase("SparseSparseMaximum", [C, V[:3], S, B, W, S]),
    EdgeCase("SparseSparseMaximum", [C, V, i64([4, 5, 6]), B, W, S]),
    EdgeCase("SparseSparseMaximum", [i64([[0, 1], [0, 1]]), V[:2], S, B, W, S]),
    EdgeCase("SetSize", [UN, V.astype(np.int64), S]),
    EdgeCase("SetSize", [C, V.astype(np.int64), i64([4])]),
    EdgeCase("SetSize", [C, V.astype(np.int64), i64([4, 5, 6])]),
    EdgeCase("SetSize", [C, i64([1, 2, 3]), S]),
    EdgeCase("SetSize", [UN, V.astype(np.int64), S], {"validate_indices": False}),
    EdgeCase("SetSize", [i64([[0], [1]]), i64([1, 1]), i64([4])]),
    EdgeCase("SetSize", [i64([[0, 1], [0, 1]]), i64([1, 1]), S]),
    EdgeCase("SparseReorder", [UN, V, S]),
    EdgeCase("SparseReorder", [UN, V[:2], S]),
    EdgeCase("SparseReorder", [UN, V, i64([4])]),
    EdgeCase("SparseSoftmax", [UN, V, S]),
    EdgeCase("SparseSoftmax", [C[:, :1], V, S[:1]]),
    EdgeCase("SparseSoftmax", [C, V[:3], S]),
    EdgeCase("SparseReduceSum", [UN, V, S, i32([0])]),
    EdgeCase("SparseReduceSum", [C, V, S, i32([2])]),
    EdgeCase("SparseReduceSum", [C, V, S, i32([-3])]),
    EdgeCase("SparseReduceSum", [C, V, S, i32([0, 0])]),
    EdgeCase("SparseReduceSum", [C, V, S, i32([[0]])]),
    EdgeCase("SparseReduceMax", [UN, V, S, i32([1])]),
    EdgeCase("SparseReduceSum", [C, V[:3], S, i32([0])]),
    EdgeCase("SparseReduceSum", [C, V, S[:1], i32([0])]),
    EdgeCase("SparseDenseCwiseAdd", [C, V, S, ramp(3, 5)]),
    EdgeCase("SparseDenseCwiseAdd", [C, V, S, ramp(2, 4, 5)]),
    EdgeCase("SparseDenseCwiseAdd", [C, V, S, ramp()]),
    EdgeCase("SparseDenseCwiseAdd", [C, V, S, ramp(1)]),
    EdgeCase("SparseDenseCwiseAdd", [UN, V, S, ramp(4, 5)]),
    EdgeCase("SparseDenseCwiseAdd", [C, V[:3], S, ramp(4, 5)]),
    EdgeCase("SparseTensorDenseAdd", [C, V, S, ramp(4, 1)]),
    EdgeCase("SparseTensorDenseAdd", [UN, V, S, ramp(4, 5)]),
    EdgeCase("SparseTensorDenseAdd", [C, V[:2], S, ramp(4, 5)]),
    EdgeCase("SparseConcat", [[C, B], [V, W], [S, i64([4, 6])]], {"concat_dim": 0}),
    EdgeCase("SparseConcat", [[C, B], [V, W], [S, i64([4, 6])]], {"concat_dim": 1}),
    EdgeCase("SparseConcat", [[C, B], [V, W], [S, S]], {"concat_dim": 2}),
    EdgeCase("SparseConcat", [[C, B], [V, W], [S, S]], {"concat_dim": -3}),
    EdgeCase("SparseConcat", [[UN, B], [V, W], [S, S]], {"concat_dim": 0}),
    EdgeCase("SparseConcat", [[C, B], [V[:2], W], [S, S]], {"concat_dim": 0}),
    EdgeCase("SparseAdd", [UN, V, S, B, W, S, np.float32(0)]),
    EdgeCase("SparseAdd", [C, V, S, B, W, i64([4, 6]), np.float32(0)]),
    EdgeCase("SparseAdd", [C, V[:2], S, B, W, S, np.float32(0)]),
    EdgeCase("SparseAdd", [C, V, S, B, W, S, np.float32([0])]),
    EdgeCase("SparseAdd", [i64([[0, 1], [0, 1]]), V[:2], S, B, W, S, np.float32(0)]),
    EdgeCase("SparseAddGrad", [ramp(5), C, B, i64([[0, 0], [0, 1], [1, 0], [1, 3], [2, 4]])]),
    EdgeCase(
        "SparseAddGrad", [ramp(6), C, B, i64([[0, 0], [0, 1], [1, 0], [1, 3], [2, 4], [3, 2]])]
    ),
    EdgeCase("SparseAddGrad", [ramp(2), C, B, i64([[0, 0], [0, 1]])]),
    EdgeCase("SparseAddGrad", [ramp(2), C, B[:, :1], i64([[0, 0], [0, 1]])]),
    EdgeCase("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0, 0], [0, 3]])]),
    EdgeCase("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0, 0], [0, 4]])]),
    EdgeCase("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0, 3], [0, 0]])]),
    EdgeCase("SparseSliceGrad", [ramp(3), C, i64([1, 0]), i64([[0, 0], [0, 3]])]),
    EdgeCase("SparseSliceGrad", [ramp(2), C, i64([1]), i64([[0, 0], [0, 3]])]),
    EdgeCase("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0], [0]])]),
    EdgeCase("SparseSliceGrad", [ramp(0), C, i64([1, 0]), np.zeros((0, 2), np.int64)]),
    EdgeCase("SparseToDense", [UN, S, V, np.float32(0)]),
    EdgeCase("SparseToDense", [UN, S, V, np.float32(0)], {"validate_indices": False}),
    EdgeCase("SparseToDense", [C, S, V[:2], np.float32(0)]),
    EdgeCase("SparseToDense", [C, S, V, np.float32([0])]),
    EdgeCase("SparseToDense", [C, S, ramp(1), np.float32(0)]),
    EdgeCase("SparseToDense", [C, S, ramp(1, 4), np.float32(0)]),
    EdgeCase("SparseToDense", [C, i64([4]), V, np.float32(0)]),
    EdgeCase("SparseToDense", [C, i64([[4, 5]]), V, np.float32(0)]),
    EdgeCase("SparseToDense", [C, i64([4, -5]), V, np.float32(0)]),
    EdgeCase("SparseToDense", [i64(3), i64([4, 5]), ramp(), np.float32(0)]),
    EdgeCase("SparseToDense", [i64([0, 1]), i64([4]), ramp(), np.float32(0)]),
    EdgeCase("SparseToDense", [i64([0, 1]), i64(4), ramp(), np.float32(0)]),
    EdgeCase("SparseToDense", [i64([0, 0]), i64([4]), ramp(2), np.float32(0)]),
    EdgeCase(
        "SparseToDense",
        [i64([0, 0]), i64([4]), ramp(2), np.float32(0)],
        {"validate_indices": False},
    ),
    EdgeCase("SparseToDense", [np.zeros((1, 2, 2), np.int64), S, ramp(2), np.float32(0)]),
    EdgeCase("SerializeManySparse", [UN, V, S]),
    EdgeCase("SerializeManySparse", [i64([[3, 0], [0, 1], [1, 3], [3, 2]]), V, S]),
    EdgeCase("SerializeManySparse", [C[:, :1], V, S[:1]]),
    EdgeCase("SerializeManySparse", [C, V[:3], S]),
    EdgeCase("SerializeManySparse", [C, V, i64([4])]),
    EdgeCase("SerializeManySparse", [C, V, i64([0, 5])]),
    EdgeCase("SerializeManySparse", [C[:0], V[:0], i64([0, 5])]),
    EdgeCase("SerializeManySparse", [C[:0], V[:0], i64([2, 5])]),
    EdgeCase("SerializeManySparse", [C, i64([1, 2, 3, 4]), S]),
    EdgeCase("SerializeManySparse", [C, i64([1, 1, 1, 1]), S]),
    EdgeCase("SerializeManySparse", [C, np.array([True, True, False, True]), S]),
    EdgeCase("SerializeSparse", [C, V[:3], S]),
    EdgeCase("SerializeSparse", [C, V, i64([4])]),
    EdgeCase("SparseTensorDenseMatMul", [C, V, S, ramp(4, 2)]),
    EdgeCase("SparseTensorDenseMatMul", [C, V[:2], S, ramp(5, 2)]),
    EdgeCase("SparseTensorDenseMatMul", [C, V, i64([4, 5, 6]), ramp(5, 2)]),
    EdgeCase(
        "SparseCross",
        [[UN], [i64([1, 2, 3, 4])], [S], []],
        {"hashed_output": True, "num_buckets": 0, "hash_key": 1, "out_type": 9, "internal_type": 9},
    ),
    EdgeCase("SparseFillEmptyRows", [UN, V, S, np.float32(0)]),
    EdgeCase("SparseFillEmptyRows", [C, V[:2], S, np.float32(0)]),
    EdgeCase("SparseFillEmptyRows", [C, V, S, np.float32([0])]),
    EdgeCase("SparseFillEmptyRows", [C, V, i64([0, 5]), np.float32(0)]),
    EdgeCase("SparseFillEmptyRows", [C[:0], V[:0], i64([0, 5]), np.float32(0)]),
    EdgeCase("SparseFillEmptyRows", [C, V, i64([4]), np.float32(0)]),
    EdgeCase("SparseFillEmptyRowsGrad", [i64([2, 1]), ramp(4)]),
    EdgeCase("SparseFillEmptyRowsGrad", [i64([2, 9]), ramp(4)]),
    EdgeCase("SparseFillEmptyRowsGrad", [i64([2, -1]), ramp(4)]),
    EdgeCase("SparseFillEmptyRowsGrad", [i64([[2, 1]]), ramp(4)]),
    EdgeCase("SparseFillEmptyRowsGrad", [i64([2, 1]), ramp(4, 1)]),
    EdgeCase("SparseFillEmptyRowsGrad", [i64([2, 2]), ramp(4)]),
    EdgeCase("SparseReshape", [C, S, i64([2, -1, 5])]),
    EdgeCase("SparseReshape", [C, S, i64([-1, -1, 5])]),
    EdgeCase("SparseReshape", [C, S, i64([7, -1])]),
    EdgeCase("SparseReshape", [C, i64([4]), i64([2, 2])]),
    EdgeCase("SparseReshape", [C, S, i64([[5, 4]])]),
    EdgeCase("SparseReshape", [C[:0], i64([0, 5]), i64([-1, 0])]),
    EdgeCase("SparseReshape", [C[:0], i64([0, 5]), i64([0, -1])]),
    EdgeCase("SparseReshape", [C[:0], i64([0, 5]), i64([3, -1])]),
    EdgeCase("EditDistance", [UN, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S], {"normalize": True}),
    EdgeCase(
        "EditDistance", [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([4])], {"normalize": True}
    ),
    EdgeCase(
        "EditDistance",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([3, 5])],
        {"normalize": True},
    ),
    EdgeCase("EditDistance", [C, i64([1, 2, 3]), S, B, i64([1, 2, 3]), S], {"normalize": True}),
    EdgeCase("EditDistance", [C, i64([1, 2, 3, 4]), S, C[:0], i64([]), S], {"normalize": True}),
    EdgeCase(
        "SparseToSparseSetOperation",
        [UN, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S],
        {"set_operation": b"a-b"},
    ),
    EdgeCase(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([3, 5])],
        {"set_operation": b"union"},
    ),
    EdgeCase(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([4, 7])],
        {"set_operation": b"union"},
    ),
    EdgeCase(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), i64([4, -1]), B, i64([1, 2, 3]), i64([4, 7])],
        {"set_operation": b"union"},
    ),
    EdgeCase(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S],
        {"set_operation": b"weird"},
    ),
    EdgeCase(
        "DenseToDenseSetOperation",
        [i64([[1, 2], [3, 4]]), i64([[1, 2, 3]])],
        {"set_operation": b"union"},
    ),
    EdgeCase("DenseToDenseSetOperation", [i64([1, 2]), i64([1, 3])], {"set_operation": b"union"}),
    EdgeCase(
        "DenseToDenseSetOperation", [i64([[1, 2]]), i64([[1, 2, 3]])], {"set_operation": b"A-B"}
    ),
    EdgeCase(
        "DenseToSparseSetOperation",
        [np.ones((3, 5), np.int64), C, i64([1, 2, 3, 4]), S],
        {"set_operation": b"a-b"},
    ),
]

# Sorted and not: what is kept of input that is out of order, sizes below zero, sums that overflow.
UNSORTED = C[::-1].copy()
TWICE = i64([[0, 1], [0, 1], [1, 3], [3, 2]])
for cells in (C, UNSORTED, TWICE):
    for start, size in (
        ([0, 0], [4, 5]),
        ([0, 0], [2, 4]),
        ([1, 0], [3, 4]),
        ([1, 2], [9, 9]),
        ([-1, 0], [3, 4]),
    ):
        EDGE_CASES.append(EdgeCase("SparseSlice", [cells, V, S, i64(start), i64(size)]))
    EDGE_CASES.append(EdgeCase("SparseAdd", [cells, V, S, B, W, S, np.float32(0)]))
    EDGE_CASES.append(
        EdgeCase(
            "SparseAddGrad",
            [np.float32([1, 2, 3, 4]), cells, B, i64([[0, 1], [1, 0], [1, 3], [3, 2]])],
        )
    )
    EDGE_CASES.append(EdgeCase("SparseAddGrad", [np.float32([1, 2, 3, 4]), C, B, cells]))
    EDGE_CASES.append(EdgeCase("SparseConcat", [[cells, B], [V, W], [S, S]], {"concat_dim": 1}))
EDGE_CASES.append(EdgeCase("SparseConcat", [[C, B], [V, W], [S, i64([-1, 5])]], {"concat_dim": 0}))
EDGE_CASES.append(EdgeCase("SparseConcat", [[C, B], [V, W], [S, i64([4, 6])]], {"concat_dim": 0}))
for shape in ([-1, 5], [4, -3]):
    for op in (
        "SparseReduceSum",
        "SparseReduceMax",
        "SparseReduceSumSparse",
        "SparseReduceMaxSparse",
    ):
        EDGE_CASES.append(EdgeCase(op, [C, V, i64(shape), i32([1])]))
    EDGE_CASES.append(EdgeCase("SparseSplit", [i64(1), C, V, i64(shape)], {"num_split": 2}))
for split in (0, -1, 6, 5):
    EDGE_CASES.append(EdgeCase("SparseSplit", [i64(1), C, V, S], {"num_split": split}))
TEXTS = np.array([b"a", b"b", b"c", b"d"], object)
CROSS = {"hashed_output": False, "num_buckets": 0, "hash_key": 1, "out_type": 7, "internal_type": 7}
for values, shape in (
    (TEXTS, S),
    (TEXTS[:2], S),
    (TEXTS, i64([4])),
    (TEXTS, i64([4, 5, 6])),
    (TEXTS, i64([3, 5])),
):
    EDGE_CASES.append(
        EdgeCase(
            "SparseCross",
            [[C], [values], [shape], [np.array([[b"x"], [b"y"], [b"z"], [b"w"]], object)]],
            CROSS,
        )
    )
for op in ("Sum", "Mean", "SqrtN"):
    for dim0 in (0, 4, -1):
        for ids in ([0, 0, 1, 3, 3],):
            for at in ([5, 0, 0, 3, 1], [3, 0, 0, 3, 1], [-1, 0, 0, 3, 1]):
                EDGE_CASES.append(
                    EdgeCase(f"SparseSegment{op}Grad", [noise(4, 3), i32(at), i32(ids), i32(dim0)])
                )
EDGE_CASES.append(
    EdgeCase("SparseSlice", [i64([[1, 3], [3, 3], [3, 4], [4, 5]]), V, S, i64([4, 4]), i64([2, 9])])
)
for op in ("Sum", "Mean", "SqrtN"):
    for dim0 in (0, 6):
        of = [noise(4, 3), i32([5, 0, 0, 3, 1]), i32([0, 0, 1, 3, 3]), i32(dim0)]
        EDGE_CASES.append(EdgeCase(f"SparseSegment{op}GradV2", of))

# Distances of sequences in shapes below 0 and of none.
for shape, other in (([-100, 2], [2, 2]), ([1, 2], [1, -100]), ([0, 0], [0, 0]), ([1, 2], [1, 2])):
    for n in (0, 1):
        one = [np.zeros((n, 2), np.int64), np.ones(n, np.int64)]
        EDGE_CASES.append(EdgeCase("EditDistance", [*one, i64(shape), *one, i64(other)]))
