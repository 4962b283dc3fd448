"""Both scanners give the same correct results for intact and for corrupted files."""

from __future__ import annotations

import errno
import os
import random
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures import corrupted_logs, event_logs
from fixtures.scanners import (
    SCANNERS,
    assert_scanners_agree,
    points,
    read_all,
    tags_of,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.board.board import Board
from headrace.board.reading.scan_batch import END, FAILED, LOST, MORE, TORN
from headrace.board.reading.scanner import scanner_name
from headrace.formats.proto.event_pb2 import Event, SessionLog
from headrace.formats.record_file import frame, read_records


def test_the_native_scanner_is_used_unless_the_other_is_selected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for choice, name in (("", "native"), ("native", "native"), ("python", "python")):
        monkeypatch.setenv("HEADRACE_BOARD_SCANNER", choice)
        assert scanner_name() == name
    monkeypatch.setenv("HEADRACE_BOARD_SCANNER", "rust")
    with pytest.raises(ValueError, match="is 'rust': set it to native or python"):
        scanner_name()


def test_a_scanner_that_was_not_built_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HEADRACE_BOARD_SCANNER", raising=False)
    monkeypatch.setitem(sys.modules, "headrace.board.reading.scan_events", None)
    event_logs.write_a(tmp_path, 10)
    board = Board(tmp_path, follow=False).load()
    (problem,) = board.index.problems.list()
    assert problem.kind == "not_compiled" and "(reading.scan_events)" in problem.text
    assert len(board.index.all_series()[0]) == 10
    monkeypatch.setenv("HEADRACE_BOARD_SCANNER", "native")
    with pytest.raises(ImportError):
        scanner_name()


def test_every_point_of_every_tag_is_found(scanner: Any, tmp_path: Path) -> None:
    path = event_logs.write_c(tmp_path, tags=7, steps=300)
    found = points(read_all(scanner, path, 4096))
    assert list(found) == [f"layer{i}/loss" for i in range(7)]
    for i, rows in enumerate(found.values()):
        want = [
            (s, event_logs.WALL + s, float(np.float32(event_logs.curve(s, i)))) for s in range(300)
        ]
        assert rows == want


def test_a_group_of_an_unknown_field_is_passed_over(scanner: Any, tmp_path: Path) -> None:
    event = event_logs.simple_event(3, 5.0, [("loss", 0.5)])
    group = b"\x9b\x06" + b"\x08\x01" + b"\x9c\x06"  # field 99, which holds another field
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(frame(group + event) + frame(event + group) + frame(event + group[:-2]))
    batches = read_all(scanner, path)
    assert points(batches) == {"loss": [(3, 5.0, 0.5)] * 2}
    assert sum(len(batch.gaps) for batch in batches) == 1


def test_kinds_come_from_the_field_or_from_the_first_metadata(scanner: Any, tmp_path: Path) -> None:
    batches = read_all(scanner, corrupted_logs.every_kind(tmp_path))
    kinds = {tag.name: tag.kind for tag in tags_of(batches)}
    assert {name: kinds[name] for name in kinds if not name.startswith("scalar/")} == {
        "old/scalar": "scalar",
        "old/image": "image",
        "old/audio": "audio",
        "old/histogram": "histogram",
        "tensor/images": "image",
        "tensor/histograms": "histogram",
        "tensor/text": "text",
        "tensor/audio": "audio",
        "tensor/pr_curves": "pr_curve",
        "tensor/mesh": "mesh",
        "tensor/unknown_plugin": "tensor",
        "untold/number": "scalar",
        "untold/pair": "tensor",
        "_hparams_/session_start_info": "hparams",
        "graph_def": "graph",
        "meta_graph_def": "graph",
        "step_9": "run_metadata",
    }
    (image,) = [tag for tag in tags_of(batches) if tag.name == "tensor/images"]
    assert image == ("tensor/images", "image", "images", "tensor/images shown",
                     "about tensor/images", b"\x08\1")  # fmt: skip
    rows = sum(int(batch.blobs.bounds[-1]) for batch in batches)
    assert rows == 4 * (3 + 7 + 1 + 1 + 1) + 1 + 1 + 1


def test_scalars_of_every_dtype_keep_their_value(scanner: Any, tmp_path: Path) -> None:
    batches = read_all(scanner, corrupted_logs.every_kind(tmp_path))
    found = {name: [value for _, _, value in rows] for name, rows in points(batches).items()}
    third = [float(np.float32(n / 3)) for n in range(4)]
    assert found["scalar/float"] == found["scalar/float content"] == third
    assert found["scalar/double"] == found["scalar/double content"] == [n / 3 for n in range(4)]
    assert found["scalar/int32"] == [0, -1, -2, -3]
    assert found["scalar/uint8"] == [0, 1, 2, 3]
    assert found["scalar/int8 content"] == [0, -1, -2, -3]
    assert found["scalar/int64"] == [2.0**53, 2.0**53 + 2, 2.0**53 + 4, 2.0**53 + 6]
    assert found["scalar/bool"] == [0, 1, 0, 1]
    assert found["scalar/bfloat16"] == [1 + n / 128 for n in range(4)]
    assert found["scalar/half"] == [1 + n / 1024 for n in range(4)]
    assert found["scalar/half content"] == [-n / 4 for n in range(4)]
    assert np.isnan(found["scalar/half of nothing"]).all()
    assert found["scalar/uint32"] == [2.0**32 - 1 - n for n in range(4)]
    assert found["scalar/uint64"] == [2.0**64] * 4
    assert found["scalar/zero left out"] == [0, 0, 0, 0]
    assert "scalar/two numbers" not in found
    wide = {
        tag.name
        for batch in batches
        for tag, is_wide in zip(
            [tags_of(batches)[i] for i in batch.scalars.tags.tolist()], batch.wide.tolist()
        )
        if is_wide
    }
    assert wide == {
        "scalar/double", "scalar/double content", "scalar/int32", "scalar/int64", "scalar/uint32",
        "scalar/uint64", "untold/number",
    }  # fmt: skip


def test_a_flipped_payload_byte_costs_its_record_and_is_reported(
    scanner: Any, tmp_path: Path
) -> None:
    records = corrupted_logs.records_of_900()
    path = corrupted_logs.write_records(tmp_path, corrupted_logs.flip_payload_byte(records))
    batches = read_all(scanner, path)
    assert [step for step, _, _ in points(batches)["loss"]] == [
        step for step in range(900) if step != 449
    ]
    offset = sum(map(len, records[:450]))
    assert [gap for batch in batches for gap in batch.gaps] == [
        ("payload", offset, len(records[450]), 1)
    ]
    assert batches[-1].state == END


def test_a_flipped_length_byte_costs_its_record_and_is_reported(
    scanner: Any, tmp_path: Path
) -> None:
    records = corrupted_logs.records_of_900()
    path = corrupted_logs.write_records(tmp_path, corrupted_logs.flip_length_byte(records))
    batches = read_all(scanner, path)
    assert [step for step, _, _ in points(batches)["loss"]] == [
        step for step in range(900) if step != 449
    ]
    offset = sum(map(len, records[:450]))
    assert [gap for batch in batches for gap in batch.gaps] == [
        ("length", offset, len(records[450]), 1)
    ]


def test_a_torn_tail_waits_and_goes_on(scanner: Any, tmp_path: Path) -> None:
    whole = b"".join(corrupted_logs.records_of_900())
    for missing in range(1, 60):
        path = corrupted_logs.write_records(tmp_path / str(missing), whole[:-missing])
        one = type(scanner)()
        batches = read_all(one, path)
        lengths = len(points(batches)["loss"])
        assert lengths == (899 if missing < 44 else 898)
        assert batches[-1].gaps == []
        path.write_bytes(whole)
        batches += read_all(one, path)
        assert len(points(batches)["loss"]) == 900
        assert batches[-1].state == END


def test_the_end_of_a_file_is_lost_until_a_whole_record_follows(
    scanner: Any, tmp_path: Path
) -> None:
    records = corrupted_logs.records_of_900(20)
    broken = b"".join(records)[:-60] + b"\xee" * 60
    path = corrupted_logs.write_records(tmp_path, broken)
    batches = read_all(scanner, path)
    assert batches[-1].state == LOST
    gap = batches[-1].open_gap
    assert gap is not None and gap.offset + gap.bytes == len(broken)
    with path.open("ab") as file:
        file.write(records[7])
    batches += read_all(scanner, path)
    assert batches[-1].state == END and batches[-1].open_gap is None
    assert batches[-1].gaps == [gap]


def test_a_record_whose_writer_died_is_skipped_when_another_writes_on(
    scanner: Any, tmp_path: Path
) -> None:
    records = corrupted_logs.records_of_900(50)
    torn = b"".join(records[:20]) + records[20][:30]
    path = corrupted_logs.write_records(tmp_path, torn)
    batches = read_all(scanner, path)
    assert batches[-1].state == TORN
    with path.open("ab") as file:
        file.write(b"".join(records[30:]))
    batches += read_all(scanner, path)
    steps = [step for step, _, _ in points(batches)["loss"]]
    assert steps == [*range(19), *range(29, 50)]
    assert batches[-1].gaps == [("payload", sum(map(len, records[:20])), 30, 1)]


def test_zeros_that_a_file_system_gave_are_waited_for(scanner: Any, tmp_path: Path) -> None:
    records = corrupted_logs.records_of_900(20)
    good = b"".join(records)
    path = corrupted_logs.write_records(tmp_path, good + b"\0" * 4096)
    batches = read_all(scanner, path)
    assert (batches[-1].state, batches[-1].offset, batches[-1].gaps) == (TORN, len(good), [])
    path.write_bytes(good + records[5])
    assert read_all(scanner, path)[-1].records == 1


def test_a_length_that_no_file_backs_takes_no_memory(scanner: Any, tmp_path: Path) -> None:
    good = b"".join(corrupted_logs.records_of_900(3))
    path = corrupted_logs.write_records(
        tmp_path, good + corrupted_logs.header_that_lies(1 << 30) + b"x" * 100
    )
    batch = read_all(scanner, path)[-1]
    assert (batch.state, batch.records, batch.offset) == (TORN, 4, len(good))
    path = corrupted_logs.write_records(
        tmp_path, good + corrupted_logs.header_that_lies(2**63) + b"x" * 100, ".2"
    )
    assert read_all(type(scanner)(), path)[-1].state == LOST


def test_a_record_longer_than_a_block_is_read(scanner: Any, tmp_path: Path) -> None:
    big = Event(wall_time=1.0, step=1, graph_def=b"g" * (9 << 20)).SerializeToString()
    one = event_logs.simple_event(2, 2.0, [("loss", 1.0)])
    path = corrupted_logs.write_records(tmp_path, frame(one) + frame(big) + frame(one))
    batches = read_all(scanner, path, 16 << 20)
    assert [tag.kind for tag in tags_of(batches)] == ["scalar", "graph"]
    assert batches[-1].blobs.columns[3].tolist() == [len(big)]
    assert len(points(batches)["loss"]) == 2


@pytest.mark.parametrize("corrupted", [False, True], ids=["whole", "corrupted"])
def test_a_disk_failure_is_not_a_truncated_file_and_loses_nothing_once_reads_succeed(
    scanner: Any, tmp_path: Path, corrupted: bool
) -> None:
    records = corrupted_logs.records_of_900()
    data = corrupted_logs.flip_length_byte(records) if corrupted else b"".join(records)
    path = corrupted_logs.write_records(tmp_path, data)
    works = os.open(path, os.O_RDONLY)
    fails = os.open(path, os.O_WRONLY)  # read from, it gives EBADF
    batches = []
    try:
        while not batches or batches[-1].state in (MORE, FAILED):
            batches.append(scanner.scan(fails, 500))
            assert (batches[-1].state, batches[-1].error) == (FAILED, errno.EBADF)
            assert batches[-1].records == 0
            batches.append(scanner.scan(works, 500))
            assert batches[-1].error == 0
    finally:
        os.close(works)
        os.close(fails)
    assert batches[-1].state == END
    assert len(points(batches)["loss"]) == (899 if corrupted else 900)
    assert len([gap for batch in batches for gap in batch.gaps]) == (1 if corrupted else 0)


def test_a_file_without_a_readable_size_has_failed(scanner: Any) -> None:
    fd = os.open(os.devnull, os.O_RDONLY)
    os.close(fd)
    batch = scanner.scan(fd, 500)
    assert (batch.state, batch.error, batch.records) == (FAILED, errno.EBADF, 0)


def test_records_before_a_bad_sector_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only of the scanner in Python: the other's pread cannot be had by a test."""
    records = corrupted_logs.records_of_900()
    path = corrupted_logs.write_records(tmp_path, b"".join(records))
    bad = sum(map(len, records[:500])) + 5
    pread = os.pread

    def torn_disk(fd: int, count: int, offset: int) -> bytes:
        if offset <= bad < offset + count:
            if offset == bad:
                raise OSError(errno.EIO, "Input/output error")
            return pread(fd, bad - offset, offset)
        return pread(fd, count, offset)

    monkeypatch.setattr(os, "pread", torn_disk)
    batches = read_all(SCANNERS["python"](), path)
    assert (batches[-1].state, batches[-1].error) == (FAILED, errno.EIO)
    assert len(points(batches)["loss"]) == 499


def test_a_session_s_start_stands_before_the_next_row_of_each_tag(
    scanner: Any, tmp_path: Path
) -> None:
    start = Event(wall_time=5.0, step=3, session_log=SessionLog(status=SessionLog.START))
    stop = Event(wall_time=5.0, step=1, session_log=SessionLog(status=SessionLog.STOP))
    one = [event_logs.simple_event(s, 5.0, [("a", 1.0), ("b", 1.0)]) for s in range(6)]
    only_b = event_logs.simple_event(7, 5.0, [("b", 1.0)])
    data = [*one, stop.SerializeToString(), start.SerializeToString(), only_b, *one]
    path = corrupted_logs.write_records(tmp_path, b"".join(map(frame, data)))
    assert read_all(scanner, path)[-1].starts == [(1, 6, 3), (0, 6, 3)]


@pytest.mark.parametrize("limit", [64, 5000, 1 << 20])
def test_scanners_agree_on_whole_files(tmp_path: Path, limit: int) -> None:
    assert_scanners_agree(corrupted_logs.every_kind(tmp_path / "kinds"), limit)
    assert_scanners_agree(event_logs.write_b(tmp_path / "b", tags=5, steps=40), limit)
    for path in sorted(corrupted_logs.write_hostile(tmp_path / "hostile").rglob("*tfevents*")):
        batches = assert_scanners_agree(path, limit)
        kinds = [gap.kind for batch in batches for gap in batch.gaps]
        assert sorted(kinds) == ["event", "name", "name"]


def test_scanners_agree_with_protobuf_on_what_is_an_event(tmp_path: Path) -> None:
    """Every record that protobuf reads gives the same points, whatever the order of its fields."""
    rng = random.Random(5)
    data, want = [], []
    for step in range(300):
        fields = [
            struct.pack("<Bd", 9, step + 0.5),
            b"\x10" + bytes([step & 0x7F | 0x80, step >> 7]),
            Event(summary={"value": [{"tag": "t", "simple_value": step}]}).SerializeToString(),
            b"\xa2\x06\x03abc",  # a field nobody knows
        ]
        rng.shuffle(fields)
        data.append(b"".join(fields))
        event = Event.FromString(data[-1])
        want.append((event.step, event.wall_time, event.summary.value[0].simple_value))
    path = corrupted_logs.write_records(tmp_path, b"".join(map(frame, data)))
    assert points(assert_scanners_agree(path))["t"] == want


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_scanners_agree_on_any_corruption(data: st.DataObject, tmp_path: Path) -> None:
    source = _source(tmp_path)
    corrupted = bytearray(source)
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(corrupted) - 1))
        what = data.draw(st.sampled_from(["flip", "cut", "insert", "copy", "zeros"]))
        count = data.draw(st.integers(1, 200))
        if what == "flip":
            corrupted[at] ^= data.draw(st.integers(1, 255))
        elif what == "cut":
            del corrupted[at : at + count]
        elif what == "insert":
            corrupted[at:at] = data.draw(st.binary(min_size=1, max_size=40))
        elif what == "copy":
            corrupted[at:at] = corrupted[: 5 * count]
        else:
            corrupted[at : at + count] = bytes(count)
        if not corrupted:
            corrupted = bytearray(b"\0")
    path = tmp_path / "corrupted.tfevents"
    path.write_bytes(corrupted)
    assert_scanners_agree(path, data.draw(st.sampled_from([50, 3000, 1 << 20])))


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_scanners_agree_on_any_payload(data: st.DataObject, tmp_path: Path) -> None:
    """Good CRCs around bytes that were an event before some of them changed."""
    payload = bytearray(data.draw(st.sampled_from(_payloads())))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(payload)))
        if data.draw(st.booleans()):
            payload[at : at + 1] = data.draw(st.binary(min_size=1, max_size=3))
        else:
            del payload[at : at + data.draw(st.integers(1, 5))]
    path = tmp_path / "payload.tfevents"
    path.write_bytes(frame(bytes(payload)) + frame(_payloads()[0]))
    assert_scanners_agree(path)


_sources: dict[str, bytes] = {}


def _source(tmp_path: Path) -> bytes:
    if "all" not in _sources:
        kinds = corrupted_logs.every_kind(tmp_path / "source").read_bytes()
        start = Event(step=9, session_log=SessionLog(status=SessionLog.START))
        restart = frame(start.SerializeToString())
        records = b"".join(corrupted_logs.records_of_900(60))
        _sources["all"] = records + kinds + restart + records + kinds + restart + records
    return _sources["all"]


def _payloads() -> list[bytes]:
    if "payloads" not in _sources:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            found = list(read_records(corrupted_logs.every_kind(Path(folder), steps=1)))
        _sources["payloads"] = b"\0split\0".join(
            [event_logs.simple_event(3, 4.0, [("tag", 1.0)]), *found]
        )
    return _sources["payloads"].split(b"\0split\0")
