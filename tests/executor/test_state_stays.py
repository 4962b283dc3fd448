"""A variable has one device while its session lives, whatever is planned, extended or reported.

Modules: passes/state_devices, passes/place, session/planner.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from planned_graphs import ONE_EACH, config, planner, report, trace_of

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef

OTHER = "/job:ps/replica:0/task:0/device:CPU:0"
WITH_STATE = ("VariableV2", "VarHandleOp", "RandomUniform")
PARTIAL = ["", "", "/job:worker", "/task:1", "/task:2", "/device:CPU:0"]


def _state(plans: Any, fetches: list[str], devices: Any = ONE_EACH) -> dict[str, str]:
    nodes = report(plans, [], fetches, devices).node
    return {node.name: node.device for node in nodes if node.op in WITH_STATE}


def test_devices_that_come_and_go_do_not_move_a_variable() -> None:
    with hr.Graph().as_default() as graph:
        v = hr.get_variable("v", [4])
        with hr.device("/job:worker"):
            vw = hr.get_variable("vw", [4], use_resource=True)
        noise = hr.random_uniform([4], name="noise")
        hr.add_n([v, vw, noise], name="out")
    plans = planner(graph)
    before = _state(plans, ["out"])
    assert before["v"] == before["vw"] == before["noise/RandomUniform"] == ONE_EACH[0]
    for devices in (
        (OTHER, *ONE_EACH),  # another task, named before the others
        ONE_EACH[::-1],
        (*ONE_EACH, OTHER),
    ):
        assert _state(plans, ["out"], devices) == before
    # A report of a plan for fewer devices is not a move either.
    assert _state(plans, ["out"], ONE_EACH[1:]) != before
    assert _state(plans, ["out"], (OTHER, *ONE_EACH)) == before


@pytest.mark.parametrize("seed", range(30))
def test_no_signature_and_no_extension_moves_state(seed: int) -> None:
    rng = random.Random(seed)
    options = config(latency_us=0.001, gigabytes_per_second=1e6)
    graph = hr.Graph()
    plans = planner(graph, options)
    known: dict[str, str] = {}
    fetches: list[str] = []
    sent = 0
    for _ in range(6):
        with graph.as_default():
            variables = []
            for _ in range(rng.randint(1, 3)):
                with hr.device(rng.choice(PARTIAL)):
                    variables.append(
                        hr.get_variable(
                            f"v{len(graph.get_operations())}",
                            [64, 64],
                            use_resource=rng.random() < 0.5,
                        )
                    )
            some = [*variables, *rng.sample(hr.global_variables(), 1)]
            values = []
            for v in some:
                noise = hr.random_uniform([64, 64], name=f"noise{len(graph.get_operations())}")
                beside = rng.random()
                with hr.device(rng.choice(PARTIAL)):
                    if beside < 0.3:
                        with hr.colocate_with(rng.choice(some).op):
                            values.append(hr.matmul(v, noise))
                    elif beside < 0.5:
                        values.append(
                            hr.while_loop(
                                lambda i, _: i < 3,
                                lambda i, a, v=v: (i + 1, hr.matmul(a, v)),
                                [0, noise],
                            )[1]
                        )
                    else:
                        values.append(hr.matmul(noise, noise) + v)
            writes = hr.group(*(v.assign_add(hr.ones([64, 64])).op for v in some))
            out = hr.add_n(values)
            with hr.control_dependencies([writes]):
                fetches += [out.name, hr.identity(out).name]
        added = GraphDef(node=graph.as_graph_def().node[sent:])
        added.versions.CopyFrom(graph.as_graph_def().versions)
        sent += len(added.node)
        plans.extend(added.SerializeToString())
        times = {node.name: rng.choice([1.0, 1e4]) for node in added.node}
        plans.observe(trace_of(times))
        for _ in range(4):
            signature = rng.sample(fetches, min(len(fetches), rng.randint(1, 4)))
            if rng.random() < 0.5:
                plans.plan([], signature, [], ONE_EACH)
            for name, device in _state(plans, signature).items():
                assert known.setdefault(name, device) == device, name


@pytest.mark.parametrize("soft", [True, False])
def test_a_node_that_would_join_variables_of_two_devices_moves_neither(soft: bool) -> None:
    with hr.Graph().as_default() as graph:
        for task in (0, 1):
            with hr.device(f"/task:{task}"):
                hr.get_variable(f"v{task}", [4])
        hr.add_n(hr.global_variables(), name="out")
    options = config()
    options.allow_soft_placement = soft
    plans = planner(graph, options)
    before = _state(plans, ["out"])
    assert set(before.values()) == set(ONE_EACH[:2])
    joining = GraphDef()
    joining.versions.CopyFrom(graph.as_graph_def().versions)
    node = joining.node.add(name="joins", op="NoOp")
    node.attr["_class"].list.s.extend([b"loc:@v0", b"loc:@v1"])
    plans.extend(joining.SerializeToString())
    assert _state(plans, ["out"]) == before
    with pytest.raises(errors.InvalidArgumentError, match="must share a device cannot"):
        report(plans, [], ["out"], targets=["joins"])
    assert _state(plans, ["out"]) == before


def test_threads_that_plan_report_and_extend_at_once() -> None:
    with hr.Graph().as_default() as graph:
        values = []
        for i in range(12):
            with hr.device(f"/task:{i % 3}" if i % 2 else ""):
                v = hr.get_variable(f"v{i}", [8], use_resource=i % 3 == 0)
            values.append(hr.tanh(v, name=f"n{i}"))
        hr.add_n(values, name="out")
    plans = planner(graph)
    before = _state(plans, ["out"])
    failed: list[BaseException] = []

    def work(number: int) -> None:
        rng = random.Random(number)
        try:
            for k in range(30):
                devices = rng.choice([ONE_EACH, (OTHER, *ONE_EACH), (*ONE_EACH, OTHER)])
                fetch = [f"n{rng.randrange(12)}", "out"][: rng.randint(1, 2)]
                if rng.random() < 0.3:
                    plans.plan([], fetch, [], devices)
                for name, device in _state(plans, fetch, devices).items():
                    assert before[name] == device
                if k % 10 == 0:
                    more = GraphDef()
                    more.versions.CopyFrom(graph.as_graph_def().versions)
                    more.node.add(name=f"more{number}_{k}", op="NoOp")
                    plans.extend(more.SerializeToString())
                plans.observe(trace_of({f"n{i}": rng.choice([1.0, 1e4]) for i in range(12)}))
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]
