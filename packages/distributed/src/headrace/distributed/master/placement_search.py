"""A prepared step whose nodes may move to other devices, while its first runs are measured."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from headrace.distributed.machines.placement_trial import How, PlacementTrial, Verdict
from headrace.distributed.master.planned_signature import PlannedSignature
from headrace.distributed.native.step import Step

if TYPE_CHECKING:
    from headrace.distributed.master.prepared_step import PreparedStep

Current = tuple[PlannedSignature, Step]

_log = logging.getLogger("headrace.distributed")


class Placing(Protocol):
    """What a search needs of its session."""

    def place_again(self, step: PreparedStep) -> Current | None: ...

    def search_ended(self, step: PreparedStep) -> None: ...


class PlacementSearch:
    """Measures runs of a step and moves its nodes; all placements stay registered while it lives.

    It is safe to use from several threads: runs that overlap are measured as they are.

    Args:
      session: the master's.
      step: whose runs are measured.
      period: as PlacementTrial.
    """

    def __init__(self, session: Placing, step: PreparedStep, period: int) -> None:
        self._session = session
        self._step = step
        self._trial = PlacementTrial(period)
        self._lock = threading.Lock()
        self._before: Current | None = None

    def run(self, plain: Callable[[], list[Any]], traced: Callable[[], list[Any]]) -> list[Any]:
        """Runs the step in one of two ways. Returns: its results."""
        with self._lock:
            how = self._trial.next()
        if how is How.TRACED:
            return traced()
        current, begun = self._step.current, time.perf_counter()
        results = plain()
        if how is How.TIMED and current is self._step.current:
            self._trial.took(time.perf_counter() - begun)
        elif how is How.LAST and self._lock.acquire(blocking=False):
            try:
                # Another thread may have decided since this run began.
                if not self._trial.ended and current is self._step.current:
                    self._decide()
            finally:
                self._lock.release()
        return results

    def _decide(self) -> None:
        step, trial = self._step, self._trial
        verdict = trial.decide()
        if verdict is Verdict.REVERT and self._before is not None:
            step.current = self._before
        elif verdict is Verdict.PLACE:
            try:
                placed = self._session.place_again(step)
            except Exception as error:  # the run is over, and its results are good
                _log.warning(
                    "nodes stay where they are, since placing them again failed: %s", error
                )
                placed = None
            trial.placed(placed is not None)
            if placed is not None:
                self._before, step.current = step.current, placed
        if trial.ended:
            self._before = None
            self._session.search_ended(step)
