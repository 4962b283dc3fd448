"""The board follows logs in an object store, with a real server on loopback."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from object_store import ObjectStore

from headrace.board.board import Board
from headrace.board.reading.places import remote_mirror
from headrace.board.reading.places.remote_mirror import RemoteMirror
from headrace.board.store.problems import Problems
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.summary_pb2 import Summary

LONG_S = 60.0


def log(folder: Path, steps: int, tag: str = "loss") -> bytes:
    """Returns an event file with a point a step."""
    with EventFileWriter(folder) as writer:
        for step in range(steps):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=step)])
            writer.write(Event(wall_time=1.7e9 + step, step=step, summary=summary))
    return Path(writer.path).read_bytes()


def points(board: Board, run: str) -> int:
    found = [one for one in board.index.runs() if one.name == run]
    return sum(len(series) for one in found for series in one.series.values())


def wait_until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + LONG_S
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)


@pytest.fixture
def client(object_store: ObjectStore) -> Any:
    import boto3

    return boto3.client("s3", endpoint_url=object_store.url)


def test_a_log_in_an_object_store_is_followed(
    object_store: ObjectStore, client: Any, bucket: str, tmp_path: Path
) -> None:
    logs = bucket.removeprefix("s3://")
    whole = log(tmp_path / "whole", 400)
    name = "runs/train/events.out.tfevents.1.host"
    half = whole[: len(whole) // 2]
    client.put_object(Bucket=logs, Key=name, Body=half)
    client.put_object(Bucket=logs, Key="runs/train/model.bin", Body=b"x" * 1000)
    board = Board(f"{bucket}/runs").start()
    try:
        wait_until(lambda: points(board, "train") > 100)
        early = points(board, "train")
        object_store.requests()
        client.put_object(Bucket=logs, Key=name, Body=whole)
        wait_until(lambda: points(board, "train") == 400)
        assert early < 400
        fetched = [entry for entry in object_store.requests() if entry[0] == "GET" and entry[2]]
        sent = sum(entry[3] for entry in fetched if entry[1].endswith("host"))
        assert 0 < sent < len(whole) - len(half) + 500  # only what was new, and a mark
        assert not any("model.bin" in entry[1] for entry in fetched)
        client.put_object(Bucket=logs, Key=name, Body=log(tmp_path / "other", 30, "other"))
        wait_until(lambda: points(board, "train") == 30)
        client.delete_object(Bucket=logs, Key=name)
        wait_until(lambda: not board.index.runs())
    finally:
        board.stop()
    assert not Path(board._mirrors[0].folder).exists()


def test_a_store_that_does_not_respond_leaves_what_was_read(
    client: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = bucket.removeprefix("s3://")
    name = "r/events.out.tfevents.1.host"
    client.put_object(Bucket=logs, Key=name, Body=log(tmp_path / "a", 20))
    log(tmp_path / "here" / "r", 10)
    board = Board({"far": bucket, "near": tmp_path / "here"}).start()

    def unreachable() -> bool:
        return any(problem.kind == "unreachable" for problem in board.index.problems.list())

    try:
        wait_until(lambda: points(board, "far/r") == 20 and points(board, "near/r") == 10)
        with monkeypatch.context() as patch:

            def fail(*_: Any, **__: Any) -> Any:
                raise ConnectionError("the network is gone")

            patch.setattr(board._mirrors[0]._store, "find", fail)
            wait_until(unreachable)
            assert points(board, "far/r") == 20
        client.put_object(Bucket=logs, Key=name, Body=log(tmp_path / "b", 25))
        wait_until(lambda: points(board, "far/r") == 25 and not unreachable())
    finally:
        board.stop()


def test_an_object_that_is_deleted_while_it_is_fetched_leaves_the_others(
    client: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = bucket.removeprefix("s3://")
    for run in "ab":
        name = f"{run}/events.out.tfevents.1.host"
        client.put_object(Bucket=logs, Key=name, Body=log(tmp_path / run, 20))
    problems = Problems()
    mirror = RemoteMirror(bucket, problems)
    try:
        mirror.sync()
        cat_file = mirror._store.cat_file

        def gone(path: str, *args: Any, **options: Any) -> bytes:
            if "/a/" in path:
                raise FileNotFoundError(path)
            return cat_file(path, *args, **options)

        for run in "ab":
            name = f"{run}/events.out.tfevents.1.host"
            client.put_object(Bucket=logs, Key=name, Body=log(tmp_path / f"{run}2", 30))
        monkeypatch.setattr(mirror._store, "cat_file", gone)
        mirror.sync()
        left = [path.parent.name for path in Path(mirror.folder).rglob("events*")]
        assert left == ["b"] and problems.list() == []
    finally:
        mirror.stop()


def test_a_copy_leaves_room_on_the_disk(
    client: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = bucket.removeprefix("s3://")
    sizes = {run: len(log(tmp_path / run, steps)) for run, steps in (("a", 2000), ("b", 20))}
    for run in "ab":
        data = next((tmp_path / run).iterdir()).read_bytes()
        client.put_object(Bucket=logs, Key=f"{run}/events.out.tfevents.1.host", Body=data)
    problems = Problems()
    mirror = RemoteMirror(bucket, problems)
    free = (1 << 30) + sizes["b"]  # the larger file does not fit
    monkeypatch.setattr(remote_mirror.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))

    def copied() -> list[str]:
        return sorted(path.parent.name for path in Path(mirror.folder).rglob("events*"))

    try:
        mirror.sync()
        assert copied() == ["b"]
        (problem,) = problems.list()
        assert problem.kind == "no_room" and problem.text.startswith("No room for 1 file of s3://")
        free += sizes["a"]
        mirror.sync()
        assert copied() == ["a", "b"] and problems.list() == []
    finally:
        mirror.stop()


def test_a_disk_that_others_fill_is_a_problem_of_the_disk(
    client: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = bucket.removeprefix("s3://")
    client.put_object(Bucket=logs, Key="a/events.out.tfevents.1.host", Body=log(tmp_path / "a", 20))
    problems = Problems()
    mirror = RemoteMirror(bucket, problems)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    try:
        with monkeypatch.context() as patch:
            patch.setattr(mirror, "_fetch", full)
            mirror.sync()
        assert [problem.kind for problem in problems.list()] == ["no_room"]
        assert not list(Path(mirror.folder).rglob("*.part"))
        mirror.sync()
        assert problems.list() == [] and list(Path(mirror.folder).rglob("events*"))
    finally:
        mirror.stop()
