"""Missing compiled modules are reported, all in one problem."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headrace.board.board import Board
from headrace.board.native_modules import MODULES, missing_modules

SOURCES = Path(__file__).resolve().parents[1] / "src" / "headrace" / "board"


def test_every_compiled_part_is_known_and_was_built() -> None:
    written = {
        ".".join(p.relative_to(SOURCES).with_suffix("").parts) for p in SOURCES.rglob("*.pyx")
    }
    assert written == {*MODULES}
    assert missing_modules() == []


def test_missing_parts_are_one_problem_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("series.curve_loops", "trace.zoom.downsample_lanes", "reading.scan_events"):
        monkeypatch.setitem(sys.modules, f"headrace.board.{name}", None)
    monkeypatch.delenv("HEADRACE_BOARD_SCANNER", raising=False)
    (problem,) = Board(tmp_path).index.problems.list()
    assert (problem.kind, problem.severity, problem.count) == ("not_compiled", "note", 3)
    assert all(
        f"({name})" in problem.text
        for name in ("series.curve_loops", "trace.zoom.downsample_lanes", "reading.scan_events")
    )
    monkeypatch.setenv("HEADRACE_BOARD_SCANNER", "python")
    (problem,) = Board(tmp_path).index.problems.list()
    assert "reading.scan_events" not in problem.text  # it was requested
