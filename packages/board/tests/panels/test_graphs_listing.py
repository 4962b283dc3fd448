"""The list of graphs: keys and titles, and the bytes that listing reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures.graphs_client import GraphsClient
from fixtures.traces import metadata_of, node_stats

from headrace.board.reading.record_access import RecordAccess
from headrace.formats.errors import DataLossError
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.summary_pb2 import Summary


def graph_of(*names: str) -> bytes:
    return GraphDef(node=[{"name": name, "op": "NoOp"} for name in names]).SerializeToString()


def graph_event(*names: str, step: int = 0) -> Event:
    return Event(wall_time=1.0, step=step, graph_def=graph_of(*names))


def traced_event(step: int, tag: str = "", with_graph: bool = True, nodes: int = 1) -> Event:
    metadata = metadata_of(w0_CPU_0=[node_stats(f"n{i}", i, 5) for i in range(nodes)])
    if with_graph:
        metadata.partition_graphs.add().node.add(name=f"n{step}", op="NoOp")
    event = Event(wall_time=2.0, step=step)
    event.tagged_run_metadata.tag = tag or f"step {step}"
    event.tagged_run_metadata.run_metadata = metadata.SerializeToString()
    return event


def write(folder: Path, *events: Event) -> None:
    with EventFileWriter(folder) as writer:
        for event in events:
            writer.write(event)


def names_of(panel: GraphsClient, number: int) -> str:
    return bytes(panel.get(f"graph/{number}")["columns"]["labels"]).decode()


def test_a_changed_file_uploaded_again_is_another_graph_and_has_the_plain_name(
    tmp_path: Path,
) -> None:
    panel = GraphsClient(tmp_path)
    old = panel.upload(graph_of("old"), "model.pb")["id"]
    key = next(iter(panel.graphs()))
    new = panel.upload(graph_of("new"), "model.pb")["id"]
    assert old != new
    rows = {row["id"]: row for row in panel.graphs().values()}
    assert rows[new]["title"] == "model.pb" != rows[old]["title"]
    assert rows[old]["key"] == key
    assert "new" in names_of(panel, new) and "old" in names_of(panel, old)


def test_the_same_file_uploaded_again_is_the_same_graph_and_becomes_the_newest(
    tmp_path: Path,
) -> None:
    panel = GraphsClient(tmp_path)
    first = panel.upload(graph_of("a"), "m")["id"]
    panel.upload(graph_of("b"), "m")
    assert panel.upload(graph_of("a"), "m")["id"] == first
    titles = {row["id"]: row["title"] for row in panel.graphs().values()}
    assert len(titles) == 2 and titles[first] == "m"
    other = GraphsClient(tmp_path / "later")
    other.upload(graph_of("a"), "m")
    assert set(other.graphs()) < set(panel.graphs())  # an address outlives the server


def test_a_restart_has_two_graphs_at_one_step_with_a_key_each(tmp_path: Path) -> None:
    write(tmp_path / "run", graph_event("a"), graph_event("b"), graph_event("c", step=5))
    panel = GraphsClient(tmp_path)
    rows = panel.graphs()
    assert list(rows) == ["graph/0/run", "graph/0.2/run", "graph/5/run"]
    shown = [names_of(panel, row["id"]).split("\n")[0] for row in rows.values()]
    assert shown == ["a", "b", "c"]


def test_key_and_title_of_a_graph_stay_when_others_come(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path / "run")
    writer.write(graph_event("a"))
    writer.flush()
    panel = GraphsClient(tmp_path)
    (before,) = panel.graphs().values()
    writer.write(graph_event("b"))
    writer.write(traced_event(3))
    writer.close()
    panel.board.load()
    rows = panel.graphs()
    assert len(rows) == 3
    assert {k: v for k, v in rows[before["key"]].items() if k in ("id", "title")} == {
        "id": before["id"],
        "title": before["title"],
    }
    assert before["title"] == "run"


def test_a_run_that_is_called_like_the_graph_of_another_does_not_take_its_title(
    tmp_path: Path,
) -> None:
    write(tmp_path / "run", graph_event("a"), graph_event("b", step=5))
    write(tmp_path / "run (step 5)", graph_event("c"))
    write(tmp_path / "x", traced_event(1, "y/z"))
    write(tmp_path / "x y", traced_event(1, "z"))
    assert len(GraphsClient(tmp_path).graphs()) == 5


def test_a_graph_of_the_log_folder_itself_is_called_like_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "mnist", graph_event("a"), graph_event("b", step=5), traced_event(7))
    rows = GraphsClient(tmp_path / "mnist").graphs()
    assert list(rows) == ["graph/0/.", "graph/5/.", "trace/7/step%207/."]
    assert [row["title"] for row in rows.values()] == ["mnist", "mnist (step 5)", "mnist step 7"]


@pytest.mark.parametrize("as_summary", [False, True])
def test_listing_reads_little_of_the_traces_and_finds_their_graphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_summary: bool
) -> None:
    events = [traced_event(step, nodes=300, with_graph=step % 2 == 0) for step in range(100)]
    if as_summary:  # as TensorFlow 2 writes it
        for event in events:
            data = event.tagged_run_metadata.run_metadata
            value = Summary.Value(tag=event.tagged_run_metadata.tag)
            value.metadata.plugin_data.plugin_name = "graph_run_metadata"
            value.tensor.dtype = 7
            value.tensor.string_val.append(data)
            event.summary.value.add(tag="loss", simple_value=1.0)
            event.summary.value.append(value)
    write(tmp_path / "run", *events)
    requests: list[int] = []
    whole = RecordAccess.data
    part = RecordAccess.part

    def counted(self: RecordAccess, file: int, offset: int, begin: int, length: int) -> bytes:
        requests.append(length)
        return part(self, file, offset, begin, length)

    def counted_whole(self: RecordAccess, file: int, offset: int, length: int) -> bytes:
        requests.append(length)
        return whole(self, file, offset, length)

    panel = GraphsClient(tmp_path)
    monkeypatch.setattr(RecordAccess, "part", counted)
    monkeypatch.setattr(RecordAccess, "data", counted_whole)
    rows = panel.graphs()
    first = sum(requests)
    assert [row["step"] for row in rows.values()] == [0, 2, 4, 6, 92, 94, 96, 98]
    size = events[0].ByteSize()
    assert 0 < first < 2 * size  # of a hundred steps
    panel.graphs()
    assert sum(requests) == first


def test_an_error_while_looking_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "run", traced_event(1))
    panel = GraphsClient(tmp_path)

    def fails(*_: Any) -> bytes:
        raise DataLossError(None, None, "the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(RecordAccess, "part", fails)
        assert not panel.graphs()
    assert list(panel.graphs()) == ["trace/1/step%201/run"]


def test_a_graph_is_read_from_its_own_record_whatever_row_that_is_now(tmp_path: Path) -> None:
    write(tmp_path / "run", graph_event("a"), graph_event("b", step=2))
    panel = GraphsClient(tmp_path)
    ids = [row["id"] for row in panel.graphs().values()]
    write(tmp_path / "other", graph_event("c"))
    (old,), (new,) = ((tmp_path / name).iterdir() for name in ("run", "other"))
    new.replace(old)
    panel.board.load()
    (row,) = panel.graphs().values()
    assert row["key"] == "graph/0/run" and row["id"] not in ids
    assert names_of(panel, row["id"]).split("\n")[0] == "c"
    assert "cannot be shown" in panel.get(f"graph/{ids[0]}", 422)["error"]


def test_a_graph_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path / "run", Event(graph_def=b"\x0a\xff\xff"))
    panel = GraphsClient(tmp_path)
    (row,) = panel.graphs().values()
    panel.get(f"graph/{row['id']}", 422)
    assert panel.board.graphs._busy == {}
