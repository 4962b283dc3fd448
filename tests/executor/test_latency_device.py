"""A device whose kernels end some time after their start, beside the CPUs of one or more tasks.

Modules: session/session_devices, passes/place, passes/plan_tasks, executor/asynchronous_nodes.
"""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latency_device import TYPE, LatencyDevice, latency_device
from programs_over_tasks import compare_with_one_device, nested_loops
from random_programs import Program, programs
from worker_steps import TASKS, Tasks, scattered

import headrace.graph as hr
from headrace.formats import errors

CONFIG = hr.ConfigProto(device_count={TYPE: 1}, allow_soft_placement=True)
DEVICES = [f"{task}/device:{kind}:0" for task in TASKS for kind in ("CPU", TYPE)]
HERE = f"/device:{TYPE}:0"
COUNT = int(os.environ.get("HEADRACE_PLACEMENTS", "40"))


def _tasks(graph: hr.Graph, seed: int) -> Tasks:
    return Tasks(scattered(graph, seed, DEVICES), CONFIG.SerializeToString(), DEVICES)


@pytest.fixture(scope="module", autouse=True)
def device(tmp_path_factory: pytest.TempPathFactory) -> LatencyDevice:
    return latency_device(tmp_path_factory.mktemp("device"))


@pytest.fixture(autouse=True)
def small_latency(device: LatencyDevice) -> None:
    device.set_latency_us(100)


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_a_session_has_the_devices_for_which_there_are_kernels() -> None:
    counts = {"CPU": 2, TYPE: 1, "NONE": 3}
    with hr.Session(config=hr.ConfigProto(device_count=counts)) as session:
        found = [(d.device_type, d.name.rpartition("device:")[2]) for d in session.list_devices()]
    assert found == [("CPU", "CPU:0"), ("CPU", "CPU:1"), (TYPE, f"{TYPE}:0")]
    with hr.Session() as session:
        assert [d.device_type for d in session.list_devices()] == ["CPU"]


