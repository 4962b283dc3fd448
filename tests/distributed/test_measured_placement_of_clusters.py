"""A master places the nodes of a signature again once some of its runs are measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from served_cluster import in_process

import headrace.graph as hr

ALL = hr.ConfigProto()
ALL.experimental.placement_simulation = "all_tasks"
SLOW_S = 0.03


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with in_process(ps=1, worker=2) as made:
        yield made


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as made:
        yield made


def slow(x: hr.Tensor, name: str) -> hr.Tensor:
    def work(value: np.ndarray) -> np.ndarray:
        time.sleep(SLOW_S)
        return value + 1

    result = hr.py_func(work, [x], hr.float32, stateful=False, name=name)
    result.set_shape([])
    return result


def tasks_of(session: hr.Session, fetch: Any, feeds: Any) -> dict[str, str]:
    """The task of each node, as a trace reports it."""
    metadata = hr.RunMetadata()
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    session.run(fetch, feeds, options=options, run_metadata=metadata)
    return {
        node.name: node.device.partition("/device:")[0].replace("/replica:0", "")
        for node in metadata.placement.node
    }


def branches() -> tuple[hr.Tensor, hr.Tensor]:
    x = hr.placeholder(hr.float32, [])
    return x, slow(x, "a") + slow(x * 2.0, "b")


def test_branches_that_turn_out_to_be_slow_go_to_two_tasks(cluster: Any) -> None:
    x, y = branches()
    with hr.Session(cluster.target("worker"), config=ALL) as session:
        before = tasks_of(session, y, {x: 1.0})
        assert before["a"] == before["b"] == "/job:worker/task:0"
        for i in range(40):
            assert session.run(y, {x: float(i)}) == 3.0 * i + 2.0
        after = tasks_of(session, y, {x: 1.0})
        assert after["a"] != after["b"]
        took = []
        for i in range(5):
            begun = time.monotonic()
            assert session.run(y, {x: float(i)}) == 3.0 * i + 2.0
            took.append(time.monotonic() - begun)
    assert min(took) < 1.8 * SLOW_S


def test_nothing_moves_where_the_session_does_not_ask_for_it(cluster: Any) -> None:
    x, y = branches()
    with hr.Session(cluster.target("worker")) as session:
        for i in range(20):
            session.run(y, {x: float(i)})
        after = tasks_of(session, y, {x: 1.0})
    assert set(after.values()) == {"/job:worker/task:0"}


def test_runs_of_several_threads_are_right_while_nodes_move(cluster: Any) -> None:
    x, y = branches()
    wrong: list[Any] = []
    with hr.Session(cluster.target("worker"), config=ALL) as session:

        def work(first: int) -> None:
            for i in range(first, first + 25):
                got = session.run(y, {x: float(i)})
                if got != 3.0 * i + 2.0:
                    wrong.append((i, got))

        threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120.0)
            assert not thread.is_alive()
    assert wrong == []


def test_variables_stay_where_they_were_initialised(cluster: Any) -> None:
    x = hr.placeholder(hr.float32, [])
    v = hr.Variable(1.0)
    update = hr.assign_add(v, slow(x, "a") + slow(x * 2.0, "b"))
    with hr.Session(cluster.target("worker"), config=ALL) as session:
        session.run(v.initializer)
        expected = 1.0
        for i in range(30):
            expected += 3.0 * i + 2.0
            assert session.run(update, {x: float(i)}) == expected
        assert session.run(v) == expected
