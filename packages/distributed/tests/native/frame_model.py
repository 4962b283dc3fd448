"""What bytes of a peer mean to an endpoint that has neither a worker nor a step: a model of the
protocol, independent of the code."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from frames import (
    ABORT,
    BLOCK,
    BYE,
    CALL,
    DEAD,
    DONE,
    FEED,
    FETCH,
    GIVEN_UP,
    HEADER,
    MAGIC,
    RUN,
    SHARED,
    STRING,
    TENSOR,
    Frame,
)

MAX_TENSOR = 1 << 20  # of the endpoints that the fuzz makes
SENDABLE = {n for n in range(1, 26) if n not in (20, 21)}
SIZES = dict.fromkeys((4, 6, 10, 11, 12, 24, 25), 1)
SIZES |= dict.fromkeys((5, 14, 15, 16, 17, 19), 2) | dict.fromkeys((1, 3, 13, 22), 4)
SIZES |= dict.fromkeys((2, 8, 9, 23), 8) | {18: 16}


class Rejected(Exception):
    """The link ends with this reason."""


@dataclass
class Model:
    """Reads all that one peer sends."""

    ended: set[tuple[int, int]] = field(default_factory=set)
    calls: set[tuple[int, int]] = field(default_factory=set)
    waiting: bytes = b""  # the end of a frame is to come

    def read(self, data: bytes) -> str | None:
        """Returns the reason for which the link ends; None: it lives on."""
        at = 0
        try:
            while len(data) - at >= HEADER.size:
                frame, length = Frame.decode(data[at : at + HEADER.size])
                self._check_header(frame, length)
                payload = data[at + HEADER.size : at + HEADER.size + length]
                complete = len(payload) == length
                if frame.type == TENSOR:
                    self._check_tensor(frame, length, payload)
                if not complete:
                    break
                at += HEADER.size + length
                self._act(frame)
        except Rejected as rejected:
            return str(rejected)
        self.waiting = data[at:]
        return None

    def _check_header(self, frame: Frame, length: int) -> None:
        limits = {TENSOR: MAX_TENSOR + 4096, DONE: 256 << 20, ABORT: 64 << 10}
        if frame.magic != MAGIC:
            raise Rejected("the peer sent bytes that are no frame")
        if not 1 <= frame.type <= BYE:
            raise Rejected("the peer sent a frame of unknown type")
        if length > limits.get(frame.type, 0):
            raise Rejected("the peer sent a frame that is too long")

    def _check_tensor(self, frame: Frame, length: int, payload: bytes) -> None:
        """What is wrong with a tensor of which the first bytes are there."""
        if frame.flags & DEAD:
            if length:
                raise Rejected("the peer sent a dead tensor with elements")
            return
        wanted = frame.flags & FEED or (frame.session, frame.step) not in self.ended
        if frame.flags & FETCH:
            wanted = False
        if not wanted and not frame.flags & SHARED:
            return
        if length < 8:
            raise Rejected("the peer sent a tensor that is too short")
        if len(payload) < 8:
            return
        dtype, rank = struct.unpack_from("<ii", payload)
        if not 0 <= rank <= 8:
            raise Rejected("the peer sent a tensor of invalid rank")
        begin = 8 + 8 * rank
        if length < begin:
            raise Rejected("the peer sent a tensor that is too short")
        if len(payload) < begin:
            return
        if dtype not in SENDABLE:
            raise Rejected("the peer sent a tensor of unknown dtype")
        dims = struct.unpack_from(f"<{rank}q", payload, 8)
        elements = self._elements(dims)
        size = 1 if dtype == STRING else SIZES[dtype]
        rest = length - begin
        if elements * size >= 1 << 63:
            raise Rejected("the peer sent a tensor of invalid shape")
        if frame.flags & SHARED:
            if dtype == STRING or rest != 8:
                raise Rejected("the peer sent a tensor in shared memory that is not described")
            if len(payload) == length:
                raise Rejected(
                    "the peer sent a tensor in shared memory, which this link does not have"
                )
        elif (
            dtype != STRING and elements * size != rest or dtype == STRING and elements > rest // 8
        ):
            raise Rejected("the peer sent a tensor whose size is not that of its elements")
        elif dtype == STRING and len(payload) == length:
            lengths = struct.unpack_from(f"<{elements}Q", payload, begin)
            left = rest - 8 * elements - sum(lengths)
            if left:
                how = "short" if left < 0 else "long"
                raise Rejected(f"the peer sent a string tensor that is too {how}")

    @staticmethod
    def _elements(dims: tuple[int, ...]) -> int:
        elements = 1
        for size in dims:
            elements *= size
            if size < 0 or elements >= 1 << 63:
                raise Rejected("the peer sent a tensor of invalid shape")
        return math.prod(dims)

    def _act(self, frame: Frame) -> None:
        key = frame.session, frame.step
        if frame.type == BYE:
            raise Rejected("the peer was stopped")
        if frame.type == BLOCK:
            raise Rejected("the peer sent a block of shared memory, which this link does not have")
        if frame.type == TENSOR and frame.flags & FEED and not frame.flags & FETCH:
            self.calls.add(key)
        elif frame.type == CALL:
            self.calls.discard(key)
        elif frame.type == RUN:
            self.ended.add(key)
        elif frame.type == ABORT and not frame.flags & GIVEN_UP:
            if key in self.calls:
                self.calls.discard(key)
            else:
                self.ended.add(key)
