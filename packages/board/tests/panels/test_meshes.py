"""Meshes and point clouds as TensorBoard writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.embeddings import mesh_event, torus, write_meshes
from flask import Flask

from headrace.board.board import Board
from headrace.board.errors import BadRequest, NotFound
from headrace.board.panels.meshes import MeshesPanel
from headrace.board.summaries import meshes
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.plugin_mesh_pb2 import MeshPluginData

VERTEX, FACE, COLOR = MeshPluginData.VERTEX, MeshPluginData.FACE, MeshPluginData.COLOR


def client_of(logdir: Path) -> Any:
    app = Flask(__name__)
    app.register_blueprint(MeshesPanel(Board(logdir).load()).blueprint())
    app.register_error_handler(BadRequest, lambda error: (str(error), 400))
    app.register_error_handler(NotFound, lambda error: (str(error), 404))
    return app.test_client()


def get(client: Any, path: str, status: int = 200) -> Any:
    reply = client.get(f"/api/v1/{path}", headers={"Accept": "application/json"})
    assert reply.status_code == status, reply.data
    return json.loads(reply.data) if reply.is_json else reply.data.decode()


def only(client: Any) -> str:
    (mesh,) = get(client, "meshes")["meshes"]
    return f"run={mesh['run']}&tag={mesh['tag']}"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("logs")
    write_meshes(folder / "a")
    write_meshes(folder / "b", steps=1)
    return client_of(folder)


def test_the_parts_of_a_mesh_are_one(client: Any) -> None:
    rows = get(client, "meshes")["meshes"]
    assert [(row["name"], row["n"]) for row in rows] == [
        ("torus", 4), ("cloud", 4), ("torus", 1), ("cloud", 1),
    ]  # fmt: skip
    assert rows[0]["face_tag"] is not None and rows[0]["config"]["camera"]["fov"] == 60
    assert rows[1]["face_tag"] is None and rows[1]["config"] == {}


def test_the_parts_of_a_mesh_of_tensorboardx_are_one(tmp_path: Path) -> None:
    """It ends tags with numbers; two scopes have meshes of the same name in their metadata."""
    vertices, faces, _ = torus(6, 4)
    with EventFileWriter(tmp_path) as writer:
        for scope, scale in (("a", 1), ("b", 2)):
            event = mesh_event(1, "m", {VERTEX: vertices * scale, FACE: faces})
            for value, number in zip(event.summary.value, (1, 2)):
                value.tag = f"{scope}/m_{number}"
            writer.write(event)
    client = client_of(tmp_path)
    rows = get(client, "meshes")["meshes"]
    assert [row["name"] for row in rows] == ["a/m", "b/m"]
    second = get(client, f"mesh?run={rows[1]['run']}&tag={rows[1]['tag']}")
    assert second["faces"] == len(faces)
    np.testing.assert_array_equal(np.float32(second["columns"]["vertices"]), vertices.ravel() * 2)


def test_a_step_is_vertices_faces_and_colours(client: Any) -> None:
    first = get(client, "meshes")["meshes"][0]
    query = f"run={first['run']}&tag={first['tag']}"
    steps = get(client, f"meshes?{query}")["columns"]
    assert (steps["step"], steps["row"]) == ([0, 10, 20, 30], [0, 1, 2, 3])
    reply = get(client, f"mesh?{query}&row=2")
    vertices, faces, colors = torus(tube=0.2 + 0.16)
    columns = reply["columns"]
    np.testing.assert_array_equal(np.float32(columns["vertices"]), vertices.ravel())
    np.testing.assert_array_equal(columns["faces"], faces.ravel())
    np.testing.assert_array_equal(columns["colors"], colors.ravel())
    assert (reply["step"], reply["notes"], reply["samples"]) == (20, [], 1)
    # Any of its tags names the mesh.
    assert get(client, f"mesh?run={first['run']}&tag={first['color_tag']}&row=2")["step"] == 20


def test_a_cloud_has_points_and_several_samples(client: Any) -> None:
    cloud = get(client, "meshes")["meshes"][1]
    query = f"run={cloud['run']}&tag={cloud['tag']}"
    one = get(client, f"mesh?{query}&row=0&sample=1")
    expected = np.random.default_rng(0).standard_normal((2, 800, 3)).astype(np.float32)[1]
    np.testing.assert_array_equal(np.float32(one["columns"]["vertices"]), expected.ravel())
    assert (one["samples"], one["faces"], one["columns"]["colors"]) == (2, 0, [])
    get(client, f"mesh?{query}&row=0&sample=2", 404)
    get(client, f"mesh?{query}&row=4", 404)


def test_faces_with_unknown_vertices_are_left_out_with_a_note(tmp_path: Path) -> None:
    vertices = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0], [np.nan, 0, 0]])
    faces = np.int32([[0, 1, 2], [0, 1, 9], [-1, 0, 1], [0, 1, 3]])
    with EventFileWriter(tmp_path) as writer:
        parts = {VERTEX: vertices, FACE: faces, COLOR: np.float32([[0, 1, 300]])}
        writer.write(mesh_event(1, "m", parts))
    client = client_of(tmp_path)
    reply = get(client, f"mesh?{only(client)}")
    assert reply["columns"]["faces"] == [0, 1, 2]
    assert reply["columns"]["colors"] == [] and len(reply["notes"]) == 3


def test_faces_that_were_written_once_hold_for_later_steps(tmp_path: Path) -> None:
    vertices, faces, _ = torus(6, 4)
    with EventFileWriter(tmp_path) as writer:
        writer.write(mesh_event(1, "m", {VERTEX: vertices, FACE: faces}))
        writer.write(mesh_event(2, "m", {VERTEX: vertices * 2}))
    client = client_of(tmp_path)
    assert get(client, f"mesh?{only(client)}&row=1")["faces"] == len(faces)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 5, 2)])
def test_vertices_of_another_shape_are_rejected(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with EventFileWriter(tmp_path) as writer:
        writer.write(mesh_event(1, "m", {VERTEX: np.zeros(shape, np.float32)}))
    client = client_of(tmp_path)
    assert "not numbers [batch, n, 3]" in get(client, f"mesh?{only(client)}", 400)


def test_a_tensor_with_a_wrong_size_is_rejected(tmp_path: Path) -> None:
    event = mesh_event(1, "m", {VERTEX: np.zeros((1, 2, 3), np.float32)})
    event.summary.value[0].tensor.tensor_shape.dim[1].size = 1 << 40
    with EventFileWriter(tmp_path) as writer:
        writer.write(event)
    client = client_of(tmp_path)
    get(client, f"mesh?{only(client)}", 400)


def test_a_mesh_of_too_many_vertices_is_rejected_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One stored number stands for all: twelve bytes of log for 24 MB of vertices a sample.
    event = mesh_event(1, "m", {VERTEX: np.zeros((1, 2, 3), np.float32)})
    shape = event.summary.value[0].tensor.tensor_shape
    shape.dim[1].size = meshes.MAX_VERTICES + 1
    with EventFileWriter(tmp_path) as writer:
        writer.write(event)
    client = client_of(tmp_path)
    monkeypatch.setattr(meshes, "make_ndarray", lambda *_: pytest.fail("it was decoded"))
    assert "2,000,001 vertices, more than" in get(client, f"mesh?{only(client)}", 400)


def test_a_mesh_of_nothing_is_an_empty_one(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path) as writer:
        writer.write(mesh_event(1, "m", {VERTEX: np.zeros((1, 0, 3), np.float32)}))
    client = client_of(tmp_path)
    assert get(client, f"mesh?{only(client)}")["vertices"] == 0


@pytest.mark.parametrize("query", ["", "run=0", "run=0&tag=x", "run=9&tag=0", "run=0&tag=99"])
def test_invalid_arguments_are_rejected(client: Any, query: str) -> None:
    for path in ("mesh", "meshes") if query else ("mesh",):
        assert client.get(f"/api/v1/{path}?{query}").status_code in (400, 404)
