"""Checkpoints that the tasks of the variables write: whole, atomic, restored by other tasks."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import child_process
import numpy as np
import pytest
from in_process_cluster import InProcessCluster
from synchronous_model import PATIENCE_S, wait_until

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan


class Table:
    """A partitioned table and a vector on parameter servers, with a sharded saver."""

    def __init__(self, ps_tasks: int, n_parts: int, resource: bool = False) -> None:
        self.graph = hr.Graph()
        setter = hr.train.replica_device_setter(
            ps_tasks=ps_tasks, worker_device="/job:worker/task:0"
        )
        with (
            self.graph.as_default(),
            hr.device(setter),
            hr.variable_scope("", use_resource=resource),
        ):
            parts = hr.fixed_size_partitioner(n_parts) if n_parts > 1 else None
            self.table = hr.get_variable("table", [11, 3], partitioner=parts)
            self.bias = hr.get_variable("bias", [5])
            self.step = hr.train.get_or_create_global_step()
            self.all = [self.table.as_tensor() if n_parts > 1 else self.table.value(), self.bias]
        with self.graph.as_default():
            self.saver = hr.train.Saver(sharded=True)
            self.begin = hr.global_variables_initializer()


@pytest.fixture
def cluster(monkeypatch):
    made = InProcessCluster(monkeypatch, n_ps=4, n_workers=1)
    yield made
    made.close()


def saved(folder: Path, ps_tasks: int, n_parts: int, resource: bool = False) -> tuple[str, Any]:
    """Saves random values; returns the prefix and the values."""
    model = Table(ps_tasks, n_parts, resource)
    with hr.Session("tasks://worker/0", graph=model.graph) as session:
        session.run(model.begin)
        path = model.saver.save(session, str(folder / "model.ckpt"), global_step=1)
        return path, session.run(model.all)


def start_again(cluster: InProcessCluster) -> None:
    """Starts all parameter servers anew."""
    for i in range(4):
        cluster.end("ps", i)
        cluster.start("ps", i)


def tasks_by_op(model: Table, target: str, kind: str) -> list[str]:
    """Returns the tasks on which a run has operations of a kind."""
    name = model.saver.saver_def.filename_tensor_name
    with hr.Session("tasks://worker/0", graph=model.graph) as session:
        session.extend()
        service: Any = session._service
        plan = PartitionPlan.FromString(
            service._planner.plan([name], [], [target], service._devices)
        )
    return sorted(
        part.task.removeprefix("/job:").replace("/replica:0/task:", ":")
        for part in plan.partition
        for node in GraphDef.FromString(part.graph_def).node
        if node.op == kind
    )


def test_each_task_writes_and_reads_its_own_variables_and_one_merges_them(cluster) -> None:
    model = Table(3, 2)
    save = model.saver.saver_def.save_tensor_name.partition(":")[0]
    restore = model.saver.saver_def.restore_op_name
    assert tasks_by_op(model, save, "SaveV2") == ["ps:0", "ps:1", "ps:2"]
    assert tasks_by_op(model, save, "MergeV2Checkpoints") == ["ps:2"]
    assert tasks_by_op(model, restore, "RestoreV2") == ["ps:0", "ps:1", "ps:2"]


def test_a_shard_of_each_task_is_in_the_checkpoint(cluster, tmp_path) -> None:
    path, _ = saved(tmp_path, 3, 2)
    shards = sorted(name for name in os.listdir(tmp_path) if ".data-" in name)
    assert shards == [f"{os.path.basename(path)}.data-0000{i}-of-00003" for i in range(3)]
    assert [name for name in os.listdir(tmp_path) if "temp" in name] == []


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize(("ps_tasks", "n_parts"), [(1, 1), (2, 1), (2, 3), (4, 4), (3, 2)])
def test_other_numbers_of_servers_and_partitions_restore_it(
    ps_tasks, n_parts, resource, cluster, tmp_path
) -> None:
    path, expected = saved(tmp_path, 3, 2)
    start_again(cluster)
    model = Table(ps_tasks, n_parts, resource)
    with hr.Session("tasks://worker/0", graph=model.graph) as session:
        model.saver.restore(session, path)
        for value, wanted in zip(session.run(model.all), expected, strict=True):
            np.testing.assert_array_equal(value, wanted)


def test_a_session_without_a_cluster_restores_it(cluster, tmp_path) -> None:
    path, expected = saved(tmp_path, 3, 2)
    with hr.Graph().as_default():
        table, bias = hr.get_variable("table", [11, 3]), hr.get_variable("bias", [5])
        saver = hr.train.Saver()
        with hr.Session() as session:
            saver.restore(session, path)
            for value, wanted in zip(session.run([table, bias]), expected, strict=True):
                np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize("shard", range(3))
def test_a_corrupted_shard_is_refused(shard, cluster, tmp_path) -> None:
    path, _ = saved(tmp_path, 3, 2)
    file = Path(f"{path}.data-0000{shard}-of-00003")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    start_again(cluster)
    model = Table(2, 3)
    with hr.Session("tasks://worker/0", graph=model.graph) as session:
        with pytest.raises(hr.errors.DataLossError, match=f"data-0000{shard}-of-00003"):
            model.saver.restore(session, path)


# Saves step after step, sharded over two devices, until it is killed.
SAVING = """
variables = []
for i in range(4):
    with hr.device(f"/cpu:{i %% 2}"):
        variables.append(hr.get_variable(f"v{i}", [100_000], initializer=hr.zeros_initializer()))
