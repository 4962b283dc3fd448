"""Loops with branches, inner loops and data-dependent shapes run as native loops.

Modules: executor/native_loop, executor/loop_lowering, executor/loop_parts,
executor/loop_phases.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from concurrently import concurrently, wait_until_under_way

import headrace.graph as hr
from headrace.formats.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
)

BOTH = pytest.mark.parametrize("executor", ["", "dynamic"], ids=["native loops", "dynamic only"])


def _session(executor: str = "", **options: Any) -> hr.Session:
    config = hr.ConfigProto(**options)
    config.experimental.executor_type = executor
    return hr.Session(config=config)


def _native_loops(session: hr.Session, fetch: Any, feeds: Any = ()) -> int:
    """The number of outermost native loops of the step."""
    return session.explain(fetch, feeds).count("native loop of")


def _collatz(x: int) -> int:
    steps = 0
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return steps


@BOTH
@pytest.mark.host_execution("asserts that the loop runs as a native loop of the host")
def test_a_branch_in_a_loop_is_taken_as_its_predicate_says(executor: str) -> None:
    x = hr.placeholder(hr.int32, [])

    def body(x: hr.Tensor, steps: hr.Tensor) -> Any:
        even = hr.equal(x % 2, 0)
        return hr.cond(even, lambda: x // 2, lambda: 3 * x + 1), steps + 1

    _, steps = hr.while_loop(lambda x, _: hr.not_equal(x, 1), body, (x, hr.constant(0)))
    with _session(executor) as session:
        for start in (1, 6, 27, 97):
            assert session.run(steps, {x: start}) == _collatz(start)
        assert _native_loops(session, steps, [x]) == (0 if executor else 1)


@BOTH
@pytest.mark.host_execution("asserts that the loop runs as a native loop of the host")
def test_branches_in_branches_and_one_after_another(executor: str) -> None:
    def body(i: hr.Tensor, v: hr.Tensor, w: hr.Tensor) -> Any:
        third = hr.equal(i % 3, 0)
        odd = hr.equal(i % 2, 1)
        inside = lambda: hr.cond(odd, lambda: v * 2.0, lambda: v + w)  # noqa: E731
        v = hr.cond(third, inside, lambda: v - 1.0)
        w = hr.cond(v > w, lambda: w + v, lambda: w)
        return i + 1, v, w

    end = hr.while_loop(
        lambda i, *_: i < 25, body, (hr.constant(0), hr.constant(1.0), hr.constant(2.0))
    )
    v, w = 1.0, 2.0
    for i in range(25):
        v = (v * 2 if i % 2 else v + w) if i % 3 == 0 else v - 1
        w = w + v if v > w else w
    with _session(executor) as session:
        assert session.run(end)[1:] == (v, w)
        assert _native_loops(session, end) == (0 if executor else 1)


@BOTH
@pytest.mark.host_execution("asserts that the loop runs as a native loop of the host")
def test_inner_loops_are_part_of_the_native_loop_around_them(executor: str) -> None:
    n = hr.placeholder(hr.int32, [])

    def middle(i: hr.Tensor, total: hr.Tensor) -> Any:
        deep = lambda j, t: (j + 1, t + i * j)  # noqa: E731
        inner = lambda: hr.while_loop(lambda j, _: j <= i, deep, (hr.constant(0), total))[1]  # noqa: E731
        return i + 1, hr.cond(hr.equal(i % 3, 2), lambda: total - 5, inner)

    def outer(k: hr.Tensor, total: hr.Tensor) -> Any:
        return k + 1, hr.while_loop(lambda i, _: i < k, middle, (hr.constant(0), total))[1]

    _, total = hr.while_loop(lambda k, _: k < n, outer, (hr.constant(0), hr.constant(0)))
    expected = 0
    for k in range(9):
        for i in range(k):
            expected += -5 if i % 3 == 2 else sum(i * j for j in range(i + 1))
    with _session(executor) as session:
        assert session.run(total, {n: 9}) == expected
        assert session.run(total, {n: 0}) == 0
        assert _native_loops(session, total, [n]) == (0 if executor else 1)


@BOTH
def test_variables_exchange_their_values(executor: str) -> None:
    a, b = hr.placeholder(hr.float32, [None]), hr.placeholder(hr.float32, [None])
    end = hr.while_loop(
        lambda i, *_: i < 3,
        lambda i, a, b, c: (i + 1, b, c, a),
        (hr.constant(0), a, b, a * 2.0),
    )
    with _session(executor) as session:
        for size in (1, 3000):
            x, y = np.full(size, 1, np.float32), np.full(size, 7, np.float32)
            got = session.run(end, {a: x, b: y})
            assert [values[0] for values in got[1:]] == [1.0, 7.0, 2.0]
            assert (x[0], y[0]) == (1.0, 7.0)


@BOTH
def test_a_branch_passes_on_or_changes_a_large_value(executor: str) -> None:
    x = hr.placeholder(hr.float32, [None])

    def body(i: hr.Tensor, v: hr.Tensor, last: hr.Tensor) -> Any:
        changed = hr.cond(hr.equal(i % 2, 0), lambda: v, lambda: v + 1.0)
        return i + 1, changed, v

    end = hr.while_loop(lambda i, *_: i < 6, body, (hr.constant(0), x, x))
    with _session(executor) as session:
        for size in (1, 50_000):
            fed = np.zeros(size, np.float32)
            _, v, last = session.run(end, {x: fed})
            assert (v == 3).all() and (last == 2).all() and (fed == 0).all()


@BOTH
@pytest.mark.host_execution("asserts that the loop runs as a native loop of the host")
def test_shapes_that_follow_data_change_from_one_iteration_to_the_next(executor: str) -> None:
    x = hr.placeholder(hr.float32, [None])
    shape = hr.placeholder(hr.int32, [2])

    def body(i: hr.Tensor, total: hr.Tensor) -> Any:
        window = x[i : 2 * i + 1]
        positive = hr.boolean_mask(window, window > 3.0)
        tiled = hr.tile(hr.expand_dims(positive, 0), [i + 1, 1])
        square = hr.reshape(x, shape)  # a shape from outside of the loop
        return i + 1, total + hr.reduce_sum(tiled) + square[i % 2, 1]

    _, total = hr.while_loop(lambda i, _: i < 20, body, (hr.constant(0), hr.constant(0.0)))
    values = np.arange(60, dtype=np.float32) % 7
    with _session(executor) as session:
        for rows in (2, 5):
            square = values.reshape(rows, -1)
            expected = 0.0
            for i in range(20):
                window = values[i : 2 * i + 1]
                expected += window[window > 3].sum() * (i + 1) + square[i % 2, 1]
            assert session.run(total, {x: values, shape: [rows, -1]}) == expected
        assert _native_loops(session, total, [x, shape]) == (0 if executor else 1)


@BOTH
def test_the_condition_of_a_loop_may_branch_and_loop(executor: str) -> None:
    def goes_on(i: hr.Tensor, v: hr.Tensor) -> hr.Tensor:
        _, power = hr.while_loop(
            lambda j, _: j < i, lambda j, p: (j + 1, p * 2), (hr.constant(0), hr.constant(1))
        )
        return hr.cond(i < 3, lambda: hr.constant(True), lambda: power < v)

    end = hr.while_loop(goes_on, lambda i, v: (i + 1, v + 1), (hr.constant(0), hr.constant(40)))
    i, v = 0, 40
    while i < 3 or 2**i < v:
        i, v = i + 1, v + 1
    with _session(executor) as session:
        assert session.run(end) == (i, v)


def _counted(v: Any) -> hr.Tensor:
    with hr.control_dependencies([v.assign_add(1)]):
        return hr.constant(0)


@BOTH
def test_only_the_branch_that_is_taken_changes_variables(executor: str) -> None:
    taken = hr.get_variable("taken", [], hr.int32, hr.zeros_initializer(), use_resource=True)
    other = hr.get_variable("other", [], hr.int32, hr.zeros_initializer(), use_resource=True)

    def body(i: hr.Tensor) -> hr.Tensor:
        counted = hr.cond(i % 3 < 1, lambda: _counted(taken), lambda: _counted(other))
        with hr.control_dependencies([counted]):
            return i + 1

    end = hr.while_loop(lambda i: i < 10, body, [hr.constant(0)], parallel_iterations=1)
    with _session(executor) as session:
        session.run(hr.global_variables_initializer())
        assert session.run(end) == 10
        assert session.run([taken, other]) == [4, 6]


@BOTH
@pytest.mark.parametrize("where", ["body", "branch", "inner loop"])
def test_an_error_in_the_middle_of_a_loop_names_its_node(executor: str, where: str) -> None:
    with hr.Graph().as_default():
        x = hr.constant(np.arange(4, dtype=np.float32))

        def picked(i: hr.Tensor) -> hr.Tensor:
            return hr.gather(x, i, name="pick")

        def body(i: hr.Tensor, v: hr.Tensor) -> Any:
            if where == "body":
                return i + 1, v + picked(i)
            if where == "branch":
                return i + 1, v + hr.cond(i > 2, lambda: picked(i), lambda: hr.constant(0.0))
            inner = lambda j, w: (j + 1, w + picked(i + j))  # noqa: E731
            return i + 1, hr.while_loop(lambda j, _: j < 2, inner, (hr.constant(0), v))[1]

        n = hr.placeholder(hr.int32, [])
        _, v = hr.while_loop(lambda i, _: i < n, body, (hr.constant(0), hr.constant(0.0)))
        with _session(executor) as session:
            good = 3 if where == "inner loop" else 4
            before = session.run(v, {n: good})
            with pytest.raises(
                InvalidArgumentError, match=r"pick.*indices.* = 4 is not in \[0, 4\)"
            ):
                session.run(v, {n: good + 3})
            assert session.run(v, {n: good}) == before


def _endless(inner: bool) -> hr.Tensor:
    """Branches in a loop, or an inner loop, without end."""
    body = lambda i: hr.cond(i > 5, lambda: i - 3, lambda: i + 1)  # noqa: E731
    endless = lambda i: hr.while_loop(lambda i: i < 100, body, [i])  # noqa: E731
    if inner:
        return hr.while_loop(lambda i: i < 100, endless, [hr.constant(0)])
    return endless(hr.constant(0))


@BOTH
@pytest.mark.parametrize("inner", [False, True], ids=["branches", "inner loop"])
def test_a_timeout_and_close_end_a_loop_without_end(executor: str, inner: bool) -> None:
    endless = _endless(inner)
    session = _session(executor)
    with pytest.raises(DeadlineExceededError):
        session.run(endless, options=hr.RunOptions(timeout_in_ms=150))
    found: list[OpError] = []

    def run() -> None:
        try:
            session.run(endless)
        except OpError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until_under_way()
    session.close()
    thread.join(120)
    assert not thread.is_alive()
    assert isinstance(found[0], CancelledError)


@BOTH
def test_a_predicate_that_is_not_a_scalar_is_rejected(executor: str) -> None:
    p = hr.placeholder(hr.bool)
    end = hr.while_loop(
        lambda i: i < 3, lambda i: hr.cond(p, lambda: i + 1, lambda: i + 2), [hr.constant(0)]
    )
    with _session(executor) as session:
        assert session.run(end, {p: True}) == 3
        with pytest.raises(InvalidArgumentError, match="must be a scalar.*"):
            session.run(end, {p: [True, False]})
        assert session.run(end, {p: False}) == 4


def test_runs_of_one_loop_on_many_threads_do_not_meet() -> None:
    n = hr.placeholder(hr.int32, [])

    def body(i: hr.Tensor, v: hr.Tensor) -> Any:
        inner = lambda j, w: (j + 1, hr.cond(hr.equal(j % 2, 0), lambda: w + i, lambda: w - j))  # noqa: E731
        return i + 1, hr.while_loop(lambda j, _: j < 5, inner, (hr.constant(0), v))[1]

    _, v = hr.while_loop(lambda i, _: i < n, body, (hr.constant(0), hr.constant(0)))

    def expected(n: int) -> int:
        return sum(3 * i - 4 for i in range(n))

    wrong: list[int] = []
    with _session() as session:

        def work(first: int) -> None:
            for k in range(first, first + 40):
                if session.run(v, {n: k}) != expected(k):
                    wrong.append(k)

        concurrently(work, 4)
    assert wrong == []


@pytest.mark.host_execution("asserts that the loop runs as a native loop of the host")
def test_a_heavy_body_runs_on_the_threads_of_the_session_and_can_be_ended() -> None:
    x = hr.constant(np.full((600, 600), 1 / 600, np.float32))
    n = hr.placeholder(hr.int32, [])
    body = lambda i, v: (i + 1, hr.cond(i >= 0, lambda: hr.matmul(v, x), lambda: v))  # noqa: E731
    _, v = hr.while_loop(lambda i, _: i < n, body, (hr.constant(0), x))
    with _session(intra_op_parallelism_threads=2) as session:
        np.testing.assert_allclose(session.run(v, {n: 5}), np.full((600, 600), 1 / 600), rtol=1e-4)
        explained = session.explain(v, [n])
        assert "native loop of" in explained and "2 thread(s)" in explained
        with pytest.raises(DeadlineExceededError):  # it would take hours
            session.run(v, {n: 1_000_000}, options=hr.RunOptions(timeout_in_ms=200))
        assert session.run(v, {n: 1}).shape == (600, 600)


def _time(run: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


@pytest.mark.host_execution("asserts that the loop runs as a native loop of the host")
def test_a_branch_in_a_loop_costs_a_fraction_of_what_the_dynamic_executor_takes() -> None:
    body = lambda i, v: (i + 1, hr.cond(hr.equal(i % 2, 0), lambda: v + 1.0, lambda: v * 0.5))  # noqa: E731
    _, v = hr.while_loop(lambda i, _: i < 3000, body, (hr.constant(0), hr.constant(0.0)))
    with _session() as native, _session("dynamic") as dynamic:
        assert native.run(v) == dynamic.run(v)
        assert _time(lambda: native.run(v)) < _time(lambda: dynamic.run(v)) / 4


@BOTH
@pytest.mark.parametrize("stalled", [0, 3])
def test_one_stalled_run_does_not_send_a_small_body_to_the_pool_for_good(
    executor: str, stalled: int
) -> None:
    """A thread that loses its core measures 30 ms for a body of 1 us."""
    callers: list[int] = []

    def call(x: Any) -> Any:
        if len(callers) == stalled:
            time.sleep(0.03)
        callers.append(threading.get_ident())
        return x + np.float32(1)

    end = hr.while_loop(
        lambda i, v: i < 200,
        lambda i, v: (i + 1, hr.reshape(hr.py_func(call, [v], hr.float32), [])),
        (hr.constant(0), hr.constant(0.0)),
    )
    with _session(executor, intra_op_parallelism_threads=2) as session:
        assert session.run(end[1]) == 200
    here = callers[-100:].count(threading.get_ident())
    assert here >= 90, f"{100 - here} of the last 100 calls ran on another thread"


def test_a_merge_of_both_sides_of_a_switch_needs_a_scalar_predicate() -> None:
    p = hr.placeholder(hr.bool, None)

    def body(i: hr.Tensor) -> hr.Tensor:
        false, true = hr.raw_ops.Switch(data=i + 1, pred=p)
        return hr.raw_ops.Merge(inputs=[false, true])[0]

    loop = hr.while_loop(lambda i: i < 3, body, [hr.constant(0)])
    with hr.Session() as session:
        assert session.run(loop, {p: True}) == 3
        with pytest.raises(InvalidArgumentError, match="must be a scalar"):
            session.run(loop, {p: [True, False]})
