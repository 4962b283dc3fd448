"""Arguments at the limits of domains, RNN cells of unusual sizes, unused outputs."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, i64, noise

ENDS = np.array([0.0, -0.0, -1.0, -np.inf, np.inf, np.nan, 1.0])
BELOW = np.array([0.0, -1.0, 1.0, np.nan])
X, C, H, W, P, B = noise(2, 3), noise(2, 4), noise(2, 4), noise(7, 16), noise(4), noise(16)
EDGE_CASES: list[EdgeCase] = [
    EdgeCase("BesselK0", [ENDS]),
    EdgeCase("BesselK1", [BELOW]),
    EdgeCase("BesselY0", [BELOW]),
    EdgeCase("BesselY1", [BELOW]),
    EdgeCase("Polygamma", [np.float64([1, 2, 1, 2]), np.float64([-np.inf, -np.inf, np.nan, 2.5])]),
    EdgeCase("Equal", [noise(2, 3), noise(3, 2)], {"incompatible_shape_error": False}),
    EdgeCase("NotEqual", [noise(2, 3), noise(3, 2)], {"incompatible_shape_error": False}),
    EdgeCase(
        "ComputeAccidentalHits", [i64([[1, 2], [0, 4], [3, 3]]), i64([1, 1, 3])], {"num_true": 2}
    ),
    EdgeCase("MatrixSolveLs", [noise(3, 2), noise(3, 1), np.float64(-1)]),
    EdgeCase("LSTMBlockCell", [X, C, H, W, P[:1], P, P, B]),
    EdgeCase("LSTMBlockCell", [X, C, H, W, P, P, P, B[:1]]),
    EdgeCase("BlockLSTMV2", [i64(1), noise(1, 2, 3), C, H, W, P[:1], P, P, B]),
    EdgeCase("BlockLSTMV2", [i64(2), noise(1, 2, 3), C, H, W, P, P, P, B]),
    EdgeCase("GRUBlockCell", [X, H, noise(7, 8), noise(7, 4), noise(1), P]),
    *[
        EdgeCase(op, [noise(1, 2, 2, 3), noise(1, 2, 2, 3), noise(3), noise(3), np.abs(noise(3))])
        for op in ("FusedBatchNormGrad", "FusedBatchNormGradV2")
    ],
    EdgeCase(
        "FusedBatchNormGradV3",
        [noise(1, 2, 2, 3), noise(1, 2, 2, 3), noise(3), noise(3), np.abs(noise(3)), noise(0)],
    ),
    EdgeCase(
        "FusedBatchNormV3",
        [noise(1, 2, 2, 3), noise(3), noise(3), noise(3), np.abs(noise(3))],
        {"is_training": False},
    ),
]

EDGE_CASES.append(
    EdgeCase(
        "Zeta",
        [
            np.array([1, 2, -1, np.inf, 2, 2, np.nan, np.inf, np.inf, 1e30, 1e300, 3]),
            np.array([2, np.inf, 2, 2, -1, 0, 1, -1, np.inf, 2, 4, 1e200]),
        ],
    )
)

# Coordinates of indices below 0, of none, and in more elements than the dtype counts.
for index in (-(2**31), -1, 0, 41, 42, 2**31 - 1):
    EDGE_CASES.append(EdgeCase("UnravelIndex", [i32(index), i32([7, 6])]))
    EDGE_CASES.append(EdgeCase("UnravelIndex", [i64([index, 0]), i64([7, 6])]))
for dims in ([0, 6], [-7, -6], [], [2**30, 2], [2**30, 4], [2**31 - 1]):
    EDGE_CASES.append(EdgeCase("UnravelIndex", [i32(0), i32(dims)]))
    EDGE_CASES.append(EdgeCase("UnravelIndex", [i32([]), i32(dims)]))
EDGE_CASES.append(EdgeCase("UnravelIndex", [i64(-(2**63)), i64([7, 6])]))
EDGE_CASES.append(EdgeCase("UnravelIndex", [i64(3), i64([2**62, 4])]))

# Indices outside that nothing is read with.
NOTHING = np.zeros((3, 0), np.float32)
for at in (0, 5, -1):
    EDGE_CASES.append(EdgeCase("Gather", [NOTHING, i32([at])]))
    EDGE_CASES.append(EdgeCase("GatherV2", [NOTHING, i32([at]), i32(0)]))
    EDGE_CASES.append(EdgeCase("GatherV2", [NOTHING, i32([at]), i32(1)]))
    EDGE_CASES.append(EdgeCase("GatherV2", [NOTHING.T, i32([at]), i32(0)]))
    EDGE_CASES.append(EdgeCase("GatherNd", [NOTHING, i32([[at]])]))
    for kind in ("Sum", "Max"):
        EDGE_CASES.append(EdgeCase(f"UnsortedSegment{kind}", [NOTHING[:1], i32([at]), i32(3)]))
for tensor, indices, updates in (
    ([3], [0], [3]),
    ([0], [0, 1], [0]),
    ([3], [0, 1], [0]),
    ([0], [2, 1], [2]),
    ([3, 0], [2, 1], [2, 0]),
    ([3, 2], [0, 1], [0, 2]),
):
    of = [noise(*tensor), np.zeros(indices, np.int32), noise(*updates)]
    EDGE_CASES.append(EdgeCase("TensorScatterUpdate", of))
    EDGE_CASES.append(EdgeCase("TensorScatterMin", of))
EDGE_CASES.append(EdgeCase("GatherNd", [NOTHING, np.zeros((0, 1), np.int32)]))
EDGE_CASES.append(EdgeCase("GatherNd", [np.zeros(0, np.float32), np.zeros((2, 0), np.int32)]))

# No dimension to look in; sets without elements.
EDGE_CASES.append(EdgeCase("Where", [np.bool_(True)]))
for a, b in ((2, 0), (2, 3)), ((2, 3), (2, 0)), ((0, 3), (0, 2)):
    for operation in (b"union", b"a-b", b"b-a", b"intersection"):
        x, y = (np.arange(n * m).reshape(n, m) % 4 for n, m in (a, b))
        EDGE_CASES.append(
            EdgeCase("DenseToDenseSetOperation", [x, y], {"set_operation": operation})
        )
for true in (0, 3, 4, -1, 2**40):
    of = {"num_true": 1, "num_sampled": 4, "unique": True}
    EDGE_CASES.append(EdgeCase("AllCandidateSampler", [np.int64([[true]])], of))
