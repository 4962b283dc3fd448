"""Checkpoints, summaries and models in an object store: an S3-compatible server on loopback."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
from object_store import ObjectStore

import headrace.graph as hr
from headrace.formats import file_systems
from headrace.formats.bundle_files import bundle_files
from headrace.formats.event_file import event_files, read_events
from headrace.formats.remote_file import read_bytes, write_bytes


def train(bucket: str, steps: int, **hook: Any) -> list[int]:
    """Trains with a session that saves to a bucket; returns the steps that a checkpoint has."""
    with hr.Graph().as_default():
        v = hr.get_variable("v", [300], initializer=hr.zeros_initializer())
        parts = hr.get_variable(
            "p", [6, 4], initializer=hr.zeros_initializer(),
            partitioner=hr.fixed_size_partitioner(2),
        )  # fmt: skip
        step = hr.train.get_or_create_global_step()
        hr.summary.scalar("mean", hr.reduce_mean(v))
        update = hr.group(
            v.assign_add(hr.ones([300])),
            step.assign_add(1),
            *[p.assign_add(hr.ones_like(p)) for p in parts],
        )
        with hr.train.MonitoredTrainingSession(
            checkpoint_dir=f"{bucket}/run",
            save_checkpoint_steps=hook.pop("save_checkpoint_steps", 4),
            save_checkpoint_secs=None,
            save_summaries_steps=2,
            log_step_count_steps=None,
            hooks=[hr.train.StopAtStepHook(num_steps=steps), *hook.pop("hooks", [])],
        ) as session:
            while not session.should_stop():
                session.run(update)
    latest = hr.train.latest_checkpoint(f"{bucket}/run")
    assert latest is not None
    values = [hr.train.load_variable(latest, name) for name in ("v", "p", "global_step")]
    return np.unique(np.concatenate([np.ravel(value) for value in values])).tolist()


def test_training_is_saved_and_continued(bucket: str) -> None:
    assert train(bucket, 10) == [10]
    assert train(bucket, 30) == [40]
    state = hr.train.get_checkpoint_state(f"{bucket}/run")
    assert state is not None
    kept = list(state.all_model_checkpoint_paths)
    assert len(kept) == 5 and kept[-1] == f"{bucket}/run/model.ckpt-40"
    there = {
        path for path in file_systems.glob(f"{bucket}/run/model.ckpt-*") if ".meta" not in path
    }
    assert there >= {path for prefix in kept for path in bundle_files(prefix)}
    assert not file_systems.exists(f"{bucket}/run/model.ckpt-14.index")  # removed as the oldest
    assert file_systems.exists(f"{bucket}/run/graph.pbtxt")
    steps = [
        event.step
        for path in event_files(f"{bucket}/run")
        for event in read_events(path)
        if event.summary.value
    ]
    assert sorted(set(steps)) and max(steps) <= 40


def test_training_is_saved_in_the_background(bucket: str) -> None:
    hook = hr.train.AsyncCheckpointSaverHook
    for total in (10, 20):
        with hr.Graph().as_default():
            saver = hook(f"{bucket}/run", save_steps=3)
            assert train(bucket, 10, save_checkpoint_steps=None, hooks=[saver]) == [total]


def sharded_program(devices: int, partitions: int) -> tuple[Any, Any, Any]:
    """Adds variables on several devices and a sharded Saver; returns it, values, and an update."""
    variables = []
    for i in range(4):
        with hr.device(f"/cpu:{i % devices}"):
            variables.append(hr.get_variable(f"v{i}", [50, 40], initializer=hr.zeros_initializer()))
    with hr.variable_scope("", partitioner=hr.fixed_size_partitioner(partitions)):
        table = hr.get_variable("table", [60, 20], initializer=hr.zeros_initializer())
    value = hr.placeholder(hr.float32, [])
    rows = hr.reshape(hr.range(60.0), [60, 1]) / 100.0
    assign = [hr.assign(v, hr.fill([50, 40], value)) for v in variables]
    start = 0
    for part in table:
        size = part.shape.as_list()[0]
        assign.append(hr.assign(part, value + hr.tile(rows[start : start + size], [1, 20])))
        start += size
    update = (value, hr.group(*assign))
    whole = table.as_tensor() if hasattr(table, "as_tensor") else table
    return hr.train.Saver(sharded=True), [*variables, whole], update


def session_of(devices: int) -> Any:
    return hr.Session(config=hr.ConfigProto(device_count={"CPU": devices}))


def test_a_sharded_checkpoint_is_restored_on_other_devices_and_partitions(bucket: str) -> None:
    prefix = f"{bucket}/model"
    with hr.Graph().as_default(), session_of(3) as session:
        saver, values, (value, update) = sharded_program(3, 4)
        session.run(update, {value: 7.0})
        expected = session.run(values)
        assert saver.save(session, prefix, global_step=1) == f"{prefix}-1"
        session.run(update, {value: 8.0})
        saver.save(session, prefix, global_step=2)
    names = file_systems.list_directory(bucket)
    shards = [name for name in names if name.startswith("model-1.data-")]
    assert len(shards) == 4 and "model-1.index" in names  # three devices, and no device
    assert not any("temp" in name for name in names)
    for devices, partitions in ((1, 1), (2, 3), (4, 7)):
        with hr.Graph().as_default(), session_of(devices) as session:
            saver, values, _ = sharded_program(devices, partitions)
            saver.restore(session, f"{prefix}-1")
            for got, wanted in zip(session.run(values), expected, strict=True):
                np.testing.assert_array_equal(got, wanted)


def test_a_restore_of_one_variable_fetches_that_variable(
    bucket: str, object_store: ObjectStore
) -> None:
    prefix = f"{bucket}/model"
    hr.get_variable("large", [1 << 20], initializer=hr.zeros_initializer())
    small = hr.get_variable("small", [100], initializer=hr.ones_initializer())
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        hr.train.Saver().save(session, prefix, write_meta_graph=False)
        index = len(read_bytes(f"{prefix}.index"))
        session.run(hr.assign(small, hr.zeros([100])))
        saver = hr.train.Saver([small])
        object_store.requests()
        saver.restore(session, prefix)
        requests = object_store.requests()
        assert session.run(small).tolist() == [1.0] * 100
    assert sum(sent for *_, sent in requests) == index + 400
    assert {method for method, *_ in requests} == {"GET", "HEAD"}


def test_damaged_objects_are_errors_that_name_file_and_tensor(bucket: str) -> None:
    v = hr.get_variable("layer/kernel", [1000], initializer=hr.ones_initializer())
    with hr.Session() as session:
        session.run(v.initializer)
        saver = hr.train.Saver()
        saver.save(session, f"{bucket}/model")
        (shard,) = file_systems.glob(f"{bucket}/model.data-*")
        data = bytearray(read_bytes(shard))
        data[1234] ^= 64
        write_bytes(shard, bytes(data))
        with pytest.raises(hr.errors.DataLossError) as caught:
            saver.restore(session, f"{bucket}/model")
        assert shard in str(caught.value) and "layer/kernel" in str(caught.value)
        with pytest.raises(hr.errors.DataLossError, match="layer/kernel"):
            hr.train.load_variable(f"{bucket}/model", "layer/kernel")
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(session, f"{bucket}/none")


def test_a_missing_bucket_is_an_error(object_store: ObjectStore) -> None:
    v = hr.get_variable("v", [], initializer=hr.ones_initializer())
    with hr.Session() as session:
        session.run(v.initializer)
        with pytest.raises(hr.errors.NotFoundError, match="s3://no-such-bucket/model"):
            hr.train.Saver().save(session, "s3://no-such-bucket/model")
        assert not file_systems.exists("s3://no-such-bucket")


def test_a_model_is_exported_and_loaded(bucket: str) -> None:
    write_bytes(f"{bucket}/words.txt", b"zero\none\ntwo\n")
    x = hr.placeholder(hr.string, [None])
    table = hr.contrib.lookup.index_table_from_file(f"{bucket}/words.txt")
    scale = hr.get_variable("scale", [], initializer=hr.constant_initializer(10.0))
    y = hr.cast(table.lookup(x), hr.float32) * scale
    with hr.Session() as session:
        session.run([hr.global_variables_initializer(), hr.tables_initializer()])
        hr.saved_model.simple_save(
            session, f"{bucket}/export", {"x": x}, {"y": y}, hr.tables_initializer()
        )
        with pytest.raises(AssertionError, match="already exists"):
            hr.saved_model.simple_save(session, f"{bucket}/export", {"x": x}, {"y": y})
    file_systems.remove(f"{bucket}/words.txt")  # the model has its own
    assert hr.saved_model.maybe_saved_model_directory(f"{bucket}/export")
    with hr.Graph().as_default(), hr.Session() as session:
        message = hr.saved_model.loader.load(session, ["serve"], f"{bucket}/export")
        signature = message.signature_def["serving_default"]
        got = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: ["two", "one"]})
        assert got.tolist() == [20.0, 10.0]


# Saves 1, 2, 3 ... to one prefix or to one a step. Each is saved by a forked child, whose session
# is new; the parent has imported everything and has no threads.
SAVING = """
import os, sys
import numpy as np
import headrace.graph as hr
import s3fs, fsspec
devices, prefix, one_name = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "True"
variables = []
for i in range(4):
    with hr.device(f"/cpu:{i % devices}"):
        variables.append(hr.get_variable(f"v{i}", [30_000], initializer=hr.zeros_initializer()))
