"""Random histories of an object on several threads, and the search for an order that explains one.

A history is a list of operations with the times at which they began and ended, and their outcomes.
An order explains it if a model whose operations begin in that order gives the same outcomes, and
the order agrees with the times: an operation that ended before another began has ended in the
model, and one that ends in the model has not ended before the operation that makes it end began.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import headrace.graph as hr
from headrace.formats.errors import OpError

NEVER = float("inf")
CANCELLED = "the session was closed"


@dataclass
class Operation:
    """One call: when it began and ended, and what it returned."""

    call: tuple[Any, ...]
    began: float = NEVER
    ended: float = NEVER
    outcome: Any = CANCELLED


def run_history(
    session: hr.Session, scripts: list[list[tuple[Any, ...]]], run: Callable[..., Any]
) -> list[Operation]:
    """Runs each script on a thread; run(session, call) returns an outcome or raises an OpError.

    Once all threads wait or have ended, the session is closed: what waits keeps CANCELLED.
    """
    history: list[Operation] = []
    closed = threading.Event()
    started = threading.Barrier(len(scripts) + 1)
    progress = [0] * len(scripts)

    def work(which: int) -> None:
        mine = [Operation(call) for call in scripts[which]]
        started.wait()
        for operation in mine:
            history.append(operation)
            operation.began = time.perf_counter()
            try:
                outcome = run(session, operation.call)
            except (OpError, RuntimeError) as error:
                outcome = type(error).__name__
            if closed.is_set():
                return
            operation.outcome, operation.ended = outcome, time.perf_counter()
            progress[which] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(scripts))]
    for thread in threads:
        thread.start()
    started.wait()
    seen = -1
    while any(thread.is_alive() for thread in threads) and seen != sum(progress):
        seen = sum(progress)
        for thread in threads:
            thread.join(0.004)
    closed.set()
    session.close()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "an operation does not end with its session"
    return history


def is_explained(history: list[Operation], model: Any) -> bool:
    """Whether some order explains the history."""
    seen: set[tuple[frozenset[int], str]] = set()

    def search(model: Any, begun: frozenset[int], ended: frozenset[int]) -> bool:
        if all(i in ended or o.outcome is CANCELLED for i, o in enumerate(history)):
            return True
        state = (begun, repr(sorted(vars(model).items())))
        if state in seen:
            return False
        seen.add(state)
        for i, operation in enumerate(history):
            if i in begun or not _may_begin(history, operation, ended):
                continue
            after = model.copy()
            ends = after.begin(i, operation.call)
            if all(_agrees(history[n], outcome, operation) for n, outcome in ends) and search(
                after, begun | {i}, ended | {n for n, _ in ends}
            ):
                return True
        return False

    return search(model, frozenset(), frozenset())


def _may_begin(history: list[Operation], operation: Operation, ended: frozenset[int]) -> bool:
    """Whether all operations that ended before it began have ended in the model."""
    return all(other.ended >= operation.began or i in ended for i, other in enumerate(history))


def _agrees(ending: Operation, outcome: Any, cause: Operation) -> bool:
    """Whether an operation may end with that outcome as `cause` begins."""
    if ending.outcome is CANCELLED:  # its effect may have come before the session was closed
        return True
    return bool(ending.outcome == outcome) and cause.began <= ending.ended
