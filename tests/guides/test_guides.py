"""The guides of docs/guides for users: their files are written, their commands run."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide import ROOT, follow

GUIDES = ROOT / "docs" / "guides"


@pytest.mark.parametrize(
    "name",
    [
        "saving_and_restoring",
        "serving_without_graph",
        "moving_a_tf1_program",
        "functions",
        "input_pipelines",
        "launching",
        "distributed_training",
    ],
)
def test_guide_prints_its_documented_output(name: str, tmp_path: Path) -> None:
    follow(GUIDES / f"{name}.md", tmp_path)


@pytest.mark.peer
def test_training_moves_to_tensorflow_and_back(tmp_path: Path) -> None:
    follow(GUIDES / "moving_a_tf1_program.md", tmp_path, tensorflow=True)
