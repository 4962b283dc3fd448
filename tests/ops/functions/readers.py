"""Readers: whole files, lines, records of one length, TFRecord files."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path


def _files(*contents):
    folder = Path(tempfile.mkdtemp())
    paths = []
    for number, content in enumerate(contents):
        path = folder / f"file{number}"
        path.write_bytes(content)
        paths.append(str(path))
    return paths


def _queue(m, paths):
    queue = m.FIFOQueue(-1, [m.string], shapes=[[]])
    put = queue.enqueue_many([paths])
    with m.control_dependencies([put]):
        m.add_to_collection("before", queue.close())
    return queue


def _names(m, keys):
    """The keys without the folder, whose name differs from run to run."""
    return m.regex_replace(keys, ".*/", "")


def _records(m, reader, paths, count, times=1):
    """The first records, in `times` calls one after another; then the numbers."""
    queue = _queue(m, paths)
    result = []
    for _ in range(times):
        with m.control_dependencies(result[-1:]):
            keys, values = reader.read_up_to(queue, count)
        result += [_names(m, keys), values]
    with m.control_dependencies(result):
        return [*result, reader.num_records_produced(), reader.num_work_units_completed()]


def whole_files(m):
    paths = _files(b"one", b"", b"\x00three\n")
    reader = m.WholeFileReader()
    queue = _queue(m, paths)
    key, value = reader.read(queue)
    with m.control_dependencies([key]):
        other, empty = reader.read(queue)
    with m.control_dependencies([other]):
        made, done = reader.num_records_produced(), reader.num_work_units_completed()
    return [_names(m, key), value, _names(m, other), empty, made, done]


def units(m):
    return _records(m, m.IdentityReader(), ["a/one", "a/two", "a/three"], 2, times=3)


def lines(m):
    paths = _files(b"head\na\n\nb \r\nlast", b"h\n", b"head\nx\ry\n")
    return [
        *_records(m, m.TextLineReader(skip_header_lines=1), paths, 10, times=2),
        *_records(m, m.TextLineReader(), paths, 2, times=4),
    ]


def fixed_length(m):
    data = bytes(range(48, 74))
    plain = _files(b"HH" + data + b"F", b"HH" + data[:5] + b"F")
    packed = _files(zlib.compress(b"HH" + data + b"F"))
    return [
        *_records(m, m.FixedLengthRecordReader(4, 2, 1), plain, 20, times=2),
        *_records(m, m.FixedLengthRecordReader(4, 2, 1, hop_bytes=2), plain, 20, times=2),
        *_records(m, m.FixedLengthRecordReader(3, hop_bytes=7), plain, 20, times=2),
        *_records(m, m.FixedLengthRecordReader(4, 2, 1, encoding="ZLIB"), packed, 20),
        *_records(m, m.FixedLengthRecordReader(4, 2, 1, hop_bytes=3, encoding="ZLIB"), packed, 20),
    ]


def tf_records(m):
    folder = Path(tempfile.mkdtemp())
    result = []
    for kind in ("", "ZLIB", "GZIP"):
        paths = [str(folder / f"{kind}{number}") for number in range(2)]
        options = m.io.TFRecordOptions(kind)
        for path in paths:
            with m.io.TFRecordWriter(path, options) as writer:
                for size in (0, 1, 1000, 300_000):
                    writer.write(b"abcdefg" * size)
        reader = m.TFRecordReader(options=options)
        result += _records(m, reader, paths, 3, times=3)
    return result


def states(m):
    reader, other = m.IdentityReader(), m.IdentityReader()
    queue = _queue(m, ["one", "two"])
    with m.control_dependencies([reader.read(queue)[0]]):
        state = reader.serialize_state()
    with m.control_dependencies([other.restore_state(state)]):
        key, _ = other.read(queue)
        with m.control_dependencies([key]):
            made = other.num_records_produced()
    with m.control_dependencies([made]):
        with m.control_dependencies([other.reset()]):
            none = other.num_records_produced()
    return [state, key, made, none]


PROGRAMS = {f.__name__: f for f in (whole_files, units, lines, fixed_length, tf_records, states)}
