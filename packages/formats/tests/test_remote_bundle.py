"""Checkpoints by URL: what readers see while writers work, fail and end."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pytest
from stores import HttpServer, WatchedStore

from headrace.formats import errors, file_systems
from headrace.formats.bundle_files import bundle_exists, bundle_files
from headrace.formats.bundle_merge import merge_bundles
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.remote_file import RemoteReader, read_bytes, write_bytes
from headrace.formats.slice_file import SliceFileReader, SliceFileWriter

VALUES = {
    "a": np.arange(1000, dtype=np.float32).reshape(10, 100),
    "b": np.array([b"one", b"two", b""], object),
    "empty": np.zeros((0, 3), np.int64),
}


@pytest.fixture
def prefix():
    return f"memory://{uuid.uuid4().hex}/model"


@pytest.fixture(autouse=True)
def quiet_store():
    yield
    WatchedStore.on_change = staticmethod(lambda what, path: None)


def write(prefix, number, **options):
    with BundleWriter(prefix, **options) as writer:
        for name, value in VALUES.items():
            writer.add(name, value)
        writer.add("number", np.full([500], number, np.int32))
        writer.add_slice("parts", [4, 3], [0, 0], [1, 3], np.full([1, 3], number, np.float64))
        writer.add_slice("parts", [4, 3], [1, 0], [3, 3], np.full([3, 3], number, np.float64))


def number_of(prefix):
    """Checks a whole checkpoint of `write`; returns its number."""
    with BundleReader(prefix) as reader:
        assert sorted(reader.names()) == ["a", "b", "empty", "number", "parts"]
        for name, value in VALUES.items():
            np.testing.assert_array_equal(reader.read(name), value)
        found = np.unique(np.concatenate([reader.read("number"), reader.read("parts").ravel()]))
    assert len(found) == 1, "parts of two checkpoints"
    return int(found[0])


@pytest.mark.parametrize("max_shard_bytes", [None, 2000])
def test_a_checkpoint_round_trips_and_is_replaced(prefix, max_shard_bytes):
    assert not bundle_exists(prefix) and bundle_files(prefix) == []
    for number in range(4):
        write(prefix, number, max_shard_bytes=max_shard_bytes)
        assert number_of(prefix) == number
        folder, _, stem = prefix.rpartition("/")
        with BundleReader(prefix) as reader:
            assert reader.num_shards >= (1 if max_shard_bytes is None else 3)
            names = {f"{stem}.index"} | {
                f"{stem}.data-{i:05d}-of-{reader.num_shards:05d}" for i in range(reader.num_shards)
            }
        assert set(file_systems.list_directory(folder)) == names
        assert set(bundle_files(prefix)) == {f"{folder}/{name}" for name in names}


def test_only_what_is_requested_is_read(prefix, monkeypatch):
    with BundleWriter(prefix) as writer:
        writer.add("large", np.zeros(1 << 20, np.float32))
        writer.add("small", np.ones(10, np.float32))
        for row in range(4):
            value = np.full([1, 1000], row, np.float32)
            writer.add_slice("rows", [4, 1000], [row, 0], [1, -1], value)
    fetched: list[int] = []
    read_range = RemoteReader.read_range

    def counted(self, offset, count):
        data = read_range(self, offset, count)
        fetched.append(len(data))
        return data

    monkeypatch.setattr(RemoteReader, "read_range", counted)
    with BundleReader(prefix) as reader:
        index_bytes = sum(fetched)
        assert reader.read("small").tolist() == [1.0] * 10
        assert sum(fetched) == index_bytes + 40
        assert reader.read_slice("rows", [2, 0], [1, 10]).tolist() == [[2.0] * 10]
        assert sum(fetched) == index_bytes + 40 + 4000
    assert index_bytes < 1000


def test_a_flipped_byte_is_found_and_named(prefix):
    write(prefix, 1)
    shard = next(path for path in bundle_files(prefix) if ".data-" in path)
    with BundleReader(prefix) as reader:
        entries = {key: entry for key, entry in reader.entries()}
    for name in ("a", "b", "number"):
        data = bytearray(read_bytes(shard))
        whole = bytes(data)
        entry = entries[name.encode()]
        data[entry.offset + entry.size - 1] ^= 1
        write_bytes(shard, bytes(data))
        with BundleReader(prefix) as reader:
            with pytest.raises(errors.DataLossError) as caught:
                reader.read(name)
            assert shard in str(caught.value) and repr(name) in str(caught.value)
            assert caught.value.path == shard
        write_bytes(shard, whole)
    write_bytes(shard, whole[:-1])
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="truncated"):
        reader.read("parts")
    file_systems.remove(shard)
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="is missing"):
        reader.read("a")
    write_bytes(f"{prefix}.index", b"not a table")
    with pytest.raises(errors.DataLossError):
        BundleReader(prefix)


def test_a_reader_whose_checkpoint_is_replaced_says_so(prefix):
    write(prefix, 1)
    with BundleReader(prefix) as reader:
        write(prefix, 2)  # removes the shards of 1
        with pytest.raises(errors.AbortedError, match="another checkpoint replaced this one"):
            reader.read("a")
    with BundleReader(prefix) as reader:
        reader.read("a")
        write(prefix, 3)
        write(prefix, 4)  # has the names of 2's files
        assert np.unique(reader.read("number")).tolist() == [2]  # by the open file
        reader._maps[0]._idle.clear()
        with pytest.raises(errors.AbortedError, match="replaced this one"):
            reader.read("number")


def changes_of(action):
    """Runs an action on a watched store; returns (what, path) of each change."""
    seen: list[tuple[str, str]] = []
    WatchedStore.on_change = staticmethod(lambda what, path: seen.append((what, path)))
    action()
    WatchedStore.on_change = staticmethod(lambda what, path: None)
    return seen


def fails_at(number):
    """Makes the change of a number fail, and all that follow, as for a writer that is killed."""
    left = [number]

    def on_change(what, path):
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError("the writer is gone")

    WatchedStore.on_change = staticmethod(on_change)


def test_the_index_is_written_last(tmp_path):
    prefix = f"watched://{tmp_path}/model"
    write(prefix, 1)
    changes = changes_of(lambda: write(prefix, 2))
    renames = [Path(path).name for what, path in changes if what == "rename"]
    assert renames[-1] == "model.index" and len(renames) == 3
    removed = [Path(path).name for what, path in changes if what == "remove"]
    assert removed == ["model.data-00000-of-00001"]
    assert changes.index(("rename", f"{tmp_path}/model.index")) < changes.index(
        ("remove", f"{tmp_path}/model.data-00000-of-00001")
    )


@pytest.mark.parametrize("max_shard_bytes", [None, 2000])
def test_a_writer_that_ends_anywhere_leaves_one_whole_checkpoint(tmp_path, max_shard_bytes):
    prefix = f"watched://{tmp_path}/model"
    write(prefix, 0, max_shard_bytes=max_shard_bytes)
    attempt, failed, old = 0, True, 0
    while failed:
        fails_at(attempt)
        try:
            write(prefix, attempt + 1, max_shard_bytes=max_shard_bytes)
            failed = False
        except errors.OpError:
            failed = True
        WatchedStore.on_change = staticmethod(lambda what, path: None)
        found = number_of(prefix)
        assert found == attempt + 1 or (failed and found == old), "not the newest that was complete"
        old = found
        attempt += 1
    assert attempt > 8


def test_a_failed_writer_leaves_no_files(tmp_path):
    prefix = f"watched://{tmp_path}/model"
    write(prefix, 0)
    before = sorted(p.name for p in tmp_path.iterdir())
    count = len(changes_of(lambda: write(prefix, 1))) - 1  # without the removal of the older shard
    write(prefix, 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    for number in range(count):
        left = [number]

        def on_change(what, path, left=left):
            left[0] -= 1
            if left[0] == -1:  # once: the writer can clean up
                raise OSError(28, "No space left on device")

        WatchedStore.on_change = staticmethod(on_change)
        with pytest.raises(errors.ResourceExhaustedError):
            write(prefix, 3)
        WatchedStore.on_change = staticmethod(lambda what, path: None)
        assert sorted(p.name for p in tmp_path.iterdir()) == before, number
        assert number_of(prefix) == 2


def test_bundles_are_merged(prefix):
    parts = [f"{prefix}_temp/part-{i}" for i in range(3)]
    for i, part in enumerate(parts):
        with BundleWriter(part) as writer:
            writer.add(f"v{i}", np.full([3], i))
            writer.add_slice("whole", [3, 2], [i, 0], [1, 2], np.full([1, 2], i))
    for _ in range(2):  # the second replaces the first
        merge_bundles(parts, prefix, delete_old=False)
    merge_bundles(parts, prefix)
    with BundleReader(prefix) as reader:
        assert [reader.read(f"v{i}").tolist() for i in range(3)] == [[i] * 3 for i in range(3)]
        assert reader.read("whole").tolist() == [[0, 0], [1, 1], [2, 2]]
    for part in parts:
        assert bundle_files(part) == []
    assert len(bundle_files(prefix)) == 1 + reader.num_shards
    with pytest.raises(errors.NotFoundError, match="part-0.*which all of them must share"):
        merge_bundles(parts, prefix)


def test_a_merge_that_ends_anywhere_leaves_the_older_checkpoint_or_the_new_one(tmp_path):
    prefix = f"watched://{tmp_path}/model"
    write(prefix, 0)
    attempt, failed, old = 0, True, 0
    while failed:
        parts = [f"watched://{tmp_path}/temp-{attempt}/part-{i}" for i in range(2)]
        number = attempt + 1
        with BundleWriter(parts[0]) as writer:
            for name, value in VALUES.items():
                writer.add(name, value)
            writer.add_slice("parts", [4, 3], [0, 0], [1, 3], np.full([1, 3], number, np.float64))
        with BundleWriter(parts[1]) as writer:
            writer.add("number", np.full([500], number, np.int32))
            writer.add_slice("parts", [4, 3], [1, 0], [3, 3], np.full([3, 3], number, np.float64))
        fails_at(attempt)
        try:
            merge_bundles(parts, prefix)
            failed = False
        except errors.OpError:
            failed = True
        WatchedStore.on_change = staticmethod(lambda what, path: None)
        found = number_of(prefix)
        assert found == number or (failed and found == old)
        old = found
        attempt += 1
    assert attempt > 4


@pytest.mark.parametrize("ranges", [True, False])
def test_checkpoints_are_read_from_http_servers(tmp_path, ranges):
    write(tmp_path / "model", 7)
    server = HttpServer(tmp_path, ranges)
    try:
        assert number_of(f"{server.url}/model") == 7
        with pytest.raises(errors.NotFoundError, match="no checkpoint of this name"):
            BundleReader(f"{server.url}/none")
    finally:
        server.stop()


def test_checkpoints_of_format_v1_round_trip(prefix):
    for i in range(2):
        writer = SliceFileWriter(f"{prefix}-{i:05d}-of-00002")
        writer.add(f"v{i}", np.full([3], i, np.float32))
        writer.add("whole", np.full([1, 2], i, np.float32), [2, 2], [i, 0], [1, 2])
        writer.finish()
    with SliceFileReader(f"{prefix}-?????-of-00002") as reader:
        assert reader.names() == ["v0", "v1", "whole"]
        assert reader.read("whole").tolist() == [[0, 0], [1, 1]]
    with SliceFileReader(f"{prefix}-00001-of-00002") as reader:
        assert reader.read("v1").tolist() == [1, 1, 1]
    with pytest.raises(errors.NotFoundError):
        SliceFileReader(f"{prefix}-none")
