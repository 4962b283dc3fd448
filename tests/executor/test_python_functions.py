"""hr.py_function: Python functions of arrays, which may use ops."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr


def test_the_function_gets_arrays_with_a_method_numpy() -> None:
    def function(x: np.ndarray, text: np.ndarray, scalar: np.ndarray) -> list[object]:
        assert text.numpy() == b"ab" and scalar.numpy() == 3 and not scalar.shape
        return [x.numpy() * scalar.numpy(), x + 1]

    with hr.Graph().as_default(), hr.Session() as session:
        tripled, more = hr.py_function(function, [[1.0, 2.0], "ab", 3.0], [hr.float32, hr.float32])
        np.testing.assert_array_equal(session.run(tripled), [3, 6])
        np.testing.assert_array_equal(session.run(more), [2, 3])


def test_ops_in_the_function_are_computed_and_leave_the_graph_alone() -> None:
    with hr.Graph().as_default() as graph, hr.Session() as session:
        x = hr.constant([1.0, 2.0])
        total = hr.py_function(lambda v: hr.reduce_sum(v) * 10.0, [x], hr.float32)
        before = len(graph.get_operations())
        assert session.run(total) == 30 and session.run(total) == 30
        assert len(graph.get_operations()) == before


def test_a_dataset_calls_the_function() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        dataset = hr.data.Dataset.range(3).map(
            lambda x: hr.py_function(lambda v: v.numpy() + 10, [x], hr.int64)
        )
        element = dataset.make_one_shot_iterator().get_next()
        assert [session.run(element) for _ in range(3)] == [10, 11, 12]


def test_what_does_not_fit_fails() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        assert session.run(hr.py_function(lambda: None, [], [])) is None
        with pytest.raises(hr.errors.UnknownError, match="ZeroDivisionError"):
            session.run(hr.py_function(lambda x: 1 // 0, [1], hr.int32))
        with pytest.raises(ValueError, match="Expected func to be callable"):
            hr.py_function(3, [], hr.int32)
        x = hr.constant(1.0)
        with pytest.raises(LookupError, match="functions of py_function are not differentiated"):
            hr.gradients(hr.py_function(lambda v: v, [x], hr.float32), x)
