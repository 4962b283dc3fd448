"""The handshake of sockets, without sockets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.distributed.rpc import hello
from headrace.distributed.rpc.hello import Greeted, Handshake, Party
from headrace.formats import errors

DIALLER, ACCEPTOR = Party("/job:worker/replica:0/task:0", 11), Party("/job:ps/replica:0/task:0", 22)


def pair(dial_token: bytes = b"t", accept_token: bytes = b"t", to: int = 22, **shared: bool) -> Any:
    return (
        Handshake(hello.dial(DIALLER, to, dial_token, shared.get("dial", True))),
        Handshake(hello.accept(ACCEPTOR, accept_token, shared.get("accept", True))),
    )


class Side:
    """One side with the bytes that have come to it."""

    def __init__(self, handshake: Handshake) -> None:
        self.handshake = handshake
        self.got = b""

    def take(self, data: bytes) -> bytes:
        """Gives it bytes; what it sends."""
        self.got += data
        sent = b""
        while self.handshake.wants and len(self.got) >= self.handshake.wants:
            n = self.handshake.wants
            chunk, self.got = self.got[:n], self.got[n:]
            try:
                sent += self.handshake.receive(chunk)
            except errors.OpError as error:
                sent += hello.refusal(error)
                self.handshake.wants = 0
                self.error = error
        return sent


def shake(dialler: Handshake, acceptor: Handshake) -> tuple[Side, Side]:
    """Leads a handshake to its end."""
    one, other = Side(dialler), Side(acceptor)
    to_acceptor = dialler.first
    for _ in range(4):
        to_dialler = other.take(to_acceptor)
        to_acceptor = one.take(to_dialler)
    return one, other


@pytest.mark.parametrize(("dial", "accept"), [(True, True), (True, False), (False, True)])
def test_both_sides_know_each_other_afterwards(dial: bool, accept: bool) -> None:
    one, other = shake(*pair(dial=dial, accept=accept))
    shared = dial and accept
    assert one.handshake.result == Greeted(ACCEPTOR, shared)
    assert other.handshake.result == Greeted(DIALLER, shared)
    assert one.got == other.got == b""


def test_nothing_is_read_beyond_the_handshake() -> None:
    dialler, acceptor = pair()
    one, other = Side(dialler), Side(acceptor)
    one.take(other.take(dialler.first))
    proof = one.take(b"")
    assert proof == b""
    one, other = shake(*pair())
    one.take(b"frames")
    assert one.got == b"frames"


@pytest.mark.parametrize(("mine", "theirs"), [(b"a", b"b"), (b"", b"b"), (b"a", b"")])
def test_a_wrong_token_is_refused_by_both_sides(mine: bytes, theirs: bytes) -> None:
    one, other = shake(*pair(mine, theirs))
    assert one.handshake.result is None and other.handshake.result is None
    assert isinstance(one.error, errors.UnauthenticatedError)
    assert "HEADRACE_CLUSTER_TOKEN" in str(one.error)


def test_a_dialler_without_proof_is_refused() -> None:
    dialler, acceptor = pair(b"", b"secret")
    other = Side(acceptor)
    other.take(dialler.first)
    other.take(hello._packed({"proof": hello.proof(b"", "dial", b"", b"")}))
    assert isinstance(other.error, errors.UnauthenticatedError)
    assert other.handshake.result is None


def test_a_proof_is_of_no_use_for_another_connection() -> None:
    dialler, acceptor = pair()
    one, first = Side(dialler), Side(acceptor)
    proof = one.take(first.take(dialler.first))
    again = Side(Handshake(hello.accept(ACCEPTOR, b"t", True)))
    again.take(dialler.first)
    again.take(proof)
    assert isinstance(again.error, errors.UnauthenticatedError)


def test_another_start_of_the_task_is_named() -> None:
    one, other = shake(*pair(to=99))
    assert isinstance(one.error, errors.AbortedError)
    assert "has been restarted: 99 was expected, it is now 22" in str(one.error)
    assert other.handshake.result is None


def test_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    dialler, acceptor = pair()
    monkeypatch.setattr(hello, "PROTOCOL_VERSION", 2)
    one, _ = shake(dialler, acceptor)
    assert isinstance(one.error, errors.FailedPreconditionError)
    assert "version 1" in str(one.error) and "version 2" in str(one.error)


def test_the_refusal_of_the_other_side_keeps_its_code() -> None:
    dialler, _ = pair()
    one = Side(dialler)
    one.take(hello.refusal(errors.ResourceExhaustedError(None, None, "too many")))
    assert isinstance(one.error, errors.ResourceExhaustedError)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        name: JSON | good
        for name, good in {
            "version": st.just(1),
            "task": st.just("t"),
            "incarnation": st.just(5),
            "to": st.just(22),
            "nonce": st.just("00"),
            "proof": st.text(max_size=64),
            "error": st.text(max_size=10),
            "code": st.integers(0, 20),
        }.items()
    },
)


@given(st.lists(FIELDS, min_size=1, max_size=3), st.booleans())
def test_any_messages_end_in_an_error_or_ask_for_more(
    messages: list[dict[str, Any]], accepting: bool
) -> None:
    side = Side(pair()[1 if accepting else 0])
    for message in messages:
        side.take(hello._packed(message))
    assert side.handshake.result is None


@given(st.binary(max_size=64), st.booleans())
def test_any_bytes_end_in_an_error_or_ask_for_more(data: bytes, accepting: bool) -> None:
    side = Side(pair()[1 if accepting else 0])
    side.take(data)
    assert side.handshake.result is None
