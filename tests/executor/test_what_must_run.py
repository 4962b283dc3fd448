"""Which nodes a step runs: those with a reader, and those that may fail or have an effect.

Modules: passes/prune, graph/op_table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError


def test_assignments_by_reference_without_readers_run_each_time() -> None:
    v = hr.Variable([1.0, 2.0])
    one = hr.constant([1.0, 1.0])
    by_target = v.assign_add(one)
    with hr.control_dependencies([v.assign_sub(one * 3.0)]):
        by_control = hr.constant(0.0) + 1.0
    with hr.Session() as session:
        for _ in range(2):
            session.run(v.initializer)
            assert session.run(v).tolist() == [1.0, 2.0]
            session.run(by_target.op)
            session.run(by_target.op)
            assert session.run(v).tolist() == [3.0, 4.0]
            session.run(by_control)
            assert session.run(v).tolist() == [0.0, 1.0]
            assert session.run(by_target).tolist() == [1.0, 2.0]
            assert session.run(hr.identity(v)).tolist() == [1.0, 2.0]


def test_constants_are_added_in_every_run() -> None:
    v = hr.Variable(0)
    added = v.assign_add(5)
    with hr.Session() as session:
        session.run(v.initializer)
        assert [session.run(added) for _ in range(4)] == [5, 10, 15, 20]


def test_is_initialised_is_computed_in_every_run() -> None:
    for resource in (False, True):
        v = hr.get_variable(f"v{resource:d}", initializer=[1.0], use_resource=resource)
        fetch = hr.is_variable_initialized(v)
        with hr.Session() as session:
            assert not session.run(fetch)
            session.run(v.initializer)
            assert session.run(fetch)


def test_a_check_runs_as_a_target_and_as_a_control_input() -> None:
    x = hr.placeholder(hr.float32, [2])
    check = hr.check_numerics(x, "x is bad")
    with hr.control_dependencies([check]):
        other = hr.constant(1.0) + 2.0
    with hr.Session() as session:
        for expected in (check.op, hr.group(check), other, check):
            session.run(expected, {x: [1.0, 2.0]})
            with pytest.raises(InvalidArgumentError, match="x is bad : Tensor had NaN"):
                session.run(expected, {x: [1.0, np.nan]})


def test_a_check_of_a_known_value_fails_each_run() -> None:
    check = hr.check_numerics(hr.constant([np.inf]), "known")
    with hr.Session() as session:
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match="known : Tensor had Inf"):
                session.run(check.op)


def test_a_failing_division_as_a_target_fails_the_run() -> None:
    x = hr.placeholder(hr.int32, [])
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match="division by zero"):
            session.run(hr.floordiv(hr.constant(4), x).op, {x: 0})


def test_an_assertion_fails_the_run_and_shows_its_data() -> None:
    x = hr.placeholder(hr.float32, [3])
    with hr.control_dependencies([hr.Assert(hr.reduce_all(x > 0.0), [x, "positive?"])]):
        y = x * 2.0
    with hr.Session() as session:
        assert session.run(y, {x: [1, 2, 3]}).tolist() == [2, 4, 6]
        with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[1 -2 3\]"):
            session.run(y, {x: [1, -2, 3]})


def test_nodes_without_readers_do_not_run() -> None:
    x = hr.placeholder(hr.float32, [2])
    hr.check_numerics(x, "not requested")
    hr.Assert(hr.constant(False), ["nor this"])
    with hr.Session() as session:
        assert session.run(x + 1.0, {x: [np.nan, 1.0]})[1] == 2.0


def test_training_does_not_compute_gradients_of_fed_tensors() -> None:
    x = hr.placeholder(hr.float32, [2, 6, 6, 3])
    kernel = hr.Variable(hr.fill([3, 3, 3, 4], 0.1))
    loss = hr.reduce_mean(hr.square(hr.nn.relu(hr.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"))))
    train = hr.train.GradientDescentOptimizer(0.1).minimize(loss)
    metadata = hr.RunMetadata()
    with hr.Session() as session:
        session.run(kernel.initializer)
        before = session.run(loss, {x: np.ones([2, 6, 6, 3])})
        options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
        session.run(train, {x: np.ones([2, 6, 6, 3])}, options, metadata)
        assert session.run(loss, {x: np.ones([2, 6, 6, 3])}) < before
    ran = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert any("Conv2DBackpropFilter" in name for name in ran), ran
    assert not any("Conv2DBackpropInput" in name for name in ran), ran


def test_a_group_of_values_computes_them() -> None:
    x = hr.placeholder(hr.int32, [])
    divided = hr.floordiv(hr.constant(4), x)
    with hr.Session() as session:
        for group in (hr.group(divided), hr.group(hr.group(divided), hr.no_op())):
            session.run(group, {x: 2})
            with pytest.raises(InvalidArgumentError, match="division by zero"):
                session.run(group, {x: 0})


def test_a_write_waits_for_a_read_above_a_value_that_nothing_reads() -> None:
    v = hr.get_variable("v", initializer=1.0, use_resource=True)
    read = v.read_value()
    with hr.control_dependencies([read * 2.0]):
        write = v.assign(5.0)
    with hr.Session() as session:
        for _ in range(5):
            session.run(v.initializer)
            assert session.run([read, write.op])[0] == 1.0


@pytest.mark.parametrize(
    "fails, good, bad",
    [
        (lambda x, i: hr.gather(x, i), [0, 1], [0, 9]),
        (lambda x, i: hr.identity(hr.gather(x, i)) * 2.0, [0, 1], [0, -1]),
        (lambda x, i: hr.floordiv(hr.constant([4, 6]), i), [1, 2], [0, 1]),
        (lambda x, i: hr.segment_sum(x, i), [0, 1], [1, 0]),
    ],
    ids=["gather", "behind arithmetic", "integer division", "segments"],
)
def test_an_op_of_which_only_the_shape_is_needed_fails_on_bad_values(
    fails: Callable[[hr.Tensor, hr.Tensor], hr.Tensor], good: list[int], bad: list[int]
) -> None:
    x, i = hr.placeholder(hr.float32, [None]), hr.placeholder(hr.int32, [None])
    shape = hr.shape(fails(x, i), optimize=False)
    with hr.Session() as session:
        assert session.run(shape, {x: [1.0, 2.0], i: good}).tolist() == [2]
        with pytest.raises(InvalidArgumentError):
            session.run(shape, {x: [1.0, 2.0], i: bad})


def test_nodes_that_cannot_fail_do_not_run_for_their_shape() -> None:
    x = hr.placeholder(hr.float32, [None, None])
    shape = hr.shape(hr.matmul(hr.exp(x) / 2.0, x), optimize=False)
    with hr.Session() as session:
        session.run(shape, {x: [[1.0]]})
        assert "MatMul" not in session.explain(shape, [x])
