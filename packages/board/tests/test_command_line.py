"""`headrace-board` as a user starts it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import pytest

from headrace.board.command_line import main

COMMAND = [sys.executable, "-m", "headrace.board"]


def started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert " on http://" in line, line
    return process, line.rsplit(" on ", 1)[1].strip()


def stopped(process: subprocess.Popen[str], by: int = signal.SIGTERM) -> int:
    process.send_signal(by)
    process.communicate(timeout=10)
    return process.returncode


def test_it_prints_an_address_that_answers_and_ends_with_an_interrupt(tmp_path: Path) -> None:
    process, url = started("--logdir", str(tmp_path), "--port", "0", "--title", "my runs")
    try:
        with urllib.request.urlopen(url + "api/v1/meta", timeout=10) as reply:
            meta = json.load(reply)
        assert (meta["title"], meta["logdir"]) == ("my runs", tmp_path.name)
    finally:
        # A shell's background job ignores SIGINT, and so do its children.
        status = stopped(process, signal.SIGTERM)
    assert status in (0, -signal.SIGTERM)


def test_a_logdir_may_come_later(tmp_path: Path) -> None:
    logdir = tmp_path / "later"
    process, url = started("--logdir", str(logdir), "--port", "0")
    try:
        from headrace.formats.event_file import EventFileWriter
        from headrace.formats.proto.event_pb2 import Event

        with EventFileWriter(logdir / "run") as writer:
            event = Event(wall_time=1.0, step=3)
            event.summary.value.add(tag="loss", simple_value=0.5)
            writer.write(event)
        deadline = time.monotonic() + 15
        names: list[str] = []
        while not names and time.monotonic() < deadline:
            with urllib.request.urlopen(url + "api/v1/tags", timeout=10) as reply:
                names = [tag["name"] for tag in json.load(reply)["tags"]]
            time.sleep(0.05)
        assert names == ["loss"]
    finally:
        stopped(process)


def test_without_a_token_it_listens_only_on_loopback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--logdir", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "--token" in capsys.readouterr().err


def test_a_token_is_made_up_and_asked_for(tmp_path: Path) -> None:
    process, url = started("--logdir", str(tmp_path), "--port", "0", "--token")
    try:
        base, token = url.split("?t=")
        assert len(token) > 30
        with pytest.raises(HTTPError) as refused:
            urllib.request.urlopen(base + "api/v1/meta", timeout=10)
        with refused.value:
            assert refused.value.code == 401
        request = urllib.request.Request(
            base + "api/v1/meta", headers={"Cookie": f"headrace_board={token}"}
        )
        with urllib.request.urlopen(request, timeout=10) as reply:
            assert reply.status == 200
    finally:
        stopped(process)


def test_a_port_that_is_taken_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["--logdir", str(tmp_path), "--port", str(port)]) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err
