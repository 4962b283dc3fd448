"""The limits of the scanners: gaps and tags of one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fixtures import corrupted_logs, event_logs
from fixtures.scanners import assert_scanners_agree, points, read_all

from headrace.board.reading import scan_batch
from headrace.board.reading.scan_batch import DEAD, END
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.record_file import frame, read_records


def test_a_file_with_too_many_gaps_is_read_no_further(scanner: Any, tmp_path: Path) -> None:
    record = bytearray(frame(b"\x09" + bytes(8)))
    record[-6] ^= 1
    path = corrupted_logs.write_records(tmp_path, bytes(record) * (scan_batch.MAX_GAPS + 100))
    batches = read_all(scanner, path)
    assert batches[-1].state == DEAD
    fd = os.open(path, os.O_RDONLY)
    assert scanner.scan(fd, 1 << 20).state == DEAD
    os.close(fd)


def test_values_of_tags_beyond_the_limit_cost_no_other_value(scanner: Any, tmp_path: Path) -> None:
    many = 20_000  # values of tags beyond the limit: more than the gaps that a file may have
    with EventFileWriter(tmp_path) as writer:
        for part in range(10):
            names = [f"tag{part}/{i}" for i in range(10_000)]
            writer.write(event_logs.simple_event(part, 1.0, [(name, 1.0) for name in names]))
        for step in range(2):
            rejected = [(f"rejected/{i}", 1.0) for i in range(many // 2)]
            writer.write(event_logs.simple_event(step, 1.0, rejected))
        for step in range(1, 4):
            writer.write(event_logs.simple_event(step, 1.0, [("tag0/0", 1.0), ("rejected/0", 1.0)]))
    path = Path(writer.path)
    batches = read_all(scanner, path)
    assert batches[-1].state == END
    assert sum(len(batch.new_tags) for batch in batches) == scan_batch.MAX_TAGS
    assert [step for step, _, _ in points(batches)["tag0/0"]] == [0, 1, 2, 3]
    assert [gap for batch in batches for gap in batch.gaps] == []
    assert sum(batch.dropped for batch in batches) == many + 3
    first = next(batch.dropped_from for batch in batches if batch.dropped)
    records = [len(record) + 16 for record in read_records(path)]
    assert first == sum(records[: len(records) - 5])


def test_a_tag_s_further_kind_beyond_the_limit_is_dropped_too(tmp_path: Path) -> None:
    graph = Event(step=1, graph_def=b"g")
    with EventFileWriter(tmp_path) as writer:
        names = [("graph_def", 1.0), *((f"tag{i}", 1.0) for i in range(99_999))]
        writer.write(event_logs.simple_event(0, 1.0, names))
        writer.write(graph)
    batches = assert_scanners_agree(Path(writer.path))
    assert (batches[-1].dropped, len(batches[-1].blobs.tags)) == (1, 0)
