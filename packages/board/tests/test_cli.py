"""`headrace-board` as a user starts it."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote

import pytest
from fixtures.boards import wait_until

from headrace.board import cli, create_app
from headrace.board.cli import main
from headrace.board.web.security import Access, cookie_name
from headrace.board.web.static_files import FrontendMissingError

IN_USE = os.strerror(errno.EADDRINUSE)
COMMAND = [sys.executable, "-m", "headrace.board"]


def _hears_interrupts() -> None:
    """A shell's job in the background ignores SIGINT, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hears_interrupts,
    )
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    assert " on http://" in line, line + process.stderr.read()
    return process, line.rsplit(" on ", 1)[1].strip()


def stopped(process: subprocess.Popen[str], by: int = signal.SIGTERM) -> str:
    """Ends it. Returns: what it said on its way out."""
    process.send_signal(by)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_and_ends_on_a_signal(tmp_path: Path, by: int) -> None:
    process, url = started("--logdir", str(tmp_path), "--port", "0", "--title", "my runs")
    with urllib.request.urlopen(url + "api/v1/meta", timeout=60) as reply:
        meta = json.load(reply)
    assert (meta["title"], meta["logdir"]) == ("my runs", tmp_path.name)
    assert stopped(process, by) == ""


def test_an_interrupt_ends_the_streams_of_open_pages_first(tmp_path: Path) -> None:
    """waitress waits for its threads: a stream that nobody wakes keeps it, and it says so."""
    process, url = started("--logdir", str(tmp_path), "--port", "0")
    with urllib.request.urlopen(url + "api/v1/events", timeout=60) as stream:
        assert stream.readline().startswith((b"data:", b"retry:", b":"))
        assert stopped(process, signal.SIGINT) == ""
        while stream.readline():  # to its end, which is none of a connection that was cut
            pass


def test_a_missing_logdir_is_reported_and_read_once_it_exists(tmp_path: Path) -> None:
    logdir = tmp_path / "later"
    process, url = started("--logdir", str(logdir), "--port", "0")
    try:
        wait_until(lambda: "missing_logdir" in problem_kinds(url))
        from headrace.formats.event_file import EventFileWriter
        from headrace.formats.proto.event_pb2 import Event

        with EventFileWriter(logdir / "run") as writer:
            event = Event(wall_time=1.0, step=3)
            event.summary.value.add(tag="loss", simple_value=0.5)
            writer.write(event)
        wait_until(lambda: [tag["name"] for tag in api(url, "tags")["tags"]] == ["loss"])
        assert problem_kinds(url) == []
    finally:
        output = stopped(process)
    assert f"WARNING: the folder {logdir} does not exist" in output


def api(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}api/v1/{path}", timeout=60) as reply:
        return json.load(reply)


def problem_kinds(url: str) -> list[str]:
    return [problem["kind"] for problem in api(url, "problems")["problems"]]


def test_without_a_token_it_listens_only_on_loopback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--logdir", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "--token" in capsys.readouterr().err


def test_a_token_is_generated_and_required(tmp_path: Path) -> None:
    process, url = started("--logdir", str(tmp_path), "--port", "0", "--token")
    try:
        base, quoted = url.split("?t=")
        token = unquote(quoted)
        assert len(token) > 30
        with pytest.raises(HTTPError) as raised:
            urllib.request.urlopen(base + "api/v1/meta", timeout=60)
        with raised.value:
            assert raised.value.code == 401
        request = urllib.request.Request(
            base + "api/v1/meta", headers={"Cookie": f"{cookie_name(token)}={token}"}
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            assert reply.status == 200
    finally:
        stopped(process)


def test_a_port_that_is_taken_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["--logdir", str(tmp_path), "--port", str(port)]) == 1
    output = capsys.readouterr().err
    assert output == f"headrace-board: cannot listen on 127.0.0.1 at port {port}: {IN_USE}\n"


def test_ports_that_are_all_taken_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(cli, "_DEFAULT_PORT", taken.getsockname()[1])
        monkeypatch.setattr(cli, "_PORTS_TRIED", 1)
        assert main(["--logdir", str(tmp_path)]) == 1
        assert f"at port {taken.getsockname()[1]}: {IN_USE}" in capsys.readouterr().err
    listened = []

    def all_taken(host: str, ports: range) -> socket.socket:
        listened.append(list(ports))
        raise OSError(errno.EADDRINUSE, IN_USE)

    monkeypatch.undo()
    monkeypatch.setattr(cli, "listening_socket", all_taken)
    assert main(["--logdir", str(tmp_path)]) == 1
    assert listened == [list(range(6006, 6026))]
    assert f"127.0.0.1 at any port from 6006 to 6025: {IN_USE}" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["70000", "-1", "http"])
