"""Nodes that must be refused: shapes that clash, and values that no kernel may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Refusal:
    """One node that nobody may run.

    Attributes:
      inputs: arrays; a list of them for a list input.
      shapes: whether the shapes alone are wrong, so that building the graph fails.
    """

    op: str
    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    shapes: bool = True

    @property
    def name(self) -> str:
        sizes = [[x.shape for x in i] if isinstance(i, list) else i.shape for i in self.inputs]
        return f"{self.op}{sizes}".replace(" ", "")


def _f(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def _i(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def _n(value: int) -> np.ndarray:
    return np.array(value, np.int32)


_CONV = {"strides": [1, 1, 1, 1], "padding": "VALID"}
SHAPES = [
    Refusal("AddV2", (_f(3), _f(4))),
    Refusal("Maximum", (_f(2, 3), _f(3, 2))),
    Refusal("SelectV2", (np.array([True, False]), _f(3), _f(3))),
    Refusal("MatMul", (_f(2, 3), _f(4, 5))),
    Refusal("MatMul", (_f(2, 3, 4), _f(4, 5))),
    Refusal("BatchMatMulV2", (_f(2, 3, 4), _f(3, 4, 5))),
    Refusal("BiasAdd", (_f(2, 3), _f(4))),
    Refusal("Conv2D", (_f(1, 5, 5, 3), _f(3, 3, 2, 4)), _CONV),
    Refusal("Conv2D", (_f(1, 1, 1, 1), _f(3, 3, 1, 1)), _CONV),
    Refusal("ConcatV2", ([_f(2, 3), _f(4, 4)], _n(0))),
    Refusal("Pack", ([_f(2), _f(3)],)),
    Refusal("Unpack", (_f(3, 2),), {"num": 2}),
    Refusal("Reshape", (_f(2, 3), _i(4, 2))),
    Refusal("Reshape", (_f(2, 3), _i(4, -1))),
    Refusal("Squeeze", (_f(2, 1),), {"squeeze_dims": [0]}),
    Refusal("Transpose", (_f(2, 3), _i(0, 1, 2))),
    Refusal("BroadcastTo", (_f(3), _i(2, 4))),
    Refusal("Split", (_n(0), _f(5)), {"num_split": 2}),
    Refusal("Slice", (_f(5), _i(3), _i(4))),
    Refusal("Sum", (_f(2, 3), _i(2))),
    Refusal("AddN", ([_f(2), _f(3)],)),
    Refusal("SoftmaxCrossEntropyWithLogits", (_f(2, 3), _f(2, 4))),
    Refusal("MatrixSolve", (_f(3, 3), _f(2, 1))),
]
VALUES = [
    Refusal("Cross", (_f(2, 4), _f(2, 4)), shapes=False),
    Refusal("Gather", (_f(3), _i(0, 5)), shapes=False),
    Refusal("GatherV2", (_f(3), _i(-1), _n(0)), shapes=False),
    Refusal("ScatterNd", (np.array([[7]], np.int32), _f(1), _i(3)), shapes=False),
    Refusal("FloorDiv", (_i(1), _i(0)), shapes=False),
    Refusal("Pow", (_i(2), _i(-1)), shapes=False),
    Refusal("InvertPermutation", (_i(0, 0),), shapes=False),
    Refusal("SegmentSum", (_f(2), _i(1, 0)), shapes=False),
    Refusal("UnsortedSegmentSum", (_f(2), _i(0, 3), _n(2)), shapes=False),
    Refusal("SparseSoftmaxCrossEntropyWithLogits", (_f(1, 3), _i(3)), shapes=False),
    Refusal("DynamicPartition", (_f(2), _i(0, 5)), {"num_partitions": 2}, shapes=False),
    Refusal("CheckNumerics", (np.array([np.nan], np.float32),), {"message": "m"}, shapes=False),
    Refusal("Assert", (np.array(False), [_i(1)]), shapes=False),
    Refusal("MatrixInverse", (np.zeros((2, 2), np.float32),), shapes=False),
    Refusal("Cholesky", (-np.eye(2, dtype=np.float32),), shapes=False),
    Refusal("StringToNumber", (np.array([b"x"], object),), shapes=False),
    Refusal("DecodeRaw", (np.array([b"abc"], object),), {"out_type": "int32"}, shapes=False),
]
REFUSALS = SHAPES + VALUES
