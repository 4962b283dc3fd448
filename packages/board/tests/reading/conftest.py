"""Boards that follow a logdir, read by either scanner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.scanners import SCANNERS

from headrace.board.board import Board


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[Callable[[], Board]]:
    """Starts a board that follows tmp_path; it is stopped after the test."""
    boards: list[Board] = []

    def start() -> Board:
        boards.append(Board(tmp_path).start())
        return boards[-1]

    yield start
    for board in boards:
        board.stop()


@pytest.fixture(params=["native", "python"])
def either_scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test once with each scanner."""
    monkeypatch.setenv("HEADRACE_BOARD_SCANNER", request.param)


@pytest.fixture(params=sorted(SCANNERS))
def scanner(request: pytest.FixtureRequest) -> Any:
    """Each of the two scanners, at the first byte of a file."""
    return SCANNERS[request.param]()