def test_an_invalid_port_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], port: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--logdir", str(tmp_path), f"--port={port}"])
    assert ended.value.code == 2
    assert f"{port} is not a port: use a number from 0 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["no such host", "a" * 70, "1.2.3.4.5"])
def test_an_invalid_host_is_rejected_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], host: str
) -> None:
    assert main(["--logdir", str(tmp_path), "--host", host, "--port", "0", "--token"]) == 1
    output = capsys.readouterr().err
    assert output.startswith(f"headrace-board: cannot listen on {host} at port 0: ")
    assert output.count("\n") == 1


def test_a_file_is_not_a_logdir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events.out.tfevents.1.host"
    file.touch()
    assert main(["--logdir", str(file), "--port", "0"]) == 2
    assert "is a file: give its folder" in capsys.readouterr().err


def test_a_package_without_its_front_end_fails_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unbuilt(*_: object, **__: object) -> None:
        raise FrontendMissingError("headrace.board has no front end")

    monkeypatch.setattr("headrace.board.app.create_app", unbuilt)
    assert main(["--logdir", str(tmp_path), "--port", "0"]) == 1
    assert capsys.readouterr().err == "headrace-board: headrace.board has no front end\n"


@pytest.mark.parametrize(
    "host, shown", [("127.0.0.2", "127.0.0.2"), ("::1", "[::1]"), ("127.0.0.1", "localhost")]
)
def test_the_address_that_is_printed_is_that_of_the_board(
    tmp_path: Path, host: str, shown: str
) -> None:
    process, url = started("--logdir", str(tmp_path), "--port", "0", "--host", host)
    try:
        assert url.startswith(f"http://{shown}:")
        with urllib.request.urlopen(url + "api/v1/meta", timeout=60) as reply:
            assert reply.status == 200
    finally:
        stopped(process)


def test_a_board_on_all_addresses_accepts_only_the_allowed_names(tmp_path: Path) -> None:
    process, url = started(
        "--logdir", str(tmp_path), "--port", "0", "--host", "0.0.0.0", "--token", "a b",
        "--allow-host", "board.example",
    )  # fmt: skip
    try:
        base, query = url.split("?")
        assert query == "t=a%20b"
        assert status(f"{base}api/v1/meta?{query}", "board.example") == 200
        assert status(f"{base}api/v1/meta?{query}", "other.example") == 421
        assert status(f"{base}api/v1/meta?t=a", "board.example") == 401
    finally:
        stopped(process)


def status(url: str, host: str) -> int:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers={"Host": host}), timeout=60
        ) as reply:
            return int(reply.status)
    except HTTPError as error:
        with error:
            return error.code


def test_a_body_that_is_too_large_is_not_even_received(tmp_path: Path) -> None:
    process, url = started("--logdir", str(tmp_path), "--port", "0")
    try:
        port = int(url.rsplit(":", 1)[1].strip("/"))
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(
                f"POST /api/v1/graphs/upload HTTP/1.1\r\nHost: localhost:{port}\r\n"
                "Content-Type: application/octet-stream\r\nX-Board: 1\r\n"
                f"Content-Length: {(256 << 20) + 1}\r\n\r\n".encode()
            )
            # Nothing of the body was sent: a reply means that the server does not wait for it.
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
    finally:
        stopped(process)


def test_boards_beside_each_other_keep_their_cookies(tmp_path: Path) -> None:
    jar: dict[str, str] = {}
    apps = [create_app(tmp_path, follow=False, access=Access(token=t)) for t in ("a", "b;é ü")]
    for app, token in zip(apps, ("a", "b;é ü")):
        first = app.test_client().get("/", query_string={"t": token})
        assert first.status_code == 303
        name, _, rest = first.headers["Set-Cookie"].partition("=")
        jar[name] = rest.partition(";")[0]
    header = "; ".join(f"{name}={value}" for name, value in jar.items())
    for app in apps:
        client = app.test_client(use_cookies=False)
        assert client.get("/api/v1/meta", headers={"Cookie": header}).status_code == 200
        assert client.get("/api/v1/meta").status_code == 401
