# cython: language_level=3
"""A step whose nodes stay where they are, and whose traced runs say why they are there."""

import logging

from headrace.formats.proto.run_pb2 import RunOptions
from headrace.runtime.session.placement_metadata import placement_metadata

_log = logging.getLogger("headrace.runtime")


cdef class ReportedStep:
    """services.Step over another one. A report that fails is logged: the runs go on.

    Args:
      step: the other one.
      report: called by the first traced run: returns a PlacementReport, or None if the session is
        closed.
      costs: the NodeCosts of the session.
    """
    cdef object step, report, planned, costs

    def __init__(self, step, report, costs):
        self.step = step
        self.report = report
        self.costs = costs

    def __call__(self, values):
        return self.step(values)

    def run(self, values, bytes options):
        results, metadata = self.step.run(values, options)
        if RunOptions.FromString(options).trace_level > RunOptions.NO_TRACE:
            # What is expected does not count the first run, which prepares kernels.
            if self.planned is None:
                self.planned = self.plan()
            self.costs.observe(metadata)
            if self.planned is not None:
                metadata += placement_metadata(self.planned, self.costs)
        return results, metadata

    cdef object plan(self):
        try:
            return self.report()
        except Exception as error:
            _log.warning("no report of the placement: %s", error)
            return None

    def explain(self):
        return self.step.explain()
