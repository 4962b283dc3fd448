from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.panel_client import WALL, PanelClient, metadata, write_values

from headrace.board.summaries import histogram_rows
from headrace.formats.proto.summary_pb2 import HistogramProto, Summary
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.tensor_codec import make_tensor_proto

WORDS = make_tensor_proto(["no histogram"])


def legacy(step: int) -> Summary.Value:
    histogram = HistogramProto(min=step, max=step + 2, num=3, bucket_limit=[step + 1, 1.8e308])
    histogram.bucket.extend([1, 2])
    return Summary.Value(tag="old", histo=histogram)


def tensor(step: int) -> Summary.Value:
    table = np.array([[step, step + 1, 4.0], [step + 1, step + 4, 6.0]])
    return Summary.Value(
        tag="new", tensor=make_tensor_proto(table), metadata=metadata("histograms")
    )


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    folder = tmp_path_factory.mktemp("histograms")
    write_values(folder / "a", [(s, make(s)) for s in range(10) for make in (legacy, tensor)])
    bad = Summary.Value(tag="new", tensor=WORDS)
    write_values(folder / "b", [(100, tensor(100)), (101, bad), (102, tensor(102))])
    write_values(folder / "c", [(0, tensor(0))])
    return PanelClient(folder)


def test_old_and_new_histograms_have_shared_edges_and_percentiles(client: PanelClient) -> None:
    reply = client.get("/histograms" + client.where("old", "histogram", "a") + "&bins=11")
    columns = reply["columns"]
    assert (reply["rows"], reply["bins"], reply["total"]) == (10, 11, 10)
    assert columns["edges"] == list(range(12))
    counts = np.array(columns["counts"]).reshape(10, 11)
    for step in range(10):
        assert counts[step, step] == 1 and counts[step, step + 1] == 2
    assert counts.sum() == 30 and columns["n"] == [3] * 10
    assert columns["step"] == list(range(10)) and columns["wall"][3] == WALL + 3
    percents = np.array(columns["percentiles"]).reshape(10, 9)
    assert percents[0].tolist()[::4] == [0, 1.25, 2]

    new = client.get("/histograms" + client.where("new", "histogram", "a") + "&bins=1&lo=4&hi=4")
    assert new["columns"]["counts"] == [10] and new["columns"]["edges"] == [4, 8]


def test_rows_are_chosen_evenly_with_both_ends(client: PanelClient) -> None:
    reply = client.get("/histograms" + client.where("old", "histogram", "a") + "&max=4")
    assert reply["columns"]["step"] == [0, 3, 6, 9] and reply["total"] == 10
    one = client.get("/histograms" + client.where("old", "histogram", "a") + "&max=1")
    assert one["columns"]["step"] == [9]


def test_several_runs_share_edges_and_unreadable_rows_are_counted(client: PanelClient) -> None:
    a, b = client.run("a"), client.run("b")
    tag = client.tag("new", "histogram")
    reply = client.get(f"/histograms?runs={a},{b}&tag={tag}&bins=2&max=2")
    assert reply["columns"]["run"] == [a, a, b, b]
    assert reply["columns"]["edges"] == [0, 53, 106]
    assert [(r["run"], r["rows"], r["total"]) for r in reply["runs"]] == [(a, 2, 10), (b, 2, 3)]
    all_of_b = client.get(f"/histograms?run={b}&tag={tag}&least=100&most=102&bins=1")
    assert all_of_b["runs"][0]["unreadable"] == 1
    assert all_of_b["columns"]["counts"] == [pytest.approx(4 + 2), 0]


def test_one_events_own_buckets(client: PanelClient) -> None:
    where = client.where("new", "histogram", "a")
    reply = client.get(f"/histograms{where}&bins=raw&row=2")
    assert reply["step"] == 2
    assert reply["columns"] == {"left": [2, 3], "right": [3, 6], "count": [4, 6]}
    assert "no row 10" in client.get(f"/histograms{where}&bins=raw&row=10", 404)["error"]


@pytest.mark.parametrize(
    "query, message",
    [
        ("", "tag is missing"),
        ("bins=0", "bins is 0"),
        ("bins=1001", "bins is 1001"),
        ("max=0", "max is 0"),
        ("least=3&most=2", "least is 3.0, above most"),
        ("least=nan", "not finite"),
        ("bins=1000&max=2000&runs=0,1,2", "max * bins * runs is above 4000000"),
    ],
)
def test_invalid_arguments_are_rejected(client: PanelClient, query: str, message: str) -> None:
    tag = f"&tag={client.tag('new', 'histogram')}&run=0" if query else ""
    assert message in client.get(f"/histograms?{query or 'run=0'}{tag}", 400)["error"]


def test_a_run_that_is_not_there_is_named(client: PanelClient) -> None:
    tag = client.tag("new", "histogram")
    assert "run 99" in client.get(f"/histograms?runs=0,99&tag={tag}", 404)["error"]


def test_buckets_are_counted_before_they_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three numbers in the log that stand for 65536 buckets.
    table = TensorProto(dtype=1, float_val=[1.0])
    for size in (65536, 3):
        table.tensor_shape.dim.add(size=size)
    constant = Summary.Value(tag="new", tensor=table, metadata=metadata("histograms"))
    write_values(tmp_path, [(s, constant) for s in range(6)])
    monkeypatch.setattr(histogram_rows, "_MAX_BUCKETS_HELD", 4 * 65536)
    client = PanelClient(tmp_path)
    where = client.where("new", "histogram")
    read = []
    buckets_of = histogram_rows.buckets_of
    monkeypatch.setattr(histogram_rows, "buckets_of", lambda v: read.append(1) or buckets_of(v))
    assert client.get(f"/histograms{where}&max=4")["rows"] == 4
    read.clear()
    assert "262,144 buckets" in client.get(f"/histograms{where}", 400)["error"]
    assert len(read) == 5, "the sixth is not decoded any more"


def test_all_events_are_exported_as_they_were_written(client: PanelClient) -> None:
    where = client.where("new", "histogram", "b")
    got = client.client.get(f"/api/v1/histograms/export.json{where}")
    assert 'filename="histograms.json"' in got.headers["Content-Disposition"]
    saved = json.loads(got.data)
    assert (saved["run"], saved["tag"]) == ("b", "new")
    assert saved["rows"] == [
        {"step": 100, "wall_time": WALL + 100,
         "left": [100, 101], "right": [101, 104], "count": [4, 6]},
        {"step": 101, "wall_time": WALL + 101, "error": "this event cannot be read"},
        {"step": 102, "wall_time": WALL + 102,
         "left": [102, 103], "right": [103, 106], "count": [4, 6]},
    ]  # fmt: skip


def test_a_tag_of_another_kind_is_rejected(tmp_path: Path) -> None:
    write_values(tmp_path, [(0, Summary.Value(tag="loss", simple_value=1.0))])
    client = PanelClient(tmp_path)
    error = client.get("/histograms" + client.where("loss", "scalar"), 400)["error"]
    assert "is of kind scalar, not histogram" in error
