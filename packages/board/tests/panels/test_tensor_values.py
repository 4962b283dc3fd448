"""Every tensor in an event file is shown, or the reason why it is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from headrace.board.app import create_app
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.tensor_pb2 import TensorProto

TENSORS = {
    "numbers": TensorProto(
        dtype=1,
        float_val=[1, float("nan"), 3, 4],
        tensor_shape={"dim": [{"size": 2}, {"size": 2}]},
    ),
    "strings": TensorProto(
        dtype=7, string_val=[b"<b>", b"\xff"], tensor_shape={"dim": [{"size": 2}]}
    ),
    "halves": TensorProto(dtype=14, half_val=[0x3FC0], tensor_shape={"dim": [{"size": 3}]}),
    "huge": TensorProto(dtype=1, float_val=[1], tensor_shape={"dim": [{"size": 1 << 40}]}),
    "short": TensorProto(dtype=1, tensor_content=b"abc", tensor_shape={"dim": [{"size": 3}]}),
    "deep": TensorProto(
        dtype=1, float_val=[1], tensor_shape={"dim": [{"size": 1 << 62}] * 100_000}
    ),
    "odd": TensorProto(dtype=77, tensor_shape={"dim": [{"size": 3}]}),
    "many": TensorProto(dtype=9, int64_val=[7], tensor_shape={"dim": [{"size": 5000}]}),
    "complex": TensorProto(dtype=8, scomplex_val=[1, 2], tensor_shape={"dim": [{"size": 1}]}),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    folder = tmp_path_factory.mktemp("logs")
    with EventFileWriter(folder) as writer:
        event = Event(wall_time=2.0, step=5)
        for name, tensor in TENSORS.items():
            event.summary.value.add(tag=name, tensor=tensor)
        event.summary.value.add(tag="scalar", simple_value=1)
        writer.write(event)
    app = create_app(folder, follow=False)
    app.config["PROPAGATE_EXCEPTIONS"] = True
    return app.test_client()


def look(client: FlaskClient, name: str, status: int = 200) -> Any:
    tags = json.loads(client.get("/api/v1/tags").data)["tags"]
    (tag,) = [tag["id"] for tag in tags if tag["name"] == name]
    reply = client.get(f"/api/v1/tensors?run=0&tag={tag}")
    assert reply.status_code == status
    return json.loads(reply.data)


def test_numbers_and_strings_are_shown(client: FlaskClient) -> None:
    numbers = look(client, "numbers")
    assert (numbers["shape"], numbers["dtype"]) == ([2, 2], "float32")
    assert numbers["values"] == [1.0, "NaN", 3.0, 4.0]
    assert (numbers["step"], numbers["row"], numbers["rows"]) == (5, 0, 1)
    assert look(client, "strings")["values"] == ["<b>", "\ufffd"]
    assert look(client, "halves")["values"] == [1.5, 1.5, 1.5]
    assert look(client, "complex")["values"] == ["(1+2j)"]
    many = look(client, "many")
    assert (many["size"], len(many["values"]), many["max"]) == (5000, 200, 7)


@pytest.mark.parametrize("name", ["huge", "short", "odd", "deep"])
def test_a_value_without_a_tensor_has_an_error(client: FlaskClient, name: str) -> None:
    assert look(client, name)["error"]


def test_only_what_is_there_is_found(client: FlaskClient) -> None:
    assert "no tensors" in look(client, "scalar", 404)["error"]
    for query in ("run=0&tag=99", "run=9&tag=0", "run=0&tag=0&row=1"):
        assert client.get(f"/api/v1/tensors?{query}").status_code == 404
    for query in ("", "run=0", "run=x&tag=0", "run=0&tag=0&row=-1"):
        assert client.get(f"/api/v1/tensors?{query}").status_code == 400
