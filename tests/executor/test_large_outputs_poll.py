"""Kernels that only move bytes poll as well, so that huge results can be cancelled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import DeadlineExceededError
from headrace.graph.builder.op_builder import op

N = 2**29  # elements: seconds of work, of which a cancelled step touches a small part
SIDE = 20_000
ONE = np.float32([1])


def _size(*sizes: int) -> hr.Tensor:
    return hr.placeholder_with_default(np.int32(sizes), [len(sizes)])


def _scalar(value: int) -> hr.Tensor:
    return hr.placeholder_with_default(np.int32(value), [])


def _bytes(*sizes: int) -> hr.Tensor:
    return op("Empty", _size(*sizes), dtype=hr.int8, init=False)


LARGE: dict[str, Callable[[], hr.Tensor]] = {
    "Fill": lambda: op("Fill", _size(N), np.float32(1)),
    "BroadcastTo": lambda: op("BroadcastTo", ONE, _size(N)),
    "Tile": lambda: op("Tile", ONE, _size(N)),
    "Range": lambda: op("Range", _scalar(0), _scalar(N), np.int32(1)),
    "OneHot": lambda: op("OneHot", np.int32([1]), _scalar(N), np.float32(1), np.float32(0)),
    "PadV2": lambda: op("PadV2", ONE, hr.reshape(_size(0, N), [1, 2]), np.float32(2)),
    "ScatterNd": lambda: op("ScatterNd", np.int32([[1]]), ONE, _size(N)),
    "Bincount": lambda: op("Bincount", np.int32([1]), _scalar(N), np.float32([])),
    "Multinomial": lambda: op("Multinomial", np.float32([[1, 2]]), _scalar(N // 8)),
    "UnsortedSegmentMin": lambda: op("UnsortedSegmentMin", ONE, np.int32([0]), _scalar(N)),
    "MatrixDiag": lambda: op("MatrixDiag", hr.ones_like(_bytes(SIDE), hr.float32)),
    "StridedSliceGrad": lambda: op(
        "StridedSliceGrad", _size(N), np.int32([0]), np.int32([1]), np.int32([1]), ONE
    ),
    "ResizeBilinear": lambda: op(
        "ResizeBilinear", np.ones((1, 2, 2, 1), np.uint8), _size(SIDE, SIDE)
    ),
    "Transpose": lambda: op("Transpose", _bytes(SIDE, SIDE), _size(1, 0)),
    "ReverseV2": lambda: op("ReverseV2", _bytes(N), _size(0)),
    "Cumsum": lambda: op("Cumsum", _bytes(N), _scalar(0)),
    "ArgMax": lambda: op("ArgMax", _bytes(N), _scalar(0)),
    "Where": lambda: op("Where", _bytes(N)),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.host_execution("interrupts a kernel of the host; a device's kernel runs to its end")
def test_the_kernel_itself_ends_at_the_timeout(name: str) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        result = LARGE[name]()
        # An error that comes between two kernels does not name one: on a busy machine, the time may
        # be up before the kernel begins.
        for timeout_in_ms in (60, 120, 240, 480, 960):
            with pytest.raises(DeadlineExceededError) as raised:
                session.run(result.op, options=hr.RunOptions(timeout_in_ms=timeout_in_ms))
            if name in raised.value.message:
                return
    raise AssertionError(raised.value.message)
