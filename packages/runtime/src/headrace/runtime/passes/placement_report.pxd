"""Why nodes run where they do, as a PlacementReport."""

from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.place cimport Placer
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.schedule_receives cimport ReceiveSchedule


# The report of a graph that was placed. Returns: a serialized PlacementReport.
cdef bytes placement_report(GraphIR ir, Placer placer, PlacementConfig config)

# The part of it about delayed tensors.
cdef bytes receives_report(ReceiveSchedule schedule)
