"""Why nodes run where they do, as a PlacementReport."""

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.program cimport ProgramConfig


cpdef bytes report_placement(SessionGraph graph, list feeds, list fetches, list targets,
                             ProgramConfig config, bint between_tasks)
