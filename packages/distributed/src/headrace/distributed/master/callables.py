"""The callables of the sessions of a master, by number: prepared signatures that clients run."""

from __future__ import annotations

import secrets
import threading

from headrace.distributed.master.master_session import MasterSession
from headrace.distributed.master.prepared_step import PreparedStep
from headrace.formats import errors
from headrace.formats.proto.run_pb2 import RunOptions


class Callables:
    """Callables by session and number. Numbers are random, since clients run them by number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[str, dict[int, tuple[PreparedStep, RunOptions]]] = {}

    def add(self, session: MasterSession, step: PreparedStep, options: RunOptions) -> int:
        """Makes a callable of a step, with options of its runs. Returns: its number."""
        number = secrets.randbits(62) + 1
        with self._lock:
            self._steps.setdefault(session.handle, {})[number] = step, options
        session.serve(number, step)
        return number

    def get(self, session: MasterSession, number: int) -> tuple[PreparedStep, RunOptions]:
        """Returns step and options of a callable. Raises: InvalidArgumentError."""
        with self._lock:
            found = self._steps.get(session.handle, {}).get(number)
        if found is None:
            raise errors.InvalidArgumentError(
                None, None, f"session {session.handle} has no callable {number}"
            )
        return found

    def release(self, session: MasterSession, number: int) -> None:
        """Forgets a callable."""
        with self._lock:
            found = self._steps.get(session.handle, {}).pop(number, None)
        if found is not None:
            session.unserve(number)

    def end(self, handle: str) -> None:
        """Forgets the callables of a session that has ended."""
        with self._lock:
            self._steps.pop(handle, None)

    def keep_only(self, handles: set[str]) -> None:
        """Forgets the callables of all other sessions."""
        with self._lock:
            for handle in set(self._steps) - handles:
                del self._steps[handle]
