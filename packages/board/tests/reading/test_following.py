"""The store follows the logdir: files that appear, grow and disappear."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures import corrupted_logs, event_logs
from fixtures.boards import LONG_S, points, problems, run_names, scalars, wait_until

from headrace.board.board import Board
from headrace.board.reading.event_file_reader import EventFileReader
from headrace.board.reading.scan_batch import MORE
from headrace.board.store.scalar_series import ScalarSeries
from headrace.formats.event_file import EventFileWriter
from headrace.formats.record_file import frame

pytestmark = pytest.mark.usefixtures("either_scanner")


def test_a_logdir_may_come_late_and_go(tmp_path: Path, follow: Callable[[], Board]) -> None:
    tmp_path.rmdir()
    board = follow()
    wait_until(lambda: not board.progress().loading)
    assert run_names(board) == []
    event_logs.write_a(tmp_path / "r", 3)
    wait_until(lambda: run_names(board) == ["r"])
    wait_until(lambda: points(board, "r") == 3)
    shutil.rmtree(tmp_path)
    wait_until(lambda: run_names(board) == [])
    assert not board.progress().loading
    event_logs.write_a(tmp_path / "again", 5)
    wait_until(lambda: points(board, "again") == 5)


def test_growth_a_new_run_and_a_second_writer_are_seen(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    """How soon is measured by benchmarks/measure_reading.py."""
    with EventFileWriter(tmp_path / "r") as writer:
        writer.write(event_logs.simple_event(0, 1.0, [("loss", 1.0)]))
        writer.flush()
        board = follow()
        wait_until(lambda: points(board, "r") == 1)
        writer.write(event_logs.simple_event(1, 2.0, [("loss", 1.0)]))
        writer.flush()
        wait_until(lambda: points(board, "r") == 2)
        with EventFileWriter(tmp_path / "r", ".second") as other:
            other.write(event_logs.simple_event(0, 1.0, [("other", 1.0)]))
        wait_until(lambda: points(board, "r", "other") == 1)
        with EventFileWriter(tmp_path / "new") as other:
            other.write(event_logs.simple_event(0, 1.0, [("loss", 1.0)]))
        wait_until(lambda: points(board, "new") == 1)


def test_a_new_run_is_seen_while_a_long_file_is_still_read(
    tmp_path: Path, follow: Callable[[], Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = EventFileReader.read
    ends = threading.Event()

    def endless(feed: EventFileReader) -> bool:
        changed = read(feed)
        if feed.found.name.startswith("long") and not ends.is_set():
            feed.state = MORE
        return changed

    monkeypatch.setattr(EventFileReader, "read", endless)
    event_logs.write_a(tmp_path / "long", 5)
    board = follow()
    wait_until(lambda: points(board, "long") == 5)
    event_logs.write_a(tmp_path / "new", 3)
    wait_until(lambda: points(board, "new") == 3)
    ends.set()


def test_a_run_whose_files_were_deleted_is_removed(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    path = event_logs.write_a(tmp_path / "r", 3)
    event_logs.write_a(tmp_path / "stays", 3)
    board = follow()
    wait_until(lambda: len(board.index.all_series()) == 2)
    path.unlink()
    wait_until(lambda: run_names(board) == ["stays"])
    assert len(board.index.all_series()) == 1


def test_a_rewritten_file_is_read_again(tmp_path: Path, follow: Callable[[], Board]) -> None:
    records = corrupted_logs.records_of_900(50)
    path = corrupted_logs.write_records(tmp_path, b"".join(records))
    board = follow()
    wait_until(lambda: len(board.index.all_series()) == 1 and not board.progress().loading)
    series = scalars(board, ".", "loss")
    versions = {series.version}
    started = board.index.run(0).start
    path.write_bytes(b"".join(records[:11]))
    wait_until(lambda: points(board) == 10)
    versions.add(scalars(board, ".", "loss").version)
    # As long as before or longer, but other bytes: the same name and inode.
    anew = corrupted_logs.records_of_900(300)
    path.write_bytes(b"".join([anew[0], *anew[100:]]))
    wait_until(lambda: points(board) == 201)
    versions.add(scalars(board, ".", "loss").version)
    assert scalars(board, ".", "loss").columns().step[0] == 99
    assert board.index.problems.list() == []
    other = corrupted_logs.write_records(tmp_path / "aside", b"".join(records[:3]))
    os.replace(other, path)
    wait_until(lambda: points(board) == 2)
    versions.add(scalars(board, ".", "loss").version)
    # A reply that is cached by version never mixes up the points of two files.
    assert len(versions) == 4
    assert board.index.run(0).start == started


def test_a_rewritten_run_starts_from_zero(tmp_path: Path, follow: Callable[[], Board]) -> None:
    def event(wall: float) -> bytes:
        return frame(event_logs.simple_event(0, wall, [("loss", wall)]))

    path = corrupted_logs.write_records(tmp_path, event(1000.0) + event(1001.0))
    board = follow()
    wait_until(lambda: points(board) == 2)
    (run,) = board.index.runs()
    assert (run.start, run.last_wall) == (1000.0, 1001.0)
    path.write_bytes(event(5000.0))
    wait_until(lambda: points(board) == 1)
    (run,) = board.index.runs()
    assert (run.start, run.last_wall) == (5000.0, 5000.0)


def test_a_truncated_tail_is_not_a_problem_while_the_file_grows(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    records = corrupted_logs.records_of_900(30)
    whole = b"".join(records)
    path = corrupted_logs.write_records(tmp_path, whole[:-9])
    board = follow()
    wait_until(lambda: len(board.index.all_series()) == 1 and not board.progress().loading)
    assert len(scalars(board, ".", "loss")) == 29
    assert board.index.problems.list() == []
    with path.open("ab") as file:
        file.write(whole[-9:])
    wait_until(lambda: len(scalars(board, ".", "loss")) == 30)


def test_stop_wakes_who_waits_and_ends_the_thread(tmp_path: Path) -> None:
    before = {*threading.enumerate()}
    board = Board(tmp_path).start()
    wait_until(lambda: not board.progress().loading)
    rev = board.index.rev
    waits = threading.Thread(target=board.index.wait, args=(rev + 1000, 1e6))
    waits.start()
    board.stop()
    waits.join(LONG_S)
    assert not {*threading.enumerate()} - before


def test_a_training_that_has_ended_is_no_problem(
    tmp_path: Path, follow: Callable[[], Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.board.reading.ingestion._ACTIVE_S", 0.3)
    with EventFileWriter(tmp_path) as writer:
        board = follow()
        wait_until(lambda: not board.progress().loading)
        for step in range(7):
            writer.write(event_logs.simple_event(step, 1.0 + step, [("loss", 1.0)]))
            writer.flush()
            wait_until(lambda: board.progress().bytes_done == os.path.getsize(writer.path))
        wait_until(lambda: board.index.runs()[0].live)
    # A day later: as long as it took to report a training that "has ended or hangs", and longer.
    monkeypatch.setattr("time.monotonic", lambda now=time.monotonic: now() + 86_400)
    wait_until(lambda: not board.index.runs()[0].live)
    assert board.index.problems.list() == []


def test_readers_see_whole_batches_while_files_grow_and_restart(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    board = follow()
    written = threading.Event()
    wrong: list[str] = []
    rounds = 150

    def write() -> None:
        with EventFileWriter(tmp_path / "r") as writer:
            step = 0
            for _ in range(rounds):
                for _ in range(200):
                    values = [("a", float(step)), ("b", float(-step))]
                    writer.write(event_logs.simple_event(step, 1.0 + step, values))
                    step = step + 1 if step < 5000 else 4000
                writer.flush()
                written.wait(0.005)  # so that the board reads in between
        written.set()

    def read() -> None:
        try:
            while not written.is_set():
                for series in board.index.all_series():
                    assert isinstance(series, ScalarSeries)
                    columns = series.columns()
                    sign = 1 if series.tag.name == "a" else -1
                    same = np.array_equal(columns.value, sign * columns.step.astype(np.float32))
                    live = columns.step[~columns.superseded]
                    if not same or len(columns.segment) != len(columns.superseded):
                        wrong.append("columns do not belong together")
                    if np.any(live[1:] < live[:-1]):
                        wrong.append("live points go back")
                    figures = series.statistics()
                    if figures.n and figures.max - figures.min > 5000:
                        wrong.append(f"figures do not fit: {figures}")
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=target) for target in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    wait_until(lambda: points(board, "r", "a") == rounds * 200)


def test_a_trace_file_is_followed_and_its_run_goes_with_it(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    board = follow()
    (tmp_path / "r").mkdir()
    name = tmp_path / "r" / "a.trace.json"
    name.write_text("[")
    wait_until(lambda: run_names(board) == ["r"])
    (first,) = board.index.trace_files.all()
    name.write_text('[{"ph": "X", "name": "a", "ts": 1, "dur": 1}')
    wait_until(lambda: [f.size for f in board.index.trace_files.all()] == [name.stat().st_size])
    assert board.index.trace_files.all()[0].id != first.id
    name.unlink()
    wait_until(lambda: run_names(board) == [])


def test_a_logdir_that_was_deleted_says_so(tmp_path: Path, follow: Callable[[], Board]) -> None:
    event_logs.write_a(tmp_path / "r", 3)
    board = follow()
    wait_until(lambda: run_names(board) == ["r"])
    shutil.rmtree(tmp_path)
    wait_until(lambda: bool(problems(board, "missing_logdir")))
    assert "was deleted" in problems(board, "missing_logdir")[0].text


def test_a_clock_of_no_sense_is_reported_in_few_digits(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    with EventFileWriter(tmp_path / "r") as writer:
        for wall in (1e300, 1.0):
            writer.write(event_logs.simple_event(0, wall, [("loss", 1.0)]))
    board = follow()
    wait_until(lambda: bool(problems(board, "clock_jump")))
    assert len(problems(board, "clock_jump")[0].text) < 100
