"""The output of tasks appears line by line after their names."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.console import Console, describe_states

PS, WORKER = Task("ps", 0), Task("worker", 10)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_printed_whole_with_names_of_one_width(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console([PS, WORKER], str(tmp_path / "logs"), stdout=out, stderr=err)
    console.output(WORKER, "stdout", b"one\ntw")
    console.output(PS, "stdout", b"serving\n")
    console.output(WORKER, "stdout", b"o\n\xff\n")
    console.output(PS, "stderr", b"no end")
    console.report("hello")
    console.output(PS, "stderr", b"")
    console.output(WORKER, "stdout", b"")
    console.close()
    assert out.getvalue() == (
        "worker:10 | one\nps:0      | serving\nworker:10 | two\nworker:10 | \ufffd\n"
    )
    assert err.getvalue() == "headrace-launch: hello\nps:0      | no end\n"
    assert (tmp_path / "logs" / "worker-10.log").read_bytes() == b"one\ntwo\n\xff\n"
    assert (tmp_path / "logs" / "ps-0.log").read_bytes() == b"serving\nno end"


def test_of_a_progress_bar_the_last_state_is_printed() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console([WORKER], stdout=out, stderr=err)
    console.output(WORKER, "stderr", b"\r 10%\r 50%")
    console.output(WORKER, "stderr", b"\r100%\r\ndone\r\n")
    assert err.getvalue() == "worker:10 | 100%\nworker:10 | done\n"


def test_line_without_end_does_not_fill_memory() -> None:
    out = io.StringIO()
    console = Console([WORKER], stdout=out, stderr=io.StringIO())
    for _ in range(3 << 4):
        console.output(WORKER, "stdout", b"x" * (1 << 16))
    assert len(out.getvalue()) > 2 << 20


def test_terminal_gets_colours_and_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    out, err = Terminal(), Terminal()
    console = Console([PS, WORKER], stdout=out, stderr=err)
    console.show({PS: "running", WORKER: "ended"}, {PS: 0, WORKER: 1})
    console.output(WORKER, "stdout", b"text\n")
    console.refresh()
    console.close()
    assert "\x1b[33mworker:10 | \x1b[0mtext\n" in out.getvalue()
    assert "1/1 ended" in err.getvalue()
    assert "ps:0 running, worker:10 ended (1 restart)" in err.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console([WORKER], stdout=out, stderr=io.StringIO())
    console.output(WORKER, "stdout", b"plain\n")
    assert "\nworker:10 | plain\n" in out.getvalue()


def test_states_of_a_large_job_are_summarised() -> None:
    tasks = [Task("worker", i) for i in range(100)]
    states = {task: "running" for task in tasks} | {tasks[7]: "waiting"}
    restarts = dict.fromkeys(tasks, 0) | {tasks[7]: 2}
    assert describe_states(states, restarts) == "99 running, worker:7 waiting (2 restarts)"
