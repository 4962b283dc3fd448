from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures.panel_client import WALL, PanelClient, metadata, write_values

from headrace.board.summaries import text_rows
from headrace.formats.proto.summary_pb2 import Summary
from headrace.formats.proto.tensor_pb2 import TensorProto, TensorShapeProto
from headrace.formats.tensor_codec import make_tensor_proto


def value(tag: str, strings: object) -> Summary.Value:
    tensor = make_tensor_proto(np.array(strings, object))
    return Summary.Value(tag=tag, tensor=tensor, metadata=metadata("text"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    folder = tmp_path_factory.mktemp("text")
    values = [(s, value("words", f"Step {s}: Ünïcode")) for s in range(120)]
    values += [
        (0, value("list", ["a", "b", "c"])),
        (0, value("table", [["a", "b"], ["c", "<script>alert(1)</script>"]])),
        (0, value("cube", np.full((2, 1, 2), "x", object))),
        (0, value("bytes", [b"\xff\xfe", b"ok"])),
        (0, value("long", "y" * (text_rows._MAX_CHARACTERS + 5))),
        (0, value("many", ["z"] * (text_rows._MAX_VALUES + 1))),
        (0, Summary.Value(tag="number", tensor=make_tensor_proto(1.0), metadata=metadata("text"))),
    ]
    write_values(folder, values)
    return PanelClient(folder)


def rows(client: PanelClient, tag: str, query: str = "") -> list[dict]:
    return client.get("/text" + client.where(tag, "text") + query)["rows"]


def test_texts_come_a_page_at_a_time(client: PanelClient) -> None:
    reply = client.get("/text" + client.where("words", "text") + "&from=100&count=30")
    assert reply["total"] == 120 and len(reply["rows"]) == 20
    first = reply["rows"][0]
    assert (first["step"], first["row"], first["wall"]) == (100, 100, WALL + 100)
    assert first["values"] == ["Step 100: Ünïcode"] and first["shape"] == []
    assert rows(client, "words", "&from=500") == []
    assert len(rows(client, "words")) == 50


def test_one_event_is_named_by_its_row_in_order_of_file(tmp_path: Path) -> None:
    steps = (0, 10, 20, 10, 20, 30)  # the run was started again after step 20
    write_values(
        tmp_path, [(step, value("note", f"{i} at step {step}")) for i, step in enumerate(steps)]
    )
    client = PanelClient(tmp_path)
    where = client.where("note", "text")
    assert client.get("/blobs" + where)["columns"]["step"] == list(steps)
    for row, step in enumerate(steps):
        reply = client.get(f"/text{where}&row={row}")
        (only,) = reply["rows"]
        assert (only["row"], only["step"], only["values"]) == (row, step, [f"{row} at step {step}"])
        assert (only["superseded"], reply["total"]) == (row in (1, 2), 6)
    assert "no row 6" in client.get(f"/text{where}&row=6", 404)["error"]
    assert "row is 'x'" in client.get(f"/text{where}&row=x", 400)["error"]


def test_lists_tables_and_cubes_keep_their_shape(client: PanelClient) -> None:
    assert rows(client, "list")[0]["shape"] == [3]
    table = rows(client, "table")[0]
    assert table["shape"] == [2, 2] and table["values"][3] == "<script>alert(1)</script>"
    cube = rows(client, "cube")[0]
    assert cube["shape"] == [2, 1, 2] and cube["values"] == ["x"] * 4
    assert rows(client, "bytes")[0]["values"] == ["\ufffd\ufffd", "ok"]
    assert rows(client, "number")[0]["values"] == []


def test_a_shape_of_a_hundred_thousand_dimensions_is_a_list_of_what_is_there(
    tmp_path: Path,
) -> None:
    dims = [TensorShapeProto.Dim(size=1 << 62)] * 100_000
    tensor = TensorProto(dtype=7, string_val=[b"x"], tensor_shape=TensorShapeProto(dim=dims))
    write_values(tmp_path, [(0, Summary.Value(tag="t", tensor=tensor, metadata=metadata("text")))])
    (only,) = rows(PanelClient(tmp_path), "t")
    assert (only["values"], only["shape"], only["cut"]) == (["x"], [1], False)


def test_long_texts_are_cut_and_marked(client: PanelClient) -> None:
    long = rows(client, "long")[0]
    assert long["cut"] and len(long["values"][0]) == text_rows._MAX_CHARACTERS
    many = rows(client, "many")[0]
    assert many["cut"] and len(many["values"]) == text_rows._MAX_VALUES
    assert not rows(client, "list")[0]["cut"]


def test_search_finds_rows_whatever_their_case(client: PanelClient) -> None:
    reply = client.get("/text" + client.where("words", "text") + "&q=sTEP 11&count=5")
    assert [row["step"] for row in reply["rows"]] == [11, 110, 111, 112, 113]
    assert (reply["total"], reply["searched"], reply["complete"]) == (11, 120, True)
    rest = client.get("/text" + client.where("words", "text") + "&q=step 11&from=10")
    assert [row["step"] for row in rest["rows"]] == [119]
    assert client.get("/text" + client.where("words", "text") + "&q=nowhere")["total"] == 0


def test_a_search_ends_after_a_time_and_reports_its_progress(
    client: PanelClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_rows, "_MAX_SEARCH_S", -1.0)
    reply = client.get("/text" + client.where("words", "text") + "&q=step")
    assert (reply["searched"], reply["complete"]) == (1, False)


def test_a_reply_is_no_larger_than_it_may_be(
    client: PanelClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_rows, "_MAX_CHARACTERS_OF_RESPONSE", 40)
    assert len(rows(client, "words")) == 2


@pytest.mark.parametrize("query", ["from=-1", "count=0", "count=201", "q=" + "x" * 201])
def test_invalid_arguments_are_rejected(client: PanelClient, query: str) -> None:
    assert client.get("/text" + client.where("words", "text") + "&" + query, 400)["error"]