value = hr.placeholder(hr.float32, [])
assign = hr.group(*[v.assign(hr.fill([100_000], value)) for v in variables])
saver = hr.train.Saver(max_to_keep=2, sharded=True)
session = hr.Session(config=hr.ConfigProto(device_count={"CPU": 2}))
step = %d
while True:
    step += 1
    session.run(assign, {value: step})
    saver.save(session, %r, global_step=%s)
    if step == %d + 1:
        started()
"""


@pytest.mark.parametrize("one_name", [False, True], ids=["a name a step", "one name for all"])
def test_a_kill_leaves_the_previous_checkpoint(one_name, tmp_path) -> None:
    prefix = str(tmp_path / "model")
    dice = random.Random(7)
    with hr.Graph().as_default():
        values = [hr.get_variable(f"v{i}", [100_000]) for i in range(4)]
        saver = hr.train.Saver()
        step = 0
        with hr.Session() as session:
            for _ in range(8):
                child = child_process.begin(
                    SAVING % (step, prefix, "None" if one_name else "step", step)
                )
                assert child.stdout is not None
                assert child.stdout.readline() == "started\n"
                time.sleep(dice.random() * 0.1)
                child.kill()
                child.communicate()
                path = hr.train.latest_checkpoint(str(tmp_path))
                assert path is not None
                saver.restore(session, path)
                got = np.stack(session.run(values))
                assert len(np.unique(got)) == 1, "a checkpoint of two steps"
                assert got[0, 0] >= step + 1, "an older checkpoint than was saved"
                step = int(got[0, 0])


# ---- in the background --------------------------------------------------------------------------


class Writing(hr.train.CheckpointSaverListener):
    """Holds up the writing of checkpoints after the first one."""

    def __init__(self) -> None:
        self.go_on, self.writes = threading.Event(), threading.Event()
        self.steps: list[int] = []
        self.threads: list[str] = []

    def after_save(self, session, global_step_value):
        if self.steps:
            self.writes.set()
            assert self.go_on.wait(PATIENCE_S)
        self.steps.append(global_step_value)
        self.threads.append(threading.current_thread().name)
        return global_step_value >= 8


def counting() -> tuple[Any, Any, Any]:
    step = hr.train.get_or_create_global_step()
    count = hr.get_variable("count", [100], initializer=hr.zeros_initializer())
    with hr.control_dependencies([count.assign_add(hr.ones([100]))]):
        return step, count, step.assign_add(1)


def background_hook(folder: Path, listener: Any, every: int) -> Any:
    return hr.train.CheckpointSaverHook(
        str(folder), save_steps=every, listeners=[listener], asynchronous=True
    )


def test_training_goes_on_while_a_checkpoint_is_written(tmp_path) -> None:
    with hr.Graph().as_default():
        step, count, train = counting()
        hr.train.get_or_create_global_step()
        listener = Writing()
        hook = background_hook(tmp_path, listener, 2)
        with hr.train.MonitoredSession(hooks=[hook]) as session:
            assert listener.steps == [0] and listener.threads == ["MainThread"]
            for _ in range(6):
                session.run(train)
            assert listener.writes.wait(PATIENCE_S) and listener.steps == [0]
            listener.go_on.set()
            wait_until(lambda: len(listener.steps) == 2, "the second checkpoint")
            for _ in range(3):
                session.run(train)
        assert listener.steps[1] == 2 and listener.steps[-1] == 9
        assert "headrace_async_saver" in listener.threads
        latest = hr.train.latest_checkpoint(str(tmp_path))
        assert hr.train.load_variable(latest, "count").tolist() == [9.0] * 100


def test_a_listener_stops_training_from_the_background(tmp_path) -> None:
    with hr.Graph().as_default():
        _, _, train = counting()
        listener = Writing()
        listener.go_on.set()
        with hr.train.MonitoredSession(hooks=[background_hook(tmp_path, listener, 1)]) as session:
            end = time.monotonic() + PATIENCE_S
            while not session.should_stop():
                session.run(train)
                assert time.monotonic() < end
        assert listener.steps[-1] >= 8


def test_an_error_of_the_background_is_raised_in_training(tmp_path) -> None:
    class Fails(hr.train.CheckpointSaverListener):
        def before_save(self, session, global_step_value):
            if global_step_value:
                raise ValueError("the disk is full")

    with hr.Graph().as_default():
        _, _, train = counting()
        with (
            pytest.raises(ValueError, match="the disk is full"),
            hr.train.MonitoredSession(hooks=[background_hook(tmp_path, Fails(), 1)]) as session,
        ):
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                session.run(train)


def test_a_checkpoint_of_the_background_is_of_whole_updates(tmp_path) -> None:
    """All elements of a variable are of one update, whatever is done to it meanwhile."""
    with hr.Graph().as_default():
        _, _, train = counting()
        listener = Writing()
        listener.go_on.set()
        listener.after_save = lambda session, step: None  # type: ignore[method-assign]
        with hr.train.MonitoredSession(hooks=[background_hook(tmp_path, listener, 1)]) as session:
            for _ in range(300):
                session.run(train)
        checkpoints = sorted(tmp_path.glob("*.index"))
        assert len(checkpoints) >= 3
        for path in checkpoints:
            values = hr.train.load_variable(str(path.with_suffix("")), "count")
            assert len(np.unique(values)) == 1
