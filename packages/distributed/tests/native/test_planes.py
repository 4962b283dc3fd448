"""Tensors arrive unchanged on every plane: by reference, through shared memory, UNIX sockets, TCP,
and streams of others.

Modules: native/endpoint, native/exchange, native/arrays.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from linked_endpoints import LATE_S, PLANES, SESSION, connect, exchanges, linked

from headrace.distributed.native.endpoint import Endpoint, Exchange
from headrace.formats import errors
from headrace.formats.dtypes import as_dtype

STRING, RESOURCE, VARIANT = 7, 20, 21
NUMBERS = tuple(n for n in range(1, 26) if n not in (STRING, RESOURCE, VARIANT))
FLOAT = 1
# Small values are copied into the frame, large ones are written from where they are, and from
# 64 KiB on they pass through shared memory where there is some.
BORDERS = [b + d for b in (0, 16384, 65536, 1 << 20) for d in (-1, 0, 1) if b + d >= 0]


@pytest.fixture(params=PLANES)
def plane(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pair(plane: str) -> Iterator[tuple[Endpoint, Endpoint]]:
    with linked(plane) as pair:
        yield pair


def random_array(dtype: int, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Any bits: also what no arithmetic gives."""
    numpy_dtype = np.dtype(as_dtype(dtype).as_numpy_dtype)
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape)) * numpy_dtype.itemsize
    if numpy_dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    return np.frombuffer(rng.bytes(count), numpy_dtype).reshape(shape)


def passes(there: Exchange, here: Exchange, array: Any, dtype: int, **key: Any) -> None:
    there.send(0, array, dtype, **key)
    got = here.recv(0, LATE_S, **key)
    assert np.shape(got) == np.shape(array)
    assert np.asarray(got).dtype == np.asarray(array).dtype
    assert np.asarray(got).tobytes() == np.asarray(array).tobytes()


