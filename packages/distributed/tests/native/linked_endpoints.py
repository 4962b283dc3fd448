"""Endpoints of one process with links of a chosen plane between them."""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.distributed.native.endpoint import Endpoint, Exchange, Stream
from headrace.formats import errors

PLANES = ("local", "shm", "uds", "tcp", "stream")
SESSION = 5
LATE_S = 60.0  # what a busy machine may take for anything
# Sanitizers, which are loaded before the C library, keep what is freed.
MEASURES_MEMORY = "LD_PRELOAD" not in os.environ

_steps = itertools.count(1)


def sockets(plane: str) -> tuple[socket.socket, socket.socket]:
    """Returns a connected pair of sockets."""
    if plane != "tcp":
        return socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    return one, other


def connect(a: Endpoint, b: Endpoint, plane: str) -> list[threading.Thread]:
    """Links two endpoints; returns the threads that carry its bytes, which end with the link."""
    if plane == "local":
        assert a.add_local(b)
        return []
    if plane == "stream":
        here, there = a.add_stream(b.incarnation, b.name), b.add_stream(a.incarnation, a.name)
        carriers = [
            threading.Thread(target=carry, args=(one, other))
            for one, other in ((here, there), (there, here))
        ]
        for thread in carriers:
            thread.start()
        return carriers
    one, other = sockets(plane)
    assert a.add_socket(one.detach(), b.incarnation, b.name, plane == "shm")
    assert b.add_socket(other.detach(), a.incarnation, a.name, plane == "shm")
    return []


def carry(source: Stream, sink: Stream) -> None:
    """Carries the bytes of one direction until the link ends."""
    try:
        while True:
            data = source.next(0.5)
            if data:
                sink.feed(data)
    except errors.UnavailableError:
        sink.close("the connection was closed by the peer")


@contextmanager
def linked(plane: str, **options: Any) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Two endpoints with a link between them; options are those of Endpoint."""
    a = Endpoint("/job:a/replica:0/task:0", 11, **options)
    b = Endpoint("/job:b/replica:0/task:0", 22, **options)
    carriers = connect(a, b, plane)
    try:
        yield a, b
    finally:
        a.close()
        b.close()
        for thread in carriers:
            thread.join(LATE_S)
            assert not thread.is_alive()


def exchanges(
    a: Endpoint, b: Endpoint, edges: Iterable[int] = range(4)
) -> tuple[Exchange, Exchange]:
    """A new step of two endpoints, each of which sends every edge to the other."""
    step, edges = next(_steps), list(edges)
    one, other = (
        here.open_exchange(
            SESSION,
            step,
            [(e, there.incarnation) for e in edges],
            [(there.incarnation, there.name)],
        )
        for here, there in ((a, b), (b, a))
    )
    return one, other
