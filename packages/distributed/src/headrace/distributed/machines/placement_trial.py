"""Where the nodes of a signature go, once some of its runs are measured (white paper, §3.2.1)."""

from __future__ import annotations

from enum import Enum

# Of the runs after a placement, the first one prepares kernels; then some are traced, some timed.
FIRST_TIMED, LAST_TIMED = 4, 7
PERIOD = 8  # runs after which the nodes are placed again, unless the session says otherwise
MOST_MOVES = 3
GAIN = 0.95  # a placement stays if its runs take no more than this share of those before


class How(Enum):
    """What a run is for."""

    PLAIN = "plain"
    TRACED = "traced"
    TIMED = "timed"
    LAST = "last"  # `decide` follows


class Verdict(Enum):
    """What follows from the runs of a placement."""

    PLACE = "place the nodes again"
    KEEP = "this placement stays"
    REVERT = "the one before was faster"


class PlacementTrial:
    """The machine: it says what each run is for, and judges.

    Args:
      period: runs between two placements; 0: a few.
    """

    def __init__(self, period: int = 0) -> None:
        self.period = max(period or PERIOD, LAST_TIMED + 1)
        self.ended = False
        self._runs = self._moves = 0
        self._fastest_s = self._before_s = float("inf")

    def next(self) -> How:
        """Says what the next run is for."""
        number = self._runs
        self._runs += 1
        if 0 < number < FIRST_TIMED:
            return How.TRACED
        if FIRST_TIMED <= number < LAST_TIMED:
            return How.TIMED
        return How.LAST if number >= self.period else How.PLAIN

    def took(self, seconds: float) -> None:
        """Notes the time of a run that was TIMED."""
        self._fastest_s = min(self._fastest_s, seconds)

    def decide(self) -> Verdict:
        """Judges the placement; after PLACE, `placed` says what came of it."""
        if self._moves and self._fastest_s > GAIN * self._before_s:
            self.ended = True
            return Verdict.REVERT
        if self._moves == MOST_MOVES:
            self.ended = True
            return Verdict.KEEP
        return Verdict.PLACE

    def placed(self, moved: bool) -> None:
        """Notes whether any node has another device now."""
        if not moved:
            self.ended = True
            return
        self._moves += 1
        self._runs = 0
        self._before_s, self._fastest_s = self._fastest_s, float("inf")
