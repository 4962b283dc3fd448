"""Branches and loops behave as in TensorFlow 1.x: which side runs, which values it reads, in which
order.

Modules: executor/executor, executor/executor_plan, executor/executor_state, executor/propagation,
passes/branches, graph/node_kind.
"""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError

BOTH = pytest.mark.parametrize("executor", ["", "dynamic"], ids=["native loops", "dynamic only"])


def _session(executor: str) -> hr.Session:
    config = hr.ConfigProto()
    config.experimental.executor_type = executor
    return hr.Session(config=config)


@BOTH
def test_only_one_branch_has_effects_and_what_was_built_before_runs_in_any_case(
    executor: str,
) -> None:
    p = hr.placeholder(hr.bool, [])
    v, w, before = hr.Variable(0), hr.Variable(0), hr.Variable(0)
    outside = before.assign_add(1)
    y = hr.cond(p, lambda: v.assign_add(1) + outside, lambda: w.assign_add(10) + outside)
    with _session(executor) as session:
        session.run(hr.global_variables_initializer())
        assert session.run(y, {p: True}) == 2
        assert session.run(y, {p: False}) == 12
        assert session.run([v, w, before]) == [1, 10, 2]


@BOTH
@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_branches_nest_and_return_structures(executor: str, a: bool, b: bool) -> None:
    p, q = hr.placeholder(hr.bool, []), hr.placeholder(hr.bool, [])
    x = hr.constant(2.0)
    y = hr.cond(
        p,
        lambda: {"one": hr.cond(q, lambda: x * 2.0, lambda: x * 3.0), "two": [x]},
        lambda: {"one": x - 1.0, "two": [hr.cond(q, lambda: -x, lambda: x + 5.0)]},
    )
    expected = {
        (True, True): (4.0, 2.0), (True, False): (6.0, 2.0),
        (False, True): (1.0, -2.0), (False, False): (1.0, 7.0),
    }[a, b]  # fmt: skip
    with _session(executor) as session:
        got = session.run(y, {p: a, q: b})
    assert (got["one"], got["two"][0]) == expected


@BOTH
def test_loops_nest_and_use_outer_values(executor: str) -> None:
    n, scale = hr.placeholder(hr.int32, []), hr.placeholder(hr.float32, [])

    def outer(i: hr.Tensor, total: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        _, inner = hr.while_loop(
            lambda j, _: j < i,
            lambda j, t: (j + 1, t + scale * hr.cast(i * j, hr.float32)),
            (hr.constant(0), total),
        )
        return i + 1, inner

    _, total = hr.while_loop(lambda i, _: i < n, outer, (hr.constant(0), hr.constant(0.0)))
    with _session(executor) as session:
        for size in (0, 1, 5, 9):
            expected = 0.5 * sum(i * j for i in range(size) for j in range(i))
            assert session.run(total, {n: size, scale: 0.5}) == expected


@BOTH
def test_a_branch_in_a_loop_and_a_loop_in_a_branch(executor: str) -> None:
    n = hr.placeholder(hr.int32, [])

    def collatz(value: hr.Tensor, steps: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        even = hr.equal(value % 2, 0)
        return hr.cond(even, lambda: value // 2, lambda: 3 * value + 1), steps + 1

    steps = hr.cond(
        n > 0,
        lambda: hr.while_loop(lambda value, _: value > 1, collatz, (n, hr.constant(0)))[1],
        lambda: hr.constant(-1),
    )
    with _session(executor) as session:
        assert [session.run(steps, {n: k}) for k in (27, 1, 6, 0, -3)] == [111, 0, 8, -1, -1]


@BOTH
def test_the_first_case_that_holds_is_taken(executor: str) -> None:
    x = hr.placeholder(hr.int32, [])
    y = hr.case(
        [(x < 10, lambda: hr.constant(1)), (x < 20, lambda: hr.constant(2))],
        default=lambda: hr.constant(3),
    )
    only = hr.case(
        [(x < 10, lambda: hr.constant(1)), (x < 20, lambda: hr.constant(2))],
        default=lambda: hr.constant(3),
        exclusive=True,
    )
    switched = hr.switch_case(x, [lambda: hr.constant(4), lambda: hr.constant(5)])
    with _session(executor) as session:
        assert [session.run(y, {x: k}) for k in (5, 15, 25)] == [1, 2, 3]
        assert session.run(only, {x: 15}) == 2
        with pytest.raises(InvalidArgumentError, match="More than one condition"):
            session.run(only, {x: 5})
        assert [session.run(switched, {x: k}) for k in (0, 1, 7, -1)] == [4, 5, 5, 5]


@BOTH
def test_a_loop_may_change_shapes_that_are_declared_to_vary(executor: str) -> None:
    _, grown = hr.while_loop(
        lambda i, _: i < 5,
        lambda i, v: (i + 1, hr.concat([v, hr.expand_dims(hr.cast(i, hr.float32), 0)], 0)),
        (hr.constant(0), hr.constant([9.0])),
        shape_invariants=(hr.TensorShape([]), hr.TensorShape([None])),
    )
    with _session(executor) as session:
        assert session.run(grown).tolist() == [9.0, 0.0, 1.0, 2.0, 3.0, 4.0]


@BOTH
def test_an_assertion_in_a_loop_ends_the_step_at_its_iteration(executor: str) -> None:
    limit = hr.placeholder(hr.int32, [])

    def body(i: hr.Tensor) -> hr.Tensor:
        with hr.control_dependencies([hr.Assert(i < limit, [i])]):
            return i + 1

    last = hr.while_loop(lambda i: i < 8, body, [hr.constant(0)])
    with _session(executor) as session:
        assert session.run(last, {limit: 8}) == 8
        with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[5\]"):
            session.run(last, {limit: 5})


@BOTH
def test_branches_are_differentiated_through(executor: str) -> None:
    x = hr.placeholder(hr.float64, [])
    branch = hr.cond(x > 1.0, lambda: x * x * x, lambda: 5.0 * x)
    with _session(executor) as session:
        (gradient,) = hr.gradients(branch, x)
        assert np.isclose(session.run(gradient, {x: 2.0}), 12.0)
        assert np.isclose(session.run(gradient, {x: 0.5}), 5.0)
