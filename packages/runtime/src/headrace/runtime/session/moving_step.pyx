# cython: language_level=3
"""A step whose nodes are placed again once it is measured (ConfigProto.placement_period)."""

import logging
import threading
import time
from dataclasses import dataclass

from headrace.formats.proto.run_pb2 import RunOptions
from headrace.runtime.session.placement_metadata import placement_metadata

_log = logging.getLogger("headrace.runtime")

_TRACED = RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()

# Of the runs after a placement: the first one prepares kernels, then some are traced and some timed.
cdef int FIRST_TIMED = 4
cdef int LAST_TIMED = 7
# By default the nodes are placed again after this many runs.
cdef int PERIOD = 8
# How often nodes are placed again, and which share of the time before a run must take then.
cdef int MOST_MOVES = 3
cdef double GAIN = 0.95


@dataclass(frozen=True)
class PlacedStep:
    """A step, the devices of its nodes (to compare), and the PlacementReport that says why."""
    step: object
    devices: object
    report: object


cdef class MovingStep:
    """services.Step over another one, which measured costs may replace.

    A new placement stays only if its runs are faster than those before. Then, and if nothing moves,
    the measurements end, and a run costs one call more. Nodes that were spread before anything was
    measured are once run on their first devices, too. A placement or a report that fails is
    logged: the runs go on.

    Args:
      placed: a PlacedStep, as the nodes are placed at first.
      place: called for the PlacedStep of a new placement; None: not now.
      costs: the NodeCosts of the session.
      period: runs between two placements; 0: a few.
      first: as `place`, with each node on the first device that it may have; None: that is where
        they are.
    """
    cdef object placed, step, place, costs, first, before, deciding
    cdef double fastest_s, before_s
    cdef int runs, moves, period
    cdef readonly bint settled

    def __init__(self, placed, place, costs, int period, first=None):
        self.placed = placed
        self.step = placed.step
        self.place = place
        self.costs = costs
        self.first = first
        self.period = max(period or PERIOD, LAST_TIMED + 1)
        self.deciding = threading.Lock()

    def __call__(self, values):
        if self.settled:
            return self.step(values)
        return self.measured(values)

    def run(self, values, bytes options):
        placed = self.placed
        results, metadata = placed.step.run(values, options)
        if RunOptions.FromString(options).trace_level > RunOptions.NO_TRACE:
            self.costs.observe(metadata)
            metadata += placement_metadata(placed.report, self.costs)
        return results, metadata

    def explain(self):
        return self.step.explain()

    cdef list measured(self, values):
        cdef int number = self.runs
        cdef double started
        step = self.step
        self.runs += 1
        if 0 < number < FIRST_TIMED:
            results, metadata = step.run(values, _TRACED)
            self.costs.observe(metadata)
            return results
        started = time.perf_counter()
        results = step(values)
        if number >= FIRST_TIMED and step is self.step and (
                number < LAST_TIMED or not self.fastest_s):
            started = time.perf_counter() - started
            self.fastest_s = min(self.fastest_s, started) if self.fastest_s else started
        elif number >= self.period and self.deciding.acquire(blocking=False):
            try:
                # Another thread may have decided since this run began.
                if not self.settled and self.runs > self.period and self.fastest_s:
                    self.decide()
            finally:
                self.deciding.release()
        return results

    cdef int decide(self) except -1:
        if self.before is not None and self.fastest_s > GAIN * self.before_s:
            self.take(self.before)
            self.fastest_s = self.before_s
            return self.settle()
        if self.moves == MOST_MOVES:
            return self.settle()
        placed = self.placed_by(self.place)
        if placed is None:
            return 0
        if placed.devices == self.placed.devices:
            return self.settle()
        self.moves += 1
        return self.move(placed)

    cdef int settle(self) except -1:
        """Ends the measurements, if it is not to be tried yet what the first devices would take."""
        if self.first is not None:
            placed = self.placed_by(self.first)
            if placed is None:
                return 0
            self.first = None
            if placed.devices != self.placed.devices:
                self.moves = MOST_MOVES
                return self.move(placed)
        self.settled = True
        self.before = self.place = None
        return 0

    cdef int move(self, placed) except -1:
        self.before = self.placed
        self.before_s = self.fastest_s
        self.take(placed)
        self.fastest_s = 0
        self.runs = 0
        return 0

    cdef int take(self, placed) except -1:
        self.placed = placed
        self.step = placed.step
        return 0

    cdef object placed_by(self, place):
        """A PlacedStep; None: not now."""
        try:
            return place()
        except Exception as error:
            _log.warning("nodes stay where they are, since placing them again failed: %s", error)
            return self.placed
