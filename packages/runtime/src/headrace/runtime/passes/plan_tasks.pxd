"""The partitions of a signature over several tasks."""

from libc.stdint cimport int32_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.program cimport ProgramConfig


cdef class StateDevices:
    cdef unordered_map[string, int32_t] assigned    # by the names of nodes
    cdef list devices
    cdef int version                                # of the graph

    cdef int update(self, SessionGraph graph, ProgramConfig config) except -1


cpdef bytes plan_tasks(SessionGraph graph, list feeds, list fetches, list targets,
                       ProgramConfig config, StateDevices state)
