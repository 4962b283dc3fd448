"""A graph over linked tasks gives what one device gives, on every plane; what goes wrong in one
task ends the step everywhere.

Of headrace.distributed: native/endpoint, native/step.

`HEADRACE_PLACEMENTS=1000 pytest tests/distributed/test_linked_tasks.py` tries many.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linked_tasks import DEVICES, PLANES, TASKS, LinkedTasks
from programs_over_tasks import compare_with_one_device, nested_loops
from random_programs import Program, programs
from worker_steps import scattered

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.run_pb2 import RunMetadata

COUNT = int(os.environ.get("HEADRACE_PLACEMENTS", "8"))
LARGE_SUM = np.arange(500_000, dtype=np.int32).sum(dtype=np.int32)
LATE_S = 60.0  # what a busy machine may take for anything


@pytest.fixture(params=PLANES)
def plane(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("plane", PLANES)
@settings(max_examples=COUNT, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_random_programs_under_random_placements(
    plane: str, program: Program, placement: int
) -> None:
    compare_with_one_device(program, lambda graph: LinkedTasks(scattered(graph, placement), plane))


def test_nested_loops_and_their_gradients(plane: str) -> None:
    with hr.Graph().as_default() as graph:
        fetches = [t for some in nested_loops() for t in some]
        with hr.Session() as session:
            expected = session.run(fetches)
        for placement in range(2):
            tasks = LinkedTasks(scattered(graph, placement), plane)
            for _ in range(3):
                got = tasks.run([t.name for t in fetches], {})
                for one, other in zip(got, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-6)
            tasks.close()


# ---- one graph for the tests below ---------------------------------------------------------------


class Model:
    """x on task 0, through tasks 1 and 2; with nodes that fail and that wait on each."""

    def __init__(self, plane: str) -> None:
        self.plane = plane
        with hr.Graph().as_default() as graph:
            self.x = hr.placeholder(hr.float32, [None], name="x")
            self.text = hr.placeholder(hr.string, [None], name="text")
            with hr.device(DEVICES[2]):
                a = hr.tanh(self.x)
                joined = hr.string_join([self.text, self.text])
            with hr.device(DEVICES[4]):
                hr.reduce_sum(a * 2.0, name="sum")
                hr.identity(joined, name="joined")
                table = hr.constant(np.arange(500_000, dtype=np.int32))
            for i in range(3):
                with hr.device(DEVICES[2 * i]):
                    hr.check_numerics(a / 0.0, "bad", name=f"bad{i}")
                    hr.FIFOQueue(1, [hr.float32], [[]], name=f"queue{i}").dequeue(name=f"taken{i}")
                    hr.no_op(name=f"nothing{i}")
                    hr.reduce_sum(table, name=f"large{i}")
            with hr.device(DEVICES[2]):
                handle = hr.get_variable("v", [2], use_resource=True).handle
            with hr.device(DEVICES[0]):
                hr.identity(handle, name="handle")
        self.tasks = LinkedTasks(graph.as_graph_def(), plane)

    def check(self, value: Any = (1.0, 2.0)) -> None:
        """A step over all tasks gives what it should."""
        got = self.tasks.run(["sum:0", "large0:0"], {"x:0": np.float32(value)})
        assert got[0] == pytest.approx(2 * np.tanh(value).sum(), rel=1e-4, abs=1e-4)
        assert got[1] == LARGE_SUM

    @property
    def waiting(self) -> Any:
        """A step in which each task waits for ever."""
        return self.tasks.step([], [], ["taken0", "taken1", "taken2"])

    def idle(self) -> None:
        """No step is left anywhere."""
        until(lambda: not any(e.n_steps for e in self.tasks.endpoints.values()))


def until(condition: Callable[[], bool]) -> None:
    """Waits for a condition."""
    end = time.monotonic() + LATE_S
    while not condition():
        assert time.monotonic() < end, "the condition has not come"
        time.sleep(0.005)


@pytest.fixture
def model(plane: str) -> Iterator[Model]:
    made = Model(plane)
    yield made
    made.idle()
    made.tasks.close()


class Calling(threading.Thread):
    """A thread that runs a step which must fail."""

    def __init__(self, step: Any, values: Any = (), **options: Any) -> None:
        super().__init__()
        self._call = lambda: step.run(values, **options)
        self.error: Any = None
        self.start()

    def run(self) -> None:
        try:
            self._call()
        except errors.OpError as error:
            self.error = error

    def end(self) -> Any:
        self.join(LATE_S)
        assert not self.is_alive(), "the step does not end"
        return self.error


def test_errors_name_the_node_of_whatever_task(model: Model) -> None:
    for i in range(3):
        step = model.tasks.step(["x:0"], ["sum:0"], [f"bad{i}", "taken0", "taken1", "taken2"])
        with pytest.raises(errors.InvalidArgumentError, match="bad") as caught:
            step.run([np.float32([1.0])])
        assert caught.value.node_name == f"bad{i}"
        model.check()


def test_a_step_that_takes_too_long_ends_everywhere(model: Model) -> None:
    with pytest.raises(errors.DeadlineExceededError, match="longer than 50 ms"):
        model.waiting.run([], timeout_ms=50)
    model.check()


def test_cancelling_ends_a_step_everywhere(model: Model) -> None:
    running = model.waiting.start()
    until(lambda: all(e.n_steps for e in model.tasks.endpoints.values()))
    running.cancel("enough")
    with pytest.raises(errors.CancelledError, match="enough"):
        running.finish()
    model.check()


def test_strings(model: Model) -> None:
    for strings in ([b"", b"a\0", b"x" * 1_000_000], [], [b"\xff"] * 1000):
        (got,) = model.tasks.run(["joined:0"], {"text:0": np.array(strings, object)})
        assert got.tolist() == [s + s for s in strings]


def test_a_resource_does_not_leave_its_task_and_the_links_live(model: Model) -> None:
    step = model.tasks.step([], ["handle:0"])
    with pytest.raises(errors.UnimplementedError, match="DataType 20"):
        step.run([])
    model.check()


def test_traces_of_all_tasks(model: Model) -> None:
    step = model.tasks.step(["x:0"], ["sum:0", "large0:0"])
    started = time.time()
    _, metadata = step.run([np.float32([1.0, 2.0])], traced=True)
    stats = RunMetadata.FromString(metadata).step_stats.dev_stats
    assert {s.device.rpartition("/device")[0] for s in stats} == set(TASKS)
    for node in (node for s in stats for node in s.node_stats):
        assert abs(node.all_start_micros / 1e6 - started) < 60


def test_steps_of_several_threads(model: Model) -> None:
    failed: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(40):
                model.check(rng.normal(size=rng.integers(1, 9)))
        except BaseException as error:
            failed.append(error)

    model.check()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LATE_S)
        assert not thread.is_alive()
    assert not failed


def test_a_run_that_is_fed_and_fetched_by_and_by(model: Model) -> None:
    running = model.tasks.step(["x:0"], ["sum:0", "large2:0"]).start()
    assert running.fetch(1) == LARGE_SUM
    running.feed(0, np.float32([1.0]))
    assert abs(running.fetch(0) - 2 * np.tanh(1.0)) < 1e-5
    running.finish()


def test_a_lost_link_between_workers_ends_the_step_and_a_new_one_serves_the_next(
    model: Model,
) -> None:
    for seed in range(3):
        model.check()
        callings = [Calling(model.waiting) for _ in range(3)]
        step = model.tasks.step(["x:0"], ["sum:0"], ["taken2"])
        callings.append(Calling(step, [np.float32([1.0])]))
        # The master has three partitions and all four steps; the fourth is over on one worker.
        until(lambda: [e.n_steps for e in model.tasks.endpoints.values()] == [7, 3, 4])
        one, other = random.Random(seed).sample(TASKS, 2)
        model.tasks.cut(one, other, "the cable is out")
        lost = []
        for calling in callings:
            # A step that does not depend on the link goes on.
            if calling is callings[-1] or TASKS[0] in (one, other):
                error = calling.end()
                assert isinstance(error, errors.UnavailableError), error
                assert "is not available: " in str(error)
                assert one in str(error) or other in str(error)
            else:
                lost.append(calling)
        for calling in lost:
            model.tasks.workers[TASKS[1]].reset([])
            assert isinstance(calling.end(), errors.CancelledError)
        model.tasks.link(one, other)
        model.check()


def test_links_lost_at_any_moment(model: Model) -> None:
    """Every step ends soon, with its values or as unavailable; after new links steps work again."""
    rng = random.Random(1)
    model.check()
    stop = threading.Event()
    failed: list[Any] = []
    done = [0]

    def work() -> None:
        while not stop.is_set():
            begin = time.monotonic()
            try:
                model.check(np.ones(rng.randrange(1, 2000)))
                done[0] += 1
            except errors.UnavailableError:
                time.sleep(0.001)
            except BaseException as error:
                failed.append(error)
                return
            if time.monotonic() - begin > LATE_S:
                failed.append("a step took too long")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            before = done[0]
            until(lambda before=before: done[0] > before or bool(failed))
            time.sleep(rng.random() * 0.005)
            one, other = rng.sample(TASKS, 2)
            model.tasks.cut(one, other, "the cable is out")
            time.sleep(rng.random() * 0.01)
            model.tasks.link(one, other)
    finally:
        stop.set()
        for thread in threads:
            thread.join(2 * LATE_S)
    assert not failed
    assert not any(thread.is_alive() for thread in threads)
    model.check()


def test_a_stopped_worker_ends_steps_and_its_own_runs(model: Model) -> None:
    callings = [Calling(model.waiting) for _ in range(2)]
    until(lambda: all(e.n_steps >= 2 for e in model.tasks.endpoints.values()))
    model.tasks.endpoints[TASKS[2]].close()
    for calling in callings:
        error = calling.end()
        assert isinstance(error, errors.UnavailableError) and TASKS[2] in str(error)
    with pytest.raises(errors.UnavailableError, match=f"no link to {TASKS[2]}") as caught:
        model.waiting.run([])
    assert caught.value.details == "not started"


def test_a_closed_master_ends_the_runs_of_its_workers(model: Model) -> None:
    callings = [Calling(model.waiting) for _ in range(2)]
    until(lambda: all(e.n_steps >= 2 for e in model.tasks.endpoints.values()))
    model.tasks.master.close()
    for calling in callings:
        assert isinstance(calling.end(), errors.CancelledError)


def test_partitions_that_are_gone_are_reported(model: Model) -> None:
    model.check()
    step = model.tasks.step([], [], ["nothing1"])
    number = model.tasks.numbers[step][TASKS[1]]
    step.run([])
    model.tasks.endpoints[TASKS[1]].unbind(number)
    with pytest.raises(errors.AbortedError, match=f"{TASKS[1]} has no partition {number}"):
        step.run([])
    model.check()
    other = model.tasks.step([], [], ["nothing2"])
    model.tasks.workers[TASKS[2]].deregister(model.tasks.numbers[other][TASKS[2]])
    with pytest.raises(errors.NotFoundError, match="no such partition"):
        other.run([])
    model.check()


def test_closing_everything_while_steps_run(plane: str) -> None:
    for seed in range(4):
        model = Model(plane)
        model.check()
        step = model.tasks.step(["x:0"], ["sum:0", "large0:0"])

        def work(step: Any = step) -> None:
            try:
                while True:
                    step.run([np.ones(1000, np.float32)])
            except errors.OpError:
                pass

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda model=model: model.tasks.master.n_steps > 0)
        endpoints = list(model.tasks.endpoints.values())
        random.Random(seed).shuffle(endpoints)
        for endpoint in endpoints:
            endpoint.close()
        for thread in threads:
            thread.join(LATE_S)
            assert not thread.is_alive()
        model.tasks.close()
