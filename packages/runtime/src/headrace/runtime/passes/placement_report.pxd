"""Why nodes run where they do, as a PlacementReport."""

from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.place cimport Placer
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.schedule_receives cimport ReceiveSchedule


# The report of a graph that was placed just now. Returns: a plan_pb2.PlacementReport.
cdef object placement_report(GraphIR ir, Placer placer, PlacementConfig config)

# Adds what is known of delayed tensors; None: they are not scheduled.
cdef int report_receives(object report, ReceiveSchedule schedule) except -1
