"""The state file: saved documents can be read back, and a crash leaves the old or the new file."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fixtures.panel_client import PanelClient
from hypothesis import given
from hypothesis import strategies as st

from headrace.board import state_file
from headrace.board.state_file import StaleRevisionError, StateFile, StateFileError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "side" / "state.json"


@pytest.fixture
def client(tmp_path: Path, file: Path) -> PanelClient:
    (tmp_path / "logs").mkdir()
    return PanelClient(tmp_path / "logs", state_file=file)


def left_beside(file: Path) -> list[str]:
    return sorted({*os.listdir(file.parent)} - {file.name, f".{file.name}.lock"})


def put(client: PanelClient, name: str, base: object, document: object, status: int = 200) -> dict:
    body = {"base": base, "document": document}
    return client.send(f"/state/{name}", body, status, method="PUT")


def test_what_is_put_is_there_and_in_the_file(client: PanelClient, file: Path) -> None:
    nothing = client.get("/state/notes")
    assert (nothing["revision"], nothing["document"]) == (0, None)
    assert not file.exists(), "reading writes nothing"
    assert put(client, "notes", 0, {"run": "é \u2028 text"})["revision"] == 1
    assert put(client, "notes", 1, [1, None, "x"])["revision"] == 2
    assert put(client, "views", 0, {})["revision"] == 1
    assert client.get("/state/notes")["document"] == [1, None, "x"]
    assert client.get("/state")["documents"] == [
        {"name": "notes", "revision": 2},
        {"name": "views", "revision": 1},
    ]
    assert json.loads(file.read_text())["documents"]["notes"]["revision"] == 2
    assert left_beside(file) == [], "no temporary file is left"
    assert StateFile(file).get("notes").document == [1, None, "x"]


def test_a_change_to_an_old_revision_is_rejected(client: PanelClient) -> None:
    put(client, "notes", 0, "first")
    reply = put(client, "notes", 0, "second", 409)
    assert reply["revision"] == 1 and "its revision is 1, not 0" in reply["error"]
    assert client.get("/state/notes")["document"] == "first"


def test_without_a_state_file_nothing_is_saved(tmp_path: Path) -> None:
    client = PanelClient(tmp_path)
    nothing = client.get("/state")
    assert (nothing["read_only"], nothing["documents"]) == (True, [])
    assert "--state FILE" in put(client, "notes", 0, 1, 403)["error"]
    assert client.get("/state/notes")["revision"] == 0


def test_a_file_that_cannot_be_replaced_is_shown_read_only(
    client: PanelClient, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/meta")["read_only"] is False, "a file that is not there yet can be made"
    put(client, "panels", 0, {"a": {"text": "# Plan", "place": "*above", "order": 0}})
    assert client.get("/meta")["read_only"] is False
    folder = os.path.realpath(file.parent)  # the tests may run as root, who may write everywhere
    monkeypatch.setattr(state_file.os, "access", lambda path, mode: str(path) != folder)
    assert client.get("/meta")["read_only"] is True and client.get("/state")["read_only"] is True
    assert client.get("/state/panels")["document"]["a"]["text"] == "# Plan"


@pytest.mark.parametrize("name", ["..%2fx", "a%2fb", "%00", "x" * 101, "%c3%a9", "a b"])
def test_names_are_words(client: PanelClient, name: str) -> None:
    assert client.client.get(f"/api/v1/state/{name}").status_code == 404


@pytest.mark.parametrize("body", [[], {}, {"base": 0}, {"base": -1, "document": 1},
                                  {"base": "0", "document": 1}, {"base": True, "document": 1},
                                  {"base": float("inf"), "document": 1},
                                  {"base": 0, "document": 1, "name": "x"}])  # fmt: skip
def test_other_bodies_are_rejected(client: PanelClient, body: object) -> None:
    client.send("/state/notes", body, 400, method="PUT")


def test_a_document_nested_too_deep_or_too_large_is_rejected(client: PanelClient) -> None:
    deep: list = []
    for _ in range(60):
        deep = [deep]
    assert "nested deeper" in put(client, "notes", 0, deep, 400)["error"]
    put(client, "notes", 0, "x" * (1 << 20), 413)


def test_a_body_that_nests_without_end_is_rejected(client: PanelClient) -> None:
    got = client.client.put(
        "/api/v1/state/notes",
        data=b'{"base": 0, "document": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        headers={"X-Board": "1", "Content-Type": "application/json"},
    )
    assert got.status_code == 400


@pytest.mark.parametrize(
    "content",
    [b"", b"not json", b"[]", b'{"format": 1}', b'{"format": 1, "documents": {"a": 3}}', b"\xff",
     b'{"format": "x", "documents": {}}', b"[" * 100_000,
     b'{"format": 1, "documents": {"a": {"revision": 1e999, "document": 1}}}',
     b'{"format": 1, "documents": {"a": {"revision": -1, "document": 1}}}'],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_left_as_it_is(
    client: PanelClient, file: Path, content: bytes
) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    assert "is not changed" in put(client, "notes", 0, 1, 503)["error"]
    assert client.get("/state", 503)["error"]
    assert file.read_bytes() == content


def test_a_file_of_a_later_format_is_rejected(client: PanelClient, file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"format": 2, "documents": {}}')
    assert "format 2" in client.get("/state/notes", 503)["error"]


def test_another_process_may_change_the_file(file: Path) -> None:
    ours, theirs = StateFile(file), StateFile(file)
    ours.put("a", 0, "ours")
    assert theirs.put("a", 1, "theirs") == 2
    assert ours.get("a").document == "theirs"
    with pytest.raises(StaleRevisionError):
        ours.put("a", 1, "late")


def test_a_write_that_fails_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = StateFile(file)
    saved.put("a", 0, "old")

    def no_room(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(StateFileError, match="No space left"):
        saved.put("a", 1, "new")
    monkeypatch.undo()
    assert saved.get("a").document == "old" == StateFile(file).get("a").document
    assert left_beside(file) == []


def test_of_many_writers_at_once_each_revision_has_one(file: Path) -> None:
    saved = StateFile(file)
    won = []

    def write(k: int) -> None:
        for _ in range(20):
            base = saved.get("a").revision
            try:
                won.append(saved.put("a", base, k))
            except StaleRevisionError:
                continue

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(1, len(won) + 1)) and saved.get("a").revision == len(won)


COUNTING = """
import sys
from pathlib import Path
from headrace.board.state_file import StateFile, StaleRevisionError

