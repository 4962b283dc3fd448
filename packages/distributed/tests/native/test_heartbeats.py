"""Links end when the other side is silent, and only then.

Modules: native/endpoint.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frames import PING
from linked_endpoints import LATE_S, exchanges, linked, sockets

from headrace.distributed.native.endpoint import Endpoint
from headrace.formats import errors

SHORT: dict[str, Any] = {"heartbeat_s": 0.05, "dead_after_s": 1.5}


@pytest.mark.parametrize("plane", ["shm", "uds", "tcp", "stream"])
def test_idle_links_live(plane: str) -> None:
    with linked(plane, **SHORT) as (a, b):
        one, other = exchanges(a, b)
        time.sleep(2.5)
        one.send(0, np.float32(1.0), 1)
        assert other.recv(0, LATE_S) == 1.0
        assert a.next_event(0.0) is None and b.next_event(0.0) is None


def test_a_peer_that_answers_nothing_is_lost() -> None:
    a = Endpoint("/job:a", 11, **SHORT)
    ours, theirs = sockets("tcp")
    a.add_socket(ours.detach(), 22, "/job:b/task:0", False)
    exchange = a.open_exchange(1, 1, [(0, 22)], [(22, "/job:b/task:0")])
    with theirs:  # it is connected, and reads nothing
        with pytest.raises(errors.UnavailableError, match="/job:b/task:0 .* no sign of life for "):
            exchange.recv(0, LATE_S)
        event = a.next_event(LATE_S)
        assert event[:2] == ("lost", 22) and "no sign of life" in event[2]
    a.close()


def test_a_peer_that_does_not_read_is_lost() -> None:
    a = Endpoint("/job:a", 11, heartbeat_s=0.05, dead_after_s=3.0)
    ours, theirs = sockets("uds")
    a.add_socket(ours.detach(), 22, "/job:b", False)
    exchange = a.open_exchange(1, 1, [(0, 22)], [(22, "/job:b")])
    with theirs:
        exchange.send(0, np.zeros(50_000_000, np.float32), 1)  # returns at once
        event = a.next_event(LATE_S)
        assert event[:2] == ("lost", 22) and "no sign of life" in event[2]
    a.close()


def test_a_large_tensor_on_a_slow_link_is_no_silence() -> None:
    # The carriers take seconds for what the sender has sent in one piece.
    a = Endpoint("/job:a", 11, **SHORT)
    b = Endpoint("/job:b", 22, **SHORT)
    here, there = a.add_stream(22, "/job:b"), b.add_stream(11, "/job:a")

    def carry(source: Any, sink: Any, pause_s: float) -> None:
        try:
            while True:
                data = source.next(0.1)
                if data:
                    sink.feed(data)
                    time.sleep(pause_s)
        except errors.UnavailableError:
            sink.close("the other side has closed")

    threads = [
        threading.Thread(target=carry, args=args)
        for args in ((here, there, 0.1), (there, here, 0.0))
    ]
    for thread in threads:
        thread.start()
    one, other = exchanges(a, b)
    one.send(0, np.zeros(8_000_000, np.float32), 1)
    assert other.recv(0, LATE_S).shape == (8_000_000,)
    assert a.next_event(0.0) is None and b.next_event(0.0) is None
    a.close()
    b.close()
    for thread in threads:
        thread.join(LATE_S)


CHILD = """
import socket, sys
from headrace.distributed.native.endpoint import Endpoint
b = Endpoint("/job:b", 22, heartbeat_s=0.05, dead_after_s=float(sys.argv[2]))
b.add_socket(int(sys.argv[1]), 11, "/job:a", False)
print("ready", flush=True)
print(b.next_event(300), flush=True)
"""


def child(theirs: socket.socket, dead_after_s: float) -> subprocess.Popen[str]:
    """Starts a process with the other end of a link."""
    with theirs:
        started = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(theirs.fileno()), str(dead_after_s)],
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            text=True,
        )
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    return started


def test_a_stopped_peer_is_lost_and_a_short_stop_is_survived() -> None:
    ours, theirs = sockets("tcp")
    a = Endpoint("/job:a", 11, heartbeat_s=0.05, dead_after_s=3.0)
    a.add_socket(ours.detach(), 22, "/job:b", False)
    with child(theirs, 3.0) as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)
        assert a.next_event(3.5) is None
        process.send_signal(signal.SIGSTOP)
        assert a.next_event(LATE_S)[:2] == ("lost", 22)
        process.send_signal(signal.SIGCONT)
        assert process.stdout is not None
        assert "('lost', 11, " in process.stdout.readline()
    a.close()


def test_a_killed_peer_is_lost_at_once() -> None:
    ours, theirs = sockets("tcp")
    a = Endpoint("/job:a", 11, heartbeat_s=100.0, dead_after_s=1000.0)
    a.add_socket(ours.detach(), 22, "/job:b", False)
    with child(theirs, 1000.0) as process:
        process.kill()
        event = a.next_event(LATE_S)
    assert event[:2] == ("lost", 22)
    a.close()


def test_a_process_that_was_stopped_itself_does_not_blame_its_peers() -> None:
    # The peer speaks only when it is asked, as one whose heartbeat is much longer.
    ours, theirs = sockets("uds")
    with child(theirs, 5.0) as process, ours:
        process.send_signal(signal.SIGSTOP)
        time.sleep(5.5)  # beyond its limit, in which it heard nothing
        process.send_signal(signal.SIGCONT)
        # It is heard again: its first ping comes after half of the limit without an answer.
        ours.settimeout(LATE_S)
        while True:
            frame = ours.recv(64, socket.MSG_WAITALL)
            assert len(frame) == 64, "the link was closed"
            if frame[4] == PING:
                break
        ours.shutdown(socket.SHUT_RDWR)
        assert process.stdout is not None and "'lost'" in process.stdout.readline()


def test_an_idle_endpoint_uses_no_time() -> None:
    threads = Path("/proc/self/task")
    others = {task.name for task in threads.iterdir()}  # of other tests, and the main thread
    with linked("tcp") as (a, _):
        exchanges(a, _)

        def switches() -> int:
            return sum(
                int(line.split()[1])
                for task in threads.iterdir()
                if task.name not in others
                for line in (task / "status").read_text().splitlines()
                if line.startswith("voluntary_ctxt_switches")
            )

        before = switches()
        time.sleep(3.0)
        # Two threads of two endpoints wake about once a second.
        assert switches() - before < 60
