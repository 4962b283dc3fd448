"""Nodes with invalid inputs: shapes that clash, and values that no kernel accepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class InvalidInput:
    """A node that must fail.

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
    InvalidInput("AddV2", (_f(3), _f(4))),
    InvalidInput("Maximum", (_f(2, 3), _f(3, 2))),
    InvalidInput("SelectV2", (np.array([True, False]), _f(3), _f(3))),
    InvalidInput("MatMul", (_f(2, 3), _f(4, 5))),
    InvalidInput("MatMul", (_f(2, 3, 4), _f(4, 5))),
    InvalidInput("BatchMatMulV2", (_f(2, 3, 4), _f(3, 4, 5))),
    InvalidInput("BiasAdd", (_f(2, 3), _f(4))),
    InvalidInput("Conv2D", (_f(1, 5, 5, 3), _f(3, 3, 2, 4)), _CONV),
    InvalidInput("Conv2D", (_f(1, 1, 1, 1), _f(3, 3, 1, 1)), _CONV),
    InvalidInput("ConcatV2", ([_f(2, 3), _f(4, 4)], _n(0))),
    InvalidInput("Pack", ([_f(2), _f(3)],)),
    InvalidInput("Unpack", (_f(3, 2),), {"num": 2}),
    InvalidInput("Reshape", (_f(2, 3), _i(4, 2))),
    InvalidInput("Reshape", (_f(2, 3), _i(4, -1))),
    InvalidInput("Squeeze", (_f(2, 1),), {"squeeze_dims": [0]}),
    InvalidInput("Transpose", (_f(2, 3), _i(0, 1, 2))),
    InvalidInput("BroadcastTo", (_f(3), _i(2, 4))),
    InvalidInput("Split", (_n(0), _f(5)), {"num_split": 2}),
    InvalidInput("Slice", (_f(5), _i(3), _i(4))),
    InvalidInput("Sum", (_f(2, 3), _i(2))),
    InvalidInput("AddN", ([_f(2), _f(3)],)),
    InvalidInput("SoftmaxCrossEntropyWithLogits", (_f(2, 3), _f(2, 4))),
    InvalidInput("MatrixSolve", (_f(3, 3), _f(2, 1))),
]
VALUES = [
    InvalidInput("Cross", (_f(2, 4), _f(2, 4)), shapes=False),
    InvalidInput("Gather", (_f(3), _i(0, 5)), shapes=False),
    InvalidInput("GatherV2", (_f(3), _i(-1), _n(0)), shapes=False),
    InvalidInput("ScatterNd", (np.array([[7]], np.int32), _f(1), _i(3)), shapes=False),
    InvalidInput("FloorDiv", (_i(1), _i(0)), shapes=False),
    InvalidInput("Pow", (_i(2), _i(-1)), shapes=False),
    InvalidInput("InvertPermutation", (_i(0, 0),), shapes=False),
    InvalidInput("SegmentSum", (_f(2), _i(1, 0)), shapes=False),
    InvalidInput("UnsortedSegmentSum", (_f(2), _i(0, 3), _n(2)), shapes=False),
    InvalidInput("SparseSoftmaxCrossEntropyWithLogits", (_f(1, 3), _i(3)), shapes=False),
    InvalidInput("DynamicPartition", (_f(2), _i(0, 5)), {"num_partitions": 2}, shapes=False),
    InvalidInput(
        "CheckNumerics", (np.array([np.nan], np.float32),), {"message": "m"}, shapes=False
    ),
    InvalidInput("Assert", (np.array(False), [_i(1)]), shapes=False),
    InvalidInput("MatrixInverse", (np.zeros((2, 2), np.float32),), shapes=False),
    InvalidInput("Cholesky", (-np.eye(2, dtype=np.float32),), shapes=False),
    InvalidInput("StringToNumber", (np.array([b"x"], object),), shapes=False),
    InvalidInput("DecodeRaw", (np.array([b"abc"], object),), {"out_type": "int32"}, shapes=False),
]
INVALID_INPUTS = SHAPES + VALUES
