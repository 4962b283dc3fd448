from __future__ import annotations

import numpy as np
import pytest
from fixtures.panel_client import PanelClient, metadata, write_values

from headrace.board.summaries import pr_tables
from headrace.formats.proto.plugin_pr_curve_pb2 import PrCurvePluginData
from headrace.formats.proto.summary_pb2 import Summary
from headrace.formats.tensor_codec import make_tensor_proto

TABLE = np.arange(30, dtype=np.float32).reshape(6, 5)


def value(tag: str, table: object) -> Summary.Value:
    content = PrCurvePluginData(num_thresholds=5).SerializeToString()
    tensor = make_tensor_proto(table)
    return Summary.Value(tag=tag, tensor=tensor, metadata=metadata("pr_curves", content))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    folder = tmp_path_factory.mktemp("curves")
    values = [(s, value("good", TABLE + s)) for s in range(20)]
    odd = [TABLE, TABLE[:5], TABLE[:, :4], np.array("text", object), TABLE * np.nan]
    values += [(s, value("odd", table)) for s, table in enumerate(odd)]
    write_values(folder, values)
    return PanelClient(folder)


def test_every_step_has_its_six_rows_of_numbers(client: PanelClient) -> None:
    reply = client.get("/pr_curves" + client.where("good", "pr_curve"))
    assert (reply["rows"], reply["thresholds"], reply["total"]) == (20, 5, 20)
    data = np.array(reply["columns"]["data"]).reshape(20, 6, 5)
    np.testing.assert_array_equal(data[7], TABLE + 7)
    few = client.get("/pr_curves" + client.where("good", "pr_curve") + "&max=3")
    assert few["columns"]["step"] == [0, 10, 19]


def test_of_large_tables_fewer_are_sent_evenly_chosen(
    client: PanelClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pr_tables, "_MAX_NUMBERS", 3 * TABLE.size)
    reply = client.get("/pr_curves" + client.where("good", "pr_curve"))
    assert (reply["rows"], reply["total"], reply["unreadable"]) == (3, 20, 0)
    assert reply["columns"]["step"] == [0, 10, 19]


def test_other_tensors_are_counted_and_left_out(client: PanelClient) -> None:
    reply = client.get("/pr_curves" + client.where("odd", "pr_curve"))
    assert (reply["rows"], reply["unreadable"]) == (2, 3)
    assert reply["columns"]["row"] == [0, 4] and set(reply["columns"]["data"][30:]) == {"NaN"}
