"""The routes that a page requests first, and the changes that it follows."""

from __future__ import annotations

import json
import select
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from fixtures import corrupted_logs, event_logs
from fixtures.boards import wait_until
from fixtures.column_replies import decode
from flask import Flask
from flask.testing import FlaskClient

from headrace.board.app import create_app
from headrace.board.cli import _THREADS
from headrace.board.web.columns import MEDIA_TYPE
from headrace.board.web.server import BoardServer, listening_socket
from headrace.formats.event_file import EventFileWriter


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    event_logs.write_restarted(tmp_path / "logs" / "restarted")
    records = corrupted_logs.records_of_900(20)
    corrupted_logs.write_records(
        tmp_path / "logs" / "deep" / "corrupted", corrupted_logs.flip_payload_byte(records, 10)
    )
    event_logs.write_images(tmp_path / "logs" / "images", 3, 100)
    app = create_app(tmp_path / "logs", follow=False, title="my runs")
    yield app
    app.board.stop()  # type: ignore[attr-defined]


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def get(client: FlaskClient, path: str) -> Any:
    reply = client.get(f"/api/v1/{path}")
    assert reply.status_code == 200, reply.data
    return json.loads(reply.data)


def test_meta_contains_no_path(client: FlaskClient, tmp_path: Path) -> None:
    reply = client.get("/api/v1/meta")
    assert str(tmp_path).encode() not in reply.data
    meta = json.loads(reply.data)
    assert meta["logdir"] == "logs" and meta["title"] == "my runs"
    assert meta["read_only"] is True and meta["token_needed"] is False


def test_health_counts_what_was_read(client: FlaskClient, tmp_path: Path) -> None:
    health = get(client, "health")
    size = sum(path.stat().st_size for path in (tmp_path / "logs").rglob("*tfevents*"))
    assert health["bytes_done"] == health["bytes_total"] == size
    assert (health["files"], health["loading"]) == (4, False)
    assert (health["points"], health["blobs"]) == (100 + 100 + 60 + 19, 3)
    assert health["memory_bytes"] > 1 << 20


def test_runs_are_listed_by_name_with_their_problems(client: FlaskClient) -> None:
    runs = get(client, "runs")["runs"]
    assert [run["name"] for run in runs] == ["deep/corrupted", "images", "restarted"]
    assert [run["folder"] for run in runs] == ["deep", "", ""]
    assert [run["segments"] for run in runs] == [1, 1, 2]
    assert [run["problems"] for run in runs] == [1, 0, 0]
    assert all(run["start"] <= run["last_wall"] for run in runs if run["name"] != "restarted")


def test_problems_name_run_file_and_bytes(client: FlaskClient) -> None:
    (problem,) = get(client, "problems")["problems"]
    (run,) = [run for run in get(client, "runs")["runs"] if run["name"] == "deep/corrupted"]
    assert problem["run"] == run["id"]
    assert problem["severity"] == "error" and problem["kind"] == "bad_payload"
    assert problem["file"].startswith("deep/corrupted/events.out.tfevents.")
    assert problem["count"] == 1 and problem["bytes"] > 16


def test_problems_are_sent_again_only_when_there_are_others(app: Flask) -> None:
    client = app.test_client()
    mark = get(client, "problems")["mark"]
    assert get(client, f"problems?since={mark}") == {
        "rev": get(client, "meta")["rev"], "problems": None, "mark": mark,
    }  # fmt: skip
    app.board.index.problems.add("torn", "note", text="one more")  # type: ignore[attr-defined]
    new = get(client, f"problems?since={mark}")
    assert len(new["problems"]) == 2 and new["mark"] != mark


def test_tags_carry_the_figures_of_each_series(client: FlaskClient) -> None:
    reply = get(client, "tags")
    names = {tag["id"]: (tag["name"], tag["kind"]) for tag in reply["tags"]}
    runs = {run["id"]: run["name"] for run in get(client, "runs")["runs"]}
    columns = reply["series"]
    assert len({len(column) for column in columns.values()}) == 1
    figures = {
        (runs[columns["run"][i]], *names[columns["tag"][i]]): {
            name: column[i] for name, column in columns.items()
        }
        for i in range(len(columns["tag"]))
    }
    loss = figures["restarted", "loss", "scalar"]
    assert (loss["n"], loss["first_step"], loss["last_step"], loss["nan"]) == (120, 0, 119, 0)
    image = figures["images", "filters", "image"]
    assert (image["n"], image["last_step"], image["min"], image["last"]) == (3, 2, None, None)
    assert set(figures) == {
        ("restarted", "loss", "scalar"), ("restarted", "once", "scalar"),
        ("deep/corrupted", "loss", "scalar"), ("images", "filters", "image"),
    }  # fmt: skip


