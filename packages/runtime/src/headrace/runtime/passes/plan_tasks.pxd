"""The partitions of a signature over several tasks."""

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.program cimport ProgramConfig


cpdef bytes plan_tasks(SessionGraph graph, list feeds, list fetches, list targets,
                       ProgramConfig config)

cpdef bytes explain_tasks(SessionGraph graph, list feeds, list fetches, list targets,
                          ProgramConfig config)
