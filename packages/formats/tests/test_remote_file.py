"""Reading ranges of files by URL, and writing files that appear when they are complete."""

from __future__ import annotations

import os
import random
import threading

import fsspec
import pytest
from stores import HttpServer, WatchedStore

from headrace.formats import errors, remote_file
from headrace.formats.event_file import EventFileReader, EventFileWriter, event_files, read_events
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.record_file import RecordReader, RecordWriter, read_records
from headrace.formats.remote_file import (
    RemoteReader,
    RemoteWriter,
    open_input,
    read_bytes,
    write_bytes,
)

CONTENTS = random.Random(3).randbytes(300_000)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Folders of two servers with the same files: one that sends ranges, one that does not."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "file").write_bytes(CONTENTS)
    (folder / "empty").write_bytes(b"")
    servers = {ranges: HttpServer(folder, ranges) for ranges in (True, False)}
    yield folder, servers
    for server in servers.values():
        server.stop()


@pytest.fixture(params=[True, False], ids=["ranges", "whole files only"])
def url(served, request):
    return served[1][request.param].url


@pytest.fixture(autouse=True)
def quiet_store():
    yield
    WatchedStore.on_change = staticmethod(lambda what, path: None)


def test_any_ranges_of_a_file_are_read(url):
    dice = random.Random(1)
    with RemoteReader(f"{url}/file") as reader:
        assert reader.size == len(CONTENTS)
        for _ in range(20):
            offset, count = dice.randrange(len(CONTENTS) + 100), dice.randrange(50_000)
            assert reader.read_range(offset, count) == CONTENTS[offset : offset + count]
        assert reader.read_range(0, len(CONTENTS) + 1) == CONTENTS
        assert reader.read_range(len(CONTENTS), 1) == b""


def test_a_file_is_read_in_order_and_sought(url):
    with open_input(f"{url}/file", buffer_bytes=1000) as file:
        assert file.read(10) == CONTENTS[:10]
        assert file.read(5000) == CONTENTS[10:5010]
        file.seek(7)
        assert file.read(3) == CONTENTS[7:10]
        assert file.seek(-4, os.SEEK_END) == len(CONTENTS) - 4
        assert file.read() == CONTENTS[-4:]
        assert file.tell() == len(CONTENTS)
    assert file.closed


def test_empty_and_missing_files(url):
    assert read_bytes(f"{url}/empty") == b""
    with pytest.raises(errors.NotFoundError, match="none; No such file or directory"):
        read_bytes(f"{url}/none")


def test_threads_read_ranges_of_one_file(served):
    wrong: list[int] = []
    with RemoteReader(f"{served[1][True].url}/file") as reader:

        def read(seed):
            dice = random.Random(seed)
            for _ in range(20):
                at = dice.randrange(len(CONTENTS))
                if reader.read_range(at, 1000) != CONTENTS[at : at + 1000]:
                    wrong.append(at)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_file_that_another_replaced_is_not_mixed_with_it(served):
    folder, servers = served
    (folder / "replaced").write_bytes(CONTENTS)
    with RemoteReader(f"{servers[True].url}/replaced") as reader:
        reader.read_range(0, 10)
        reader._idle.clear()  # as if another thread had the connection
        (folder / "replaced").write_bytes(bytes(len(CONTENTS)))
        os.utime(folder / "replaced", (1, 1))
        with pytest.raises(errors.AbortedError, match="another file replaced this one"):
            reader.read_range(0, 10)


def test_a_server_that_is_gone_is_unavailable(tmp_path):
    server = HttpServer(tmp_path, ranges=False)
    server.stop()
    with pytest.raises(errors.UnavailableError, match=f"{server.url}/x; "):
        read_bytes(f"{server.url}/x")


def test_http_files_cannot_be_written(url):
    with pytest.raises(errors.UnimplementedError):
        write_bytes(f"{url}/new", b"x")


# ---- writing ----


def test_a_file_appears_complete_when_it_is_closed(tmp_path):
    target = tmp_path / "file"
    writer = RemoteWriter(f"watched://{target}")
    for part in (CONTENTS[:1000], bytearray(CONTENTS[1000:2000]), memoryview(CONTENTS)[2000:]):
        writer.write(part)
        assert not target.exists()
    assert writer.tell() == len(CONTENTS)
    writer.close()
    writer.close()
    assert target.read_bytes() == CONTENTS
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    with pytest.raises(errors.InvalidArgumentError, match="the file is closed"):
        writer.write(b"x")


