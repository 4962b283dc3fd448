"""A graph cut over the devices of several tasks gives what one device gives.

Modules: passes/plan_tasks, passes/task_edges, passes/task_frames, session/planner, session/worker,
session/step_rendezvous, session/runtime_service, session/state_reset, executor/worker_runs,
state/rendezvous, memory/worker_abi.

`HEADRACE_PLACEMENTS=1000 pytest tests/executor/test_task_partitions.py` tries many.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs_over_tasks import compare_with_one_device, nested_loops
from random_programs import Program, programs
from worker_steps import DEVICES, TASKS, Tasks, scattered

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunMetadata

COUNT = int(os.environ.get("HEADRACE_PLACEMENTS", "40"))


@settings(max_examples=COUNT, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_random_programs_under_random_placements(program: Program, placement: int) -> None:
    compare_with_one_device(program, lambda graph: Tasks(scattered(graph, placement)))


@settings(max_examples=COUNT // 2, deadline=None)
@given(st.integers(0, 2**31))
def test_nested_loops_and_their_gradients(placement: int) -> None:
    with hr.Graph().as_default() as graph:
        fetches = [t for some in nested_loops() for t in some]
        with hr.Session() as session:
            expected = session.run(fetches)
        tasks = Tasks(scattered(graph, placement))
        got = tasks.run([t.name for t in fetches], {})
        tasks.close()
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_tensor_passes_once_per_task_and_a_constant_of_a_loop_once_per_step() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device(DEVICES[0]):
            x = hr.constant(2.0, name="x")
            w = hr.identity(x, name="w")
        with hr.device(DEVICES[2]):
            sums = [x + 1.0, x * 3.0]

        def body(i: Any, a: Any) -> tuple[Any, Any]:
            with hr.device(DEVICES[2]):
                return i + 1, a * w

        with hr.device(DEVICES[0]):
            y = hr.while_loop(lambda i, _: i < 3, body, [0, x])[1]
        tasks = Tasks(graph.as_graph_def())
        assert tasks.run([y.name, *[t.name for t in sums]], {}) == [16.0, 3.0, 6.0]
        plan, _ = tasks.plan([], [y.name, *[t.name for t in sums]])
        between = [e.tensor for e in plan.edge if e.send_task and e.recv_task]
        assert between.count("x:0") == 1
        assert between.count("w:0") == 1  # before its Enter
        tasks.close()


def test_control_edges_between_tasks() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device(DEVICES[0]):
            v = hr.Variable(1.0)
            add = hr.assign_add(v, 1.0)
        with hr.device(DEVICES[4]), hr.control_dependencies([add.op]):
            late = hr.constant(5.0)
        with hr.device(DEVICES[0]), hr.control_dependencies([late]):
            read = v.read_value() + late
        init = hr.global_variables_initializer()
        tasks = Tasks(graph.as_graph_def())
        tasks.run([], {}, [init.name])
        assert tasks.run([read.name], {}) == [7.0]
        assert tasks.run([read.name, v.name], {}) == [8.0, 3.0]
        tasks.close()


def test_a_fetched_variable_has_what_the_step_wrote() -> None:
    with hr.Graph().as_default() as graph:
        v = hr.Variable([1.0, 2.0])
        add = hr.assign_add(v, [1.0, 1.0])
        init = hr.global_variables_initializer()
        tasks = Tasks(graph.as_graph_def())
        tasks.run([], {}, [init.name])
        for k in range(1, 4):
            assert tasks.run([v.name], {}, [add.op.name])[0].tolist() == [1.0 + k, 2.0 + k]
        tasks.close()


def _sent_to_nobody() -> GraphDef:
    with hr.Graph().as_default() as graph:
        queue = hr.FIFOQueue(1, [hr.float32], [[]], name="queue")
        queue.dequeue(name="taken")
        hr.check_numerics(hr.constant(float("nan")), "bad", name="bad")
        hr.matmul(hr.ones([600, 600]), hr.ones([600, 600]), name="product")
        result: GraphDef = graph.as_graph_def()
    return result


def test_errors_name_the_node_and_cancelling_ends_what_waits() -> None:
    tasks = Tasks(_sent_to_nobody())
    worker = tasks.workers[TASKS[0]]
    with pytest.raises(errors.InvalidArgumentError, match="bad") as caught:
        tasks.run([], {}, ["bad"])
    assert caught.value.node_name == "bad"
    _, numbers = tasks.plan([], [], ["taken"])
    rendezvous = tasks.runtime.open_rendezvous()
    end = rendezvous.run(worker, numbers[TASKS[0]], 7)
    with pytest.raises(errors.DeadlineExceededError):
        end(0.05)
    worker.deregister(numbers[TASKS[0]])
    with pytest.raises(errors.CancelledError, match="deregistered"):
        end(30.0)
    with pytest.raises(errors.NotFoundError, match="no such partition"):
        rendezvous.run(worker, numbers[TASKS[0]], 8)(30.0)
    with pytest.raises(errors.NotFoundError, match="no session 'other'"):
        worker.register("other", b"")
    with pytest.raises(errors.AlreadyExistsError):
        worker.open_session("session", b"", False)
    tasks.close()


def test_a_reset_and_a_close_end_what_waits() -> None:
    for ends in ("reset", "close"):
        tasks = Tasks(_sent_to_nobody())
        worker = tasks.workers[TASKS[0]]
        _, numbers = tasks.plan([], [], ["taken"])
        rendezvous = tasks.runtime.open_rendezvous()
        end = rendezvous.run(worker, numbers[TASKS[0]], 7)
        with pytest.raises(errors.DeadlineExceededError):
            end(0.05)
        worker.reset([]) if ends == "reset" else worker.close()
        with pytest.raises(errors.CancelledError, match="reset" if ends == "reset" else "closed"):
            end(30.0)
        tasks.close()


def test_runs_of_many_threads_and_a_trace() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [None], name="x")
        with hr.device(DEVICES[0]):
            a = hr.tanh(x)
        with hr.device(DEVICES[2]):
            b = hr.reduce_sum(a * 2.0, name="b")
        tasks = Tasks(graph.as_graph_def())
    failed: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            value = rng.normal(size=rng.integers(1, 9)).astype(np.float32)
            got = tasks.run([b.name], {x.name: value})[0]
            if abs(got - np.tanh(value).sum() * 2.0) > 1e-4:
                failed.append((value, got))

    tasks.plan([x.name], [b.name])
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    plan, numbers = tasks.plan([x.name], [b.name])
    rendezvous = tasks.runtime.open_rendezvous()
    rendezvous.send(next(e.id for e in plan.edge if not e.send_task), np.ones(3, np.float32))
    started = time.time()
    ends = {t: rendezvous.run(tasks.workers[t], n, 0, True) for t, n in numbers.items()}
    for task, end in ends.items():
        stats = RunMetadata.FromString(end(30.0)).step_stats.dev_stats
        assert {s.device.rpartition("/device")[0] for s in stats} == {task}
        for node in (node for s in stats for node in s.node_stats):
            assert abs(node.all_start_micros / 1e6 - started) < 60
    tasks.close()


def test_a_variable_of_another_task_cannot_be_written() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device(DEVICES[0]):
            v = hr.Variable(1.0)
        with hr.device(DEVICES[2]):
            hr.assign_add(v, 1.0, name="add")
        graph_def = graph.as_graph_def()
    for node in graph_def.node:
        if node.name == "add":
            node.device = DEVICES[2]
            node.ClearField("attr")
            node.attr["T"].type = 1  # type: ignore[assignment]
    tasks = Tasks(graph_def)
    tasks.run([], {}, [v.initializer.name])
    tasks.run([], {}, ["add"])  # softly placed: beside its variable
    assert tasks.run([v.name], {}) == [2.0]
    tasks.close()