saved = StateFile(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
counted = 0
while counted < 100:
    old = saved.get("count")
    try:
        saved.put("count", old.revision, (old.document or 0) + 1)
        counted += 1
    except StaleRevisionError:
        pass
"""


def test_two_processes_lose_no_change_of_each_other(file: Path) -> None:
    counters = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTING, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for counter in counters:
        assert counter.stdout is not None and counter.stdout.readline() == "ready\n"
    for counter in counters:
        assert counter.stdin is not None
        counter.stdin.write("go\n")
        counter.stdin.flush()
    for counter in counters:
        counter.communicate(timeout=120)
        assert counter.returncode == 0
    saved = StateFile(file).get("count")
    assert (saved.revision, saved.document) == (200, 200)


def test_a_lock_that_is_never_released_is_reported(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = StateFile(file)
    saved.put("a", 0, "old")
    monkeypatch.setattr(state_file, "_LOCK_WAIT_S", 0.0)
    with open(file.parent / f".{file.name}.lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StateFileError, match="keeps the state file locked"):
            saved.put("a", 1, "new")
    assert saved.put("a", 1, "new") == 2


def test_mode_and_link_of_the_file_stay_as_they_are(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "state.json", tmp_path / "link.json"
    real.parent.mkdir()
    link.symlink_to(real)
    StateFile(link).put("a", 0, 1)
    real.chmod(0o664)
    StateFile(link).put("a", 1, 2)
    assert link.is_symlink() and left_beside(real) == []
    assert real.stat().st_mode & 0o777 == 0o664
    assert StateFile(real).get("a").document == 2


DOCUMENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(DOCUMENT)
def test_any_json_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, document) -> None:
    file = tmp_path_factory.mktemp("any") / "state"
    StateFile(file).put("a", 0, document)
    assert StateFile(file).get("a").document == document
