"""Parsers of examples whose attributes, keys and names differ in number."""

from __future__ import annotations

from typing import Any

import numpy as np

from edge_cases import EdgeCase, words

A, B, D, R = (words([key]) for key in (b"a", b"b", b"d", b"r"))
NONE = words([])
ONE = np.float32([1])
V2: dict[str, Any] = {
    "num_sparse": 1, "sparse_types": ["int64"], "ragged_value_types": ["int64"],
    "ragged_split_types": ["int64"], "dense_shapes": [(1,)],
}  # fmt: skip
V1: dict[str, Any] = {"sparse_types": ["int64"], "dense_shapes": [(1,)]}
SINGLE: dict[str, Any] = {
    "num_sparse": 1, "sparse_keys": [b"a"], "dense_keys": [b"d"], "sparse_types": ["int64"],
    "dense_shapes": [(1,)],
}  # fmt: skip
SEQUENCE: dict[str, Any] = {
    "context_sparse_types": ["int64"], "context_dense_shapes": [(1,)],
    "feature_list_sparse_types": ["int64"], "feature_list_dense_types": ["float32"],
    "feature_list_dense_shapes": [(1,)],
}  # fmt: skip
EMPTY = words([b""])
EDGE_CASES: list[EdgeCase] = []
for changed in (
    {},
    {"num_sparse": 2},
    {"num_sparse": 0},
    {"sparse_types": []},
    {"dense_shapes": []},
    {"dense_shapes": [(1,), (2,)]},
    {"ragged_value_types": ["int64", "int64"]},
    {"ragged_split_types": []},
    {"ragged_split_types": [], "ragged_value_types": []},
):
    EDGE_CASES.append(EdgeCase("ParseExampleV2", [EMPTY, NONE, A, D, R, [ONE]], {**V2, **changed}))
for keys in (
    [words([b"a", b"b"]), D, R],
    [A, words([b"d", b"b"]), R],
    [A, D, words([b"r", b"b"])],
    [A[0], D[0], R[0]],
    [NONE, D, R],
):
    EDGE_CASES.append(EdgeCase("ParseExampleV2", [EMPTY, NONE, *keys, [ONE]], V2))
EDGE_CASES.append(EdgeCase("ParseExampleV2", [EMPTY, words([b"x", b"y"]), A, D, R, [ONE]], V2))
EDGE_CASES.append(EdgeCase("ParseExampleV2", [EMPTY[0], words([b"x"]), A, D, R, [ONE]], V2))
EDGE_CASES.append(EdgeCase("ParseExampleV2", [EMPTY.reshape(1, 1), NONE, A, D, R, [ONE]], V2))
for changed in ({}, {"sparse_types": []}, {"dense_shapes": []}, {"dense_shapes": [(1,), (1,)]}):
    EDGE_CASES.append(
        EdgeCase("ParseExample", [EMPTY, NONE, [A[0]], [D[0]], [ONE]], {**V1, **changed})
    )
EDGE_CASES.append(EdgeCase("ParseExample", [EMPTY, words([b"x", b"y"]), [A[0]], [D[0]], [ONE]], V1))
for changed in (
    {},
    {"num_sparse": 2},
    {"sparse_keys": [b"a", b"b"]},
    {"sparse_types": []},
    {"dense_keys": [b"d", b"b"]},
    {"dense_shapes": []},
):
    EDGE_CASES.append(EdgeCase("ParseSingleExample", [EMPTY[0], [ONE]], {**SINGLE, **changed}))
for changed in (
    {},
    {"context_sparse_types": []},
    {"context_dense_shapes": []},
    {"feature_list_sparse_types": []},
    {"feature_list_sparse_types": ["int64", "int64"]},
    {"feature_list_dense_types": []},
    {"feature_list_dense_shapes": []},
):
    EDGE_CASES.append(
        EdgeCase(
            "ParseSingleSequenceExample",
            [EMPTY[0], words([b"t"]), [A[0]], [D[0]], [B[0]], [words([b"t"])[0]], [ONE], EMPTY[0]],
            {**SEQUENCE, **changed},
        )
    )
