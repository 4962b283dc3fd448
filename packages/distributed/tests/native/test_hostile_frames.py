"""An endpoint survives what an authenticated peer may send by mistake or on purpose.

Modules: native/endpoint.

`python packages/distributed/tests/native/fuzz_frames.py` tries many more.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fuzz_frames
import numpy as np
import pytest
from frame_model import Model
from frames import (
    ABORT,
    BLOCK,
    CALL,
    DROP_BLOCK,
    FEED,
    GIVEN_UP,
    PING,
    PONG,
    RUN,
    SHARED,
    TENSOR,
    Frame,
    RawPeer,
    prefix,
    tensor,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from linked_endpoints import LATE_S, MEASURES_MEMORY

from headrace.distributed.native.endpoint import Endpoint, Exchange
from headrace.formats import errors

FLOAT, UINT8, STRING = 1, 4, 7
SESSION, STEP = 5, 6


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint("/job:a/task:0", 11)
    yield made
    made.close()


def exchange_of(endpoint: Endpoint, step: int = STEP) -> Exchange:
    return endpoint.open_exchange(SESSION, step, [(0, 22)], [(22, "/job:b")])


def value(payload: bytes, flags: int = 0, length: int | None = None, step: int = STEP) -> Frame:
    return Frame(TENSOR, flags, SESSION, step, payload=payload, length=length)


def resident_kilobytes() -> int:
    if not MEASURES_MEMORY:
        return 0
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1 << 62))
def test_frames_with_faults_do_what_the_model_says(seed: int) -> None:
    fuzz_frames.run_case(seed)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 1 << 30))
def test_any_bytes_do_what_the_model_says(data: bytes, seed: int) -> None:
    fuzz_frames.over_a_stream(random.Random(seed), data)


def test_the_model_knows_all_reasons() -> None:
    """The fuzz reaches what it is for."""
    reasons = {Model().read(fuzz_frames.random_bytes(random.Random(seed))) for seed in range(3000)}
    assert len(reasons) >= 14


def test_a_large_count_alone_takes_no_memory(endpoint: Endpoint) -> None:
    peer = RawPeer(endpoint, 22, "/job:b")
    exchange = exchange_of(endpoint)
    before = resident_kilobytes()
    n = 1 << 33
    peer.send(value(prefix(STRING, [n]) + bytes(1000), length=8 + 8 + 8 * n))
    with pytest.raises(errors.DeadlineExceededError):
        exchange.recv(0, 0.3)
    assert resident_kilobytes() - before < 100_000
    peer.close()


def test_a_tensor_without_memory_fails_its_step_and_not_the_link(endpoint: Endpoint) -> None:
    peer = RawPeer(endpoint, 22, "/job:b")
    exchange = exchange_of(endpoint)
    n = 1 << 39
    peer.send(value(prefix(UINT8, [n]), length=8 + 8 + n))
    with pytest.raises(errors.ResourceExhaustedError) as caught:
        exchange.recv(0, LATE_S)
    assert str(caught.value) == (
        f"/job:a/task:0 has no memory for a tensor of {n} bytes from /job:b"
    )
    assert endpoint.has_link(22)
    peer.close()


def test_values_for_steps_that_nobody_orders_are_bounded(endpoint: Endpoint) -> None:
    for flags in (0, FEED):
        peer = RawPeer(endpoint, 22, "/job:b")
        payload = tensor(np.float32(1.0), FLOAT)
        sent = b"".join(value(payload, flags, step=1000 + i).encode() for i in range(16_385))
        try:
            peer.socket.sendall(sent)
        except OSError:
            pass  # the link has ended before all was sent
        event = endpoint.next_event(LATE_S)
        assert event is not None and "may wait for their order" in event[2]
        peer.socket.close()
    counts = endpoint.step_counts()
    assert counts["waiting"] == counts["running"] == 0  # with the link go the values


def test_values_of_one_call_are_bounded(endpoint: Endpoint) -> None:
    peer = RawPeer(endpoint, 22, "/job:b")
    frames = [
        Frame(TENSOR, FEED, SESSION, STEP, edge=i, payload=tensor(np.float32(1.0), FLOAT))
        for i in range(65_537)
    ]
    try:
        peer.send(*frames)
    except OSError:
        pass
    event = endpoint.next_event(LATE_S)
    assert event is not None and "more values for a call than there are feeds" in event[2]
    peer.socket.close()


def test_ends_of_unknown_steps_take_little_memory(endpoint: Endpoint) -> None:
    peer = RawPeer(endpoint, 22, "/job:b")
    before = resident_kilobytes()
    for first in range(0, 200_000, 1000):
        kind = ABORT if first % 2000 else RUN
        peer.send(*(Frame(kind, 0, SESSION, first + i) for i in range(1000)))
        if kind == RUN:
            for _ in range(1000):
                assert peer.receive().extra == 10  # it has no such partition
    peer.send(Frame(PING))
    assert resident_kilobytes() - before < 60_000
    assert endpoint.has_link(22)
    peer.close()


def test_only_the_master_of_a_step_ends_it(endpoint: Endpoint) -> None:
    peer, other = RawPeer(endpoint, 22, "/job:b"), RawPeer(endpoint, 33, "/job:c")
    exchange = exchange_of(endpoint)
    other.send(Frame(ABORT, 0, SESSION, STEP, extra=1))
    other.send(Frame(CALL, 0, 1, 1))
    assert other.receive().extra == 10  # the one before was read
    peer.send(value(tensor(np.float32(2.0), FLOAT)))
    assert exchange.recv(0, LATE_S) == 2.0
    peer.close()
    other.close()


def test_values_of_a_worker_that_has_given_up_are_dropped(endpoint: Endpoint) -> None:
    peer = RawPeer(endpoint, 22, "/job:b")
    peer.send(
        value(tensor(np.float32(2.0), FLOAT)),
        Frame(ABORT, GIVEN_UP, SESSION, STEP),
        value(tensor(np.float32(3.0), FLOAT), step=STEP + 1),
        Frame(CALL, 0, 1, 1),
    )
    assert peer.receive().extra == 10  # all was read
    assert endpoint.step_counts() == {"running": 0, "waiting": 1, "ended": 0}
    running = exchange_of(endpoint)
    peer.send(Frame(ABORT, GIVEN_UP, SESSION, STEP), value(tensor(np.float32(4.0), FLOAT)))
    assert running.recv(0, LATE_S) == 4.0  # only its master ends a step that runs
    peer.close()


def test_pings_are_answered(endpoint: Endpoint) -> None:
    peer = RawPeer(endpoint, 22, "/job:b")
    peer.send(Frame(PING))
    frame, _ = Frame.decode(peer.socket.recv(64, socket.MSG_WAITALL))
    assert frame.type == PONG
    peer.close()


# ---- shared memory -------------------------------------------------------------------------------


class SharingPeer(RawPeer):
    """A peer with blocks of shared memory."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, 22, "/job:b", "shm")

    def announce(self, number: int, capacity: int, *fds: int) -> None:
        frame = Frame(BLOCK, edge=number, extra=capacity)
        socket.send_fds(self.socket, [frame.encode()], list(fds))

    def block(self, number: int, content: bytes) -> mmap.mmap:
        """Makes a block as an endpoint does, and announces it."""
        fd = memfd(len(content), fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        mapped = mmap.mmap(fd, 4096 + len(content))
        mapped[4096:] = content
        self.announce(number, len(content), fd)
        os.close(fd)
        return mapped

    def send_block(self, number: int, dims: list[int], flags: int = 0) -> None:
        self.send(value(prefix(UINT8, dims) + struct.pack("<Q", number), SHARED | flags))


def memfd(capacity: int, seals: int) -> int:
    fd = os.memfd_create("block", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 4096 + capacity)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def in_use(block: mmap.mmap) -> int:
    return int(struct.unpack_from("<I", block)[0])


def until(condition: Callable[[], bool], what_else: str) -> None:
    """Waits for what the I/O thread does beside the test."""
    late = time.monotonic() + LATE_S
    while not condition():
        assert time.monotonic() < late, what_else
        time.sleep(0.001)


def test_a_block_is_used_in_place_and_marked_free(endpoint: Endpoint) -> None:
    peer = SharingPeer(endpoint)
    exchange = exchange_of(endpoint)
    block = peer.block(7, bytes(range(100)))
    for _ in range(3):
        struct.pack_into("<I", block, 0, 1)
        peer.send_block(7, [2, 50])
        got = exchange.recv(0, LATE_S)
        assert got.tobytes() == bytes(range(100)) and got.shape == (2, 50)
        until(lambda: in_use(block) == 0, "it stays in use")
    # Of a step that has ended, too.
    exchange.close()
    struct.pack_into("<I", block, 0, 1)
    peer.send_block(7, [100])
    peer.send(Frame(CALL, 0, 1, 1))
    peer.receive()
    assert in_use(block) == 0
    peer.send(Frame(DROP_BLOCK, edge=7), Frame(DROP_BLOCK, edge=8))
    peer.send_block(7, [100])
    reason = "the peer sent a tensor in a block of shared memory that does not exist"
    assert endpoint.next_event(LATE_S) == ("lost", 22, reason)
    peer.socket.close()


def test_a_block_may_be_sent_again_only_once_it_is_free(endpoint: Endpoint) -> None:
    peer = SharingPeer(endpoint)
    peer.block(7, bytes(100))
    peer.send_block(7, [100])  # it waits for its step
    peer.send_block(7, [100])
    event = endpoint.next_event(LATE_S)
    assert event == ("lost", 22, "the peer sent two tensors in one block of shared memory")
    peer.socket.close()


BAD_BLOCKS = {
    "without descriptor": (100, 0, "without its descriptor"),
    "not sealed": (100, 0, "not sealed"),
    "sealed against growing only": (100, fcntl.F_SEAL_GROW, "not sealed"),
    "sealed against writing": (100, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE, "cannot be mapped"),
    "too small": (101, fcntl.F_SEAL_SHRINK, "of another size than announced"),
    "below zero": (-1, fcntl.F_SEAL_SHRINK, "of another size than announced"),
    "beyond all limits": (1 << 62, fcntl.F_SEAL_SHRINK, "of another size than announced"),
    "no memory file": (100, 0, "not sealed"),
    "a pipe": (100, 0, "of another size than announced"),
}


@pytest.mark.parametrize("case", BAD_BLOCKS)
def test_blocks_that_could_kill_the_process_are_rejected(endpoint: Endpoint, case: str) -> None:
    capacity, seals, reason = BAD_BLOCKS[case]
    peer = SharingPeer(endpoint)
    fds = [memfd(100, seals)]
    if case == "no memory file":
        os.close(fds[0])
        fds = [os.open(__file__, os.O_RDONLY)]
    elif case == "a pipe":
        os.close(fds[0])
        fds = list(os.pipe())
    peer.announce(7, capacity, *([] if case == "without descriptor" else fds))
    event = endpoint.next_event(LATE_S)
    assert event is not None and reason in event[2]
    for fd in fds:
        os.close(fd)
    peer.socket.close()


def test_the_number_of_blocks_is_bounded(endpoint: Endpoint) -> None:
    peer = SharingPeer(endpoint)
    block = peer.block(1, b"x")
    with pytest.raises(OSError):
        for number in range(2, 10_000):
            peer.block(number, b"x")
    event = endpoint.next_event(LATE_S)
    assert event is not None and "more blocks of shared memory than a link may have" in event[2]
    peer.socket.close()
    block.close()


def test_descriptors_that_nothing_announces_are_closed(endpoint: Endpoint) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for plane in ("uds", "shm"):
        peer = RawPeer(endpoint, 22, "/job:b", plane)
        fd = os.memfd_create("block")
        for _ in range(100):
            socket.send_fds(peer.socket, [Frame(PONG).encode()], [fd] * 16)
        os.close(fd)
        peer.send(Frame(CALL, 0, 1, 1))
        assert peer.receive().extra == 10
        assert len(os.listdir("/proc/self/fd")) < before + 300
        peer.close()
        assert endpoint.next_event(LATE_S) is not None
        # The I/O thread closes them after it has reported the event.
        until(lambda: len(os.listdir("/proc/self/fd")) <= before, "descriptors stay open")


def test_descriptors_need_not_be_at_hand(endpoint: Endpoint) -> None:
    """Where the process may open no more files, the link ends with that reason."""
    import resource

    peer = SharingPeer(endpoint)
    fd = memfd(100, fcntl.F_SEAL_SHRINK)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 1, hard))
    taken = []
    try:
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        peer.announce(7, 100, fd)
        event = endpoint.next_event(LATE_S)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for one in [*taken, fd]:
            os.close(one)
    assert event is not None and "are too many files open?" in event[2]
    peer.socket.close()
