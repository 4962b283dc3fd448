"""Frames of the step plane in Python, and a peer that speaks them over a socket."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from linked_endpoints import LATE_S, sockets

from headrace.distributed.native.endpoint import Endpoint
from headrace.formats.dtypes import as_dtype

MAGIC = 0x31465248
HEADER = struct.Struct("<IBBHQQQqQqq")
RUN, CALL, TENSOR, DONE, ABORT, PING, PONG, BLOCK, DROP_BLOCK, BYE = range(1, 11)
DEAD, FETCH, FEED, SHARED, TRACED, GIVEN_UP = 1, 2, 4, 8, 16, 32
STRING = 7


@dataclass(frozen=True)
class Frame:
    """A frame; `length` and `magic` are what they should be unless they are given."""

    type: int
    flags: int = 0
    session: int = 0
    step: int = 0
    edge: int = 0
    frame: int = 0
    iteration: int = 0
    extra: int = 0
    payload: bytes = b""
    length: int | None = None
    magic: int = MAGIC

    def encode(self) -> bytes:
        length = len(self.payload) if self.length is None else self.length
        return (
            HEADER.pack(
                self.magic,
                self.type,
                self.flags,
                0,
                length,
                self.session,
                self.step,
                self.edge,
                self.frame,
                self.iteration,
                self.extra,
            )
            + self.payload
        )

    @staticmethod
    def decode(header: bytes) -> tuple[Frame, int]:
        """Returns a frame without its payload, and the length of that."""
        magic, kind, flags, _, length, *rest = HEADER.unpack(header)
        return Frame(kind, flags, *rest, magic=magic), length


def prefix(dtype: int, dims: Sequence[int]) -> bytes:
    return struct.pack(f"<ii{len(dims)}q", dtype, len(dims), *dims)


def tensor(array: Any, dtype: int) -> bytes:
    """The payload of a tensor."""
    array = np.asarray(array)
    if dtype != STRING:
        return prefix(dtype, array.shape) + array.tobytes()
    strings = [bytes(s) for s in array.ravel()]
    sizes = struct.pack(f"<{len(strings)}Q", *map(len, strings))
    return prefix(dtype, array.shape) + sizes + b"".join(strings)


def array_of(payload: bytes) -> Any:
    """The array of a tensor's payload, which has no strings."""
    dtype, rank = struct.unpack_from("<ii", payload)
    dims = struct.unpack_from(f"<{rank}q", payload, 8)
    return np.frombuffer(payload[8 + 8 * rank :], as_dtype(dtype).as_numpy_dtype).reshape(dims)


def done_text(node: str = "", message: str = "", metadata: bytes = b"") -> bytes:
    """The payload of DONE."""
    texts = node.encode(), message.encode()
    return struct.pack("<II", *map(len, texts)) + b"".join(texts) + metadata


class RawPeer:
    """The other end of a link of an endpoint, over a socket."""

    def __init__(self, endpoint: Endpoint, incarnation: int, name: str, plane: str = "uds") -> None:
        ours, self.socket = sockets(plane)
        self.incarnation, self.name = incarnation, name
        self.socket.settimeout(LATE_S)
        assert endpoint.add_socket(ours.detach(), incarnation, name, plane == "shm")

    def send(self, *frames: Frame) -> None:
        self.socket.sendall(b"".join(frame.encode() for frame in frames))

    def receive(self) -> Frame:
        """The next frame that is no sign of life."""
        while True:
            frame, length = Frame.decode(self._read(HEADER.size))
            assert frame.magic == MAGIC
            payload = self._read(length)
            if frame.type not in (PING, PONG):
                return Frame(*(getattr(frame, n) for n in _FIELDS), payload=payload)

    def _read(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            assert more, "the link was closed"
            data += more
        return data

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


_FIELDS = ("type", "flags", "session", "step", "edge", "frame", "iteration", "extra")
