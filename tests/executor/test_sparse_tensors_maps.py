"""Maps of sparse tensors give what was put in, once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError

ROWS = ([[0, 0], [0, 2], [2, 1]], np.float32([1, 2, 3]), [4, 3])


def _parts(sparse: Any) -> dict[str, Any]:
    indices, values, shape = sparse
    return {
        "sparse_indices": np.array(indices, np.int64).reshape(-1, len(shape)),
        "sparse_values": values,
        "sparse_shape": np.array(shape, np.int64),
    }


class Maps:
    """A session with the ops of one map."""

    def __init__(self) -> None:
        config = hr.ConfigProto()
        config.experimental.refuse_reference_kernels = True
        self.session = hr.Session(config=config)

    def add(self, sparse: Any, name: str = "kept") -> int:
        op = hr.raw_ops.AddSparseToTensorsMap(**_parts(sparse), shared_name=name)
        return int(self.session.run(op))

    def add_many(self, sparse: Any) -> np.ndarray:
        op = hr.raw_ops.AddManySparseToTensorsMap(**_parts(sparse), shared_name="kept")
        found: np.ndarray = self.session.run(op)
        return found

    def take(self, handles: Any, dtype: Any = hr.float32, name: str = "kept") -> list[Any]:
        op = hr.raw_ops.TakeManySparseFromTensorsMap(
            sparse_handles=np.array(handles, np.int64), dtype=dtype, shared_name=name
        )
        return [x.tolist() for x in self.session.run(list(op))]


@pytest.fixture
def maps() -> Any:
    with hr.Graph().as_default():
        made = Maps()
        with made.session:
            yield made


def test_rows_come_back_in_the_order_of_their_handles(maps: Maps) -> None:
    handles = maps.add_many(ROWS)
    assert handles.tolist() == [0, 2, 1, 3]  # rows with values come first
    assert maps.take(handles[[2, 3, 0]]) == [[[0, 1], [2, 0], [2, 2]], [3.0, 1.0, 2.0], [3, 3]]
    assert maps.take(handles[[1]]) == [[], [], [1, 3]]


def test_shapes_are_widened_to_the_largest(maps: Maps) -> None:
    a = maps.add(([[0, 0], [1, 4]], np.float32([1, 2]), [2, 5]))
    b = maps.add(([[3, 0]], np.float32([3]), [4, 2]))
    indices, values, shape = maps.take([b, a])
    assert indices == [[0, 3, 0], [1, 0, 0], [1, 1, 4]]
    assert (values, shape) == ([3.0, 1.0, 2.0], [2, 4, 5])


def test_strings_are_kept(maps: Maps) -> None:
    texts = np.array([b"a", b"", "ü".encode() * 40], object)
    handles = maps.add_many((ROWS[0], texts, ROWS[2]))
    assert maps.take(handles, hr.string)[1] == texts.tolist()


def test_a_tensor_is_taken_once_and_a_failed_take_removes_nothing(maps: Maps) -> None:
    a, b = maps.add(ROWS), maps.add(([[1]], np.float32([4]), [3]))
    with pytest.raises(InvalidArgumentError, match="Unable to find SparseTensor: 9 in map: kept"):
        maps.take([a, 9])
    with pytest.raises(InvalidArgumentError, match="Unable to find SparseTensor: 0"):
        maps.take([a, a])
    with pytest.raises(InvalidArgumentError, match="of type int32 but SparseTensor.0..values"):
        maps.take([a], hr.int32)
    with pytest.raises(InvalidArgumentError, match="Inconsistent rank across SparseTensors"):
        maps.take([a, b])
    with pytest.raises(InvalidArgumentError, match="Must have at least 1"):
        maps.take([])
    assert maps.take([a])[1] == [1.0, 2.0, 3.0]
    with pytest.raises(InvalidArgumentError, match="Unable to find SparseTensor: 0"):
        maps.take([a])
    with pytest.raises(InvalidArgumentError, match="Unable to find SparseTensor: 1 in map: other"):
        maps.take([b], name="other")


def test_a_map_without_a_name_has_that_of_the_op(maps: Maps) -> None:
    handle = hr.raw_ops.AddSparseToTensorsMap(**_parts(ROWS), name="adder")
    assert maps.take([maps.session.run(handle)], name="adder")[1] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("indices", "values", "shape", "words"),
    [
        ([[0]], [1], [3], "Rank of input SparseTensor should be > 1, but saw rank: 1"),
        ([[2, 0], [0, 0]], [1, 2], [3, 3], r"indices\[1\] = \[0,0\] is out of order"),
        ([[0, 0], [0, 0]], [1, 2], [3, 3], r"indices\[1\] = \[0,0\] is repeated"),
        ([[5, 0]], [1], [3, 3], r"indices\[0\] = \[5,0\] is out of bounds: need 0 <= index < \[3"),
        ([[0, 0]], [1, 2], [3, 3], "Number of values must match first dimension of indices"),
        ([], [], [-2, 3], "Expected shape dimensions to be non-negative, got -2"),
    ],
)
def test_a_tensor_that_is_none_is_rejected(
    maps: Maps, indices: Any, values: Any, shape: Any, words: str
) -> None:
    with pytest.raises((InvalidArgumentError, ValueError), match=words):
        maps.add_many((indices, np.float32(values), shape))
