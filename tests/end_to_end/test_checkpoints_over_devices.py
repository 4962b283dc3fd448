"""Sharded checkpoints: restored onto other devices and partitions, and damaged."""

from __future__ import annotations

import dataclasses
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.bundle_reader import BundleReader
from headrace.graph.checkpoints import stale_parts

ROWS, COLUMNS = 23, 6


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as fresh:
        yield fresh


def build(devices: int, partitions: int, axis: int = 0) -> list[Any]:
    """Variables on several devices, whole and in partitions."""
    zeros = hr.zeros_initializer()
    with hr.device(lambda op: f"/cpu:{hash_of(op.name) % devices}"):
        found = [hr.get_variable(f"v{i}", [ROWS], initializer=zeros) for i in range(5)]
        parts = hr.get_variable(
            "table", [ROWS, COLUMNS], initializer=zeros,
            partitioner=hr.fixed_size_partitioner(partitions, axis),
        )  # fmt: skip
        resource = hr.get_variable("r", [3], initializer=zeros, use_resource=True)
    return [*found, resource, parts]


def hash_of(name: str) -> int:
    """A number that is the same for all nodes of a variable."""
    parts = name.split("/")
    return sum(map(ord, "/".join(parts[:2] if "part_" in name else parts[:1])))


def session_of(devices: int) -> Any:
    return hr.Session(config=hr.ConfigProto(device_count={"CPU": devices}))


def values_of(session: Any, variables: list[Any]) -> list[np.ndarray]:
    tensors = [v.as_tensor() if hasattr(v, "as_tensor") else v for v in variables]
    return session.run(tensors)


def saved(tmp_path: Path, devices: int, partitions: int, axis: int) -> tuple[str, list[np.ndarray]]:
    """Saves random values; returns the prefix, and the values."""
    rng = np.random.default_rng(devices * 10 + partitions)
    with hr.Graph().as_default(), session_of(devices) as session:
        variables = build(devices, partitions, axis)
        for variable in variables:
            for part in variable if hasattr(variable, "as_tensor") else [variable]:
                part.load(rng.normal(size=part.shape.as_list()).astype(np.float32), session)
        path = hr.train.Saver(sharded=devices > 1).save(session, str(tmp_path / "model"))
        return path, values_of(session, variables)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("devices", "partitions"), [(1, 1), (2, 3), (3, 6)])
def test_any_number_of_devices_and_partitions_restores_it(
    tmp_path: Path, devices: int, partitions: int, axis: int
) -> None:
    path, expected = saved(tmp_path, devices, partitions, axis)
    for others, other_partitions, other_axis in ((1, 1, 0), (2, 5, 0), (3, 4, 1), (4, 6, 1)):
        with hr.Graph().as_default(), session_of(others) as session:
            variables = build(others, other_partitions, other_axis)
            hr.train.Saver(sharded=others > 1).restore(session, path)
            for got, wanted in zip(values_of(session, variables), expected, strict=True):
                np.testing.assert_array_equal(got, wanted)


def test_each_flipped_byte_is_found_and_named(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, 2, 3, 0)
    with BundleReader(path) as reader:
        extents = {}
        for key, entry in reader.entries():
            if not entry.slices:
                name = key.decode() if not key.startswith(b"\0") else "table"
                shard = f"{path}.data-{entry.shard_id:05d}-of-{reader.num_shards:05d}"
                for byte in range(entry.offset, entry.offset + entry.size):
                    extents[shard, byte] = name
    dice = random.Random(3)
    variables = build(1, 4)
    saver = hr.train.Saver()
    with hr.Session() as session:
        for shard, byte in dice.sample(sorted(extents), 60):
            data = bytearray(Path(shard).read_bytes())
            data[byte] ^= 1 << dice.randrange(8)
            whole = Path(shard).read_bytes()
            Path(shard).write_bytes(data)
            with pytest.raises(hr.errors.DataLossError) as caught:
                saver.restore(session, path)
            assert shard in str(caught.value), "the file"
            assert f"'{extents[shard, byte]}'" in str(caught.value), "the tensor"
            Path(shard).write_bytes(whole)
        saver.restore(session, path)
        assert len(values_of(session, variables)) == 7


def test_a_missing_and_a_foreign_shard_are_errors(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, 3, 3, 0)
    (tmp_path / "other").mkdir()
    other, _ = saved(tmp_path / "other", 3, 4, 0)
    build(1, 2)
    saver = hr.train.Saver()
    shards = sorted(p.name for p in tmp_path.glob("model.data-*"))
    assert len(shards) == 3
    with hr.Session() as session:
        for name in shards:
            whole = (tmp_path / name).read_bytes()
            (tmp_path / name).write_bytes((tmp_path / "other" / name).read_bytes())
            with pytest.raises(hr.errors.DataLossError, match=name):
                saver.restore(session, path)
            (tmp_path / name).unlink()
            with pytest.raises(hr.errors.DataLossError, match="the shard is missing"):
                saver.restore(session, path)
            (tmp_path / name).write_bytes(whole)
        saver.restore(session, path)
    assert other != path


@pytest.mark.parametrize("store", ["disk", "url"])
def test_parts_that_killed_writers_left_are_removed_after_an_hour(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path) if store == "disk" else f"memory://{tmp_path.name}"
    old, new = f"model-1_temp_{'0' * 32}", f"model-2_temp_{'1' * 32}"
    for name in (
        f"{old}/part-00000-of-00002.index",
        f"{old}/part-00000-of-00002.data-00000-of-00001",
        f"{new}/part-00001-of-00002.index",
        "mine_temp_1/part-of-mine",
    ):
        hr.gfile.MakeDirs(f"{folder}/{os.path.dirname(name)}")
        with hr.gfile.GFile(f"{folder}/{name}", "w") as file:
            file.write("x")
    hour_ago = {name: time.time() - 3700 for name in (old,)}
    stat = hr.gfile.Stat

    def aged(path: str) -> Any:
        found = stat(path)
        when = next((t for name, t in hour_ago.items() if name in path), found.mtime_nsec / 1e9)
        return dataclasses.replace(found, mtime_nsec=int(when * 1e9))

    monkeypatch.setattr(stale_parts.gfile, "Stat", aged)
    build(2, 2)
    with session_of(2) as session:
        session.run(hr.global_variables_initializer())
        hr.train.Saver(sharded=True).save(session, f"{folder}/model", global_step=3)
    names = hr.gfile.ListDirectory(folder)
    assert old not in names
    assert {new, "mine_temp_1", "model-3.index"} <= set(names)
