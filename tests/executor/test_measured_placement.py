"""A session with several devices places a signature again once its runs are measured.

Modules: session/moving_step.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

TWO = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1)


def _devices(session: hr.Session, fetch: Any, feeds: Any) -> dict[str, str]:
    metadata = hr.RunMetadata()
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    session.run(fetch, feeds, options=options, run_metadata=metadata)
    return {
        node.node_name: device.device[-5:]
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if not node.timeline_label.endswith(("_Recv", "_Send"))
    }


def _slow(x: hr.Tensor, name: str) -> hr.Tensor:
    def work(value: np.ndarray) -> np.ndarray:
        time.sleep(0.02)
        return value + 1

    result = hr.py_func(work, [x], hr.float32, stateful=False, name=name)
    result.set_shape([])
    return result


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core runs one node at a time")
@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_branches_that_turn_out_to_be_slow_move_apart() -> None:
    x = hr.placeholder(hr.float32, [])
    y = _slow(x, "a") + _slow(x * 2.0, "b")
    with hr.Session(config=TWO) as session:
        before = _devices(session, y, {x: 1.0})
        assert before["a"] == before["b"] == "CPU:0"
        for i in range(40):
            assert session.run(y, {x: float(i)}) == 3.0 * i + 2.0
        after = _devices(session, y, {x: 1.0})
    assert {after["a"], after["b"]} == {"CPU:0", "CPU:1"}


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_a_graph_of_small_nodes_stays_and_gives_the_same() -> None:
    x = hr.placeholder(hr.float32, [4, 4])
    v = hr.get_variable("v", [4, 4], initializer=hr.ones_initializer())
    train = hr.assign_add(v, hr.tanh(hr.matmul(x, v)))
    y = hr.add_n([hr.reduce_sum(v * float(i)) for i in range(5)])
    results = []
    for config in (TWO, None):
        with hr.Session(config=config) as session:
            session.run(hr.global_variables_initializer())
            found = [session.run([y, train], {x: np.eye(4)})[0] for _ in range(30)]
            assert set(_devices(session, y, {}).values()) == {"CPU:0"}
        results.append(found)
    assert results[0] == results[1]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core runs one node at a time")
def test_without_a_simulation_nothing_moves() -> None:
    config = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1)
    config.experimental.placement_simulation = "none"
    x = hr.placeholder(hr.float32, [])
    y = _slow(x, "a") + _slow(x * 2.0, "b")
    with hr.Session(config=config) as session:
        for _ in range(20):
            session.run(y, {x: 1.0})
        after = _devices(session, y, {x: 1.0})
    assert after["a"] == after["b"] == "CPU:0"


def test_errors_and_the_end_of_a_session_are_those_of_any_step() -> None:
    x = hr.placeholder(hr.float32, [None])
    y = hr.check_numerics(x, "bad")
    session = hr.Session(config=TWO)
    for i in range(30):
        value = [np.nan] if i % 2 else [1.0]
        if i % 2:
            with pytest.raises(hr.errors.InvalidArgumentError, match="bad"):
                session.run(y, {x: value})
        else:
            assert session.run(y, {x: value}).tolist() == value
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(y, {x: [1.0]})
