"""Data by URL: datasets, readers and files of an object store and of web servers."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_store import ObjectStore
from stores import HttpServer

import headrace.graph as hr
from headrace.formats import file_systems
from headrace.formats.record_file import RecordWriter, read_records
from headrace.formats.remote_file import read_bytes, write_bytes

RECORDS = [b"%d:" % i + bytes([i % 251]) * (i * 37 % 5000) for i in range(400)]
LINES = [f"line {i} größer" for i in range(500)]


def elements(dataset: Any) -> list[Any]:
    """The elements of a dataset."""
    get_next = dataset.make_one_shot_iterator().get_next()
    found = []
    with hr.Session() as session:
        while True:
            try:
                found.append(session.run(get_next))
            except hr.errors.OutOfRangeError:
                return found


def write_files(folder: Path) -> None:
    """Writes a file of each format."""
    for name, compression in (("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")):
        with RecordWriter(folder / f"{name}.tfrecord", compression) as writer:
            for record in RECORDS:
                writer.write(record)
    text = "\n".join(LINES).encode() + b"\n"
    (folder / "lines.txt").write_bytes(text)
    (folder / "lines.gz").write_bytes(gzip.compress(text))
    (folder / "fixed.bin").write_bytes(b"head" + b"".join(b"%08d" % i for i in range(999)) + b"end")
    (folder / "table.csv").write_text("".join(f"{i},{i * 0.5}\n" for i in range(200)))
    (folder / "words.txt").write_text("zero\none\ntwo\n")


@pytest.fixture(params=["object store", "web server"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:  # what reads the same by either
    """The URL of a folder with the files of write_files."""
    write_files(tmp_path)
    if request.param == "web server":
        url: str = request.getfixturevalue("web_server").url
        return url
    bucket: str = request.getfixturevalue("bucket")
    for path in tmp_path.iterdir():
        write_bytes(f"{bucket}/{path.name}", path.read_bytes())
    return bucket


@pytest.fixture
def web_server(tmp_path: Path) -> Any:
    """A server of tmp_path that sends no ranges: what works by it works by all."""
    server = HttpServer(tmp_path, ranges=False)
    yield server
    server.stop()


def test_datasets_of_files_have_the_elements_of_local_files(source: str) -> None:
    for name, compression in (("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")):
        found = elements(hr.data.TFRecordDataset(f"{source}/{name}.tfrecord", compression))
        assert found == RECORDS
    lines = [line.encode() for line in LINES]
    assert elements(hr.data.TextLineDataset(f"{source}/lines.txt")) == lines
    both = hr.data.TextLineDataset([f"{source}/lines.gz"] * 2, "GZIP")
    assert elements(both) == lines * 2
    fixed = hr.data.FixedLengthRecordDataset(f"{source}/fixed.bin", 8, 4, 3)
    assert elements(fixed) == [b"%08d" % i for i in range(999)]
    csv = hr.data.experimental.CsvDataset(f"{source}/table.csv", [hr.int32, hr.float32])
    assert elements(csv) == [(i, i * 0.5) for i in range(200)]
    with pytest.raises(hr.errors.NotFoundError, match=f"{source}/none; No such file"):
        elements(hr.data.TextLineDataset(f"{source}/none"))


def test_readers_of_queues_read_by_url(source: str) -> None:
    for reader, name, expected in (
        (hr.TFRecordReader(), "plain.tfrecord", RECORDS),
        (hr.TextLineReader(), "lines.txt", [line.encode() for line in LINES]),
        (hr.WholeFileReader(), "words.txt", [b"zero\none\ntwo\n"]),
        (hr.FixedLengthRecordReader(8, 4, 3), "fixed.bin", [b"%08d" % i for i in range(999)]),
    ):
        queue = hr.FIFOQueue(2, [hr.string], shapes=[[]])
        fill = hr.group(queue.enqueue(f"{source}/{name}"))
        close = queue.close()
        key, value = reader.read(queue)
        with hr.Session() as session:
            session.run(fill)
            session.run(close)
            found = []
            with pytest.raises(hr.errors.OutOfRangeError):
                while True:
                    found.append(session.run(value))
        assert found == expected


def test_tables_are_initialised_by_url(source: str) -> None:
    table = hr.contrib.lookup.index_table_from_file(f"{source}/words.txt")
    with hr.Session() as session:
        session.run(hr.tables_initializer())
        assert session.run(table.lookup(hr.constant(["two", "zero", "x"]))).tolist() == [2, 0, -1]


def test_files_are_read_in_parallel(bucket: str) -> None:
    for i in range(12):
        with RecordWriter(f"{bucket}/part-{i:02d}.tfrecord") as writer:
            for record in RECORDS[i::12]:
                writer.write(record)
    files = hr.data.Dataset.list_files(f"{bucket}/part-*.tfrecord", shuffle=False)
    dataset = files.apply(
        hr.data.experimental.parallel_interleave(
            hr.data.TFRecordDataset, cycle_length=4, sloppy=False
        )
    )
    assert sorted(elements(dataset)) == sorted(RECORDS)
    with hr.Session() as session:
        names = session.run(hr.matching_files(f"{bucket}/part-0*.tfrecord")).tolist()
    assert names == [f"{bucket}/part-{i:02d}.tfrecord".encode() for i in range(10)]


def test_a_position_is_saved_and_restored(bucket: str) -> None:
    with RecordWriter(f"{bucket}/file") as writer:
        for record in RECORDS:
            writer.write(record)
    iterator = hr.data.TFRecordDataset(f"{bucket}/file").make_initializable_iterator()
    get_next = iterator.get_next()
    hr.add_to_collection(
        hr.GraphKeys.SAVEABLE_OBJECTS, hr.data.experimental.make_saveable_from_iterator(iterator)
    )
    saver = hr.train.Saver()
    with hr.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(get_next) for _ in range(100)] == RECORDS[:100]
        path = saver.save(session, f"{bucket}/model")
        session.run(get_next)
    with hr.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert [session.run(get_next) for _ in range(300)] == RECORDS[100:]


def test_elements_are_cached_and_written_by_url(bucket: str) -> None:
    dataset = hr.data.Dataset.range(100).map(hr.as_string)
    cached = dataset.cache(f"{bucket}/kept")
    assert elements(cached) == [b"%d" % i for i in range(100)]
    assert file_systems.list_directory(bucket) == ["kept.cache"]
    assert elements(hr.data.Dataset.range(0).map(hr.as_string).cache(f"{bucket}/kept")) == [
        b"%d" % i for i in range(100)
    ]
    with hr.Session() as session:
        session.run(hr.data.experimental.TFRecordWriter(f"{bucket}/out.tfrecord").write(dataset))
    assert list(read_records(f"{bucket}/out.tfrecord")) == [b"%d" % i for i in range(100)]
    with hr.python_io.TFRecordWriter(f"{bucket}/python.tfrecord") as writer:
        writer.write(b"one")
    assert list(hr.python_io.tf_record_iterator(f"{bucket}/python.tfrecord")) == [b"one"]


def test_whole_files_are_written_and_read(bucket: str) -> None:
    contents = np.random.default_rng(1).bytes(30 << 20)
    name = hr.placeholder(hr.string, [])
    data = hr.placeholder(hr.string, [])
    written, read = hr.write_file(name, data), hr.read_file(name)
    with hr.Session() as session:
        session.run(written, {name: f"{bucket}/file", data: contents})
        assert read_bytes(f"{bucket}/file") == contents
        assert session.run(read, {name: f"{bucket}/file"}) == contents


def test_a_large_file_is_streamed(bucket: str) -> None:
    import child_of_memory

    size = 128 << 20
    record = bytes(1 << 20)
    with RecordWriter(f"{bucket}/large") as writer:
        for _ in range(size >> 20):
            writer.write(record)
    grown, count = child_of_memory.growth_of_reading(f"{bucket}/large")
    assert count == size >> 20
    assert grown < 64 << 20, f"reading took {grown >> 20} MiB"


def test_a_file_that_is_replaced_while_it_is_read_is_not_mixed_with_the_new_one(
    bucket: str,
) -> None:
    first, second = (b"".join(b"%d %07d\n" % (k, i) for i in range(4_000_000)) for k in (1, 2))
    write_bytes(f"{bucket}/file", first)
    get_next = (
        hr.data.TextLineDataset(f"{bucket}/file").batch(10_000).make_one_shot_iterator().get_next()
    )
    kinds = set()
    with hr.Session() as session:
        kinds |= {line[:1] for line in session.run(get_next)}
        write_bytes(f"{bucket}/file", second)
        with pytest.raises((hr.errors.AbortedError, hr.errors.OutOfRangeError)) as caught:
            while True:
                kinds |= {line[:1] for line in session.run(get_next)}
    assert kinds == {b"1"}
    assert isinstance(caught.value, hr.errors.AbortedError)


def test_a_timeout_and_a_closed_session_end_the_wait_for_a_store(
    bucket: str, object_store: ObjectStore
) -> None:
    write_bytes(f"{bucket}/file", b"x\n")
    read = hr.read_file(f"{bucket}/file")
    line = hr.data.TextLineDataset(f"{bucket}/file").make_one_shot_iterator().get_next()
    v = hr.get_variable("v", [100], initializer=hr.zeros_initializer())
    saver = hr.train.Saver()
    waits_ms = 8_000
    with hr.Session() as session:
        session.run(v.initializer)
        object_store.control("delay", waits_ms)
        try:
            begun = time.monotonic()
            for fetch in (read, line, saver.saver_def.save_tensor_name):
                feeds = {saver.saver_def.filename_tensor_name: f"{bucket}/model"}
                with pytest.raises(hr.errors.DeadlineExceededError):
                    session.run(fetch, feeds, options=hr.RunOptions(timeout_in_ms=200))
            ended: list[BaseException] = []

            def wait() -> None:
                try:
                    session.run(read)
                except BaseException as error:
                    ended.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            while not any(t.name == "headrace_files" for t in threading.enumerate()):
                time.sleep(0.01)
            session.close()
            thread.join(60)
            assert not thread.is_alive()
            assert time.monotonic() - begun < waits_ms / 1000
            assert len(ended) == 1
        finally:
            object_store.control("delay", 0)


# Waits for a store in the main thread; the test sends Ctrl-C.
WAITING = """
import signal
import headrace.graph as hr
signal.signal(signal.SIGINT, signal.default_int_handler)
name = hr.placeholder(hr.string, [])
read = hr.read_file(name)
with hr.Session() as session:
    session.run(read, {name: "BUCKET/file"})
    print("ready", flush=True)
    input()
    try:
        print("waits", flush=True)
        session.run(read, {name: "BUCKET/file"})
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_ends_the_wait_for_a_store(bucket: str, object_store: ObjectStore) -> None:
    write_bytes(f"{bucket}/file", b"x")
    child = subprocess.Popen(
        [sys.executable, "-c", WAITING.replace("BUCKET", bucket)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    try:
        assert child.stdout.readline() == "ready\n"
        object_store.control("delay", 30_000)
        print("go", file=child.stdin, flush=True)
        assert child.stdout.readline() == "waits\n"
        time.sleep(0.5)  # until it waits
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert child.wait(20) == 0
    finally:
        object_store.control("delay", 0)
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()
