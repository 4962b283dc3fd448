"""A file that cannot be read is reported and retried, and does not block other files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures import corrupted_logs, event_logs
from fixtures.boards import load, points, problems, run_names, wait_until

from headrace.board.board import Board
from headrace.board.reading.event_file_reader import EventFileReader
from headrace.board.reading.log_folder import LogFolder
from headrace.board.store.blob_series import BlobRows, BlobSeries
from headrace.formats.errors import DataLossError
from headrace.formats.event_file import EventFileWriter
from headrace.formats.record_file import frame

pytestmark = pytest.mark.usefixtures("either_scanner")


class BadDisk:
    """Makes files fail whose path begins with `bad`, until it is healed.

    how: "open" (EMFILE) or "read" (EBADF, since the file is opened only to be written).
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, how: str, begin: str = "bad") -> None:
        self.broken = True
        self.tried = 0
        really = LogFolder.open_file

        def open_file(folder: LogFolder, path: str) -> int:
            if not self.broken or not path.startswith(begin):
                return really(folder, path)
            self.tried += 1
            if how == "open":
                raise OSError(errno.EMFILE, "Too many open files")
            return os.open(os.path.join(folder.path, path), os.O_WRONLY)

        monkeypatch.setattr(LogFolder, "open_file", open_file)
        monkeypatch.setattr("headrace.board.reading.event_file_reader._RETRY_S", 0.01)
        monkeypatch.setattr("headrace.board.reading.event_file_reader._LONGEST_RETRY_S", 0.05)


