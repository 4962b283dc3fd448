"""The handshake of a socket before it carries frames, without its I/O.

Each message is a magic word, a length and a JSON object. The dialling side says HELLO: who it is,
whom it means, and a nonce. The accepting side answers with a nonce of its own and the proof that it
knows the cluster's token; the dialling side proves the same; the accepting side says welcome. The
proofs cover all that was said, so that none can be used for another connection.
"""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from headrace.distributed.rpc.token import proof, same_proof
from headrace.formats import errors

PROTOCOL_VERSION = 1
HELLO_DEADLINE_S = 5.0

_MAGIC = b"HRHELLO1"
_HEADER = struct.Struct(">8sI")
_MOST_BYTES = 4096


@dataclass(frozen=True)
class Party:
    """A side of a link.

    Attributes:
      task: its name, or what a client calls itself.
      incarnation: the random number of this start of it.
    """

    task: str
    incarnation: int


@dataclass(frozen=True)
class Greeted:
    """The result of a handshake: the other side, and whether the link uses shared memory."""

    peer: Party
    shared_memory: bool


_Steps = Generator[bytes, dict[str, Any], tuple[Greeted, bytes]]


class Handshake:
    """One side of a handshake. Read `wants` bytes, give them to `receive`, send what it returns.

    Attributes:
      wants: how many bytes to read next; no more may be read, since frames follow.
      result: what was agreed on; None until the end.
    """

    def __init__(self, steps: _Steps) -> None:
        self._steps = steps
        self._in_header = True
        self.wants = _HEADER.size
        self.result: Greeted | None = None
        self.first = next(steps)  # to send before anything is read

    def receive(self, data: bytes) -> bytes:
        """Takes the wanted bytes. Returns: bytes to send, perhaps none.

        Raises: errors.OpError for whatever ends the handshake.
        """
        if self._in_header:
            magic, length = _HEADER.unpack(data)
            if magic != _MAGIC or not 0 < length <= _MOST_BYTES:
                raise _invalid(f"{data!r} does not begin a handshake")
            self._in_header, self.wants = False, length
            return b""
        self._in_header, self.wants = True, _HEADER.size
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise _invalid("a message of the handshake is no JSON object")
        if "error" in message:
            code = message.get("code")
            raise errors.from_code(code if isinstance(code, int) else 2, str(message["error"]))
        try:
            return self._steps.send(message)
        except StopIteration as end:
            self.result, last = end.value
            self.wants = 0
            return last


def dial(me: Party, to: int, token: bytes, shared_memory: bool) -> _Steps:
    """The side that connects.

    Args:
      to: the incarnation that is meant.
      shared_memory: whether it can use it.
    """
    hello = {
        "version": PROTOCOL_VERSION,
        "task": me.task,
        "incarnation": me.incarnation,
        "to": to,
        "nonce": secrets.token_hex(16),
        "shared_memory": shared_memory,
    }
    challenge = yield _packed(hello)
    _check_version(challenge)
    told = {k: v for k, v in challenge.items() if k != "proof"}
    if not same_proof(challenge.get("proof"), proof(token, "accept", _bytes(hello), _bytes(told))):
        raise _wrong_token(challenge)
    peer = _party(challenge)
    if peer.incarnation != to:
        raise errors.AbortedError(
            None, None, f"{peer.task} has been restarted: {to} was expected, it is now "
            f"{peer.incarnation}",
        )  # fmt: skip
    yield _packed({"proof": proof(token, "dial", _bytes(hello), _bytes(told))})
    return Greeted(peer, bool(challenge.get("shared_memory"))), b""


def accept(me: Party, token: bytes, shared_memory: bool) -> _Steps:
    """The side that is connected to; arguments as `dial`."""
    hello = yield b""
    _check_version(hello)
    peer = _party(hello)
    if hello.get("to") != me.incarnation:
        raise errors.AbortedError(
            None, None, f"{me.task} has been restarted: {hello.get('to')} was expected, it is now "
            f"{me.incarnation}",
        )  # fmt: skip
    shared = shared_memory and bool(hello.get("shared_memory"))
    told = {
        "version": PROTOCOL_VERSION,
        "task": me.task,
        "incarnation": me.incarnation,
        "nonce": secrets.token_hex(16),
        "shared_memory": shared,
    }
    answer = yield _packed({**told, "proof": proof(token, "accept", _bytes(hello), _bytes(told))})
    if not same_proof(answer.get("proof"), proof(token, "dial", _bytes(hello), _bytes(told))):
        raise _wrong_token(hello)
    return Greeted(peer, shared), _packed({"welcome": True})


def refusal(error: errors.OpError) -> bytes:
    """Returns the message by which a side ends a handshake."""
    return _packed({"error": error.message[:1024], "code": error.error_code})


def _packed(message: dict[str, Any]) -> bytes:
    data = _bytes(message)
    return _HEADER.pack(_MAGIC, len(data)) + data


def _bytes(message: dict[str, Any]) -> bytes:
    return json.dumps(message, sort_keys=True).encode()


def _party(message: dict[str, Any]) -> Party:
    task, incarnation = message.get("task"), message.get("incarnation")
    if not isinstance(task, str) or not isinstance(incarnation, int):
        raise _invalid("the handshake does not say who speaks")
    if not 0 < incarnation < 1 << 63 or len(task) > 256:
        raise _invalid(f"{task[:256]!r}, {incarnation} is no start of a task")
    return Party(task, incarnation)


def _check_version(message: dict[str, Any]) -> None:
    version = message.get("version")
    if version != PROTOCOL_VERSION:
        raise errors.FailedPreconditionError(
            None, None, f"the other side speaks version {version!r} of the protocol, this side "
            f"version {PROTOCOL_VERSION}: install the same headrace-distributed on all hosts",
        )  # fmt: skip


def _wrong_token(message: dict[str, Any]) -> errors.UnauthenticatedError:
    task = str(message.get("task"))[:256]
    return errors.UnauthenticatedError(
        None, None, f"{task} has no token, or another cluster's: set HEADRACE_CLUSTER_TOKEN or "
        "HEADRACE_CLUSTER_TOKEN_FILE to the same in all processes",
    )  # fmt: skip


def _invalid(why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, why)
