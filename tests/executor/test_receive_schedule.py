"""Tensors that pass between tasks are made and sent no earlier than they are needed (§5.2).

Modules: passes/schedule_receives, passes/step_units.

`python tests/executor/peak_memory.py` prints the peak memory of a process with and without.
`HEADRACE_PLACEMENTS=1000 pytest tests/executor/test_receive_schedule.py` tries many graphs.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peak_memory import COUNT, SIZE, chain_of_received, in_a_process
from planned_graphs import config, planner, report, trace_of
from programs_over_tasks import compare_with_one_device
from random_programs import Program, programs
from worker_steps import DEVICES, Tasks, scattered

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan, PlacementReport
from headrace.formats.proto.run_pb2 import ConfigProto

EXAMPLES = int(os.environ.get("HEADRACE_PLACEMENTS", "40"))
TWO = (DEVICES[0], DEVICES[2])


def _scheduled() -> ConfigProto:
    options = config("none")
    options.graph_options.enable_recv_scheduling = True
    return options


def _receives(graph: hr.Graph, fetches: list[str]) -> PlacementReport.Receives:
    feeds = [op.name for op in graph.get_operations() if op.type == "Placeholder"]
    return report(planner(graph, _scheduled()), feeds, fetches, TWO).receives


def _signals(graph: hr.Graph, fetches: list[str]) -> dict[str, str]:
    """Which node of the other task each node waits for."""
    feeds = [op.name for op in graph.get_operations() if op.type == "Placeholder"]
    wire = planner(graph, _scheduled()).plan(feeds, fetches, [], TWO)
    nodes = {}
    for part in PartitionPlan.FromString(wire).partition:
        for node in GraphDef.FromString(part.graph_def).node:
            nodes[node.name] = node
    waits = {}
    for node in nodes.values():
        for name in node.input:
            if name.startswith("^") and nodes[name[1:]].op == "_Recv":
                waits[node.name] = nodes[name[1:]].attr["tensor_name"].s.decode().partition("^")[2]
    return waits


@pytest.mark.parametrize("held", [False, True], ids=["made in the step", "variables"])
def test_the_peak_memory_of_the_process_shrinks(held: bool) -> None:
    before, _, expected = in_a_process(False, held)
    after, _, got = in_a_process(True, held)
    together = COUNT * 4 * SIZE * SIZE / 2**20
    print(f"peak memory: {before:.0f} MB, scheduled {after:.0f} MB; the tensors: {together:.0f} MB")
    assert before - after > 0.4 * together
    assert got == expected


def test_each_tensor_waits_for_the_reader_before_the_last() -> None:
    waits = _signals(chain_of_received(6, 700), ["out"])
    # What the first products read is made at once: no node of the other task ends early enough.
    assert "shifted0" not in waits and "shifted1" not in waits
    for i in range(3, 6):
        assert int(waits[f"shifted{i}"][1:]) < i - 1
    receives = _receives(chain_of_received(6, 700), ["out"])
    assert receives.delayed == sum(name.startswith("shifted") for name in waits)
    assert receives.peak_bytes < 0.7 * receives.peak_bytes_before
    assert receives.step_us <= 1.001 * receives.step_us_before


def test_the_text_says_what_is_delayed() -> None:
    plans = planner(chain_of_received(6, 700), _scheduled())
    assert "tensors are delayed until their receivers need them" in plans.explain(
        ["seed"], ["out"], [], TWO
    )
    still = planner(chain_of_received(6, 100), _scheduled())
    assert "no tensor is delayed" in still.explain(["seed"], ["out"], [], TWO)
    off = planner(chain_of_received(6, 700), config("none"))
    assert "delayed" not in off.explain(["seed"], ["out"], [], TWO)


# ---- what is not delayed -----------------------------------------------------------------------


def _reads(made: list[Any], size: int) -> None:
    with hr.device(TWO[0]):
        y = hr.ones([size, size])
        for i, value in enumerate(made):
            y = hr.tanh(hr.matmul(y, value), name=f"y{i}")
        hr.identity(y, name="out")


def test_variables_that_the_step_changes_are_read_at_once() -> None:
    size, count = 700, 6
    for written in (False, True):
        with hr.Graph().as_default() as graph:
            with hr.device(TWO[1]):
                v = [hr.get_variable(f"v{i}", [size, size]) for i in range(count)]
            _reads([x.value() for x in v], size)
            with hr.device(TWO[1]):
                hr.identity(hr.assign(v[0], v[0] * 2.0, name="changed"), name="result")
        fetches = ["out", "result"] if written else ["out"]
        assert (_receives(graph, fetches).delayed > 0) is not written


def test_what_is_fetched_or_drawn_from_a_queue_is_not_delayed() -> None:
    size, count = 700, 6
    with hr.Graph().as_default() as graph:
        with hr.device(TWO[1]):
            queue = hr.FIFOQueue(9, [hr.float32], [[size, size]])
            drawn = [queue.dequeue(name=f"drawn{i}") for i in range(count)]
        _reads(drawn, size)
    assert _receives(graph, ["out"]).delayed == 0
    made = chain_of_received(count, size)
    made_there = [
        op.name for op in made.get_operations() if op.type == "Mul" and "task:1" in op.device
    ]
    fetches = ["out", *made_there]
    assert len(made_there) == count
    assert _receives(made, fetches).delayed == 0
    assert _receives(made, ["out"]).delayed > 0


def test_a_delay_that_keeps_more_than_it_saves_is_not_made() -> None:
    """A sum of a large tensor that nothing else needs frees memory: it is not held back."""
    size = 700
    with hr.Graph().as_default() as graph:
        seed = hr.placeholder(hr.float32, [size], name="seed")
        with hr.device(TWO[1]):
            large = [hr.py_func(lambda x: x, [seed], hr.float32) for _ in range(6)]
            made = [hr.reshape(x, [1, size]) * hr.reshape(x, [size, 1]) for x in large]
            small = [hr.add_n([m] * 3, name=f"small{i}") for i, m in enumerate(made)]
        _reads(small, size)
    waits = _signals(graph, ["out"])
    assert not any(name.startswith("small") for name in waits)


def test_a_tensor_without_slack_is_sent_at_once() -> None:
    with hr.Graph().as_default() as graph:
        seed = hr.placeholder(hr.float32, [700], name="seed")
        with hr.device(TWO[1]):
            made = [hr.reshape(seed + float(i), [700, 1]) * seed for i in range(6)]
        with hr.device(TWO[0]):
            hr.add_n(made, name="out")
    assert _receives(graph, ["out"]).delayed == 0


# ---- nothing else changes ----------------------------------------------------------------------


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**31))
def test_no_schedule_makes_the_expected_step_longer(seed: int) -> None:
    rng = random.Random(seed)
    with hr.Graph().as_default() as graph:
        values = [hr.placeholder(hr.float32, [8, 8], name="x")]
        for i in range(rng.randint(10, 60)):
            with hr.device(rng.choice(TWO)):
                a = rng.choice(values[-6:])
                values.append(hr.matmul(a, rng.choice(values), name=f"n{i}"))
        hr.add_n(values[-5:], name="out")
    names = [op.name for op in graph.get_operations()]
    plans = planner(graph, _scheduled())
    plans.observe(
        trace_of(
            {name: rng.choice([1.0, 1e3, 1e5]) for name in names},
            {name: rng.choice([100, 10**7, 10**8]) for name in names},
        )
    )
    receives = report(plans, ["x"], ["out"], TWO).receives
    assert receives.step_us <= 1.001 * receives.step_us_before
    if receives.delayed:
        assert receives.peak_bytes <= 0.9 * receives.peak_bytes_before
    plans.plan(["x"], ["out"], [], TWO)  # the control edges close no cycle


@settings(max_examples=EXAMPLES, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_random_programs_with_scheduled_receives(program: Program, seed: int) -> None:
    chosen = random.Random(seed)

    def open_tasks(graph: hr.Graph) -> Tasks:
        options = _scheduled()
        options.device_count["CPU"] = 2
        tasks = Tasks(scattered(graph, seed), options.SerializeToString())
        names = [op.name for op in graph.get_operations()]
        tasks.planner.observe(
            trace_of(
                {name: chosen.choice([1.0, 1e4]) for name in names},
                {name: chosen.choice([100, 10**7]) for name in names},
            )
        )
        return tasks

    compare_with_one_device(program, open_tasks)


def test_a_local_session_delays_what_another_of_its_devices_makes() -> None:
    made = chain_of_received(6, 700).as_graph_def()
    for node in made.node:
        node.device = "/cpu:1" if "task:1" in node.device else "/cpu:0"
    results = []
    for scheduled in (False, True):
        options = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1)
        options.graph_options.enable_recv_scheduling = scheduled
        with hr.Graph().as_default():
            hr.import_graph_def(made, name="")
            metadata = hr.RunMetadata()
            with hr.Session(config=options) as session:
                session.run("out:0", {"seed:0": np.ones(700)})
                results.append(
                    session.run(
                        "out:0",
                        {"seed:0": np.ones(700)},
                        hr.RunOptions(output_partition_graphs=True),
                        metadata,
                    )
                )
        nodes = {node.name: node for part in metadata.partition_graphs for node in part.node}
        assert any(name.startswith("^y") for name in nodes["shifted5"].input) is scheduled
    np.testing.assert_array_equal(results[0], results[1])


# ---- what a step waits for -----------------------------------------------------------------------


def _slow_and_large(graph: hr.Graph, slow: set[str]) -> bytes:
    """A trace in which these nodes took long, and all outputs were large."""
    names = [op.name for op in graph.get_operations()]
    return trace_of(
        {name: 1e6 if name in slow else 1.0 for name in names}, {name: 10**7 for name in names}
    )


def test_what_fills_a_queue_does_not_wait_for_what_the_queue_gives() -> None:
    """No edge of the graph says that a dequeue needs an enqueue of the same step."""
    count = 6
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [16], name="x")
        with hr.device(TWO[1]):
            made = [hr.tanh(x * float(i + 1), name=f"made{i}") for i in range(count)]
            large = [hr.cosh(x * float(i + 1), name=f"large{i}") for i in range(4 * count)]
        with hr.device(DEVICES[3]):
            first = hr.sinh(hr.sinh(x, name="slow0"), name="slow1")  # `late` starts after `taken`
        with hr.device(TWO[1]):
            # When `made` could be made, these still take memory.
            small = [hr.reduce_sum(value * first) for value in large]
        with hr.device(TWO[0]):
            queue = hr.FIFOQueue(9, [hr.float32, hr.float32], [[16], [16]])
            taken, late = queue.dequeue()[0], hr.identity(first)
            for i in range(count):
                taken = hr.sin(taken, name=f"taken{i}")
                late = hr.cos(late, name=f"late{i}")
            puts = []
            for i, value in enumerate(made):
                late = hr.sin(late, name=f"later{i}")
                puts.append(queue.enqueue([value, late], name=f"put{i}"))
            last = hr.add_n([taken, queue.dequeue_many(count - 1)[0][0]], name="last")
        everything = hr.group(*puts, *small)
        options = _scheduled()
        options.device_count["CPU"] = 2
        tasks = Tasks(graph.as_graph_def(), options.SerializeToString())
        slow = {f"{name}{i}" for name in ("taken", "late", "later", "slow") for i in range(count)}
        tasks.planner.observe(_slow_and_large(graph, slow))
        plan, _ = tasks.plan([x.name], [last.name], [everything.name])
        for part in plan.partition:
            for node in GraphDef.FromString(part.graph_def).node:
                waits = [name for name in node.input if name.startswith("^")]
                assert not waits or not node.name.startswith(("mul", "made")), node
        for _ in range(2):
            (got,) = tasks.run([last.name], {x.name: np.ones(16, np.float32)}, [everything.name])
            assert got.shape == (16,)
        tasks.close()


def test_a_partial_run_does_not_wait_for_what_is_fed_later() -> None:
    count = 6
    with hr.device("/cpu:0"):
        x = hr.placeholder(hr.float32, [700, 700], name="x")
        z = hr.placeholder(hr.float32, [700, 700], name="z")
        with hr.device("/cpu:1"):
            made = [hr.tanh(x * float(i + 1), name=f"made{i}") for i in range(count)]
        other, y = z, x
        for _ in range(6):
            other = hr.matmul(other, other)
        for value in made:
            for _ in range(4):
                y = hr.matmul(y, y) * 1e-3
            y = y + value
        first, second = hr.reduce_sum(y), hr.reduce_sum(other)
    options = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1)
    options.graph_options.enable_recv_scheduling = True
    options.operation_timeout_in_ms = 30_000
    ones = np.ones([700, 700], np.float32) * 1e-3
    with hr.Session(config=options) as session:
        handle = session.partial_run_setup([first, second], [x, z])
        session.partial_run(handle, first, {x: ones})
        session.partial_run(handle, second, {z: ones})