@pytest.mark.parametrize("end", ["discard", "exception", "forgotten"])
def test_a_file_that_is_not_closed_leaves_the_older_one(tmp_path, end):
    url = f"watched://{tmp_path / 'file'}"
    write_bytes(url, b"older")
    if end == "exception":
        with pytest.raises(ZeroDivisionError), RemoteWriter(url) as writer:
            writer.write(CONTENTS)
            raise ZeroDivisionError
    else:
        writer = RemoteWriter(url)
        writer.write(CONTENTS)
        if end == "discard":
            writer.discard()
        del writer
    assert read_bytes(url) == b"older"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("failing", ["open", "write", "close", "rename"])
def test_a_failed_write_leaves_the_older_file_and_nothing_else(tmp_path, failing):
    url = f"watched://{tmp_path / 'file'}"
    write_bytes(url, b"older")

    def on_change(what, path):
        if what == failing:
            raise OSError(28, "No space left on device")

    WatchedStore.on_change = staticmethod(on_change)
    with pytest.raises(errors.ResourceExhaustedError, match="No space left on device"):
        write_bytes(url, CONTENTS)
    WatchedStore.on_change = staticmethod(lambda what, path: None)
    assert read_bytes(url) == b"older"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


# ---- records and events ----


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records_round_trip(compression):
    url = f"memory://records-{compression}"
    records = [CONTENTS[i * 1000 : i * 1000 + i] for i in range(200)]
    with RecordWriter(url, compression) as writer:
        for record in records:
            writer.write(record)
        writer.flush(sync=True)
    assert list(read_records(url, compression)) == records
    with RecordReader(url, compression) as reader:
        for _ in range(100):
            reader.read()
        offset = reader.offset
    with RecordReader(url, compression, offset=offset) as reader:
        assert list(reader) == records[100:]


def test_records_of_a_server_are_checked(served):
    folder, servers = served
    with RecordWriter(folder / "records") as writer:
        writer.write(b"a" * 100)
        writer.write(b"b" * 100)
    damaged = bytearray((folder / "records").read_bytes())
    damaged[150] ^= 1
    (folder / "damaged").write_bytes(damaged)
    (folder / "torn").write_bytes((folder / "records").read_bytes()[:-1])
    for server in servers.values():
        assert list(read_records(f"{server.url}/records")) == [b"a" * 100, b"b" * 100]
        with pytest.raises(errors.DataLossError, match=f"{server.url}/damaged: corrupted record"):
            list(read_records(f"{server.url}/damaged"))
        with pytest.raises(errors.DataLossError, match="truncated record"):
            list(read_records(f"{server.url}/torn"))


def test_records_cannot_be_appended_by_url():
    with pytest.raises(errors.UnimplementedError, match="cannot append"):
        RecordWriter("memory://records", append=True)


def test_each_flush_makes_events_visible_and_large_files_end(monkeypatch):
    monkeypatch.setattr("headrace.formats.event_file._PART_BYTES", 2000)
    logdir = "memory://logs/run"
    writer = EventFileWriter(logdir, suffix=".v2")
    first = writer.path
    assert event_files(logdir) == [first] and first.endswith(".v2")
    steps = 0
    while writer.path == first:
        writer.write(Event(step=steps, graph_def=b"x" * 100))
        steps += 1
        if steps == 3:
            assert [e.step for e in read_events(first)] == [0]  # the version
            writer.flush()
            assert [e.step for e in read_events(first)] == [0, 0, 1, 2]
    writer.close()
    files = event_files(logdir)
    assert len(files) == 2 and files == sorted(files)
    assert all(next(read_events(f)).file_version == "brain.Event:2" for f in files)
    stored = [e.step for f in files for e in read_events(f) if not e.file_version]
    assert stored == list(range(steps))
    with EventFileReader(files[0]) as reader:
        assert len(list(reader.available())) > 3
    assert event_files("memory://logs/none") == []


def test_large_uploads_have_few_parts(monkeypatch):
    monkeypatch.setattr(remote_file, "PART_BYTES", 10)
    monkeypatch.setattr(remote_file, "_MANY_PARTS", 3)
    written: list[int] = []

    class Upload:
        blocksize = 10

        def write(self, data):
            written.append(len(data))

        def close(self):
            written.append(-self.blocksize)

    store = fsspec.filesystem("memory")
    monkeypatch.setattr(store, "open", lambda path, mode, block_size: Upload())
    monkeypatch.setattr(remote_file.file_systems, "writes_objects", lambda url: True)
    with RemoteWriter("memory://x") as writer:
        writer.write(bytes(35))
    assert written == [10, 10, 10, 5, -80]
