"""The endpoints that the page asks first, and the news that it follows."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures import damaged_logs, event_logs
from flask import Flask
from flask.testing import FlaskClient

from headrace.board.app import create_app
from headrace.formats.event_file import EventFileWriter


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    event_logs.write_restarted(tmp_path / "logs" / "restarted")
    records = damaged_logs.records_of_900(20)
    damaged_logs.write_records(
        tmp_path / "logs" / "deep" / "damaged", damaged_logs.flip_payload_byte(records, 10)
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


def test_meta_tells_no_path(client: FlaskClient, tmp_path: Path) -> None:
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
    assert [run["name"] for run in runs] == ["deep/damaged", "images", "restarted"]
    assert [run["folder"] for run in runs] == ["deep", "", ""]
    assert [run["segments"] for run in runs] == [1, 1, 2]
    assert [run["problems"] for run in runs] == [1, 0, 0]
    assert all(run["start"] <= run["last_wall"] for run in runs if run["name"] != "restarted")


def test_problems_name_run_file_and_bytes(client: FlaskClient) -> None:
    (problem,) = get(client, "problems")["problems"]
    (run,) = [run for run in get(client, "runs")["runs"] if run["name"] == "deep/damaged"]
    assert problem["run"] == run["id"]
    assert problem["severity"] == "error" and problem["kind"] == "bad_payload"
    assert problem["file"].startswith("deep/damaged/events.out.tfevents.")
    assert problem["count"] == 1 and problem["bytes"] > 16


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
        ("deep/damaged", "loss", "scalar"), ("images", "filters", "image"),
    }  # fmt: skip


def test_changes_answers_at_once_when_there_is_news(client: FlaskClient) -> None:
    began = time.monotonic()
    news = get(client, "changes?since=0&wait=20")
    assert time.monotonic() - began < 5
    assert (news["runs"], news["tags"], news["points"], news["loading"]) == (3, 4, 282, False)
    again = get(client, f"changes?since={news['rev']}&wait=0.05")
    assert again["rev"] == news["rev"]


@pytest.mark.parametrize("query", ["since=x", "wait=nan", "since=1e3", "since=-7", "wait=inf"])
def test_changes_refuses_what_is_no_number(client: FlaskClient, query: str) -> None:
    reply = client.get(f"/api/v1/changes?{query}")
    assert reply.status_code == 400 and "error" in json.loads(reply.data)


def test_events_tell_of_growth_and_are_few(tmp_path: Path) -> None:
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
                time.sleep(0.005)
            while not seen or seen[-1]["points"] < 100:
                assert time.monotonic() - began < 10
                time.sleep(0.01)
            assert len(seen) <= 2 + (time.monotonic() - began) * 10
        finally:
            app.board.stop()  # type: ignore[attr-defined]
        thread.join(5)
        assert not thread.is_alive()


def test_a_ninth_stream_is_asked_to_poll_instead(client: FlaskClient) -> None:
    streams = [client.get("/api/v1/events") for _ in range(8)]
    assert [stream.status_code for stream in streams] == [200] * 8
    refused = client.get("/api/v1/events")
    assert refused.status_code == 503 and "/changes" in json.loads(refused.data)["error"]
    streams.pop().close()
    again = client.get("/api/v1/events")
    assert again.status_code == 200
    for stream in [*streams, again]:
        stream.close()
