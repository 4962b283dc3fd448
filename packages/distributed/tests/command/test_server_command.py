"""The command headrace-server."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from headrace.distributed.command import server
from headrace.formats import services


def test_help_needs_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headrace.distributed.command.server", "--help"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for option in ("--job", "--task", "--cluster", "--transport", "--bind", "--token-file",
                   "--tls-cert", "--tls-key", "--tls-ca", "--tls-name"):  # fmt: skip
        assert option in done.stdout


def test_the_package_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = services._entry_points

    def without_runtime(group: str) -> Any:
        return () if group == services.RUNTIMES else found(group)

    monkeypatch.setattr(services, "_entry_points", without_runtime)
    assert server.main(["--job", "ps", "--cluster", "ps=127.0.0.1:0"]) == 1
    assert "install headrace-runtime" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--job", "ps", "--cluster", "ps"], "no '='"),
        (["--job", "worker", "--cluster", "ps=127.0.0.1:0"], "no task worker:0"),
        (["--job", "ps", "--task", "1", "--cluster", "ps=127.0.0.1:0"], "no task ps:1"),
        (["--job", "ps", "--cluster", "ps=10.0.0.1:2222"], "HEADRACE_CLUSTER_TOKEN"),
        (["--job", "ps", "--cluster", "ps=127.0.0.1:0", "--token-file", "/nowhere"], "/nowhere"),
        (["--job", "ps", "--cluster", "ps=127.0.0.1:0", "--tls-cert", "/nowhere"], "TLS_KEY"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], why: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(server.os, "environ", {})
    assert server.main(arguments) == 1
    err = capsys.readouterr().err
    assert why in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["--job", "ps"], ["--transport", "rdma"]])
def test_missing_and_unknown_options(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        server.main(arguments)
    assert caught.value.code == 2
    assert re.search("required|invalid choice", capsys.readouterr().err)
