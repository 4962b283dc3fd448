"""Numbers at the ends of what functions are defined for, cells of other sizes, unused outputs."""

from __future__ import annotations

import numpy as np

from edges import Edge, i32, i64, noise

ENDS = np.array([0.0, -0.0, -1.0, -np.inf, np.inf, np.nan, 1.0])
BELOW = np.array([0.0, -1.0, 1.0, np.nan])
X, C, H, W, P, B = noise(2, 3), noise(2, 4), noise(2, 4), noise(7, 16), noise(4), noise(16)
EDGES: list[Edge] = [
    Edge("BesselK0", [ENDS]),
    Edge("BesselK1", [BELOW]),
    Edge("BesselY0", [BELOW]),
    Edge("BesselY1", [BELOW]),
    Edge("Polygamma", [np.float64([1, 2, 1, 2]), np.float64([-np.inf, -np.inf, np.nan, 2.5])]),
    Edge("Equal", [noise(2, 3), noise(3, 2)], {"incompatible_shape_error": False}),
    Edge("NotEqual", [noise(2, 3), noise(3, 2)], {"incompatible_shape_error": False}),
    Edge("ComputeAccidentalHits", [i64([[1, 2], [0, 4], [3, 3]]), i64([1, 1, 3])], {"num_true": 2}),
    Edge("MatrixSolveLs", [noise(3, 2), noise(3, 1), np.float64(-1)]),
    Edge("LSTMBlockCell", [X, C, H, W, P[:1], P, P, B]),
    Edge("LSTMBlockCell", [X, C, H, W, P, P, P, B[:1]]),
    Edge("BlockLSTMV2", [i64(1), noise(1, 2, 3), C, H, W, P[:1], P, P, B]),
    Edge("BlockLSTMV2", [i64(2), noise(1, 2, 3), C, H, W, P, P, P, B]),
    Edge("GRUBlockCell", [X, H, noise(7, 8), noise(7, 4), noise(1), P]),
    *[
        Edge(op, [noise(1, 2, 2, 3), noise(1, 2, 2, 3), noise(3), noise(3), np.abs(noise(3))])
        for op in ("FusedBatchNormGrad", "FusedBatchNormGradV2")
    ],
    Edge(
        "FusedBatchNormGradV3",
        [noise(1, 2, 2, 3), noise(1, 2, 2, 3), noise(3), noise(3), np.abs(noise(3)), noise(0)],
    ),
    Edge(
        "FusedBatchNormV3",
        [noise(1, 2, 2, 3), noise(3), noise(3), noise(3), np.abs(noise(3))],
        {"is_training": False},
    ),
]

EDGES.append(
    Edge(
        "Zeta",
        [
            np.array([1, 2, -1, np.inf, 2, 2, np.nan, np.inf, np.inf, 1e30, 1e300, 3]),
            np.array([2, np.inf, 2, 2, -1, 0, 1, -1, np.inf, 2, 4, 1e200]),
        ],
    )
)

# Coordinates of indices below 0, of none, and in more elements than the dtype counts.
for index in (-(2**31), -1, 0, 41, 42, 2**31 - 1):
    EDGES.append(Edge("UnravelIndex", [i32(index), i32([7, 6])]))
    EDGES.append(Edge("UnravelIndex", [i64([index, 0]), i64([7, 6])]))
for dims in ([0, 6], [-7, -6], [], [2**30, 2], [2**30, 4], [2**31 - 1]):
    EDGES.append(Edge("UnravelIndex", [i32(0), i32(dims)]))
    EDGES.append(Edge("UnravelIndex", [i32([]), i32(dims)]))
EDGES.append(Edge("UnravelIndex", [i64(-(2**63)), i64([7, 6])]))
EDGES.append(Edge("UnravelIndex", [i64(3), i64([2**62, 4])]))

# Indices outside that nothing is read with.
NOTHING = np.zeros((3, 0), np.float32)
for at in (0, 5, -1):
    EDGES.append(Edge("Gather", [NOTHING, i32([at])]))
    EDGES.append(Edge("GatherV2", [NOTHING, i32([at]), i32(0)]))
    EDGES.append(Edge("GatherV2", [NOTHING, i32([at]), i32(1)]))
    EDGES.append(Edge("GatherV2", [NOTHING.T, i32([at]), i32(0)]))
    EDGES.append(Edge("GatherNd", [NOTHING, i32([[at]])]))
    for kind in ("Sum", "Max"):
        EDGES.append(Edge(f"UnsortedSegment{kind}", [NOTHING[:1], i32([at]), i32(3)]))
for tensor, indices, updates in (
    ([3], [0], [3]),
    ([0], [0, 1], [0]),
    ([3], [0, 1], [0]),
    ([0], [2, 1], [2]),
    ([3, 0], [2, 1], [2, 0]),
    ([3, 2], [0, 1], [0, 2]),
):
    of = [noise(*tensor), np.zeros(indices, np.int32), noise(*updates)]
    EDGES.append(Edge("TensorScatterUpdate", of))
    EDGES.append(Edge("TensorScatterMin", of))
EDGES.append(Edge("GatherNd", [NOTHING, np.zeros((0, 1), np.int32)]))
EDGES.append(Edge("GatherNd", [np.zeros(0, np.float32), np.zeros((2, 0), np.int32)]))

# No dimension to look in; sets without elements.
EDGES.append(Edge("Where", [np.bool_(True)]))
for a, b in ((2, 0), (2, 3)), ((2, 3), (2, 0)), ((0, 3), (0, 2)):
    for operation in (b"union", b"a-b", b"b-a", b"intersection"):
        x, y = (np.arange(n * m).reshape(n, m) % 4 for n, m in (a, b))
        EDGES.append(Edge("DenseToDenseSetOperation", [x, y], {"set_operation": operation}))
for true in (0, 3, 4, -1, 2**40):
    of = {"num_true": 1, "num_sampled": 4, "unique": True}
    EDGES.append(Edge("AllCandidateSampler", [np.int64([[true]])], of))
