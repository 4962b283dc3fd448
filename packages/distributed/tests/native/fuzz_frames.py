"""Frames with faults against an endpoint: over a stream, and over a UNIX socket with descriptors.

    python packages/distributed/tests/native/fuzz_frames.py --seconds 600
    python packages/distributed/tests/native/fuzz_frames.py --seed 4711 --cases 1    # one again

The endpoint must do what the model says, in whatever pieces the bytes come, and live. If the
process dies, the seed is one of the thousand after the last one printed.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import os
import random
import socket
import struct
import sys
import time

import numpy as np
from frame_model import MAX_TENSOR, Model
from frames import (
    ABORT,
    BLOCK,
    BYE,
    CALL,
    DEAD,
    DONE,
    DROP_BLOCK,
    FEED,
    FETCH,
    GIVEN_UP,
    PING,
    PONG,
    RUN,
    SHARED,
    STRING,
    TENSOR,
    TRACED,
    Frame,
    prefix,
    tensor,
)
from linked_endpoints import LATE_S

from headrace.distributed.native.endpoint import Endpoint

EXTREMES = (
    0,
    1,
    2,
    7,
    8,
    9,
    -1,
    255,
    1 << 16,
    1 << 31,
    1 << 32,
    (1 << 63) - 1,
    -(1 << 63),
    1 << 62,
)


def random_tensor(rng: random.Random) -> bytes:
    """The payload of a tensor, mostly a valid one."""
    dtype = rng.choice((1, 3, 4, 9, 10, 18, STRING))
    dims = [rng.choice((0, 1, 2, 3)) for _ in range(rng.randrange(5))]
    if rng.random() < 0.1:
        dims = [rng.choice((100, 20_000, 70_000))]
    if dtype == STRING:
        count = int(np.prod(dims)) if dims else 1
        strings = np.empty(count, object)
        strings[:] = [rng.randbytes(rng.choice((0, 1, 50))) for _ in range(count)]
        payload = tensor(strings.reshape(dims), dtype)
    else:
        size = {1: 4, 3: 4, 4: 1, 9: 8, 10: 1, 18: 16}[dtype]
        payload = prefix(dtype, dims) + bytes(size * int(np.prod(dims)))
    kind = rng.random()
    if kind < 0.1:  # something else than it says
        return prefix(rng.choice(EXTREMES[:9]) % (1 << 31), dims) + payload[8 + 8 * len(dims) :]
    if kind < 0.2:
        extreme = [
            rng.choice(EXTREMES) % (1 << 63) * rng.choice((1, -1)) for _ in range(rng.randrange(9))
        ]
        return prefix(dtype, extreme) + rng.randbytes(rng.randrange(40))
    if kind < 0.25:
        return payload[: rng.randrange(len(payload) + 1)]
    if kind < 0.3:
        return payload + rng.randbytes(rng.randrange(1, 20))
    return payload


def random_frame(rng: random.Random) -> Frame:
    kind = rng.choice((TENSOR,) * 6 + (RUN, CALL, DONE, ABORT, PING, PONG, DROP_BLOCK))
    if rng.random() < 0.05:
        kind = rng.choice((BLOCK, BYE, 0, 11, 255))
    flags = rng.choice((0, 0, 0, FEED, FETCH, DEAD, FEED | DEAD, SHARED, TRACED, GIVEN_UP, 255))
    payload = b""
    if kind == TENSOR and not flags & DEAD or rng.random() < 0.02:
        payload = random_tensor(rng)
    elif kind in (DONE, ABORT):
        payload = rng.choice(
            (b"", b"text", struct.pack("<II", 1, 2), struct.pack("<II", 1 << 31, 9))
        )
    length = None
    if rng.random() < 0.03:
        length = rng.choice(EXTREMES) % (1 << 64)
    return Frame(
        kind,
        flags,
        rng.choice((0, 1, (1 << 64) - 1)),
        rng.choice((0, 1, 2)),
        rng.choice(EXTREMES[:-4]),
        rng.choice((0, 1)),
        rng.choice((0, -1)),
        rng.choice(EXTREMES),
        payload,
        length,
    )


def random_bytes(rng: random.Random) -> bytes:
    """What a faulty peer sends."""
    data = b"".join(random_frame(rng).encode() for _ in range(rng.randrange(1, 12)))
    kind = rng.random()
    if kind < 0.2 and data:
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    if kind < 0.3:
        return data[: rng.randrange(len(data) + 1)]
    if kind < 0.35:
        return data + rng.randbytes(rng.randrange(200))
    return data


def pieces(rng: random.Random, data: bytes) -> list[bytes]:
    """The data in random pieces."""
    largest = rng.choice((1, 7, 64, 1000, 1 << 20)) if len(data) < 5000 else 1 << 20
    found = []
    while data:
        n = rng.randint(1, largest)
        found.append(data[:n])
        data = data[n:]
    return found


def over_a_stream(rng: random.Random, data: bytes) -> None:
    """Feeds the data to a stream, and compares with the model."""
    endpoint = Endpoint("/job:a", 11, max_tensor_bytes=MAX_TENSOR)
    stream = endpoint.add_stream(22, "/job:b")
    for piece in pieces(rng, data):
        stream.feed(piece)
    model = Model()
    expected = model.read(data)
    if expected is None:
        assert endpoint.has_link(22), endpoint.next_event(LATE_S)
        if not model.waiting:  # the next frame is understood
            stream.feed(Frame(BYE).encode())
            expected = "the peer was stopped"
    if expected is not None:
        assert endpoint.next_event(LATE_S) == ("lost", 22, expected)
    endpoint.close()


def random_descriptor(rng: random.Random) -> tuple[int, int]:
    """A descriptor for a block, and the capacity that is announced; mostly with a fault."""
    capacity = rng.choice((0, 4096, 100_000))
    kind = rng.randrange(8)
    if kind == 0:
        return os.open("/dev/null", os.O_RDWR), capacity
    if kind == 1:
        kept, closed = os.pipe2(os.O_CLOEXEC)
        os.close(closed)
        return kept, capacity
    fd = os.memfd_create("block", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 4096 + capacity)
    if kind != 2:  # not sealed
        seals = rng.choice((2, 2 | 4, 2 | 4 | 8, 1 | 2, 4, 2 | 16))
        try:
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
            if not seals & 2:
                os.ftruncate(fd, rng.choice((0, 100)))
        except OSError:
            pass
    if kind == 3:
        capacity = rng.choice(EXTREMES)
    if kind == 4:
        capacity += 4096
    return fd, capacity


def over_a_socket(rng: random.Random, data: bytes) -> None:
    """Sends frames with descriptors, of which any may come anywhere; the endpoint must live."""
    endpoint = Endpoint("/job:a", 11, max_tensor_bytes=MAX_TENSOR)
    ours, theirs = socket.socketpair()
    endpoint.add_socket(ours.detach(), 22, "/job:b", True)
    exchange = endpoint.open_exchange(0, 9, [], [])
    numbers = itertools.count(1)
    try:
        theirs.settimeout(LATE_S)
        for _ in range(rng.randrange(8)):
            fds, frames = [], b""
            for _ in range(rng.choice((0, 1, 1, 2, 20))):
                fd, capacity = random_descriptor(rng)
                fds.append(fd)
                if rng.random() < 0.9:
                    frames += Frame(BLOCK, edge=next(numbers), extra=capacity).encode()
            payload = prefix(4, [rng.choice((0, 4096, 5000, 1 << 40))]) + struct.pack(
                "<Q", rng.randrange(4)
            )
            frames += Frame(TENSOR, SHARED, 0, rng.choice((9, 9, 1)), payload=payload).encode()
            frames += (
                Frame(DROP_BLOCK, edge=rng.randrange(4)).encode() if rng.random() < 0.3 else b""
            )
            try:
                socket.send_fds(theirs, [frames], fds)
            finally:
                for fd in fds:
                    os.close(fd)
        theirs.sendall(data)
        theirs.sendall(Frame(BYE).encode())
        theirs.shutdown(socket.SHUT_WR)
    except (BrokenPipeError, ConnectionResetError):
        pass
    event = endpoint.next_event(LATE_S)
    assert event is not None and event[:2] == ("lost", 22) and event[2], event
    theirs.close()
    try:
        exchange.recv(0, 0.0)
    except Exception as error:
        assert "DeadlineExceeded" in type(error).__name__, error
    endpoint.close()


def run_case(seed: int) -> None:
    rng = random.Random(seed)
    data = random_bytes(rng)
    (over_a_socket if seed % 4 == 0 else over_a_stream)(rng, data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=1 << 62)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    before = len(os.listdir("/proc/self/fd"))
    seed = options.seed
    while seed < options.seed + options.cases and time.monotonic() < end:
        if seed % 1000 == 0:
            print(f"seed {seed}", flush=True)
        try:
            run_case(seed)
        except AssertionError as error:
            print(f"seed {seed}: {error}")
            return 1
        seed += 1
    left = len(os.listdir("/proc/self/fd"))
    print(
        f"{seed - options.seed} cases, nothing found, {left - before} descriptors more than before"
    )
    return int(left > before)


if __name__ == "__main__":
    sys.exit(main())
