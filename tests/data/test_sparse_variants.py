"""Sparse tensors as variants: what datasets pass, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

ops = hr.raw_ops


def serialized(op: Any, indices: Any, values: Any, shape: Any) -> Any:
    cells = np.array(indices, np.int64).reshape(len(values), len(shape))
    return op(
        sparse_indices=cells,
        sparse_values=np.array(values),
        sparse_shape=np.array(shape, np.int64),
        out_type=hr.variant,
    )


def back(tensor: Any, dtype: Any) -> Any:
    return ops.DeserializeSparse(serialized_sparse=tensor, dtype=dtype)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1.5, 2.5], hr.float64), ([1, 2], hr.int64), (["a", "é"], hr.string),
     ([True, False], hr.bool), ([1j, 2.0], hr.complex128)],
)  # fmt: skip
def test_a_sparse_tensor_comes_back(values: Any, dtype: Any) -> None:
    held = serialized(ops.SerializeSparse, [[0, 2], [3, 1]], hr_values(values), [4, 5])
    with hr.Session() as session:
        indices, found, shape = session.run(back(held, dtype))
    assert indices.tolist() == [[0, 2], [3, 1]] and shape.tolist() == [4, 5]
    assert found.tolist() == [v.encode() if isinstance(v, str) else v for v in values]


def hr_values(values: Any) -> Any:
    return [v.encode() if isinstance(v, str) else v for v in values]


def test_rows_come_back_and_batches_have_the_largest_sizes() -> None:
    cells = [[0, 1, 0], [2, 0, 0], [2, 1, 1]]
    rows = serialized(ops.SerializeManySparse, cells, [1, 2, 3], [4, 2, 2])
    small = serialized(ops.SerializeSparse, [[0, 5]], [9], [1, 6])
    both = hr.stack([rows[2], small])
    with hr.Session() as session:
        indices, values, shape = session.run(back(rows, hr.int64))
        assert (indices.tolist(), values.tolist(), shape.tolist()) == (cells, [1, 2, 3], [4, 2, 2])
        indices, values, shape = session.run(back(both, hr.int64))
        assert indices.tolist() == [[0, 0, 0], [0, 1, 1], [1, 0, 5]]
        assert values.tolist() == [2, 3, 9] and shape.tolist() == [2, 2, 6]
        indices, values, shape = session.run(back(rows[1], hr.int64))
        assert indices.shape == (0, 2) and shape.tolist() == [2, 2]
        grid = hr.reshape(rows, [2, 2, 3])
        indices, values, shape = session.run(back(grid, hr.int64))
        assert indices.tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 1, 1]]
        assert shape.tolist() == [2, 2, 2, 2]


def test_invalid_arguments_are_refused() -> None:
    held = serialized(ops.SerializeSparse, [[0]], [1], [4])
    other = serialized(ops.SerializeSparse, [[0, 0]], [1], [4, 4])
    cases = {
        "values.dtype": back(held, hr.float32),
        "Inconsistent shape across SparseTensors": back(hr.stack([held, other]), hr.int64),
        "3 as the last dimension": back(held[:2], hr.int64),
        "at least one sparse tensor": back(hr.stack([held])[:0], hr.int64),
        "takes what SerializeSparse": back(hr.stack([held[1], held[0], held[2]]), hr.int64),
        "Rank of input SparseTensor should be > 1": serialized(
            ops.SerializeManySparse, [[0]], [1], [4]
        ),
        "unexpected column 0": serialized(ops.SerializeManySparse, [[4, 0]], [1], [4, 1]),
        "out of order": serialized(ops.SerializeManySparse, [[1, 0], [0, 0]], [1, 2], [4, 1]),
        "Dimension 0 must be >= 0": serialized(
            ops.SerializeManySparse, np.zeros((0, 2)), [], [-1, 1]
        ),
    }
    with hr.Session() as session:
        for words, fetch in cases.items():
            target = fetch.op if isinstance(fetch, hr.Tensor) else fetch[0].op
            with pytest.raises(hr.errors.InvalidArgumentError, match=words):
                session.run(target)
