"""Runs GraphDefs with iterators in the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.formats import errors
from headrace.runtime.session.local_session import open_session


@contextmanager
def session(target: str = "", config: bytes = b"") -> Iterator[Any]:
    opened = open_session(target, config)
    try:
        yield opened
    finally:
        opened.close()


def run_op(opened: Any, *targets: str) -> None:
    opened.prepare([], [], list(targets))([])


def elements(opened: Any, names: Sequence[str], most: int = 10_000) -> list[tuple[Any, ...]]:
    """The values of the tensors, run by run, until the sequence ends."""
    step = opened.prepare([], list(names), [])
    found = []
    try:
        while len(found) < most:
            found.append(tuple(step([])))
    except errors.OutOfRangeError as error:
        assert "End of sequence" in str(error)
    return found
