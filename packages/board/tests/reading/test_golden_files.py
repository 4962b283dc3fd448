"""Files of TensorFlow, tensorboard and PyTorch give the values of tensorboard's own reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures.peer_columns import board_columns, expected_columns

from headrace.board.board import Board

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.mark.parametrize("scanner", ["native", "python"])
@pytest.mark.parametrize("writer", ["tf1", "tf2", "tensorboard", "torch"])
def test_columns_are_those_of_tensorboard_s_reader(
    writer: str, scanner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_BOARD_SCANNER", scanner)
    board = Board(GOLDEN / writer, follow=False).load()
    want = expected_columns(json.loads((GOLDEN / f"{writer}.json").read_text()))
    assert board_columns(board) == want
    assert len(want) >= 4
    assert [p.kind for p in board.index.problems.list() if p.severity == "error"] == []


def test_plugins_words_come_along() -> None:
    board = Board(GOLDEN / "tf2", follow=False).load()
    tag = board.index.find_tag("loss", "scalar")
    assert tag is not None
    assert (tag.plugin, tag.description) == ("scalars", "what it costs")