@settings(max_examples=COUNT, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_random_programs_over_such_devices_of_three_tasks(program: Program, seed: int) -> None:
    compare_with_one_device(program, lambda graph: _tasks(graph, seed))


@settings(max_examples=COUNT // 4, deadline=None)
@given(st.integers(0, 2**31))
def test_nested_loops_and_their_gradients_over_such_devices(seed: int) -> None:
    with hr.Graph().as_default() as graph:
        fetches = [t for some in nested_loops() for t in some]
        with hr.Session() as session:
            expected = session.run(fetches)
        tasks = _tasks(graph, seed)
        got = tasks.run([t.name for t in fetches], {})
        tasks.close()
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_training_on_the_device_gives_what_the_cpu_gives(device: LatencyDevice) -> None:
    def losses(on: str) -> list[float]:
        with hr.Graph().as_default(), hr.device(on):
            x = hr.placeholder(hr.float32, [16, 8])
            w = hr.Variable(np.full([8, 4], 0.1, np.float32))
            loss = hr.reduce_mean(hr.square(hr.tanh(hr.matmul(x, w)) - 0.5))
            train = hr.train.GradientDescentOptimizer(0.5).minimize(loss)
            fed = np.random.default_rng(0).normal(size=[16, 8])
            with hr.Session(config=CONFIG) as session:
                session.run(hr.global_variables_initializer())
                return [session.run([loss, train], {x: fed})[0] for _ in range(10)]

    before = device.launches
    assert losses(HERE) == pytest.approx(losses("/cpu:0"), rel=1e-6)
    assert device.launches > before + 50


def test_the_cpu_works_while_the_device_does(device: LatencyDevice) -> None:
    device.set_latency_us(30_000)
    x = hr.placeholder(hr.float32, [4])

    def work(value: np.ndarray) -> np.ndarray:
        time.sleep(0.03)
        return value

    with hr.device(HERE):
        there = hr.tanh(x) + 1.0
    here = hr.py_func(work, [hr.py_func(work, [x], hr.float32)], hr.float32)
    with hr.Session(config=CONFIG) as session:
        session.run([there, here], {x: np.ones(4)})
        took = []
        for _ in range(5):
            begun = time.monotonic()
            session.run([there, here], {x: np.ones(4)})
            took.append(time.monotonic() - begun)
    assert min(took) < 0.1, "two kernels and two functions of 30 ms each, side by side"


def test_a_session_that_closes_waits_for_what_the_device_has_begun(device: LatencyDevice) -> None:
    device.set_latency_us(200_000)
    x = hr.placeholder(hr.float32, [4])
    with hr.device(HERE):
        y = hr.tanh(hr.tanh(x))
    session = hr.Session(config=CONFIG)
    ended: list[BaseException] = []

    def run_one() -> None:
        try:
            session.run(y, {x: np.ones(4)})
        except BaseException as error:  # noqa: BLE001 - what it is, is the test's question
            ended.append(error)

    thread = threading.Thread(target=run_one)
    thread.start()
    time.sleep(0.05)
    session.close()
    thread.join(10.0)
    assert not thread.is_alive()
    assert [type(error) for error in ended] == [errors.CancelledError]


def test_a_run_with_a_deadline_ends_though_the_device_does_not(device: LatencyDevice) -> None:
    device.set_latency_us(300_000)
    x = hr.placeholder(hr.float32, [4])
    with hr.device(HERE):
        y = hr.tanh(hr.tanh(x))
    with hr.Session(config=CONFIG) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(y, {x: np.ones(4)}, options=hr.RunOptions(timeout_in_ms=50))
        device.set_latency_us(100)
        assert session.run(y, {x: np.zeros(4)}).tolist() == [0.0] * 4


def test_a_trace_shows_when_kernels_of_the_device_ran(device: LatencyDevice) -> None:
    device.set_latency_us(5000)
    x = hr.placeholder(hr.float32, [4])
    with hr.device(HERE):
        y = hr.tanh(x, name="slow_there")
    metadata = hr.RunMetadata()
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    with hr.Session(config=CONFIG) as session:
        session.run(y, {x: np.ones(4)}, options=options, run_metadata=metadata)
    (stats,) = (
        node
        for of_device in metadata.step_stats.dev_stats
        if of_device.device.endswith(HERE)
        for node in of_device.node_stats
        if node.timeline_label.startswith("slow_there = Tanh")
    )
    assert stats.op_end_rel_micros >= 4900


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_a_node_that_runs_on_devices_of_two_types_has_a_state_for_each() -> None:
    """Two signatures place it on different devices, each with a kernel of its own."""
    with hr.Graph().as_default():
        words = hr.placeholder(hr.string, [3])
        x = hr.placeholder(hr.float32, [300, 300])
        ends, hashes = [], []
        for i in range(4):
            y = hr.matmul(hr.matmul(x, x), x) / 300.0
            # A kernel with a state of its own, the key.
            hashed = hr.string_to_hash_bucket_strong(words, 1 << 20, key=[i, 7])
            hashes.append(hashed)
            ends.append(hr.reduce_sum(y) + hr.cast(hr.reduce_sum(hashed), hr.float32))
        fed = {x: np.random.default_rng(0).normal(size=[300, 300]), words: ["a", "b", "c"]}
        with hr.Session() as session:
            expected = session.run([*ends, *hashes], fed)
        with hr.Session(config=CONFIG) as session:
            for i in range(4):  # alone, each stays on the first device
                assert session.run(ends[i], fed) == pytest.approx(expected[i], rel=1e-4)
            metadata = hr.RunMetadata()
            options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
            for _ in range(20):
                got = session.run([*ends, *hashes], fed)
                np.testing.assert_allclose(got[:4], expected[:4], rtol=1e-4)
                np.testing.assert_array_equal(got[4:], expected[4:])
            session.run(ends, fed, options, metadata)
            used = {d.device.rpartition("device:")[2] for d in metadata.step_stats.dev_stats}
            assert used == {"CPU:0", f"{TYPE}:0"}
            for i in range(4):
                assert session.run(ends[i], fed) == pytest.approx(expected[i], rel=1e-4)
