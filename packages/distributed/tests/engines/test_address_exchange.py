"""Processes that share a folder learn each other's addresses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace.distributed.engines import resolve
from headrace.distributed.engines.resolvers.address_exchange import (
    ended_ranks,
    exchange_addresses,
    mark_ended,
)
from headrace.distributed.engines.resolvers.port_reservation import reserving_socket
from headrace.formats.errors import AlreadyExistsError, DeadlineExceededError


def test_all_ranks_see_the_same_addresses(tmp_path: Path) -> None:
    found: dict[int, list[str]] = {}

    def rank(number: int) -> None:
        found[number] = exchange_addresses(tmp_path / "new", number, 3, "127.0.0.1")

    threads = [threading.Thread(target=rank, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 3


def test_missing_ranks_are_named(tmp_path: Path) -> None:
    with pytest.raises(DeadlineExceededError, match="addresses of the ranks 1, 2 of 3"):
        exchange_addresses(tmp_path, 0, 3, "127.0.0.1", timeout_s=0.1)


def test_folder_of_an_earlier_run_is_refused(tmp_path: Path) -> None:
    exchange_addresses(tmp_path, 0, 1, "127.0.0.1")
    with pytest.raises(AlreadyExistsError, match="give each run its own"):
        exchange_addresses(tmp_path, 0, 1, "127.0.0.1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["address-0"]


def test_ends_are_marked(tmp_path: Path) -> None:
    assert ended_ranks(tmp_path) == {}
    mark_ended(tmp_path, 2, 0)
    mark_ended(tmp_path, 0, 137)
    assert ended_ranks(tmp_path) == {0: 137, 2: 0}


def test_resolver_of_mpi_exchanges_addresses(tmp_path: Path) -> None:
    environ = {
        "PMI_RANK": "0",
        "PMI_SIZE": "1",
        "HEADRACE_RENDEZVOUS": str(tmp_path),
        "HEADRACE_HOST": "node7",
    }
    found = resolve(environ=environ)
    assert found.engine == "mpi"
    assert resolve(environ=environ) == found
    assert found.cluster_def.job[0].tasks[0].startswith("node7:")


def test_reserved_port_admits_a_server_that_names_it_and_nothing_else() -> None:
    with reserving_socket("127.0.0.1") as reserving:
        port = reserving.getsockname()[1]
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))  # without SO_REUSEADDR
        for _ in range(2):  # a restarted server as well
            with socket.create_server(("127.0.0.1", port)) as server:
                with socket.create_connection(("127.0.0.1", port)):
                    server.accept()[0].close()
                with socket.socket() as second, pytest.raises(OSError, match="in use"):
                    second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    second.bind(("127.0.0.1", port))
                    second.listen()


def test_reservation_outlives_exec() -> None:
    program = (
        "import os, sys\n"
        "from headrace.distributed.engines.resolvers.port_reservation import reserve_port\n"
        "port = reserve_port('127.0.0.1')\n"
        "os.execv(sys.executable, [sys.executable, '-c',"
        " 'import sys; print(sys.argv[1], flush=True); sys.stdin.read()', str(port)])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert child.stdin is not None and child.stdout is not None
    try:
        port = int(child.stdout.readline())
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
    finally:
        child.stdin.close()
        child.stdout.close()
        assert child.wait(30) == 0
