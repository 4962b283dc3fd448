from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.panel_client import PanelClient, metadata, write_values

from headrace.formats.proto.plugin_custom_scalars_pb2 import (
    Category,
    Chart,
    Layout,
    MarginChartContent,
    MultilineChartContent,
)
from headrace.formats.proto.summary_pb2 import Summary
from headrace.formats.tensor_codec import make_tensor_proto


def value(content: bytes) -> Summary.Value:
    return Summary.Value(
        tag="custom_scalars__config__",
        tensor=make_tensor_proto(content),
        metadata=metadata("custom_scalars"),
    )


def layout(title: str) -> bytes:
    margin = MarginChartContent.Series(value="loss", lower="low", upper="high")
    charts = [
        Chart(title="lines", multiline=MultilineChartContent(tag=["loss.*", "(a+)+$"])),
        Chart(title="margin", margin=MarginChartContent(series=[margin])),
        Chart(title="nothing"),
    ]
    return Layout(category=[Category(title=title, chart=charts, closed=True)]).SerializeToString()


def test_the_last_layout_of_each_run_is_returned(tmp_path: Path) -> None:
    write_values(tmp_path / "a", [(0, value(layout("old"))), (1, value(layout("new")))])
    write_values(tmp_path / "b", [(0, value(b"\xff\xff\xff"))])
    client = PanelClient(tmp_path)
    (only,) = client.get("/custom_scalars")["layouts"]
    assert only["run"] == client.run("a")
    (category,) = only["categories"]
    assert (category["title"], category["closed"]) == ("new", True)
    assert category["charts"] == [
        {"title": "lines", "multiline": {"regexes": ["loss.*", "(a+)+$"]}},
        {"title": "margin",
         "margin": {"series": [{"value": "loss", "lower": "low", "upper": "high"}]}},
        {"title": "nothing", "multiline": {"regexes": []}},
    ]  # fmt: skip


def test_layouts_of_one_step_are_one(tmp_path: Path) -> None:
    """tensorboardX logs a layout, all at step 0, for each chart that a program adds."""

    def chart(category: str, title: str, tag: str) -> Summary.Value:
        lines = MultilineChartContent(tag=[tag])
        charts = [Chart(title=title, multiline=lines)]
        return value(Layout(category=[Category(title=category, chart=charts)]).SerializeToString())

    rows = [("a", "x", "1"), ("b", "x", "2"), ("a", "y", "3"), ("a", "x", "4")]
    write_values(tmp_path, [(0, chart(*row)) for row in rows])
    (only,) = PanelClient(tmp_path).get("/custom_scalars")["layouts"]
    found = {
        (category["title"], chart["title"]): chart["multiline"]["regexes"]
        for category in only["categories"]
        for chart in category["charts"]
    }
    assert found == {("a", "x"): ["4"], ("a", "y"): ["3"], ("b", "x"): ["2"]}


def test_a_layout_is_looked_for_in_the_last_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = Summary.Value(tag="custom_scalars__config__", metadata=metadata("custom_scalars"))
    write_values(tmp_path, [(0, value(layout("old")))] + [(s, empty) for s in range(1, 500)])
    client = PanelClient(tmp_path)
    records = client.app.board.records  # type: ignore[attr-defined]
    read, value_of = [], records.value

    def counted(rows, i):
        read.append(i)
        return value_of(rows, i)

    monkeypatch.setattr(records, "value", counted)
    assert client.get("/custom_scalars")["layouts"] == []
    assert 1 <= len(read) <= 20 and min(read) >= 480


def test_a_corrupted_row_leaves_the_layout_before_it(tmp_path: Path) -> None:
    empty = Summary.Value(tag="custom_scalars__config__", metadata=metadata("custom_scalars"))
    write_values(tmp_path, [(0, value(layout("kept"))), (1, empty)])
    (only,) = PanelClient(tmp_path).get("/custom_scalars")["layouts"]
    assert only["categories"][0]["title"] == "kept"