def test_changes_replies_at_once_after_a_change(client: FlaskClient) -> None:
    began = time.monotonic()
    news = get(client, "changes?since=0&wait=20")
    assert time.monotonic() - began < 19
    assert (news["runs"], news["tags"], news["points"], news["loading"]) == (3, 4, 282, False)
    again = get(client, f"changes?since={news['rev']}&wait=0.05")
    assert again["rev"] == news["rev"]


def test_changes_replies_at_once_to_clients_of_another_process(client: FlaskClient) -> None:
    news = get(client, "changes?since=0")
    assert get(client, "meta")["boot"] == news["boot"]
    began = time.monotonic()
    get(client, f"changes?since={news['rev']}&boot=another&wait=20")
    get(client, f"changes?since={news['rev'] + 1000}&wait=20")
    assert time.monotonic() - began < 19


def test_each_process_has_its_own_boot(tmp_path: Path) -> None:
    boots = set()
    for _ in range(2):
        app = create_app(tmp_path, follow=False)
        boots.add(get(app.test_client(), "meta")["boot"])
        app.board.stop()  # type: ignore[attr-defined]
    assert len(boots) == 2


def test_the_status_has_the_reading_progress(client: FlaskClient, tmp_path: Path) -> None:
    size = sum(path.stat().st_size for path in (tmp_path / "logs").rglob("*tfevents*"))
    news = get(client, "changes?since=-1")
    assert (news["files"], news["bytes_done"], news["bytes_total"]) == (4, size, size)


