"""Several log folders are one board, each below its name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fixtures import event_logs
from fixtures.boards import points, problems, run_names, wait_until
from fixtures.panel_client import PanelClient
from fixtures.trace_files import write_trace_files

from headrace.board.board import Board


def folders(tmp_path: Path) -> dict[str, str | os.PathLike[str]]:
    event_logs.write_a(tmp_path / "one" / "r", 3)
    event_logs.write_a(tmp_path / "two" / "r", 5)
    event_logs.write_a(tmp_path / "two", 7)
    return {"a": tmp_path / "one", "b": str(tmp_path / "two")}


def test_runs_have_the_name_of_their_folder_before_their_own(tmp_path: Path) -> None:
    board = Board(folders(tmp_path), follow=False).load()
    assert run_names(board) == ["a/r", "b", "b/r"]
    assert [points(board, run) for run in ("a/r", "b", "b/r")] == [3, 7, 5]
    assert board.name == "a, b"
    board.stop()


def test_a_folder_that_comes_and_goes_affects_no_other(tmp_path: Path) -> None:
    places = {**folders(tmp_path), "c": tmp_path / "late"}
    board = Board(places).start()
    try:
        wait_until(lambda: points(board, "b/r") == 5)
        (missing,) = problems(board, "missing_logdir")
        assert "the log folder c does not exist" in missing.text
        event_logs.write_a(tmp_path / "late", 4)
        wait_until(lambda: points(board, "c") == 4)
        wait_until(lambda: not problems(board, "missing_logdir"))
        shutil.rmtree(tmp_path / "one")
        wait_until(lambda: run_names(board) == ["b", "b/r", "c"])
        assert "a was deleted" in problems(board, "missing_logdir")[0].text
    finally:
        board.stop()


def test_no_path_leads_from_one_folder_to_another(tmp_path: Path) -> None:
    board = Board(folders(tmp_path), follow=False).load()
    for path in ("c/x", "a/../b", "/etc/passwd", "a//etc/../x", ".."):
        with pytest.raises(OSError):
            board.folder.open_file(path)
    board.stop()


def test_trace_files_of_named_folders_open(tmp_path: Path) -> None:
    write_trace_files(tmp_path / "x")
    client = PanelClient({"first": tmp_path / "x"})
    names = {run.id: run.name for run in client.index.runs()}
    rows = client.get("/traces")["traces"]
    assert {names[row["run"]] for row in rows} == {"first/torch", "first/keras/train"}
    assert all(client.get(f"/trace/{row['id']}")["slices"] > 0 for row in rows)