value = hr.placeholder(hr.float32, [])
update = hr.group(*[hr.assign(v, hr.fill([30_000], value)) for v in variables])
saver = hr.train.Saver(sharded=devices > 1, max_to_keep=2)
for line in sys.stdin:
    step = int(line)
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        session = hr.Session(config=hr.ConfigProto(device_count={"CPU": devices}))
        session.run(update, {value: step})
        saver.recover_last_checkpoints(
            [] if one_name else [f"{prefix}-{s}" for s in range(max(1, step - 2), step)])
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        saver.save(session, prefix, global_step=None if one_name else step)
        os._exit(0)
    os.read(ready[0], 1)
    print(pid, flush=True)
    sys.stdin.readline()
    os.write(go[1], b"x")
    for end in (*ready, *go):
        os.close(end)
    print(os.WIFSIGNALED(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.mark.parametrize("one_name", [False, True], ids=["a name a step", "one name for all"])
@pytest.mark.parametrize("devices", [1, 2], ids=["whole", "sharded"])
def test_a_writer_killed_at_any_change_leaves_a_whole_checkpoint(
    bucket: str, object_store: ObjectStore, devices: int, one_name: bool
) -> None:
    prefix = f"{bucket}/model"
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SAVING), str(devices), prefix, str(one_name)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None

    def save(step: int, change: int) -> bool:
        """Saves in a process that is killed at a change; returns whether it was killed."""
        assert child.stdin is not None and child.stdout is not None
        print(step, file=child.stdin, flush=True)
        pid = int(child.stdout.readline())
        object_store.control("kill", pid, change)
        print("go", file=child.stdin, flush=True)
        return child.stdout.readline() == "True\n"

    try:
        assert not save(1, 1000)
        step, change, newest, killed = 1, 0, 1, True
        while killed:
            step, change = step + 1, change + 1
            killed = save(step, change)
            path = hr.train.latest_checkpoint(bucket)
            assert path is not None
            reader = hr.train.load_checkpoint(path)
            assert sorted(reader.get_variable_to_shape_map()) == ["v0", "v1", "v2", "v3"]
            found = np.unique([reader.get_tensor(f"v{i}") for i in range(4)])
            assert len(found) == 1, f"a checkpoint of several steps: {found}"
            assert newest <= found[0] <= step, "an older checkpoint than was complete"
            newest = int(found[0])
        assert newest == step
        assert change > 5
    finally:
        child.stdin.close()
        child.wait(60)
        child.stdout.close()