def test_every_dtype(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    for dtype in NUMBERS:
        for shape in ((), (3,), (0,), (100, 700)):
            passes(a, b, random_array(dtype, shape), dtype)


def test_every_rank(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    for rank in range(9):
        for shape in ((2,) * rank, (1,) * rank, (3,) * (rank - 1) + (0,) * min(rank, 1)):
            passes(a, b, random_array(FLOAT, shape, rank), FLOAT)
    with pytest.raises(errors.UnimplementedError, match="rank 9"):
        a.send(0, np.zeros((1,) * 9, np.float32), FLOAT)


def test_sizes_around_the_borders_between_ways_to_send(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    for size in BORDERS:
        for one, other in ((a, b), (b, a)):
            passes(one, other, random_array(4, (size,), size), 4)


def test_strings(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    million = bytes(range(256)) * 4096
    for strings in (
        [b"", b"a", b"\0", b"a\0b\0", million, b""],
        [[b"x" * n for n in range(200)] for _ in range(100)],
        [],
        [[], []],
        b"a scalar\0",
        "text \N{SNOWMAN}",
    ):
        sent = np.array(strings, object)
        a.send(0, sent, STRING)
        got = b.recv(0, LATE_S)
        want = np.array([s.encode() if isinstance(s, str) else s for s in sent.ravel()], object)
        assert np.shape(got) == sent.shape
        assert np.asarray(got, object).ravel().tolist() == want.tolist()
    with pytest.raises(errors.InvalidArgumentError, match="1.5 in a string tensor"):
        a.send(0, np.array([b"x", 1.5], object), STRING)
    passes(a, b, np.float32([1.0]), FLOAT)  # nothing of it was sent


def test_values_of_another_dtype_are_rejected(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    for array in (np.zeros(2, np.int32), np.zeros(2, ">f4"), np.zeros(2), np.array([None, 1])):
        with pytest.raises(errors.InvalidArgumentError, match="where float32 is expected"):
            a.send(0, array, FLOAT)
    for dtype in (0, RESOURCE, VARIANT, 26, 101, -1):
        with pytest.raises(errors.InvalidArgumentError, match=f"DataType {dtype} cannot be sent"):
            a.send(0, np.zeros(2, np.float32), dtype)
    with pytest.raises(errors.InternalError, match="edge 77"):
        a.send(77, np.zeros(2, np.float32), FLOAT)
    passes(a, b, np.array([1, -2], np.int8), 6)
    a.send(0, np.array([1, -2], np.int8), 11)  # the integers of a quantized dtype
    assert b.recv(0, LATE_S).dtype == np.dtype(as_dtype(11).as_numpy_dtype)


def test_arrays_that_are_not_contiguous(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    whole = np.arange(90_000, dtype=np.float32).reshape(300, 300)
    for array in (whole.T, whole[::-1, ::2], whole[:0], np.broadcast_to(whole[:1], (300, 300))):
        passes(a, b, array, FLOAT)


def test_what_arrives_is_the_receivers_own(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    for size in (10, 10_000, 100_000):
        array = np.full(size, 1.0, np.float32)
        a.send(0, array, FLOAT)
        array[:] = 2.0
        got = b.recv(0, LATE_S)
        assert (got == 1.0).all()
        got[:] = 3.0
        a.send(0, array, FLOAT)
        assert (b.recv(0, LATE_S) == 2.0).all()
        assert (got == 3.0).all()


def test_dead_values(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    a.send(0, None, FLOAT, dead=True)
    assert b.recv(0, LATE_S) is None
    passes(a, b, np.float32(1.0), FLOAT)


def test_keys_are_met_in_any_order(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    keys = [
        (edge, frame, iteration)
        for edge in (0, 3)
        for frame in (0, 1, (1 << 64) - 1)
        for iteration in (0, 1, -1, 1 << 62)
    ]
    rng = np.random.default_rng(1)
    got: dict[Any, Any] = {}

    def receive(some: list[Any]) -> None:
        for key in some:
            got[key] = b.recv(key[0], LATE_S, key[1], key[2])

    orders = [[keys[i] for i in rng.permutation(len(keys))] for _ in range(2)]
    threads = [threading.Thread(target=receive, args=([key],)) for key in orders[0][::2]]
    for thread in threads:  # half of them wait before the values are sent
        thread.start()
    for edge, frame, iteration in orders[1]:
        a.send(edge, np.int64(hash((edge, frame, iteration))), 9, frame, iteration)
    receive(orders[0][1::2])
    for thread in threads:
        thread.join(LATE_S)
    assert got == {key: hash(key) for key in keys}


def test_steps_do_not_meet(pair: tuple[Endpoint, Endpoint]) -> None:
    steps = [exchanges(*pair) for _ in range(5)]
    for i, (a, _) in enumerate(steps):
        a.send(0, np.int64(i), 9)
    for i, (_, b) in reversed(list(enumerate(steps))):
        assert b.recv(0, LATE_S) == i


def test_values_may_come_before_the_step_is_known(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = pair
    sender = a.open_exchange(SESSION, 1 << 40, [(0, 22)], [(22, b.name)])
    for size in (1, 100_000):
        sender.send(0, np.full(size, size, np.float32), FLOAT, iteration=size)
    receiver = b.open_exchange(SESSION, 1 << 40, [], [(11, a.name)])
    for size in (1, 100_000):
        assert receiver.recv(0, LATE_S, 0, size).tolist() == [size] * size


def test_two_hundred_megabytes(pair: tuple[Endpoint, Endpoint]) -> None:
    a, b = exchanges(*pair)
    array = np.arange(50_000_000, dtype=np.int32)
    a.send(0, array, 3)
    assert np.array_equal(b.recv(0, LATE_S), array)


def test_many_small_values_of_several_threads_in_both_directions(
    pair: tuple[Endpoint, Endpoint],
) -> None:
    a, b = exchanges(*pair)
    failed = []

    def send(exchange: Exchange, edge: int) -> None:
        for i in range(250):
            exchange.send(edge, np.full(i % 70, i, np.int64), 9, 0, i)

    def receive(exchange: Exchange, edge: int) -> None:
        for i in range(250):
            if exchange.recv(edge, LATE_S, 0, i).tolist() != [i] * (i % 70):
                failed.append((edge, i))

    threads = [
        threading.Thread(target=target, args=(exchange, edge))
        for target in (send, receive)
        for exchange in (a, b)
        for edge in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LATE_S)
        assert not thread.is_alive()
    assert not failed


def test_two_links_between_a_pair(plane: str) -> None:
    with linked(plane) as (a, b):
        first = exchanges(a, b)
        carriers = connect(b, a, plane)
        second = exchanges(a, b)
        for one, other in (first, second):
            for size in (1, 30_000, 300_000):
                passes(one, other, random_array(4, (size,)), 4)
                passes(other, one, random_array(4, (size,)), 4)
        assert [link["peer"] for link in a.links()].count(22) == 2
        a.close_link(22, "enough")
    for thread in carriers:
        thread.join(LATE_S)


def test_counts_of_links(pair: tuple[Endpoint, Endpoint], plane: str) -> None:
    a, b = exchanges(*pair)
    passes(a, b, np.zeros(1_000_000, np.float32), FLOAT)
    (sent,) = [link for link in pair[0].links() if link["peer"] == 22]
    (received,) = [link for link in pair[1].links() if link["peer"] == 11]
    assert sent["plane"] == received["plane"] == plane
    assert sent["name"] == pair[1].name
    assert sent["frames_sent"] >= 1 and received["frames_received"] >= 1
    assert (sent["shared_bytes_sent"] == 4_000_000) == (plane == "shm")
    if plane not in ("local", "shm"):
        assert sent["bytes_sent"] > 4_000_000 and received["bytes_received"] > 4_000_000
