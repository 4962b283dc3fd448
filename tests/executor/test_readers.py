"""Readers in sessions: turns, waiting for work, cancellation, corrupted files, state.

Modules of headrace.graph: ops.readers, training.input.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from concurrently import concurrently, wait_until_idle

import headrace.graph as hr
from headrace.formats.errors import (
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    UnimplementedError,
)


def _files(folder: Path, *contents: bytes) -> list[str]:
    paths = [folder / f"file{number}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return [str(path) for path in paths]


def _filled(session: hr.Session, units: list[str], close: bool = True) -> hr.FIFOQueue:
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[]])
    session.run(queue.enqueue_many([units]))
    if close:
        session.run(queue.close())
    return queue


def _all(read: Callable[[], Any]) -> list[Any]:
    records = []
    try:
        while True:
            records.append(read())
    except OutOfRangeError:
        return records


# ---- records -----------------------------------------------------------------------------------


def test_a_reader_goes_through_all_files(tmp_path: Path) -> None:
    with hr.Session() as session:
        queue = _filled(session, _files(tmp_path, b"a\nb\n", b"", b"c"))
        reader = hr.TextLineReader()
        record = reader.read(queue)
        records = _all(lambda: session.run(record))
        counts = [reader.num_records_produced(), reader.num_work_units_completed()]
        assert [value for _, value in records] == [b"a", b"b", b"c"]
        assert records[1][0].decode().endswith("file0:2")
        assert session.run(counts) == [3, 3]
        with pytest.raises(OutOfRangeError, match="is closed and has insufficient elements"):
            session.run(record)


def test_readers_of_the_first_generation(tmp_path: Path) -> None:
    raw = hr.raw_ops
    queue = raw.FIFOQueue(component_types=[hr.string], shapes=[[]])
    (path,) = _files(tmp_path, b"ab\ncd\n")
    with hr.Session() as session:
        session.run(raw.QueueEnqueue(handle=queue, components=[path]))
        session.run(raw.QueueClose(handle=queue))
        for make in (raw.TextLineReader, raw.WholeFileReader, raw.IdentityReader,
                     raw.TFRecordReader):  # fmt: skip
            session.run(raw.ReaderNumRecordsProduced(reader_handle=make()))
        reader = hr.ReaderBase(raw.FixedLengthRecordReader(record_bytes=3))
        keys, values = reader.read_up_to(queue, 5)
        assert session.run(values).tolist() == [b"ab\n", b"cd\n"]
        session.run(reader.reset())
        assert session.run(reader.num_work_units_completed()) == 0


def test_match_filenames_once_and_read_file(tmp_path: Path) -> None:
    _files(tmp_path, b"one", b"two")
    names = hr.train.match_filenames_once([str(tmp_path / "file*"), str(tmp_path / "none*")])
    contents = hr.read_file(names[1])
    write = hr.write_file(str(tmp_path / "deep" / "new"), contents)
    with hr.Session() as session:
        session.run(hr.local_variables_initializer())
        assert session.run(contents) == b"two"
        session.run(write)
        assert session.run(hr.matching_files(str(tmp_path / "*/new"))).size == 1
    assert (tmp_path / "deep" / "new").read_bytes() == b"two"


# ---- waiting -----------------------------------------------------------------------------------


def test_a_read_waits_for_work_without_a_thread() -> None:
    """Twenty reads of one reader and of others wait; each gets one unit."""
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[]])
    unit = hr.placeholder(hr.string)
    put = queue.enqueue(unit)
    reader = hr.IdentityReader()
    reads = [reader.read(queue)[1]] + [hr.IdentityReader().read(queue)[1] for _ in range(3)]
    got: list[bytes] = []
    with hr.Session() as session:
        session.run(put, {unit: "first"})
        got.append(session.run(reads[0]))
        threads = [
            threading.Thread(target=lambda n=n: got.append(session.run(reads[n % 4])))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        wait_until_idle()
        assert len(got) == 1
        for n in range(20):
            session.run(put, {unit: f"unit {n}"})
        for thread in threads:
            thread.join()
    assert sorted(got[1:]) == sorted(f"unit {n}".encode() for n in range(20))


def test_reads_that_wait_end_with_their_step() -> None:
    """The read that waits for the queue, and the one that waits for its turn."""
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[]])
    reader = hr.IdentityReader()
    key, _ = reader.read(queue)
    reset = reader.reset()
    ended: list[type] = []

    def wait(session: hr.Session, what: Any, milliseconds: int) -> None:
        try:
            session.run(what, options=hr.RunOptions(timeout_in_ms=milliseconds))
        except OpError as error:
            ended.append(type(error))

    with hr.Session() as session:
        first = threading.Thread(target=wait, args=(session, key, 60_000))
        first.start()
        wait_until_idle()
        wait(session, key, 50)
        wait(session, reset, 50)
        assert ended == [DeadlineExceededError] * 2 and first.is_alive()
        session.run(queue.enqueue("x"))
        first.join()
        assert ended == [DeadlineExceededError] * 2
        second = threading.Thread(target=wait, args=(session, key, 60_000))
        third = threading.Thread(target=wait, args=(session, reset, 60_000))
        second.start()
        wait_until_idle()  # third waits for its turn only if second has it
        third.start()
        wait_until_idle()
        session.close()
        second.join()
        third.join()
    assert ended[2:] == [CancelledError] * 2


def test_a_closed_queue_ends_reads_that_wait() -> None:
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[]])
    reader = hr.IdentityReader()
    key, _ = reader.read(queue)
    closed = queue.close()
    ended: list[type] = []

    def wait(_: int) -> None:
        try:
            session.run(key)
        except OpError as error:
            ended.append(type(error))

    with hr.Session() as session:

        def close() -> None:
            wait_until_idle()
            session.run(closed)

        closing = threading.Thread(target=close)
        closing.start()
        concurrently(wait, 6)
        closing.join()
    assert ended == [OutOfRangeError] * 6


def test_threads_share_readers(tmp_path: Path) -> None:
    """Each line is read by exactly one thread."""
    paths = _files(tmp_path, *(b"".join(b"%d:%d\n" % (f, n) for n in range(50)) for f in range(6)))
    got: list[bytes] = []
    with hr.Session() as session:
        queue = _filled(session, paths)
        reads = [hr.TextLineReader().read(queue)[1] for _ in range(2)]
        up_to = hr.TextLineReader().read_up_to(queue, 7)[1]

        def work(thread: int) -> None:
            what = up_to if thread == 3 else reads[thread % 2]
            for found in _all(lambda: session.run(what)):
                got.extend([found] if thread != 3 else found)

        concurrently(work, 4)
    assert sorted(got) == sorted(b"%d:%d" % (f, n) for f in range(6) for n in range(50))


def test_many_empty_units_do_not_deepen_the_stack(tmp_path: Path) -> None:
    (empty,) = _files(tmp_path, b"")
    with hr.Session() as session:
        queue = _filled(session, [empty] * 3000)
        with pytest.raises(OutOfRangeError):
            session.run(hr.TextLineReader().read(queue))


# ---- invalid use and corrupted files -----------------------------------------------------------


def test_invalid_queues_and_attributes_are_rejected() -> None:
    numbers = hr.FIFOQueue(2, [hr.int64])
    pairs = hr.FIFOQueue(2, [hr.string, hr.string])
    vectors = hr.FIFOQueue(2, [hr.string])
    variable = hr.raw_ops.VarHandleOp(dtype=hr.string, shape=[])
    reader = hr.WholeFileReader()
    invalid = [
        reader.read(numbers)[0],
        reader.read(pairs)[0],
        reader.read(vectors)[0],
        reader.read(variable)[0],
        hr.ReaderBase(variable).read(vectors)[0],
        hr.ReaderBase(variable).num_records_produced(),
        hr.FixedLengthRecordReader(0).num_records_produced(),
        hr.FixedLengthRecordReader(2, header_bytes=-1).num_records_produced(),
        hr.FixedLengthRecordReader(2, encoding="GZIP").num_records_produced(),
        hr.TextLineReader(-1).num_records_produced(),
        hr.raw_ops.ReaderNumRecordsProducedV2(
            reader_handle=hr.raw_ops.TFRecordReaderV2(compression_type="LZ")
        ),
    ]
    with hr.Session() as session:
        session.run([numbers.enqueue(1), pairs.enqueue(["a", "b"]), vectors.enqueue([["a", "b"]])])
        for fetch in invalid:
            with pytest.raises((InvalidArgumentError, ValueError)):
                session.run(fetch)


def test_missing_files_are_an_error_and_the_next_one_is_read(tmp_path: Path) -> None:
    (path,) = _files(tmp_path, b"line\n")
    with hr.Session() as session:
        queue = _filled(session, [str(tmp_path / "none"), str(tmp_path), path])
        record = hr.TextLineReader().read(queue)[1]
        with pytest.raises(NotFoundError, match="none; No such file or directory"):
            session.run(record)
        with pytest.raises(OpError):  # a folder
            session.run(record)
            session.run(record)


def _records(*values: bytes, kind: str = "") -> bytes:
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        with hr.io.TFRecordWriter(file.name, hr.io.TFRecordOptions(kind)) as writer:
            for value in values:
                writer.write(value)
        return Path(file.name).read_bytes()


@pytest.mark.parametrize("kind", ["", "ZLIB", "GZIP"])
def test_corrupted_records_are_data_loss(tmp_path: Path, kind: str) -> None:
    """Every byte changed, and every length cut: an error of data, or the right records."""
    values = [b"first record", b"", b"third"]
    whole = _records(*values, kind=kind)
    step = 1 if not kind else 3
    cut = [whole[:n] for n in range(1, len(whole), step)]
    changed = [
        whole[:n] + bytes([whole[n] ^ (1 << n % 8)]) + whole[n + 1 :]
        for n in range(0, len(whole), step)
    ]
    paths = _files(tmp_path, *cut, *changed)
    unit = hr.placeholder(hr.string)
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[]])
    put = queue.enqueue(unit)
    reader = hr.TFRecordReader(options=hr.io.TFRecordOptions(kind))
    read, reset = reader.read_up_to(queue, 10)[1], reader.reset()
    losses = 0
    with hr.Session() as session:
        for path in paths:
            session.run(put, {unit: path})
            try:
                found = session.run(read).tolist()
                assert found == values[: len(found)]
            except DataLossError as error:
                assert path in str(error)
                losses += 1
            session.run(reset)
    assert losses > len(paths) * 3 // 4


def test_an_absurd_length_takes_no_memory(tmp_path: Path) -> None:
    from headrace.formats.masked_crc import masked_crc32c

    length = (1 << 40).to_bytes(8, "little")
    header = length + masked_crc32c(length).to_bytes(4, "little")
    (path,) = _files(tmp_path, header + b"abc")
    with hr.Session() as session:
        queue = _filled(session, [path])
        with pytest.raises(DataLossError, match="truncated record at 0"):
            session.run(hr.TFRecordReader().read(queue))


def test_a_zlib_bomb_is_read_piece_by_piece(tmp_path: Path) -> None:
    (path,) = _files(tmp_path, zlib.compress(bytes(50_000_000)))
    with hr.Session() as session:
        queue = _filled(session, [path])
        reader = hr.FixedLengthRecordReader(1_000_000, encoding="ZLIB")
        values = reader.read_up_to(queue, 3)[1]
        assert [len(v) for v in session.run(values)] == [1_000_000] * 3


# ---- state -------------------------------------------------------------------------------------


def test_states_are_restored_and_invalid_ones_rejected() -> None:
    state = hr.placeholder(hr.string)
    reader = hr.WholeFileReader()
    assert reader.supports_serialize and not hr.TextLineReader().supports_serialize
    restore, save = reader.restore_state(state), reader.serialize_state()
    with hr.Session() as session:
        good = b"\x08\x02\x10\x02\x18\x05\x22\x01x"
        session.run(restore, {state: good})
        assert session.run([save, reader.num_records_produced()]) == [good, 5]
        for bad in (b"\x08", b"\x08\x03\x10\x02", b"\x18" + b"\xff" * 9 + b"\x01", b"\xff\xff"):
            session.run(restore, {state: good})
            with pytest.raises(InvalidArgumentError):
                session.run(restore, {state: bad})
            assert session.run([save, reader.num_records_produced()]) == [b"", 0]
        with pytest.raises(InvalidArgumentError, match="scalar"):
            session.run(restore, {state: [good]})
        lines = hr.TextLineReader()
        with pytest.raises(UnimplementedError):
            session.run(lines.serialize_state())
        with pytest.raises(UnimplementedError):
            session.run(lines.restore_state(good))


def test_who_enqueues_a_file_does_not_read_it(tmp_path: Path) -> None:
    """A read waits for the queue; the file is a pipe, which is opened when someone writes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[]])
    _, line = hr.TextLineReader().read(queue)
    put = queue.enqueue(str(pipe))
    got: list[bytes] = []
    with hr.Session() as session:
        reading = threading.Thread(target=lambda: got.append(session.run(line)))
        reading.start()
        wait_until_idle()
        putting = threading.Thread(target=lambda: session.run(put))
        putting.start()
        putting.join(120)
        was_put = not putting.is_alive()
        pipe.write_bytes(b"first\nsecond\n")
        reading.join()
        putting.join()
    assert was_put and got == [b"first"]
