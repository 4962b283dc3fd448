"""Checkpoints of a cluster in an object store: each task writes the variables that it owns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "distributed"))

from object_store import ObjectStore
from served_cluster import Processes, processes

import headrace.graph as hr
from headrace.formats import file_systems
from headrace.formats.bundle_reader import BundleReader

ROWS = 30


@contextmanager
def program(n_ps: int, partitions: int) -> Iterator[dict[str, Any]]:
    """A graph of variables on parameter servers; the update adds 1 to all of them."""
    with hr.Graph().as_default():
        with hr.device(hr.train.replica_device_setter(ps_tasks=n_ps)):
            zeros = hr.zeros_initializer()
            variables = [hr.get_variable(f"v{i}", [2000], initializer=zeros) for i in range(4)]
            table = hr.get_variable(
                "table", [ROWS, 40], initializer=zeros,
                partitioner=hr.fixed_size_partitioner(partitions),
            )  # fmt: skip
            step = hr.train.get_or_create_global_step()
            updates = [v.assign_add(hr.ones_like(v)) for v in [*variables, *table]]
        saver = hr.train.Saver(sharded=True)
        yield {
            "saver": saver,
            "values": [*variables, table.as_tensor(), step],
            "update": hr.group(*updates, step.assign_add(1)),
            "initialize": hr.global_variables_initializer(),
            "background": hr.train.AsyncSaver(saver),
            "places": {v.op.name: v.device for v in [*variables, *table, step]},
        }


def distinct(arrays: list[np.ndarray]) -> list[float]:
    return np.unique(np.concatenate([np.ravel(a) for a in arrays])).tolist()


def values_in(prefix: str) -> list[float]:
    """The distinct values of a checkpoint."""
    with BundleReader(prefix) as reader:
        assert sorted(reader.names()) == ["global_step", "table", "v0", "v1", "v2", "v3"]
        return distinct([reader.read(name) for name in reader.names()])


@pytest.fixture
def two_servers(object_store: ObjectStore, tmp_path: Path) -> Iterator[Processes]:
    """Two parameter servers and a worker, which know the object store."""
    with processes(tmp_path, 2, 1) as cluster:
        yield cluster


def test_tasks_write_their_variables_and_any_number_of_tasks_restores_them(
    two_servers: Processes, bucket: str, tmp_path: Path
) -> None:
    with program(2, 3) as built, hr.Session(two_servers.target("worker")) as session:
        session.run(built["initialize"])
        for _ in range(3):
            session.run(built["update"])
        prefix = built["saver"].save(session, f"{bucket}/model", global_step=3)
        places = built["places"]
    assert values_in(prefix) == [3.0]
    with BundleReader(prefix) as reader:
        assert reader.num_shards == 2
        shards: dict[str, set[int]] = {}
        for key, entry in reader.entries():
            name = key.decode(errors="replace")
            if name in places:
                shards.setdefault(places[name], set()).add(entry.shard_id)
    assert sorted(map(len, shards.values())) == [1, 1]
    assert shards["/job:ps/task:0"] != shards["/job:ps/task:1"]
    for n_ps, partitions in ((1, 1), (3, 4)):
        (tmp_path / str(n_ps)).mkdir()
        with (
            processes(tmp_path / str(n_ps), n_ps, 1) as cluster,
            program(n_ps, partitions) as built,
            hr.Session(cluster.target("worker")) as session,
        ):
            built["saver"].restore(session, prefix)
            assert distinct(session.run(built["values"])) == [3.0]
            session.run(built["update"])
            assert distinct(session.run(built["values"])) == [4.0]


def test_a_cluster_trains_while_its_checkpoint_is_written(
    two_servers: Processes, bucket: str, object_store: ObjectStore
) -> None:
    with program(2, 3) as built, hr.Session(two_servers.target("worker")) as session:
        session.run(built["initialize"])
        session.run(built["update"])
        object_store.control("delay", 100)
        try:
            built["background"].save(session, f"{bucket}/model", global_step=built["values"][-1])
            for _ in range(10):
                session.run(built["update"])
            assert built["background"].is_writing
        finally:
            object_store.control("delay", 0)
        assert built["background"].wait() == f"{bucket}/model-1"
        assert values_in(f"{bucket}/model-1") == [1.0]
        assert distinct(session.run(built["values"])) == [11.0]


@pytest.mark.parametrize("change", [1, 2, 3])
def test_a_task_killed_while_it_writes_leaves_the_checkpoint_before(
    two_servers: Processes, bucket: str, object_store: ObjectStore, change: int
) -> None:
    with program(2, 3) as built:
        with hr.Session(two_servers.target("worker")) as session:
            session.run(built["initialize"])
            session.run(built["update"])
            first = built["saver"].save(session, f"{bucket}/model", global_step=1)
            session.run(built["update"])
            victim = two_servers.cluster.processes["ps:1"]
            object_store.control("kill", victim.pid, change)
            with pytest.raises((hr.errors.UnavailableError, hr.errors.AbortedError)):
                built["saver"].save(session, f"{bucket}/model", global_step=2)
            victim.wait(60)
        assert hr.train.latest_checkpoint(bucket) == first
        assert not file_systems.exists(f"{bucket}/model-2.index")
        assert values_in(first) == [1.0]
        two_servers.cluster.start_task("ps", 1)
        two_servers.cluster.until("ps:1", lambda event: event.get("event") == "serving")
        with hr.Session(two_servers.target("worker")) as session:
            built["saver"].restore(session, first)
            session.run(built["update"])
            second = built["saver"].save(session, f"{bucket}/model", global_step=2)
            assert distinct(session.run(built["values"])) == [2.0]
        assert hr.train.latest_checkpoint(bucket) == second == f"{bucket}/model-2"
        assert values_in(second) == [2.0]
