# cython: language_level=3
"""A step whose nodes are placed again once it is measured (ConfigProto.placement_period)."""

import time

from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import RunMetadata, RunOptions

_TRACED = RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()

# Of the runs after a placement: the first one prepares kernels, then some are traced and some timed.
cdef int FIRST_TIMED = 4
cdef int LAST_TIMED = 7
# By default the nodes are placed again after this many runs.
cdef int PERIOD = 8
# How often nodes are placed again, and which share of the time before a run must take then.
cdef int MOST_MOVES = 3
cdef double GAIN = 0.95


cdef class MovingStep:
    """services.Step over another one, which measured costs may replace.

    A new placement stays only if its runs are faster than those before. Then, and if nothing moves,
    the measurements end, and a run costs one call more.

    Args:
      step: as the nodes are placed at first.
      placement: tells where they are, to compare.
      place: called for the step of a new placement and where its nodes are; None: not now.
      report: returns the serialized PlacementReport of a placement by what is measured by now, or
        None: not now.
      costs: the NodeCosts of the session.
      period: runs between two placements; 0: a few.
    """
    cdef object step, placement, place, report, costs, before
    cdef double fastest_s, before_s
    cdef int runs, moves, period
    cdef readonly bint settled

    def __init__(self, step, placement, place, report, costs, int period):
        self.step = step
        self.placement = placement
        self.place = place
        self.report = report
        self.costs = costs
        self.period = max(period or PERIOD, LAST_TIMED + 1)

    def __call__(self, values):
        if self.settled:
            return self.step(values)
        return self.measured(values)

    def run(self, values, bytes options):
        results, metadata = self.step.run(values, options)
        if RunOptions.FromString(options).trace_level > RunOptions.NO_TRACE:
            self.costs.observe(metadata)
            report = self.report()
            if report is not None:
                placement = PlacementReport.FromString(report)
                metadata += RunMetadata(placement=placement).SerializeToString()
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
        if FIRST_TIMED <= number < LAST_TIMED and step is self.step:
            started = time.perf_counter() - started
            self.fastest_s = min(self.fastest_s, started) if self.fastest_s else started
        elif number >= self.period:
            self.decide()
        return results

    cdef int decide(self) except -1:
        if self.before is not None and self.fastest_s > GAIN * self.before_s:
            self.step = self.before
            self.settled = True
        elif self.moves == MOST_MOVES:
            self.settled = True
        else:
            found = self.place()
            if found is None:
                return 0
            step, placement = found
            if placement == self.placement:
                self.settled = True
            else:
                self.before = self.step
                self.before_s = self.fastest_s
                self.step = step
                self.placement = placement
                self.fastest_s = 0
                self.runs = 0
                self.moves += 1
        if self.settled:
            self.before = self.place = None
        return 0
