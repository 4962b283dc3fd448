from __future__ import annotations

import json
from pathlib import Path

from fixtures import event_logs
from fixtures.panel_client import PanelClient, metadata, write_values

from headrace.formats.proto.summary_pb2 import Summary
from headrace.formats.tensor_codec import make_tensor_proto


def test_scripts_that_scrape_tensorboard_find_the_same_here(tmp_path: Path) -> None:
    metadata_of_tag = metadata("scalars")
    metadata_of_tag.display_name, metadata_of_tag.summary_description = "Loss!", "how far off"
    nan = make_tensor_proto(float("nan"))
    value = Summary.Value(tag="loss", tensor=nan, metadata=metadata_of_tag)
    write_values(tmp_path / "a" / "b", [(3, value), (4, Summary.Value(tag="lr", simple_value=0.5))])
    event_logs.write_restarted(tmp_path)
    client = PanelClient(tmp_path).client
    assert json.loads(client.get("/data/runs").data) == [".", "a/b"]
    tags = json.loads(client.get("/data/plugin/scalars/tags").data)
    assert tags["a/b"] == {
        "loss": {"displayName": "Loss!", "description": "how far off"},
        "lr": {"displayName": "lr", "description": ""},
    }
    calls = "/data/plugin/scalars/scalars"
    got = json.loads(client.get(f"{calls}?run=a/b&tag=loss").data)
    assert got == [[event_logs.WALL + 3, 3, "NaN"]]
    assert [row[1] for row in json.loads(client.get(f"{calls}?run=.&tag=loss").data)] == list(
        range(120)
    )
    text = client.get(f"{calls}?run=a/b&tag=lr&format=csv").get_data(as_text=True)
    assert text.splitlines() == ["Wall time,Step,Value", f"{event_logs.WALL + 4},4,0.5"]
    assert client.get(f"{calls}?run=a/b").status_code == 400
    assert client.get(f"{calls}?run=a/b&tag=none").status_code == 404
    assert client.get(f"{calls}?run=x&tag=lr").status_code == 404
