from __future__ import annotations

from pathlib import Path

from fixtures.asking import Asking, metadata, write_values

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


def test_the_last_layout_of_each_run_is_told(tmp_path: Path) -> None:
    write_values(tmp_path / "a", [(0, value(layout("old"))), (1, value(layout("new")))])
    write_values(tmp_path / "b", [(0, value(b"\xff\xff\xff"))])
    asking = Asking(tmp_path)
    (only,) = asking.get("/custom_scalars")["layouts"]
    assert only["run"] == asking.run("a")
    (category,) = only["categories"]
    assert (category["title"], category["closed"]) == ("new", True)
    assert category["charts"] == [
        {"title": "lines", "multiline": {"regexes": ["loss.*", "(a+)+$"]}},
        {"title": "margin",
         "margin": {"series": [{"value": "loss", "lower": "low", "upper": "high"}]}},
        {"title": "nothing", "multiline": {"regexes": []}},
    ]  # fmt: skip
