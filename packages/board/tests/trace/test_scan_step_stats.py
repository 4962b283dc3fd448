from __future__ import annotations

import random

import numpy as np
import pytest
from fixtures.traces import planted_trace, two_tasks

from headrace.board.trace.reading import scan_step_stats as native
from headrace.board.trace.reading import scan_step_stats_python as by_protobuf
from headrace.board.trace.reading.step_columns import StepColumns, TraceError
from headrace.formats.proto import run_pb2, step_stats_pb2


def same(a: StepColumns, b: StepColumns) -> None:
    for field in StepColumns.__dataclass_fields__:
        left, right = getattr(a, field), getattr(b, field)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, field
            np.testing.assert_array_equal(left, right, field)
        else:
            assert left == right, field


def any_metadata(rng: random.Random) -> run_pb2.RunMetadata:
    result = run_pb2.RunMetadata()
    numbers = (0, 1, 127, 128, -1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
    texts = ("", "a", "layer/MatMul", "ünï/codé", "x" * 300)
    for _ in range(rng.randrange(4)):
        device = result.step_stats.dev_stats.add(device=rng.choice(texts))
        for _ in range(rng.randrange(3)):
            device.thread_names[rng.randrange(5)] = rng.choice(texts)
        for _ in range(rng.randrange(12)):
            node = device.node_stats.add(node_name=rng.choice(texts))
            node.timeline_label = rng.choice(texts)
            node.thread_id = rng.choice((0, 1, 2**32 - 1))
            for field in step_stats_pb2.NodeExecStats.DESCRIPTOR.fields:
                if field.name.endswith(("micros", "nanos")) and rng.random() < 0.7:
                    setattr(node, field.name, rng.choice(numbers))
            for _ in range(rng.randrange(3)):
                description = node.output.add(slot=3).tensor_description
                description.shape.dim.add(size=4)
                description.allocation_description.requested_bytes = rng.choice(numbers)
                description.allocation_description.allocated_bytes = rng.choice(numbers)
            for _ in range(rng.randrange(3)):
                used = node.memory.add(allocator_name=rng.choice(texts))
                used.allocator_bytes_in_use = rng.choice((0, 5, 2**40))
                for _ in range(rng.randrange(3)):
                    used.allocation_records.add(alloc_micros=7, alloc_bytes=rng.choice((9, -9)))
            node.memory_stats.temp_memory_size = 3
    result.partition_graphs.add().node.add(name="n")
    return result


@pytest.mark.parametrize("seed", range(60))
def test_the_native_scanner_and_protobuf_read_the_same(seed: int) -> None:
    data = any_metadata(random.Random(seed)).SerializeToString()
    same(native.step_columns(data), by_protobuf.step_columns(data))


@pytest.mark.parametrize("seed", range(40))
def test_several_threads_read_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "BYTES_OF_THREAD", 1)
    monkeypatch.setattr(native.os, "cpu_count", lambda: 5)
    rng = random.Random(seed)
    result = any_metadata(rng)
    for _ in range(6):  # each device begins a chunk of its own
        result.MergeFrom(any_metadata(rng))
    data = result.SerializeToString()
    same(native.step_columns(data), by_protobuf.step_columns(data))
    if seed == 0:
        long = planted_trace(20_000).metadata  # several chunks a device
        same(native.step_columns(long), by_protobuf.step_columns(long))


def test_they_read_the_same_of_a_trace_written_by_hand() -> None:
    data = planted_trace(40_000).metadata
    same(native.step_columns(data), by_protobuf.step_columns(data))


def test_each_node_is_found_again_by_its_offset() -> None:
    metadata = two_tasks()
    data = metadata.SerializeToString()
    columns = native.step_columns(data)
    nodes = [n for d in metadata.step_stats.dev_stats for n in d.node_stats]
    for i, node in enumerate(nodes):
        at = int(columns.offset[i])
        read = step_stats_pb2.NodeExecStats.FromString(data[at : at + int(columns.length[i])])
        assert read == node


def test_corrupted_bytes_are_rejected_by_both_or_read_by_both() -> None:
    rng = random.Random(1)
    data = two_tasks().SerializeToString()
    rejected = 0
    for _ in range(3000):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        if rng.random() < 0.3:
            broken = broken[: rng.randrange(len(broken))]
        try:
            native.step_columns(bytes(broken))
        except TraceError:
            rejected += 1
    assert 0 < rejected < 3000


@pytest.mark.parametrize("step_columns", [native.step_columns, by_protobuf.step_columns])
def test_a_truncated_trace_shows_an_error(step_columns) -> None:
    data = two_tasks().SerializeToString()
    with pytest.raises(TraceError, match="corrupted"):
        step_columns(data[:-3])
    assert len(step_columns(b"")) == 0


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_the_fewest_in_which_nothing_overlaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = np.sort(rng.integers(0, 300, 200))
    end = start + rng.integers(0, 30, 200)
    row = native.rows_of(start, end)
    np.testing.assert_array_equal(row, by_protobuf.rows_of(start, end))
    for r in range(row.max() + 1):
        mine = row == r
        assert (end[mine][:-1] <= start[mine][1:]).all()
    deepest = max(int(((start <= t) & (end > t)).sum()) for t in range(330))
    assert row.max() + 1 <= max(1, deepest) + 1  # what takes no time may need a row of its own


@pytest.mark.parametrize("seed", range(20))
def test_labels_and_lanes_are_numbered_alike_without_the_compiled_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    label = rng.integers(0, 20, n).astype(np.int32)
    for name in (label * 2, rng.integers(0, 3, n).astype(np.int32)):
        ours, theirs = (m.first_rows(label, name, 20) for m in (native, by_protobuf))
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert bool(ours[1]) is theirs[1]
    device = rng.integers(0, 3, n).astype(np.int32)
    thread = rng.choice([0, 1, 2**32 - 1, 2**32], n).astype(np.int64)
    ours, theirs = (m.numbered_pairs(device, thread) for m in (native, by_protobuf))
    for left, right in zip(ours, theirs, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    assert len({*zip(device.tolist(), thread.tolist())}) == len(ours[0])