class Growing:
    """Two runs of two tags each that grow on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writers = {name: EventFileWriter(folder / name) for name in ("a", "b")}
        self.steps = 0
        for name in self.writers:
            self.grow(name, "loss", "acc")
        self.app = create_app(folder)
        self.client = self.app.test_client()
        wait_until(lambda: get(self.client, "health")["points"] == 4)

    def grow(self, run: str, *tags: str) -> None:
        self.steps += 1
        values = [(tag, float(self.steps)) for tag in tags]
        self.writers[run].write(event_logs.simple_event(self.steps, 1.0, values))
        self.writers[run].flush()

    def close(self) -> None:
        self.app.board.stop()  # type: ignore[attr-defined]
        for writer in self.writers.values():
            writer.close()


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    logs = Growing(tmp_path / "logs")
    yield logs
    logs.close()


def test_runs_and_tags_since_a_mark_are_what_changed(growing: Growing) -> None:
    client = growing.client
    tags, runs = get(client, "tags"), get(client, "runs")
    assert tags["whole"] is runs["whole"] is True
    assert len(tags["series"]["tag"]) == 4 and len(runs["runs"]) == 2
    names = {tag["id"]: tag["name"] for tag in tags["tags"]}
    ids = {run["name"]: run["id"] for run in runs["runs"]}
    growing.grow("b", "acc")
    wait_until(lambda: get(client, "health")["points"] == 5)
    new = get(client, f"tags?since={tags['mark']}")
    assert new["whole"] is False
    assert [names[tag] for tag in new["series"]["tag"]] == ["acc"]
    assert new["series"]["run"] == [ids["b"]] and new["series"]["n"] == [2]
    assert new["tags"] == [] and new["gone"] == {"tag": [], "run": []}
    assert [run["name"] for run in get(client, f"runs?since={runs['mark']}")["runs"]] == ["b"]
    again = get(client, f"tags?since={new['mark']}")
    assert again["series"]["tag"] == [] and again["mark"] == new["mark"]
    growing.grow("a", "new")
    wait_until(lambda: get(client, "health")["points"] == 6)
    newest = get(client, f"tags?since={new['mark']}")
    assert [tag["name"] for tag in newest["tags"]] == ["new"]
    assert newest["series"]["run"] == [ids["a"]]


def test_two_callers_each_hear_of_every_change(growing: Growing) -> None:
    client = growing.client
    late = get(client, "tags")["mark"]
    early = late
    for step in range(3):
        growing.grow("a", "loss")
        wait_until(lambda: get(client, "health")["points"] == 5 + step)  # noqa: B023
        reply = get(client, f"tags?since={early}")
        assert reply["series"]["n"] == [2 + step]
        early = reply["mark"]
    assert get(client, f"tags?since={late}")["series"]["n"] == [4]


def test_a_removed_run_is_listed_as_gone(growing: Growing) -> None:
    client = growing.client
    runs, tags = get(client, "runs"), get(client, "tags")
    (gone,) = [run["id"] for run in runs["runs"] if run["name"] == "a"]
    growing.writers["a"].close()
    shutil.rmtree(growing.folder / "a")
    wait_until(lambda: len(get(client, "runs")["runs"]) == 1)
    new = get(client, f"runs?since={runs['mark']}")
    assert (new["runs"], new["gone"], new["whole"]) == ([], [gone], False)
    assert gone not in get(client, f"tags?since={tags['mark']}")["series"]["run"]


def test_tags_as_columns_are_those_of_json(growing: Growing) -> None:
    growing.grow("b", "acc")
    wait_until(lambda: get(growing.client, "health")["points"] == 5)
    plain = get(growing.client, "tags")
    reply = growing.client.get("/api/v1/tags", headers={"Accept": MEDIA_TYPE})
    header, columns = decode(reply.data)
    assert {name: header[name] for name in ("gone", "mark", "whole", "rev")} == {
        name: plain[name] for name in ("gone", "mark", "whole", "rev")
    }
    for name, column in plain["series"].items():
        assert columns[name].tolist() == column
    texts = header["texts"]
    assert plain["tags"] == [
        {"id": columns["tag_id"][i], "name": name}
        | {
            what: texts[columns[f"tag_{what}"][i]]
            for what in ("kind", "plugin", "display", "description")
        }
        for i, name in enumerate(header["names"])
    ]


@pytest.mark.parametrize("mark", ["", "7", "other.1", "BOOT.999", "BOOT.x", "BOOT.\u0663", "BOOT."])
def test_a_mark_that_is_not_of_this_server_gives_everything(client: FlaskClient, mark: str) -> None:
    mark = mark.replace("BOOT", get(client, "meta")["boot"])
    assert get(client, f"tags?since={mark}")["whole"] is True
    assert len(get(client, f"runs?since={mark}")["runs"]) == 3


def test_forty_that_wait_leave_the_server_free_for_others(app: Flask) -> None:
    server = BoardServer(app, listening_socket("127.0.0.1", [0]), _THREADS)
    server.start()
    port = server.port
    url = f"http://127.0.0.1:{port}/api/v1/"
    rev = json.load(urlopen(f"{url}changes?since=-1", timeout=60))["rev"]
    following = []
    try:
        for path in ["events"] * 8 + [f"changes?since={rev}&wait=30"] * 40:
            one = socket.create_connection(("127.0.0.1", port), timeout=60)
            one.sendall(f"GET /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            following.append(one)
        # 8 streams send events, and all but 8 of the other requests get a reply.
        replied = 0
        deadline = time.monotonic() + 60
        while replied < 8 + 32 and time.monotonic() < deadline:
            replied = len(select.select(following, [], [], 0.1)[0])
        assert replied >= 8 + 32
        assert json.load(urlopen(f"{url}meta", timeout=60))["title"] == "my runs"
    finally:
        for one in following:
            one.close()
        server.stop()


@pytest.mark.parametrize("query", ["since=x", "wait=nan", "since=1e3", "since=-7", "wait=inf"])
def test_changes_rejects_values_that_are_not_numbers(client: FlaskClient, query: str) -> None:
    reply = client.get(f"/api/v1/changes?{query}")
    assert reply.status_code == 400 and "error" in json.loads(reply.data)


def test_events_report_growth_at_a_limited_rate(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "r") as writer:
        app = create_app(tmp_path)
        try:
            stream = app.test_client().get("/api/v1/events", buffered=False).iter_encoded()
            seen: list[dict[str, Any]] = []

            def listen() -> None:
                for chunk in stream:
                    if chunk.startswith(b"data: "):
                        seen.append(json.loads(chunk[6:]))

            thread = threading.Thread(target=listen, daemon=True)
            thread.start()
            began = time.monotonic()
            for step in range(100):
                writer.write(event_logs.simple_event(step, 1.0, [("loss", 1.0)]))
                writer.flush()
                if step % 20 == 19:
                    wait_until(lambda: seen and seen[-1]["points"] > step)  # noqa: B023
            assert seen[-1]["points"] == 100
            assert len(seen) <= 2 + (time.monotonic() - began) * 10
        finally:
            app.board.stop()  # type: ignore[attr-defined]
        thread.join(120)
        assert not thread.is_alive()


def test_a_ninth_stream_is_rejected_in_favour_of_polling(client: FlaskClient) -> None:
    streams = [client.get("/api/v1/events") for _ in range(8)]
    assert [stream.status_code for stream in streams] == [200] * 8
    rejected = client.get("/api/v1/events")
    assert rejected.status_code == 503 and "/changes" in json.loads(rejected.data)["error"]
    streams.pop().close()
    again = client.get("/api/v1/events")
    assert again.status_code == 200
    for stream in [*streams, again]:
        stream.close()
