"""Until when a call and all that it waits for must be done."""

from __future__ import annotations

import time
from dataclasses import dataclass

from headrace.formats.errors import DeadlineExceededError

DEFAULT_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Deadline:
    """A point in time, of the monotonic clock."""

    at: float

    @staticmethod
    def after(seconds: float) -> Deadline:
        return Deadline(time.monotonic() + seconds)

    def at_most(self, seconds: float) -> Deadline:
        """The earlier of this deadline and one that is `seconds` ahead."""
        return Deadline(min(self.at, time.monotonic() + seconds))

    @property
    def left_s(self) -> float:
        """Seconds left; 0 once it has passed."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        return self.left_s <= 0

    def check(self, what: str) -> None:
        """Raises: DeadlineExceededError once it has passed."""
        if self.passed:
            raise DeadlineExceededError(None, None, f"{what}: the time limit has passed")


def operation_timeout_s(operation_timeout_in_ms: int) -> float:
    """The time limit of the calls of a session, of its ConfigProto's field."""
    return operation_timeout_in_ms / 1000 if operation_timeout_in_ms > 0 else DEFAULT_TIMEOUT_S
