from __future__ import annotations

import base64
from pathlib import Path

import pytest
from fixtures.panel_client import PanelClient, metadata, write_values
from hypothesis import given
from hypothesis import strategies as st
from test_media_types import png, wav

from headrace.board.summaries.media_items import ItemNames, Place
from headrace.formats.proto.summary_pb2 import Summary
from headrace.formats.tensor_codec import make_tensor_proto

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def tensor(tag: str, plugin: str, strings: list) -> Summary.Value:
    return Summary.Value(tag=tag, tensor=make_tensor_proto(strings), metadata=metadata(plugin))


def image(tag: str, data: bytes, width: int = 0, height: int = 0) -> Summary.Value:
    encoded = Summary.Image(width=width, height=height, encoded_image_string=data)
    return Summary.Value(tag=tag, image=encoded)


def audio(tag: str, data: bytes) -> Summary.Value:
    sound = Summary.Audio(sample_rate=100, length_frames=50, encoded_audio_string=data)
    return Summary.Value(tag=tag, audio=sound)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    folder = tmp_path_factory.mktemp("blobs")
    sound = wav(0.5, 8000)
    values = [
        *[(s, image("old", png(10 + s, 4))) for s in range(3)],
        (0, tensor("new", "images", [b"7", b"5", png(7, 5), SVG, b""])),
        (0, tensor("bomb", "images", [b"1", b"1", png(30_000, 30_000)])),
        (0, tensor("lies", "images", [b"-1", b"9" * 5000, png(2, 3)])),
        (0, tensor("short", "images", [b"7"])),
        (0, audio("old sound", sound)),
        (0, audio("odd sound", b"OggS" + bytes(90))),
        (0, tensor("labelled", "audio", [[sound, b"one"], [b"?", b"t\xff"]])),
        (0, tensor("plain", "audio", [sound, sound])),
    ]
    write_values(folder, values)
    return PanelClient(folder)


def items(client: PanelClient, tag: str, kind: str = "image", row: str = "") -> list[dict]:
    return client.get("/blobs/items" + client.where(tag, kind) + row)["items"]


def test_every_event_is_a_row_and_every_item_can_be_fetched(client: PanelClient) -> None:
    reply = client.get("/blobs" + client.where("old", "image"))
    assert reply["kind"] == "image"
    assert reply["columns"]["step"] == [0, 1, 2] and reply["columns"]["superseded"] == [0, 0, 0]
    for row in range(3):
        (item,) = items(client, "old", row=f"&row={row}")
        assert (item["width"], item["height"], item["mime"]) == (10 + row, 4, "image/png")
        got = client.client.get(f"/api/v1/blob/{item['id']}")
        assert got.data == png(10 + row, 4) and got.content_type == "image/png"
        assert "immutable" in got.headers["Cache-Control"]
        assert got.headers["X-Content-Type-Options"] == "nosniff"
        again = client.client.get(
            f"/api/v1/blob/{item['id']}", headers={"If-None-Match": got.headers["ETag"]}
        )
        assert (again.status_code, again.data) == (304, b"")
    assert items(client, "old")[0]["width"] == 12, "the last row, where none is named"


def test_a_tensor_of_images_has_its_samples_and_svg_is_never_shown(client: PanelClient) -> None:
    first, svg, nothing = items(client, "new")
    assert [i["sample"] for i in (first, svg, nothing)] == [0, 1, 2]
    assert (svg["mime"], svg["bytes"], nothing["bytes"]) == (
        "application/octet-stream", len(SVG), 0)  # fmt: skip
    got = client.client.get(f"/api/v1/blob/{svg['id']}")
    assert got.content_type == "application/octet-stream"
    assert got.headers["Content-Disposition"] == "attachment" and got.data == SVG
    assert items(client, "short") == []
    assert items(client, "lies")[0]["width"] == 2


def test_an_image_too_large_to_decode_is_rejected(client: PanelClient) -> None:
    (item,) = items(client, "bomb")
    assert "30000 x 30000 pixels" in item["too_large"]
    got = client.client.get(f"/api/v1/blob/{item['id']}")
    assert got.status_code == 422 and b"30000 x 30000" in got.data


def test_sounds_have_a_length_and_are_served_in_parts(client: PanelClient) -> None:
    (old,) = items(client, "old sound", "audio")
    assert (old["mime"], old["sample_rate"], old["seconds"]) == ("audio/wav", 8000, 0.5)
    (odd,) = items(client, "odd sound", "audio")
    assert (odd["mime"], odd["sample_rate"], odd["seconds"]) == ("audio/ogg", 100, 0.5)
    one, other = items(client, "labelled", "audio")
    assert (one["label"], other["label"]) == ("one", "t\ufffd")
    assert len(items(client, "plain", "audio")) == 2
    whole = client.client.get(f"/api/v1/blob/{one['id']}")
    assert whole.headers["Accept-Ranges"] == "bytes"
    part = client.client.get(f"/api/v1/blob/{one['id']}", headers={"Range": "bytes=4-9"})
    assert part.status_code == 206 and part.data == whole.data[4:10]
    assert part.headers["Content-Range"] == f"bytes 4-9/{len(whole.data)}"
    beyond = client.client.get(f"/api/v1/blob/{one['id']}", headers={"Range": "bytes=99999999-"})
    assert beyond.status_code == 416


def test_only_signed_blob_names_are_accepted(client: PanelClient) -> None:
    name = items(client, "old")[0]["id"]
    raw = bytearray(base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)))
    for i in range(len(raw)):
        changed = bytes(raw[:i]) + bytes([raw[i] ^ 1]) + bytes(raw[i + 1 :])
        other = base64.urlsafe_b64encode(changed).rstrip(b"=").decode()
        assert client.client.get(f"/api/v1/blob/{other}").status_code == 404
    forged = ItemNames(b"another key").name(Place(0, 0, 10, 0, 0, False))
    assert client.client.get(f"/api/v1/blob/{forged}").status_code == 404


@given(st.text(max_size=80))
def test_no_text_is_a_name_by_chance(text: str) -> None:
    assert ItemNames().place(text) is None


def test_an_item_of_a_deleted_file_is_not_found(tmp_path: Path) -> None:
    write_values(tmp_path, [(0, image("picture", png(1, 1)))])
    client = PanelClient(tmp_path)
    (item,) = items(client, "picture")
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    data[-6] ^= 1
    file.write_bytes(data)
    client.app.board.records._events.clear()  # type: ignore[attr-defined]
    got = client.client.get(f"/api/v1/blob/{item['id']}")
    assert got.status_code == 404 and b"CRC" in got.data
    assert client.get("/blobs/items" + client.where("picture", "image"), 404)["error"]
