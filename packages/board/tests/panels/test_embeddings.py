"""The projector's files: found, read, sampled, and confined to their folder."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.embeddings import (
    clusters,
    write_checkpoint_projector,
    write_pytorch_projector,
    write_tsv,
)
from flask import Flask

from headrace.board.board import Board
from headrace.board.embedding import embedding_index, point_table
from headrace.board.embedding.checkpoint_tensors import CheckpointTensors
from headrace.board.embedding.config_folder import ConfigFolder
from headrace.board.errors import BadRequest, NotFound
from headrace.board.panels.embeddings import EmbeddingsPanel
from headrace.board.reading.logdir_walk import Walk


class Client:
    def __init__(self, logdir: Path, **options: Any) -> None:
        self.board = Board(logdir, **options).load()
        app = Flask(__name__)
        app.register_blueprint(EmbeddingsPanel(self.board).blueprint())
        app.register_error_handler(BadRequest, lambda error: (str(error), 400))
        app.register_error_handler(NotFound, lambda error: (str(error), 404))
        self.http = app.test_client()

    def get(self, path: str, status: int = 200) -> Any:
        reply = self.http.get(f"/api/v1/{path}", headers={"Accept": "application/json"})
        assert reply.status_code == status, (reply.status_code, reply.data[:300])
        return json.loads(reply.data) if reply.is_json else reply.data

    def only(self) -> dict[str, Any]:
        (one,) = self.get("embeddings")["embeddings"]
        return one

    def points(self, number: int, query: str = "") -> tuple[dict[str, Any], np.ndarray]:
        reply = self.get(f"embedding?id={number}{query}")
        points = np.array(reply["columns"]["points"], np.float32)
        return reply, points.reshape(reply["sent"], reply["dims"])

    def problems(self) -> list[str]:
        return [problem.text for problem in self.board.index.problems.list()]


def config(folder: Path, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "projector_config.pbtxt").write_text(body)


def with_tensor(folder: Path, reference: str, more: str = "") -> None:
    config(folder, f'embeddings {{ tensor_name: "t" tensor_path: {json.dumps(reference)} {more} }}')


def test_what_pytorch_writes_is_shown_with_labels_and_sprite(tmp_path: Path) -> None:
    points = write_pytorch_projector(tmp_path / "run")
    client = Client(tmp_path)
    one = client.only()
    assert (one["folder"], one["name"], one["sprite"]) == ("run", "default:00000", [12, 12])
    reply, got = client.points(one["id"])
    np.testing.assert_array_equal(got, points)
    assert (reply["rows"], reply["dims"], reply["notes"]) == (600, 32, [])
    labels = client.get(f"embedding/metadata?id={one['id']}")
    assert [c["name"] for c in labels["columns"]] == ["word", "group", "frequency"]
    assert [c["numeric"] for c in labels["columns"]] == [False, False, True]
    assert labels["columns"][1]["distinct"] == 6
    assert [column[7] for column in labels["values"]] == ["river_7", "river", "125.000"]
    sprite = client.http.get(f"/api/v1/embedding/sprite?id={one['id']}")
    assert sprite.content_type == "image/png" and sprite.data[:4] == b"\x89PNG"
    assert client.problems() == []


def test_matrices_of_a_checkpoint_are_shown_without_a_config_too(tmp_path: Path) -> None:
    points = write_checkpoint_projector(tmp_path / "run")
    client = Client(tmp_path)
    named, other = client.get("embeddings")["embeddings"]
    assert (named["name"], named["rows"], named["dims"]) == ("embed", 60, 8)
    assert (other["name"], other["dims"], other["source"]) == ("other", 4, "checkpoint")
    np.testing.assert_array_equal(client.points(named["id"])[1], points)
    np.testing.assert_array_equal(client.points(other["id"])[1], points[:, :4])
    labels = client.get(f"embedding/metadata?id={named['id']}")
    assert labels["columns"][0]["name"] == "label" and labels["values"][0][59] == "row 59"
    os.remove(tmp_path / "run" / "projector_config.pbtxt")
    names = [e["name"] for e in Client(tmp_path).get("embeddings")["embeddings"]]
    assert names == ["embed", "other"]


def test_raw_floats_have_the_shape_in_the_config(tmp_path: Path) -> None:
    points, _ = clusters(50, 4)
    with_tensor(tmp_path, "t.bytes", "tensor_shape: 50 tensor_shape: 4")
    (tmp_path / "t.bytes").write_bytes(points.astype("<f4").tobytes())
    client = Client(tmp_path)
    one = client.only()
    assert (one["rows"], one["dims"]) == (50, 4)
    np.testing.assert_array_equal(client.points(one["id"])[1], points)
    (tmp_path / "t.bytes").write_bytes(b"123")
    assert "has 3 bytes" in client.get(f"embedding?id={one['id']}", 400)["error"]


def test_many_points_are_sampled_evenly_with_a_note(tmp_path: Path) -> None:
    points, _ = clusters(101, 3)
    with_tensor(tmp_path, "t.tsv", 'metadata_path: "m.tsv"')
    write_tsv(tmp_path / "t.tsv", points)
    (tmp_path / "m.tsv").write_text("".join(f"p{i}\n" for i in range(101)))
    client = Client(tmp_path)
    number = client.only()["id"]
    reply, got = client.points(number, "&most=11")
    assert reply["columns"]["row"] == list(range(0, 101, 10))
    np.testing.assert_array_equal(got, points[::10])
    assert reply["notes"] == ["11 of 101 points are drawn, evenly chosen."]
    labels = client.get(f"embedding/metadata?id={number}&most=11")
    assert labels["values"][0] == [f"p{i}" for i in range(0, 101, 10)]


def test_many_dimensions_are_projected_and_keep_their_distances(tmp_path: Path) -> None:
    points = np.random.default_rng(3).standard_normal((40, 2000)).astype(np.float32)
    with_tensor(tmp_path, "t.bytes", "tensor_shape: 40 tensor_shape: 2000")
    (tmp_path / "t.bytes").write_bytes(points.tobytes())
    client = Client(tmp_path)
    reply, got = client.points(client.only()["id"])
    assert (reply["dims"], reply["source_dims"]) == (512, 2000)
    before = np.linalg.norm(points[0] - points[1:], axis=1)
    after = np.linalg.norm(got[0] - got[1:], axis=1)
    np.testing.assert_allclose(after, before, rtol=0.2)
    assert "at random" in reply["notes"][0]


def test_points_that_are_not_finite_are_left_out_with_their_labels(tmp_path: Path) -> None:
    with_tensor(tmp_path, "t.tsv", 'metadata_path: "m.tsv"')
    (tmp_path / "t.tsv").write_text("1\t2\nnan\t3\n4\tinf\n5\t6\n")
    (tmp_path / "m.tsv").write_text("a\nb\nc\nd\n")
    client = Client(tmp_path)
    number = client.only()["id"]
    reply, got = client.points(number)
    assert got.tolist() == [[1, 2], [5, 6]] and "2 points" in reply["notes"][0]
    assert client.get(f"embedding/metadata?id={number}")["values"] == [["a", "d"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t2\n3\t4\t5\n", "row 1 of t.tsv has 3 numbers, not 2"),
        ("1\t2\n3\tx\n", "row 1 of t.tsv has 'x', not a number"),
        ("", "has 0 rows"),
        ("\0\0", "not a number"),
        ("1_0\t2\n", "not a number"),
        ("\n" * 2_000_001, "2,000,001 lines, more than"),
    ],
)
def test_the_error_of_a_corrupted_table_contains_the_position(
    tmp_path: Path, text: str, message: str
) -> None:
    with_tensor(tmp_path, "t.tsv")
    (tmp_path / "t.tsv").write_text(text)
    client = Client(tmp_path)
    assert message in client.get(f"embedding?id={client.only()['id']}", 400)["error"]


@pytest.mark.parametrize("field", ["tensor", "metadata", "bookmarks", "sprite", "checkpoint"])
@pytest.mark.parametrize("way", ["absolute", "dots", "link", "folder link", "fifo", "nul"])
def test_no_reference_leads_out_of_its_folder(tmp_path: Path, field: str, way: str) -> None:
    logdir, run = tmp_path / "logs", tmp_path / "logs" / "run"
    outside = tmp_path / "outside"
    for folder in (outside, tmp_path / "logs" / "sibling"):
        write_checkpoint_projector(folder)
        (folder / "secret.tsv").write_text("0.31415926\t0.27182818\n" * 7)
        os.remove(folder / "projector_config.pbtxt")
        os.remove(folder / "checkpoint")
    run.mkdir(parents=True)
    secret = "model.ckpt-7" if field == "checkpoint" else "secret.tsv"
    reference = secret
    if way == "absolute":
        reference = str(outside / secret)
    elif way == "dots":
        reference = f"../sibling/{secret}"
    elif way == "link":
        for name in os.listdir(outside):
            os.symlink(outside / name, run / name)
    elif way == "folder link":
        os.symlink(tmp_path / "logs" / "sibling", run / "inner")
        reference = f"inner/{secret}"
    elif way == "fifo":
        os.mkfifo(run / (secret + (".index" if field == "checkpoint" else "")))
    else:
        reference = "secret.tsv\0x"
    write_tsv(run / "own.tsv", clusters(5, 3)[0])
    quoted = json.dumps(reference).replace("\\u0000", "\\000")
    own = 'tensor_path: "own.tsv"'
    body = {
        "tensor": f'embeddings {{ tensor_name: "t" tensor_path: {quoted} }}',
        "metadata": f'embeddings {{ tensor_name: "t" {own} metadata_path: {quoted} }}',
        "bookmarks": f'embeddings {{ tensor_name: "t" {own} bookmarks_path: {quoted} }}',
        "sprite": f'embeddings {{ tensor_name: "t" {own} sprite {{ image_path: {quoted} '
        "single_image_dim: 2 } }",
        "checkpoint": f'model_checkpoint_path: {quoted} embeddings {{ tensor_name: "embed" }}',
    }[field]
    config(run, body)
    client = Client(logdir)
    shown = client.get("embeddings")["embeddings"]
    if field == "checkpoint":
        assert shown == []
    else:
        path = "embedding" if field == "tensor" else f"embedding/{field}"
        reply = client.http.get(f"/api/v1/{path}?id={shown[0]['id']}")
        assert reply.status_code in (400, 404) and b"0.3141" not in reply.data
    assert len(client.problems()) >= 1


def test_links_inside_the_folder_and_absolute_paths_into_it_are_followed(tmp_path: Path) -> None:
    points, _ = clusters(9, 3)
    (tmp_path / "data").mkdir()
    write_tsv(tmp_path / "data" / "real.tsv", points)
    os.symlink("data/real.tsv", tmp_path / "link.tsv")
    for reference in ("link.tsv", str(tmp_path / "data" / "real.tsv")):
        with_tensor(tmp_path, reference)
        client = Client(tmp_path)
        np.testing.assert_array_equal(client.points(client.only()["id"])[1], points)


def test_links_out_of_the_logdir_are_followed_only_when_allowed(tmp_path: Path) -> None:
    points, _ = clusters(9, 3)
    write_tsv(tmp_path / "real.tsv", points)
    logdir = tmp_path / "logs"
    with_tensor(logdir, "link.tsv")
    os.symlink(tmp_path / "real.tsv", logdir / "link.tsv")
    client = Client(logdir, follow_links=True)
    np.testing.assert_array_equal(client.points(client.only()["id"])[1], points)


def test_problems_come_with_a_bad_config_and_go_when_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(tmp_path, "embeddings { tensor_name: ")
    client = Client(tmp_path)
    assert client.get("embeddings")["embeddings"] == []
    assert "not a projector config" in client.problems()[0]
    with_tensor(tmp_path, "t.tsv")
    write_tsv(tmp_path / "t.tsv", clusters(5, 3)[0])
    monkeypatch.setattr(embedding_index, "_LASTS_S", 0.0)
    assert client.only()["name"] == "t" and client.problems() == []


def test_a_config_without_its_checkpoint_says_what_is_missing(tmp_path: Path) -> None:
    """The callback of Keras 3 writes such a config beside .weights.h5 files."""
    config(tmp_path, 'embeddings { tensor_name: "layer/embeddings" metadata_path: "m.tsv" }')
    (tmp_path / "m.tsv").write_text("a\n")
    client = Client(tmp_path)
    assert client.get("embeddings")["embeddings"] == []
    (problem,) = client.problems()
    assert "layer/embeddings" in problem and "no TensorFlow checkpoint" in problem


def test_a_checkpoint_file_of_line_feeds_is_read_in_one_pass(tmp_path: Path) -> None:
    """It took half an hour when the search for its one line began again at each of them."""
    write_checkpoint_projector(tmp_path / "run")
    os.remove(tmp_path / "run" / "projector_config.pbtxt")
    state = tmp_path / "run" / "checkpoint"
    line = state.read_text()
    for before in ("\n" * 1_000_000, " " * 1_000_000 + "\n", 'model_checkpoint_path: "\n' * 40_000):
        state.write_text(before + line)
        assert [e["name"] for e in Client(tmp_path).get("embeddings")["embeddings"]] == [
            "embed",
            "other",
        ]


def test_an_index_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_index, "_LASTS_S", 0.0)
    read = []

    class Counted(CheckpointTensors):
        def __init__(self, folder: ConfigFolder, prefix: str) -> None:
            read.append(prefix)
            super().__init__(folder, prefix)

    monkeypatch.setattr(embedding_index, "CheckpointTensors", Counted)
    write_checkpoint_projector(tmp_path, rows=60)
    client = Client(tmp_path)
    for _ in range(3):
        first = client.get("embeddings")["embeddings"]
    assert read == ["model.ckpt-7"] and first[0]["rows"] == 60
    write_checkpoint_projector(tmp_path, rows=61)
    for _ in range(3):
        second = client.get("embeddings")["embeddings"]
    assert read == ["model.ckpt-7"] * 2 and second[0]["rows"] == 61
    assert [e["id"] for e in second] == [e["id"] for e in first]
    assert [e["version"] for e in second] != [e["version"] for e in first]


def test_a_corrupted_index_is_read_once_and_reported_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_index, "_LASTS_S", 0.0)
    write_checkpoint_projector(tmp_path)
    index = tmp_path / "model.ckpt-7.index"
    whole = index.read_bytes()
    index.write_bytes(whole[:20])
    client = Client(tmp_path)
    for _ in range(2):
        assert client.get("embeddings")["embeddings"] == []
        assert "index is corrupted" in client.problems()[0]
    index.write_bytes(whole)
    assert len(client.get("embeddings")["embeddings"]) == 2 and client.problems() == []


def test_known_embeddings_are_served_while_another_thread_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint_projector(tmp_path)
    client = Client(tmp_path)
    number = client.get("embeddings")["embeddings"][0]["id"]
    shelf_looks, go_on = threading.Event(), threading.Event()

    def slow_walk(_: object) -> Walk:
        shelf_looks.set()
        assert go_on.wait(60)
        return Walk()

    monkeypatch.setattr(embedding_index, "_LASTS_S", 0.0)
    monkeypatch.setattr(embedding_index, "walk_logdir", slow_walk)
    looking = threading.Thread(target=client.get, args=("embeddings",))
    looking.start()
    try:
        assert shelf_looks.wait(60)
        assert client.points(number)[0]["rows"] == 60  # would wait for ever behind one lock
    finally:
        go_on.set()
        looking.join()


def test_bookmarks_are_the_json_of_their_file(tmp_path: Path) -> None:
    write_tsv(tmp_path / "t.tsv", clusters(5, 3)[0])
    with_tensor(tmp_path, "t.tsv", 'bookmarks_path: "b.json"')
    (tmp_path / "b.json").write_text('[{"label": "State 0", "tSNEPerplexity": 25}]')
    client = Client(tmp_path)
    one = client.only()
    assert one["bookmarks"] is True
    path = f"embedding/bookmarks?id={one['id']}"
    assert client.get(path)["bookmarks"] == [{"label": "State 0", "tSNEPerplexity": 25}]
    for bad in ("[", "[" * 100_000, "[" * 60 + "]" * 60, "\xff"):
        (tmp_path / "b.json").write_text(bad, encoding="latin-1")
        assert "bookmarks are" in client.get(path, 400)["error"]
    os.remove(tmp_path / "b.json")
    client.get(path, 404)
    with_tensor(tmp_path, "t.tsv")
    assert Client(tmp_path).only()["bookmarks"] is False


def test_sprites_are_images_of_a_bounded_size(tmp_path: Path) -> None:
    write_tsv(tmp_path / "t.tsv", clusters(5, 3)[0])
    with_tensor(tmp_path, "t.tsv", 'sprite { image_path: "s.png" single_image_dim: 4 }')
    (tmp_path / "s.png").write_bytes(b"<svg onload=alert(1)>")
    client = Client(tmp_path)
    path = f"embedding/sprite?id={client.only()['id']}"
    assert "is not a PNG" in client.get(path, 400)["error"]
    big = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (50_000).to_bytes(4, "big") * 2
    (tmp_path / "s.png").write_bytes(big)
    assert "50000 x 50000" in client.get(path, 400)["error"]


def test_corrupted_bytes_of_a_checkpoint_are_not_shown(tmp_path: Path) -> None:
    write_checkpoint_projector(tmp_path)
    client = Client(tmp_path)
    number = client.get("embeddings")["embeddings"][0]["id"]
    shard = next(tmp_path.glob("model.ckpt-7.data-*"))
    data = bytearray(shard.read_bytes())
    data[len(data) // 4] ^= 1
    shard.write_bytes(data)
    assert "CRC" in client.get(f"embedding?id={number}", 400)["error"]
    shard.write_bytes(data[:40])
    assert "cut off" in client.get(f"embedding?id={number}", 400)["error"]


@pytest.mark.parametrize("query", ["", "id=x", "id=-1", "id=99", "id=0&most=0", "id=0&most=1e9"])
def test_invalid_arguments_are_rejected(tmp_path: Path, query: str) -> None:
    write_checkpoint_projector(tmp_path)
    client = Client(tmp_path)
    client.get("embeddings")
    for path in ("embedding", "embedding/metadata"):
        assert client.http.get(f"/api/v1/{path}?{query}").status_code in (400, 404)


def test_rows_are_chosen_evenly() -> None:
    for rows, most in [(10, 20), (10, 10), (1000, 7), (100_001, 100_000), (5, 1)]:
        got = point_table.chosen_rows(rows, most)
        assert len(got) == min(rows, most) and (np.diff(got) >= 1).all()
        assert got[0] == 0 and got[-1] <= rows - 1
