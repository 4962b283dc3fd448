"""Sparse tensors that are none: indices outside or out of order, sizes that differ."""

from __future__ import annotations

import numpy as np

from edges import Edge, i32, i64, noise, ramp

OUTSIDE = "TensorFlow computes with an index outside of the shape"
C = i64([[0, 1], [1, 0], [1, 3], [3, 2]])
V = np.float32([1, 2, 3, 4])
S = i64([4, 5])
BAD = i64([[0, 1], [1, 9], [1, 3], [3, 2]])
NEG = i64([[0, 1], [-1, 0], [1, 3], [3, 2]])
B = i64([[0, 0], [1, 3], [2, 4]])
W = np.float32([1, 2, 3])
EDGES: list[Edge] = []
for bad in (BAD, NEG):
    EDGES += [
        Edge("SparseSplit", [i64(1), bad, V, S], {"num_split": 2}),
        Edge("SparseSlice", [bad, V, S, i64([0, 0]), i64([4, 9])]),
        Edge("SparseSparseMaximum", [bad, V, S, B, W, S]),
        Edge("SparseSparseMinimum", [B, W, S, bad, V, S]),
        Edge("SetSize", [bad, V.astype(np.int64), S]),
        Edge(
            "SparseToSparseSetOperation",
            [bad, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S],
            {"set_operation": b"a-b"},
        ),
        Edge(
            "DenseToSparseSetOperation",
            [np.ones((4, 5), np.int64), bad, i64([1, 2, 3, 4]), S],
            {"set_operation": b"a-b"},
        ),
        Edge("SparseReorder", [bad, V, S]),
        Edge("SparseReshape", [bad, S, i64([5, 4])], {}, OUTSIDE),
        Edge("SparseSoftmax", [bad, V, S]),
        Edge("SparseReduceSum", [bad, V, S, i32([0])], {}, OUTSIDE),
        Edge("SparseReduceMax", [bad, V, S, i32([0])], {}, OUTSIDE),
        Edge("SparseReduceSumSparse", [bad, V, S, i32([0])]),
        Edge("SparseReduceMaxSparse", [bad, V, S, i32([1])]),
        Edge("SparseDenseCwiseAdd", [bad, V, S, ramp(4, 5)]),
        Edge("SparseDenseCwiseMul", [bad, V, S, ramp(4, 5)]),
        Edge("SparseDenseCwiseDiv", [bad, V, S, ramp(4, 5)]),
        Edge("SparseTensorDenseAdd", [bad, V, S, ramp(4, 5)]),
        Edge("SparseTensorDenseMatMul", [bad, V, S, ramp(5, 2)]),
        Edge("SparseConcat", [[bad, B], [V, W], [S, S]], {"concat_dim": 0}),
        Edge("SparseAdd", [bad, V, S, B, W, S, np.float32(0)]),
        Edge("SparseFillEmptyRows", [bad, V, S, np.float32(0)]),
        Edge("SparseFillEmptyRows", [bad[:, ::-1].copy(), V, S, np.float32(0)]),
        Edge("SparseToDense", [bad, S, V, np.float32(0)]),
        Edge("SparseToDense", [bad, S, V, np.float32(0)], {"validate_indices": False}),
        Edge("SerializeManySparse", [bad, V, S]),
        Edge("SerializeManySparse", [bad[:, ::-1].copy(), V, S]),
        Edge("SerializeSparse", [bad, V, S]),
        Edge(
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
        Edge(
            "EditDistance", [bad, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S], {"normalize": True}
        ),
    ]
UN = i64([[1, 0], [0, 1], [1, 3], [3, 2]])
EDGES += [
    Edge("SparseSplit", [i64(1), UN, V, S], {"num_split": 2}),
    Edge("SparseSplit", [i64(-1), C, V, S], {"num_split": 2}),
    Edge("SparseSplit", [i64(2), C, V, S], {"num_split": 2}),
    Edge("SparseSplit", [i64(1), C, V, S], {"num_split": 6}),
    Edge("SparseSplit", [i64([1]), C, V, S], {"num_split": 2}),
    Edge("SparseSplit", [i64([1]), C, V[:3], S], {"num_split": 2}),
    Edge("SparseSlice", [UN, V, S, i64([0, 0]), i64([4, 9])]),
    Edge("SparseSlice", [C, V, S, i64([0, 0]), i64([-1, 9])]),
    Edge("SparseSlice", [C, V, S, i64([-1, 0]), i64([2, 9])]),
    Edge("SparseSlice", [C, V, S, i64([9, 0]), i64([2, 9])]),
    Edge("SparseSlice", [C, V, S, i64([0]), i64([2])]),
    Edge("SparseSlice", [C, V, S, i64(0), i64(2)]),
    Edge("SparseSlice", [C, V, S, i64([[0, 0]]), i64([2, 9])]),
    Edge("SparseSlice", [C, V, S, i64([0, 0]), i64([2])]),
    Edge("SparseSlice", [C, V[:3], S, i64([0, 0]), i64([2, 2])]),
    Edge("SparseSlice", [C, V, i64([4, 5, 6]), i64([0, 0]), i64([2, 2])]),
    Edge("SparseSparseMaximum", [UN, V, S, B, W, S]),
    Edge("SparseSparseMaximum", [C, V, S, B, W, i64([4, 6])]),
    Edge("SparseSparseMaximum", [C, V, S, B, W, i64([4])]),
    Edge("SparseSparseMaximum", [C, V[:3], S, B, W, S]),
    Edge("SparseSparseMaximum", [C, V, i64([4, 5, 6]), B, W, S]),
    Edge("SparseSparseMaximum", [i64([[0, 1], [0, 1]]), V[:2], S, B, W, S]),
    Edge("SetSize", [UN, V.astype(np.int64), S]),
    Edge("SetSize", [C, V.astype(np.int64), i64([4])]),
    Edge("SetSize", [C, V.astype(np.int64), i64([4, 5, 6])]),
    Edge("SetSize", [C, i64([1, 2, 3]), S]),
    Edge("SetSize", [UN, V.astype(np.int64), S], {"validate_indices": False}),
    Edge("SetSize", [i64([[0], [1]]), i64([1, 1]), i64([4])]),
    Edge("SetSize", [i64([[0, 1], [0, 1]]), i64([1, 1]), S]),
    Edge("SparseReorder", [UN, V, S]),
    Edge("SparseReorder", [UN, V[:2], S]),
    Edge("SparseReorder", [UN, V, i64([4])]),
    Edge("SparseSoftmax", [UN, V, S]),
    Edge("SparseSoftmax", [C[:, :1], V, S[:1]]),
    Edge("SparseSoftmax", [C, V[:3], S]),
    Edge("SparseReduceSum", [UN, V, S, i32([0])]),
    Edge("SparseReduceSum", [C, V, S, i32([2])]),
    Edge("SparseReduceSum", [C, V, S, i32([-3])]),
    Edge("SparseReduceSum", [C, V, S, i32([0, 0])]),
    Edge("SparseReduceSum", [C, V, S, i32([[0]])]),
    Edge("SparseReduceMax", [UN, V, S, i32([1])]),
    Edge("SparseReduceSum", [C, V[:3], S, i32([0])]),
    Edge("SparseReduceSum", [C, V, S[:1], i32([0])]),
    Edge("SparseDenseCwiseAdd", [C, V, S, ramp(3, 5)]),
    Edge("SparseDenseCwiseAdd", [C, V, S, ramp(2, 4, 5)]),
    Edge("SparseDenseCwiseAdd", [C, V, S, ramp()]),
    Edge("SparseDenseCwiseAdd", [C, V, S, ramp(1)]),
    Edge("SparseDenseCwiseAdd", [UN, V, S, ramp(4, 5)]),
    Edge("SparseDenseCwiseAdd", [C, V[:3], S, ramp(4, 5)]),
    Edge("SparseTensorDenseAdd", [C, V, S, ramp(4, 1)]),
    Edge("SparseTensorDenseAdd", [UN, V, S, ramp(4, 5)]),
    Edge("SparseTensorDenseAdd", [C, V[:2], S, ramp(4, 5)]),
    Edge("SparseConcat", [[C, B], [V, W], [S, i64([4, 6])]], {"concat_dim": 0}),
    Edge("SparseConcat", [[C, B], [V, W], [S, i64([4, 6])]], {"concat_dim": 1}),
    Edge("SparseConcat", [[C, B], [V, W], [S, S]], {"concat_dim": 2}),
    Edge("SparseConcat", [[C, B], [V, W], [S, S]], {"concat_dim": -3}),
    Edge("SparseConcat", [[UN, B], [V, W], [S, S]], {"concat_dim": 0}),
    Edge("SparseConcat", [[C, B], [V[:2], W], [S, S]], {"concat_dim": 0}),
    Edge("SparseAdd", [UN, V, S, B, W, S, np.float32(0)]),
    Edge("SparseAdd", [C, V, S, B, W, i64([4, 6]), np.float32(0)]),
    Edge("SparseAdd", [C, V[:2], S, B, W, S, np.float32(0)]),
    Edge("SparseAdd", [C, V, S, B, W, S, np.float32([0])]),
    Edge("SparseAdd", [i64([[0, 1], [0, 1]]), V[:2], S, B, W, S, np.float32(0)]),
    Edge("SparseAddGrad", [ramp(5), C, B, i64([[0, 0], [0, 1], [1, 0], [1, 3], [2, 4]])]),
    Edge("SparseAddGrad", [ramp(6), C, B, i64([[0, 0], [0, 1], [1, 0], [1, 3], [2, 4], [3, 2]])]),
    Edge("SparseAddGrad", [ramp(2), C, B, i64([[0, 0], [0, 1]])]),
    Edge("SparseAddGrad", [ramp(2), C, B[:, :1], i64([[0, 0], [0, 1]])]),
    Edge("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0, 0], [0, 3]])]),
    Edge("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0, 0], [0, 4]])]),
    Edge("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0, 3], [0, 0]])]),
    Edge("SparseSliceGrad", [ramp(3), C, i64([1, 0]), i64([[0, 0], [0, 3]])]),
    Edge("SparseSliceGrad", [ramp(2), C, i64([1]), i64([[0, 0], [0, 3]])]),
    Edge("SparseSliceGrad", [ramp(2), C, i64([1, 0]), i64([[0], [0]])]),
    Edge("SparseSliceGrad", [ramp(0), C, i64([1, 0]), np.zeros((0, 2), np.int64)]),
    Edge("SparseToDense", [UN, S, V, np.float32(0)]),
    Edge("SparseToDense", [UN, S, V, np.float32(0)], {"validate_indices": False}),
    Edge("SparseToDense", [C, S, V[:2], np.float32(0)]),
    Edge("SparseToDense", [C, S, V, np.float32([0])]),
    Edge("SparseToDense", [C, S, ramp(1), np.float32(0)]),
    Edge("SparseToDense", [C, S, ramp(1, 4), np.float32(0)]),
    Edge("SparseToDense", [C, i64([4]), V, np.float32(0)]),
    Edge("SparseToDense", [C, i64([[4, 5]]), V, np.float32(0)]),
    Edge("SparseToDense", [C, i64([4, -5]), V, np.float32(0)]),
    Edge("SparseToDense", [i64(3), i64([4, 5]), ramp(), np.float32(0)]),
    Edge("SparseToDense", [i64([0, 1]), i64([4]), ramp(), np.float32(0)]),
    Edge("SparseToDense", [i64([0, 1]), i64(4), ramp(), np.float32(0)]),
    Edge("SparseToDense", [i64([0, 0]), i64([4]), ramp(2), np.float32(0)]),
    Edge(
        "SparseToDense",
        [i64([0, 0]), i64([4]), ramp(2), np.float32(0)],
        {"validate_indices": False},
    ),
    Edge("SparseToDense", [np.zeros((1, 2, 2), np.int64), S, ramp(2), np.float32(0)]),
    Edge("SerializeManySparse", [UN, V, S]),
    Edge("SerializeManySparse", [i64([[3, 0], [0, 1], [1, 3], [3, 2]]), V, S]),
    Edge("SerializeManySparse", [C[:, :1], V, S[:1]]),
    Edge("SerializeManySparse", [C, V[:3], S]),
    Edge("SerializeManySparse", [C, V, i64([4])]),
    Edge("SerializeManySparse", [C, V, i64([0, 5])]),
    Edge("SerializeManySparse", [C[:0], V[:0], i64([0, 5])]),
    Edge("SerializeManySparse", [C[:0], V[:0], i64([2, 5])]),
    Edge("SerializeManySparse", [C, i64([1, 2, 3, 4]), S]),
    Edge("SerializeManySparse", [C, i64([1, 1, 1, 1]), S]),
    Edge("SerializeManySparse", [C, np.array([True, True, False, True]), S]),
    Edge("SerializeSparse", [C, V[:3], S]),
    Edge("SerializeSparse", [C, V, i64([4])]),
    Edge("SparseTensorDenseMatMul", [C, V, S, ramp(4, 2)]),
    Edge("SparseTensorDenseMatMul", [C, V[:2], S, ramp(5, 2)]),
    Edge("SparseTensorDenseMatMul", [C, V, i64([4, 5, 6]), ramp(5, 2)]),
    Edge(
        "SparseCross",
        [[UN], [i64([1, 2, 3, 4])], [S], []],
        {"hashed_output": True, "num_buckets": 0, "hash_key": 1, "out_type": 9, "internal_type": 9},
    ),
    Edge("SparseFillEmptyRows", [UN, V, S, np.float32(0)]),
    Edge("SparseFillEmptyRows", [C, V[:2], S, np.float32(0)]),
    Edge("SparseFillEmptyRows", [C, V, S, np.float32([0])]),
    Edge("SparseFillEmptyRows", [C, V, i64([0, 5]), np.float32(0)]),
    Edge("SparseFillEmptyRows", [C[:0], V[:0], i64([0, 5]), np.float32(0)]),
    Edge("SparseFillEmptyRows", [C, V, i64([4]), np.float32(0)]),
    Edge("SparseFillEmptyRowsGrad", [i64([2, 1]), ramp(4)]),
    Edge("SparseFillEmptyRowsGrad", [i64([2, 9]), ramp(4)]),
    Edge("SparseFillEmptyRowsGrad", [i64([2, -1]), ramp(4)]),
    Edge("SparseFillEmptyRowsGrad", [i64([[2, 1]]), ramp(4)]),
    Edge("SparseFillEmptyRowsGrad", [i64([2, 1]), ramp(4, 1)]),
    Edge("SparseFillEmptyRowsGrad", [i64([2, 2]), ramp(4)]),
    Edge("SparseReshape", [C, S, i64([2, -1, 5])]),
    Edge("SparseReshape", [C, S, i64([-1, -1, 5])]),
    Edge("SparseReshape", [C, S, i64([7, -1])]),
    Edge("SparseReshape", [C, i64([4]), i64([2, 2])]),
    Edge("SparseReshape", [C, S, i64([[5, 4]])]),
    Edge("SparseReshape", [C[:0], i64([0, 5]), i64([-1, 0])]),
    Edge("SparseReshape", [C[:0], i64([0, 5]), i64([0, -1])]),
    Edge("SparseReshape", [C[:0], i64([0, 5]), i64([3, -1])]),
    Edge("EditDistance", [UN, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S], {"normalize": True}),
    Edge(
        "EditDistance", [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([4])], {"normalize": True}
    ),
    Edge(
        "EditDistance",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([3, 5])],
        {"normalize": True},
    ),
    Edge("EditDistance", [C, i64([1, 2, 3]), S, B, i64([1, 2, 3]), S], {"normalize": True}),
    Edge("EditDistance", [C, i64([1, 2, 3, 4]), S, C[:0], i64([]), S], {"normalize": True}),
    Edge(
        "SparseToSparseSetOperation",
        [UN, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S],
        {"set_operation": b"a-b"},
    ),
    Edge(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([3, 5])],
        {"set_operation": b"union"},
    ),
    Edge(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), i64([4, 7])],
        {"set_operation": b"union"},
    ),
    Edge(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), i64([4, -1]), B, i64([1, 2, 3]), i64([4, 7])],
        {"set_operation": b"union"},
    ),
    Edge(
        "SparseToSparseSetOperation",
        [C, i64([1, 2, 3, 4]), S, B, i64([1, 2, 3]), S],
        {"set_operation": b"weird"},
    ),
    Edge(
        "DenseToDenseSetOperation",
        [i64([[1, 2], [3, 4]]), i64([[1, 2, 3]])],
        {"set_operation": b"union"},
    ),
    Edge("DenseToDenseSetOperation", [i64([1, 2]), i64([1, 3])], {"set_operation": b"union"}),
    Edge("DenseToDenseSetOperation", [i64([[1, 2]]), i64([[1, 2, 3]])], {"set_operation": b"A-B"}),
    Edge(
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
        EDGES.append(Edge("SparseSlice", [cells, V, S, i64(start), i64(size)]))
    EDGES.append(Edge("SparseAdd", [cells, V, S, B, W, S, np.float32(0)]))
    EDGES.append(
        Edge(
            "SparseAddGrad",
            [np.float32([1, 2, 3, 4]), cells, B, i64([[0, 1], [1, 0], [1, 3], [3, 2]])],
        )
    )
    EDGES.append(Edge("SparseAddGrad", [np.float32([1, 2, 3, 4]), C, B, cells]))
    EDGES.append(Edge("SparseConcat", [[cells, B], [V, W], [S, S]], {"concat_dim": 1}))
EDGES.append(Edge("SparseConcat", [[C, B], [V, W], [S, i64([-1, 5])]], {"concat_dim": 0}))
EDGES.append(Edge("SparseConcat", [[C, B], [V, W], [S, i64([4, 6])]], {"concat_dim": 0}))
for shape in ([-1, 5], [4, -3]):
    for op in (
        "SparseReduceSum",
        "SparseReduceMax",
        "SparseReduceSumSparse",
        "SparseReduceMaxSparse",
    ):
        EDGES.append(Edge(op, [C, V, i64(shape), i32([1])]))
    EDGES.append(Edge("SparseSplit", [i64(1), C, V, i64(shape)], {"num_split": 2}))
for split in (0, -1, 6, 5):
    EDGES.append(Edge("SparseSplit", [i64(1), C, V, S], {"num_split": split}))
TEXTS = np.array([b"a", b"b", b"c", b"d"], object)
CROSS = {"hashed_output": False, "num_buckets": 0, "hash_key": 1, "out_type": 7, "internal_type": 7}
for values, shape in (
    (TEXTS, S),
    (TEXTS[:2], S),
    (TEXTS, i64([4])),
    (TEXTS, i64([4, 5, 6])),
    (TEXTS, i64([3, 5])),
):
    EDGES.append(
        Edge(
            "SparseCross",
            [[C], [values], [shape], [np.array([[b"x"], [b"y"], [b"z"], [b"w"]], object)]],
            CROSS,
        )
    )
for op in ("Sum", "Mean", "SqrtN"):
    for dim0 in (0, 4, -1):
        for ids in ([0, 0, 1, 3, 3],):
            for at in ([5, 0, 0, 3, 1], [3, 0, 0, 3, 1], [-1, 0, 0, 3, 1]):
                EDGES.append(
                    Edge(f"SparseSegment{op}Grad", [noise(4, 3), i32(at), i32(ids), i32(dim0)])
                )
EDGES.append(
    Edge("SparseSlice", [i64([[1, 3], [3, 3], [3, 4], [4, 5]]), V, S, i64([4, 4]), i64([2, 9])])
)
for op in ("Sum", "Mean", "SqrtN"):
    for dim0 in (0, 6):
        of = [noise(4, 3), i32([5, 0, 0, 3, 1]), i32([0, 0, 1, 3, 3]), i32(dim0)]
        EDGES.append(Edge(f"SparseSegment{op}GradV2", of))

# Distances of sequences in shapes below 0 and of none.
for shape, other in (([-100, 2], [2, 2]), ([1, 2], [1, -100]), ([0, 0], [0, 0]), ([1, 2], [1, 2])):
    for n in (0, 1):
        one = [np.zeros((n, 2), np.int64), np.ones(n, np.int64)]
        EDGES.append(Edge("EditDistance", [*one, i64(shape), *one, i64(other)]))
