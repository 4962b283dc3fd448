"""What waits on a link ends with it; what a link held is given back.

Modules: native/endpoint, native/exchange.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from linked_endpoints import (
    LATE_S,
    MEASURES_MEMORY,
    PLANES,
    SESSION,
    connect,
    exchanges,
    linked,
    sockets,
)

from headrace.distributed.native.endpoint import Endpoint, Exchange, Running, Step, Stream
from headrace.formats import errors

FLOAT = 1
LARGE = 1_000_000


@pytest.fixture(params=PLANES)
def plane(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pair(plane: str) -> Iterator[tuple[Endpoint, Endpoint]]:
    with linked(plane) as pair:
        yield pair


class Waiting:
    """A thread that waits for a value."""

    def __init__(self, exchange: Exchange, edge: int = 0) -> None:
        self.error: Any = None
        self.value: Any = None
        self._thread = threading.Thread(target=self._wait, args=(exchange, edge))
        self._thread.start()

    def _wait(self, exchange: Exchange, edge: int) -> None:
        try:
            self.value = exchange.recv(edge, LATE_S)
        except errors.OpError as error:
            self.error = error

    def end(self) -> Any:
        self._thread.join(LATE_S)
        assert not self._thread.is_alive()
        return self.error


def until(condition: Callable[[], bool]) -> None:
    """Waits for a condition."""
    end = time.monotonic() + LATE_S
    while not condition():
        assert time.monotonic() < end, "the condition has not come"
        time.sleep(0.005)


def blocks() -> int:
    """The blocks of shared memory that are mapped here."""
    return Path("/proc/self/maps").read_text().count("memfd:headrace_block")


def test_abort_ends_receives_now_and_later(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    waiting = Waiting(b)
    b.abort("no more")
    error = waiting.end()
    assert isinstance(error, errors.CancelledError) and "no more" in str(error)
    a.send(0, np.float32(1.0), FLOAT)
    with pytest.raises(errors.CancelledError, match="no more"):
        b.recv(0, LATE_S)


def test_closing_an_exchange_ends_what_waits(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    waiting = Waiting(b)
    b.close()
    assert isinstance(waiting.end(), errors.CancelledError)
    b.close()
    a.send(0, np.zeros(LARGE, np.float32), FLOAT)  # late: it is dropped
    a.close()
    until(lambda: pair[0].n_steps == pair[1].n_steps == pair[1].step_counts()["waiting"] == 0)


def test_a_receive_that_takes_too_long_leaves_the_value(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    for timeout_s in (0.0, 0.01, -1.0, float("nan")):
        with pytest.raises(errors.DeadlineExceededError, match="edge 0"):
            b.recv(0, timeout_s)
    a.send(0, np.float32(4.0), FLOAT)
    assert b.recv(0, LATE_S) == 4.0


def test_a_lost_link_ends_what_waits_with_its_task_and_reason(
    pair: tuple[Endpoint, Endpoint], plane: str
) -> None:
    steps = [exchanges(*pair) for _ in range(3)]
    waiting = [Waiting(b) for _, b in steps] + [Waiting(a) for a, _ in steps]
    pair[0].close_link(22, "it smells")
    for i, one in enumerate(waiting):
        error = one.end()
        assert isinstance(error, errors.UnavailableError)
        lost = "/job:a/replica:0/task:0" if i < 3 else "/job:b/replica:0/task:0"
        assert str(error).startswith(f"{lost} is not available: ")
        if i >= 3:
            assert "it smells" in str(error)
    assert not pair[0].has_link(22)
    with pytest.raises(errors.UnavailableError, match="/job:b/replica:0/task:0"):
        steps[0][0].send(0, np.float32(1.0), FLOAT)
    with pytest.raises(
        errors.UnavailableError, match="^/job:b.* is not available: .* has no link to it"
    ):
        exchanges(*pair)
    event = pair[0].next_event(LATE_S)
    assert event == ("lost", 22, "it smells")
    assert pair[1].next_event(LATE_S)[:2] == ("lost", 11)
    until(lambda: not pair[1].has_link(11))
    # A new link serves new steps.
    for thread in connect(*pair, "uds" if plane != "local" else "local"):
        thread.join()
    a, b = exchanges(*pair)
    a.send(0, np.zeros(LARGE, np.float32), FLOAT)
    assert b.recv(0, LATE_S).shape == (LARGE,)


def test_a_closed_endpoint_ends_what_waits_and_says_so_to_its_peers(plane: str) -> None:
    with linked(plane) as (a, b):
        step = exchanges(a, b)
        waiting = [Waiting(exchange) for exchange in step]
        a.close()
        for one in waiting:
            error = one.end()
            assert isinstance(error, errors.UnavailableError)
        if plane != "local":
            assert "the peer was stopped" in str(waiting[1].error)
        assert a.closed and not b.closed
        a.close()
        assert a.next_event(LATE_S) is None
        with pytest.raises(errors.UnavailableError, match="was stopped"):
            a.open_exchange(SESSION, 1, [], [])
        assert a.add_stream(33, "c") is None
        assert a.add_local(b) is None and b.add_local(a) is None
        ours, theirs = sockets("uds")
        with theirs:
            assert a.add_socket(ours.detach(), 33, "c", False) is None
            assert theirs.recv(1) == b""  # the descriptor was closed all the same


def test_closing_while_threads_send_and_receive(plane: str) -> None:
    for round_number in range(10):
        with linked(plane) as (a, b):
            steps = [exchanges(a, b) for _ in range(2)]
            sizes = (1, 20_000, LARGE)

            def work(one: Exchange, other: Exchange, sizes: Any = sizes) -> None:
                try:
                    for i in range(1000):
                        one.send(0, np.zeros(sizes[i % 3], np.float32), FLOAT, 0, i)
                        other.recv(0, LATE_S, 0, i)
                except errors.UnavailableError:
                    pass

            threads = [threading.Thread(target=work, args=step) for step in steps]
            for thread in threads:
                thread.start()
            until(lambda: sum(link["frames_sent"] for link in a.links()) > 5 or a.closed)
            (a, b)[round_number % 2].close()
            for thread in threads:
                thread.join(LATE_S)
                assert not thread.is_alive()


def test_closing_from_several_threads(plane: str) -> None:
    for _ in range(5):
        with linked(plane) as (a, b):
            waiting = [Waiting(exchange) for exchange in exchanges(a, b)]
            threads = [threading.Thread(target=e.close) for e in (a, b, a, b)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(LATE_S)
            for one in waiting:
                assert isinstance(one.end(), errors.UnavailableError)


def test_arrays_outlive_their_endpoint(plane: str) -> None:
    for size in (10, 10_000, LARGE):
        with linked(plane) as (a, b):
            one, other = exchanges(a, b)
            one.send(0, np.full(size, 7.0, np.float32), FLOAT)
            got = other.recv(0, LATE_S)
        del a, b, one, other
        gc.collect()
        assert (got == 7.0).all()
        got += 1
        assert got.sum() == size * 8


def test_blocks_of_shared_memory_are_used_again_and_freed() -> None:
    assert blocks() == 0
    with linked("shm") as (a, b):
        one, other = exchanges(a, b)
        for i in range(20):
            one.send(0, np.full(LARGE, i, np.float32), FLOAT, 0, i)
            assert other.recv(0, LATE_S, 0, i)[0] == i
        until(lambda: blocks() == 2)  # one, mapped on both sides
        for i in range(20):  # all at once: as many blocks
            one.send(1, np.full(LARGE, i, np.float32), FLOAT, 0, i)
        for i in range(20):
            assert other.recv(1, LATE_S, 0, i)[0] == i
        assert blocks() <= 42
        # A value that nobody receives keeps its block until its step ends.
        one.send(2, np.zeros(LARGE, np.float32), FLOAT)
        other.close()
        for i in range(10):
            one.send(3, np.zeros(LARGE, np.float32), FLOAT, 0, i)
        again = exchanges(a, b)
        again[0].send(0, np.ones(LARGE, np.float32), FLOAT)
        assert again[1].recv(0, LATE_S).all()
        assert blocks() <= 42
        b.close_link(11, "enough")
        until(lambda: blocks() == 0)


def test_more_than_fits_in_blocks_passes_through_the_socket() -> None:
    with linked("shm") as (a, b):
        one, other = exchanges(a, b)
        for i in range(600):  # more than a link may have blocks
            one.send(0, np.full(20_000, i, np.float32), FLOAT, 0, i)
        for i in range(600):
            assert other.recv(0, LATE_S, 0, i).tolist() == [i] * 20_000
        sent = next(link for link in a.links() if link["peer"] == 22)
        assert 0 < sent["shared_bytes_sent"] < 600 * 80_000 < sent["bytes_sent"] * 2


def resources() -> dict[str, int]:
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "blocks": blocks(),
        "maps": len(Path("/proc/self/maps").read_text().splitlines()),
        "kilobytes": int(status.partition("VmRSS:")[2].split()[0]),
    }


def test_two_hundred_endpoints_leave_nothing_behind(plane: str) -> None:
    def cycle() -> None:
        with linked(plane) as (a, b):
            one, other = exchanges(a, b)
            for size in (1, 20_000, 100_000):
                one.send(0, np.zeros(size, np.float32), FLOAT)
                other.recv(0, LATE_S)
            one.send(1, np.zeros(100_000, np.float32), FLOAT)  # nobody receives it

    for _ in range(20):
        cycle()
    before = resources()
    for _ in range(200):
        cycle()
    until(lambda: resources()["threads"] <= before["threads"])
    after = resources()
    assert after["descriptors"] <= before["descriptors"]
    assert after["blocks"] == 0
    assert after["maps"] <= before["maps"] + 20
    if MEASURES_MEMORY:
        assert after["kilobytes"] <= before["kilobytes"] + 20_000


def test_a_fork_of_the_process_leaves_the_links_alone(plane: str) -> None:
    with linked(plane) as (a, b):
        one, other = exchanges(a, b)
        one.send(0, np.full(LARGE, 3.0, np.float32), FLOAT)
        got = other.recv(0, LATE_S)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                assert a.closed
                for call in (lambda: a.has_link(22), lambda: one.send(0, 1.0, FLOAT)):
                    with pytest.raises(errors.FailedPreconditionError, match="fork"):
                        call()
                a.close()
                del one, other, got, a, b
                gc.collect()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for i in range(10):  # the child has not marked the block as free
            one.send(1, np.full(LARGE, i, np.float32), FLOAT, 0, i)
            assert other.recv(1, LATE_S, 0, i)[0] == i
        assert (got == 3.0).all()


def test_objects_that_no_endpoint_made_are_rejected() -> None:
    for made in (
        lambda: Stream().feed(b""),
        lambda: Step().run([]),
        lambda: Running().finish(),
        lambda: Exchange().recv(0),
        lambda: Endpoint.__new__(Endpoint).links(),
    ):
        with pytest.raises(TypeError):
            made()
    a = Endpoint("/job:a", 11)
    with pytest.raises(TypeError, match="made before"):
        a.__init__("/job:a", 12)  # type: ignore[misc]
    for incarnation in (0, 1 << 63):
        with pytest.raises(errors.InvalidArgumentError, match="incarnation"):
            Endpoint("/job:b", incarnation)
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(errors.InvalidArgumentError, match="above 0"):
            Endpoint("/job:b", 22, heartbeat_s=seconds)
    with pytest.raises(errors.InvalidArgumentError, match="edge 3 leads to 9"):
        a.bind(1, 1, [(3, 9)], [])
    with pytest.raises(errors.InvalidArgumentError, match="itself"):
        a.add_stream(11, "/job:a")
    a.close()


def test_sockets_that_cannot_be_links_are_rejected_and_closed() -> None:
    a = Endpoint("/job:a", 11)
    for plane, peer, shared in (("tcp", 22, True), ("uds", 11, False), ("uds", 0, False)):
        ours, theirs = sockets(plane)
        with theirs, pytest.raises(errors.InvalidArgumentError):
            a.add_socket(ours.detach(), peer, "/job:b", shared)
        assert theirs.fileno() == -1
    with open(__file__, "rb") as file, pytest.raises(errors.InvalidArgumentError, match="no open"):
        a.add_socket(os.dup(file.fileno()), 22, "/job:b", False)
    with pytest.raises(errors.InvalidArgumentError):
        a.add_socket(-1, 22, "/job:b", False)
    until(lambda: not a.has_link(22))
    a.close()


def test_a_stream_that_nobody_holds_ends_its_link() -> None:
    a = Endpoint("/job:a", 11)
    stream = a.add_stream(22, "/job:b")
    assert stream is not None and a.has_link(22)
    assert stream.next(0.0) is None
    del stream
    assert a.next_event(LATE_S) == ("lost", 22, "the stream was abandoned")
    a.close()
