"""The golden graphs of known networks are what the libraries write (tox -e peer)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import known_networks
from fixtures.peer_python import python_with, run

from headrace.board.board import Board
from headrace.board.graph.sources.keras_model import graph_of_keras_model
from headrace.formats.proto.graph_pb2 import GraphDef

pytestmark = pytest.mark.peer

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(
    ("part", "module", "runs"),
    [("keras", "tensorflow", 8), ("tensorflow", "tensorflow", 4), ("torch", "torch", 1)],
)
def test_logs_of_networks_open_as_the_golden_graphs(
    part: str, module: str, runs: int, tmp_path: Path
) -> None:
    run(python_with(module), HERE / "write_graphs.py", part, str(tmp_path))
    board = Board(tmp_path, follow=False).load()
    entries = [entry for entry in board.graphs.entries() if entry.kind != "meta_graph"]
    assert len(entries) == runs
    for entry in entries:
        name = entry.key.rsplit("/", 1)[1]
        data = known_networks.data_of(name)
        keras = entry.kind == "keras_model"
        golden = graph_of_keras_model(data) if keras else GraphDef.FromString(data)
        written = [(n.name, n.op, list(n.input)) for n in board.graphs.graph_def(entry).node]
        assert written == [(n.name, n.op, list(n.input)) for n in golden.node]
    assert board.traces.entries() == []
