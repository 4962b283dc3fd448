"""Why nodes run where they do, and the expected against the measured times: a message, a text and a
command.

Modules: passes/placement_report, session/placement_metadata, session/placement_text,
session/explain_placement.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format
from planned_graphs import ALL, ONE_EACH, config, planner, report, trace_of

import headrace.graph as hr
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.runtime.session import explain_placement


def _graph() -> hr.Graph:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [512, 512], name="x")
        with hr.device("/task:1"):
            v = hr.get_variable("v", [512, 512])
        with hr.device("/device:GPU:0"):
            a = hr.matmul(x, x, name="a")
        with hr.colocate_with(a):
            beside = hr.tanh(a, name="beside")
        with hr.device("/job:worker/task:2"):
            b = hr.matmul(x, beside, name="b")
        used = hr.matmul(b, v, name="used")
        free = hr.matmul(x, x * 2.0, name="free")
        others = [hr.matmul(x, x * float(i), name=f"other{i}") for i in range(6)]
        hr.add_n([used, free, *others], name="out")
    return graph


def test_each_node_has_a_reason() -> None:
    plans = planner(_graph())
    placement = report(plans, ["x"], ["out"])
    nodes = {node.name: node for node in placement.node}
    reasons = {name: PlacementReport.Reason.Name(node.reason) for name, node in nodes.items()}
    assert reasons["b"] == "REQUESTED" and nodes["b"].requested == "/job:worker/task:2"
    assert nodes["a"].request_ignored and not nodes["b"].request_ignored
    assert reasons["beside"] == "COLOCATED" and getattr(nodes["beside"], "with") == "a"
    assert reasons["v"] == "STATE" and nodes["v"].device == ONE_EACH[1]
    assert reasons["free"] == "SIMULATED" and placement.simulated
    ends = {estimate.device: estimate.end_us for estimate in nodes["free"].estimate}
    assert set(ends) == set(ONE_EACH)
    assert min(ends, key=lambda device: ends[device]) == nodes["free"].device
    still = report(planner(_graph(), config(latency_us=1e6)), ["x"], ["free"])
    assert {PlacementReport.Reason.Name(n.reason) for n in still.node} == {"FIRST"}


def test_an_update_stands_by_its_variable() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device("/task:1"):
            v = hr.Variable([1.0, 2.0], name="v")
        hr.assign_add(v, [1.0, 1.0], name="update")
    plans = planner(graph)
    (node,) = [n for n in report(plans, [], [], targets=["update"]).node if n.name == "update"]
    assert node.device == ONE_EACH[1]
    assert node.reason == PlacementReport.STATE  # the whole graph's state is placed first


def test_expected_stands_beside_measured() -> None:
    plans = planner(_graph())
    before = report(plans, ["x"], ["out"])
    assert all(node.measured_us == -1.0 for node in before.node)
    plans.observe(trace_of({"b": 1234.0, "used": 99.0}))
    after = report(plans, ["x"], ["out"])
    nodes = {node.name: node for node in after.node}
    assert nodes["b"].measured_us == 1234.0 and nodes["used"].measured_us == 99.0
    assert nodes["b"].expected_us == {n.name: n for n in before.node}["b"].expected_us
    by_name = {device.name: device for device in after.device}
    on = {nodes["b"].device, nodes["used"].device}
    assert sum(by_name[name].measured_us for name in on) == 1333.0


def test_transfers_between_tasks_are_listed_once_for_each_task() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device("/task:0"):
            a = hr.placeholder_with_default(hr.ones([100, 10]), [100, 10], name="a")
        with hr.device("/task:1"):
            ends = [hr.square(a, name=f"b{i}") for i in range(3)]
        with hr.device("/task:2"):
            ends.append(hr.square(a, name="c"))
        hr.add_n(ends, name="out")
    options = config(latency_us=50.0, gigabytes_per_second=0.5)
    placement = report(planner(graph, options), [], ["out"])
    found = [(t.tensor, t.to_device, t.bytes) for t in placement.transfer if t.tensor == "a:0"]
    assert sorted(found) == [("a:0", ONE_EACH[1], 4000), ("a:0", ONE_EACH[2], 4000)]
    assert {t.expected_us for t in placement.transfer if t.tensor == "a:0"} == {58.0}


def test_the_text_names_devices_times_and_reasons() -> None:
    plans = planner(_graph())
    plans.observe(trace_of({"free": 9000.0}))
    text = plans.explain(["x"], ["out"], [], ONE_EACH)
    lines = {line.split()[0]: line for line in text.splitlines() if line}
    assert "expected step: " in text.splitlines()[0] and "by the simulation" in text.splitlines()[0]
    assert all(device in lines for device in ONE_EACH)
    assert "9000.0" in lines["free"] and "simulated, would end on" in lines["free"]
    assert "colocated with 'a'" in lines["beside"]
    assert "requested: /job:worker/task:2" in lines["b"]
    assert "(there is no /device:GPU:0 for it)" in lines["a"]


def test_the_command_prints_the_text_and_writes_the_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = _graph().as_graph_def()
    (tmp_path / "graph.pb").write_bytes(graph.SerializeToString())
    (tmp_path / "graph.pbtxt").write_text(text_format.MessageToString(graph))
    (tmp_path / "trace").write_bytes(trace_of({"free": 9000.0}))
    signature = ["--feed", "x", "--fetch", "out", "--soft", "--threads", "1"]
    for name in ("graph.pb", "graph.pbtxt"):
        explain_placement.main(
            [str(tmp_path / name), *signature, "--simulate", "all_tasks", "--trace",
             str(tmp_path / "trace"), "--message", str(tmp_path / "report"), "--devices", *ONE_EACH]
        )  # fmt: skip
        plans = planner(_graph(), config(ALL))
        plans.observe(trace_of({"free": 9000.0}))
        assert capsys.readouterr().out == plans.explain(["x"], ["out"], [], ONE_EACH) + "\n"
        message = plans.placement(["x"], ["out"], [], ONE_EACH)
        assert (tmp_path / "report").read_bytes() == message


# ---- of what has run -----------------------------------------------------------------------------


def _two_branches() -> hr.Graph:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [None, None], name="x")
        hr.add(hr.matmul(x, x, name="b0"), hr.matmul(x, hr.tanh(x), name="b1"), name="out")
    return graph


@pytest.mark.host_execution("reads measured placement, which only CPUs have")
def test_a_traced_run_says_where_its_nodes_have_run() -> None:
    graph = _two_branches()
    config = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1)
    value = np.random.default_rng(0).normal(size=[300, 300])
    with hr.Session(graph=graph, config=config) as session:
        options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
        for _ in range(60):
            metadata = hr.RunMetadata()
            session.run("out:0", {"x:0": value}, options, metadata)
            ran = {
                node.node_name: device.device
                for device in metadata.step_stats.dev_stats
                for node in device.node_stats
                if node.timeline_label.partition(" = ")[2] in ("MatMul", "Add", "AddV2")
            }
            said = {node.name: node.device for node in metadata.placement.node}
            assert {name: said[name] for name in ran} == ran
            session.run("out:0", {"x:0": value})  # may place the nodes again


@pytest.mark.host_execution("a session with CPUs alone")
def test_a_traced_run_without_a_choice_of_devices_has_a_report_too() -> None:
    with hr.Graph().as_default() as graph, hr.device("/cpu:1"):
        hr.add(hr.placeholder(hr.float32, [2], name="x"), 1.0, name="out")
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    metadata = hr.RunMetadata()
    with hr.Session(graph=graph, config=hr.ConfigProto(device_count={"CPU": 2})) as session:
        session.run("out:0", {"x:0": [1.0, 2.0]}, options, metadata)
    (node,) = [node for node in metadata.placement.node if node.name == "out"]
    assert node.reason == PlacementReport.REQUESTED and node.device.endswith("CPU:1")
    with hr.Session(graph=graph, config=hr.ConfigProto(allow_soft_placement=True)) as session:
        metadata = hr.RunMetadata()
        session.run("out:0", {"x:0": [1.0, 2.0]}, options, metadata)
    assert not metadata.HasField("placement")  # there is one device