@pytest.mark.parametrize("how", ["open", "read"])
def test_a_failing_file_is_reported_retried_and_recovers(
    tmp_path: Path, follow: Callable[[], Board], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    disk = BadDisk(monkeypatch, how)
    event_logs.write_a(tmp_path / "bad", 5)
    event_logs.write_a(tmp_path / "good", 5)
    board = follow()
    wait_until(lambda: points(board, "good") == 5 and not board.progress().loading)
    (problem,) = problems(board, "unreadable")
    opened = {"open": "opened: Too many open files", "read": "read: Bad file descriptor"}[how]
    assert problem.text == f"the file cannot be {opened}; the board keeps trying"
    assert problem.file is not None and problem.file.startswith("bad/")
    again = disk.tried + 2
    wait_until(lambda: disk.tried >= again)
    disk.broken = False
    wait_until(lambda: points(board, "bad") == 5)
    wait_until(lambda: problems(board, "unreadable") == [])


def test_one_file_s_error_leaves_the_files_behind_it_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BadDisk(monkeypatch, "read")
    event_logs.write_a(tmp_path / "a", 5)
    event_logs.write_a(tmp_path / "bad", 5)
    event_logs.write_a(tmp_path / "c", 5)
    board = load(tmp_path)
    assert [points(board, run) for run in ("a", "bad", "c")] == [5, 0, 5]
    assert len(problems(board, "unreadable")) == 1


def test_an_internal_error_in_one_file_skips_that_file_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read = EventFileReader.read

    def fail(feed: EventFileReader) -> bool:
        if feed.found.name.startswith("bad"):
            raise ZeroDivisionError("a bug")
        return read(feed)

    monkeypatch.setattr(EventFileReader, "read", fail)
    event_logs.write_a(tmp_path / "bad", 5)
    event_logs.write_a(tmp_path / "good", 5)
    board = load(tmp_path)
    assert points(board, "good") == 5
    (problem,) = board.index.problems.list()
    assert problem.kind == "dead"
    assert "reading failed (ZeroDivisionError: a bug); the rest" in problem.text
    assert "a bug" in caplog.text


def test_a_run_whose_rewritten_file_cannot_be_opened_goes_until_it_can(
    tmp_path: Path, follow: Callable[[], Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = event_logs.write_a(tmp_path / "bad", 50)
    board = follow()
    wait_until(lambda: points(board, "bad") == 50 and not board.progress().loading)
    read = EventFileReader.read
    disk = BadDisk(monkeypatch, "open")
    disk.broken = False

    def read_then_break(feed: EventFileReader) -> bool:
        changed = read(feed)
        disk.broken = disk.broken or feed.replaced  # before it can be opened a second time
        return changed

    monkeypatch.setattr(EventFileReader, "read", read_then_break)
    gone: list[int] = []
    drop = board.index.drop_run
    monkeypatch.setattr(board.index, "drop_run", lambda run: (gone.append(run.id), drop(run)))
    path.write_bytes(path.read_bytes()[:200])
    wait_until(lambda: gone == [0])
    disk.broken = False
    wait_until(lambda: 0 < points(board, "bad") < 50)
    assert run_names(board) == ["bad"]


def test_two_writers_at_once_are_reported_only_while_both_files_exist(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    paths = []
    for suffix in (".a", ".b", ".c"):
        with EventFileWriter(tmp_path / "r", suffix) as writer:
            for step in range(10):
                event = event_logs.simple_event(step, event_logs.WALL + step, [("loss", 1)])
                writer.write(event)
        paths.append(Path(writer.path))
    board = follow()
    wait_until(lambda: points(board, "r") == 30)
    wait_until(lambda: len(problems(board, "duplicate_writers")) == 1)
    paths[0].unlink()
    wait_until(lambda: points(board, "r") == 20)
    assert len(problems(board, "duplicate_writers")) == 1
    paths[2].unlink()
    wait_until(lambda: points(board, "r") == 10)
    assert problems(board, "duplicate_writers") == []


def test_a_folder_that_cannot_be_listed_is_reported_and_affects_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_logs.write_a(tmp_path / "closed", 5)
    event_logs.write_a(tmp_path / "open", 5)
    really = LogFolder.open_folder

    def open_folder(folder: LogFolder, path: str) -> int:
        if path == "closed":
            raise PermissionError(errno.EACCES, "Permission denied")
        return really(folder, path)

    monkeypatch.setattr(LogFolder, "open_folder", open_folder)
    board = load(tmp_path)
    assert run_names(board) == ["open"]
    (problem,) = problems(board, "skipped")
    assert problem.file == "closed"
    assert problem.text == "the folder cannot be opened: Permission denied"


def _images(board: Board) -> BlobRows:
    (series,) = board.index.series_of_kind("image")
    assert isinstance(series, BlobSeries)
    return series.rows()


def test_errors_of_records_name_their_file(tmp_path: Path) -> None:
    path = event_logs.write_images(tmp_path / "r", 3, 500)
    board = load(tmp_path)
    rows = _images(board)
    file, offset, length = int(rows.file[1]), int(rows.offset[1]), int(rows.length[1])
    with pytest.raises(DataLossError, match=rf"^r/{path.name}: the record at byte {offset}"):
        board.records.data(file, offset, length - 1)
    with pytest.raises(DataLossError, match=rf"^r/{path.name}: .* has become shorter"):
        board.records.part(file, offset, 0, 1 << 20)
    text = b"\xff\xff\xff"  # no Event
    bad = corrupted_logs.write_records(tmp_path / "no_event", frame(text))
    board = load(tmp_path)
    (number,) = [n for n in range(5) if board.records._name(n).endswith(bad.name)]
    with pytest.raises(DataLossError, match=rf"^no_event/{bad.name}: .* is not an Event"):
        board.records.event(number, 0, len(text))


def test_a_record_of_a_disk_that_fails_is_lost_for_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_logs.write_images(tmp_path / "bad", 3, 500)
    board = load(tmp_path)
    rows = _images(board)
    disk = BadDisk(monkeypatch, "open")
    with pytest.raises(DataLossError, match="^bad/.* cannot be read: Too many open files"):
        board.records.value(rows, 0)
    disk.broken = False
    assert board.records.value(rows, 0).image.height == 100


def test_reading_a_record_holds_no_lock_during_disk_access(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_logs.write_images(tmp_path, 3, 500)
    board = load(tmp_path)
    rows = _images(board)
    held: list[bool] = []
    pread, open_file = os.pread, LogFolder.open_file
    lock = board.records._lock

    def watched_pread(fd: int, count: int, offset: int) -> bytes:
        held.append(lock.locked())
        return pread(fd, count, offset)

    def watched_open(folder: LogFolder, path: str) -> int:
        held.append(lock.locked())
        return open_file(folder, path)

    monkeypatch.setattr(os, "pread", watched_pread)
    monkeypatch.setattr(LogFolder, "open_file", watched_open)
    board.records.value(rows, 0)
    board.records.part(int(rows.file[0]), int(rows.offset[0]), 0, 10)
    assert held == [False, False, False]


def test_rows_of_a_rewritten_file_have_another_file_number(
    tmp_path: Path, follow: Callable[[], Board]
) -> None:
    path = event_logs.write_images(tmp_path, 3, 500)
    board = follow()
    wait_until(lambda: len(board.index.all_series()) == 1 and not board.progress().loading)
    old = _images(board)
    rev = board.index.rev
    short = path.read_bytes()[: int(old.offset[2])]
    path.write_bytes(short)
    wait_until(lambda: board.index.series_of_kind("image") != [] and len(_images(board)) == 2)
    new = _images(board)
    assert board.index.rev > rev
    assert not {*new.file.tolist()} & {*old.file.tolist()}
    with pytest.raises(DataLossError, match="a file that is gone"):
        board.records.value(old, 0)
    assert board.records.value(new, 0).image.height == 100
