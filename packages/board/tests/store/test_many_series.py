"""Series of a few points are packed: they take little memory, and behave like all others."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from fixtures.event_logs import WALL, simple_event
from hypothesis import given
from hypothesis import strategies as st

from headrace.board.board import Board
from headrace.board.store.blob_series import BlobSeries
from headrace.board.store.few_rows import FEW_ROWS
from headrace.board.store.run import Run, Tag
from headrace.board.store.scalar_series import ScalarSeries
from headrace.board.updates.changes_since import ChangesSince
from headrace.formats.event_file import EventFileWriter

MOST_BYTES = 1000
TAGS = 20_000


def write_many(folder: Path, tags: int, points: int = 1) -> None:
    with EventFileWriter(folder) as writer:
        for step in range(points):
            for first in range(0, tags, 100):
                values = [
                    (f"layer{i // 1000}/weight{i % 1000}", 1.0) for i in range(first, first + 100)
                ]
                writer.write(simple_event(step, WALL + step, values))


@pytest.mark.parametrize("points", [1, 4])
def test_a_series_of_a_few_points_takes_less_than_a_kilobyte(tmp_path: Path, points: int) -> None:
    write_many(tmp_path / "warm up", 100)
    board = Board(tmp_path / "warm up", follow=False).load()
    ChangesSince(board, "boot").series(None)
    write_many(tmp_path / "logs" / "run", TAGS, points)
    gc.collect()
    tracemalloc.start()
    try:
        board = Board(tmp_path / "logs", follow=False).load()
        changes = ChangesSince(board, "boot")
        mark = changes.series(None).mark
        changes.runs(None)
        changes.series(mark)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert board.index.totals()[1:3] == (TAGS, TAGS * points)
    assert taken / TAGS < MOST_BYTES


Step = tuple[int, list[tuple[int, float]], bool, bool]


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Appends and removals: a file, rows of step and value, wide, whether it is removed first."""
    value = st.floats(width=32) | st.just(float("nan"))
    rows = st.lists(st.tuples(st.integers(-3, 9), value), max_size=5)
    step = st.tuples(
        st.integers(0, 2),
        rows,
        st.integers(0, 9).map(lambda n: n == 0),
        st.integers(0, 5).map(lambda n: n == 0),
    )
    return draw(st.lists(step, max_size=8))


@given(histories())
def test_packed_series_show_what_others_show(history: list[Step]) -> None:
    packed, plain = (ScalarSeries(Run(0, "r", "r"), Tag(0, "t", "scalar")) for _ in range(2))
    wall = 0.0
    for file, rows, wide, removed in history:
        step = np.array([row[0] for row in rows], np.int64)
        value = np.array([row[1] for row in rows], np.float64)
        walls = wall + np.arange(len(rows), dtype=float)
        wall += len(rows)
        plain._all_columns()
        for one in (packed, plain):
            if removed:
                one.drop_file(file)
            starts = [(0, 3)] if file == 1 and not one.last_wall_of(file) >= 0 else []
            one.add_points(file, f"file{file}", (step, walls, value), wide, starts)
        assert len(packed) == len(plain) == packed.run.points == plain.run.points
        assert packed.segments() == plain.segments() == max(1, plain.columns().segments)
        packed.run.series[0] = packed
        assert packed.run.segments == packed.segments()
        assert packed.writers_at_once() == plain.writers_at_once()
        np.testing.assert_equal(packed.last_wall_of(file), plain.last_wall_of(file))
        # As arrays: whether the least of 0.0 and -0.0 has a sign is not specified.
        np.testing.assert_array_equal(packed.statistics(), plain.statistics())
        ours, theirs = packed.columns(), plain.columns()
        for name in ("step", "wall", "value", "segment", "superseded"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
            assert not getattr(ours, name).flags.writeable


def test_readers_see_every_prefix_of_a_growing_series_whole() -> None:
    series = ScalarSeries(Run(0, "r", "r"), Tag(0, "t", "scalar"))
    torn: list[int] = []
    done = threading.Event()

    def read() -> None:
        n = 0
        while not done.is_set():
            points = series.columns()
            if len(points) < n or points.value.tolist() != points.step.tolist():
                torn.append(len(points))
            n = len(points)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for step in range(4 * FEW_ROWS):
        rows = (np.array([step]), np.array([WALL + step]), np.array([float(step)]))
        series.add_points(0, "file", rows, False, [])
    done.set()
    for reader in readers:
        reader.join()
    assert torn == [] and len(series) == 4 * FEW_ROWS


def test_rows_of_blobs_are_packed_too() -> None:
    series = BlobSeries(Run(0, "r", "r"), Tag(0, "t", "text"))
    for i in range(FEW_ROWS + 4):
        before = series.memory_bytes()
        columns = (
            np.array([i]),
            np.array([WALL + i]),
            np.array([i * 100]),
            np.array([7]),
            np.array([-1]),
        )
        series.add_rows(5, "file", columns, [])
        rows = series.rows()
        assert rows.step.tolist() == [*range(i + 1)]
        assert rows.offset.tolist() == [100 * k for k in range(i + 1)]
        assert set(rows.file.tolist()) == {5} and rows.value.dtype == np.int32
        assert series.ends() == (i + 1, 0, i, WALL, WALL + i)
        assert series.memory_bytes() - before == 40 or i >= FEW_ROWS
    series.drop_file(4)
    assert len(series) == FEW_ROWS + 4
    series.drop_file(5)
    assert len(series) == series.run.blobs == 0 and series.ends() is None
