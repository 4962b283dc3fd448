"""The devices of a session's variables and other state, which all its signatures share."""

from libc.stdint cimport int32_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.place cimport Placer


cdef class StateDevices:
    cdef unordered_map[string, int32_t] assigned    # by the names of nodes
    cdef unordered_map[string, int32_t] kept        # those of them that `keep` added
    cdef tuple devices
    cdef int version                                # of the graph

    # Assigns the state of what the graph has had added. The caller holds the graph's lock. Over
    # several tasks, what uses state always follows it.
    cdef int update(self, SessionGraph graph, list devices, bint between_tasks, bint soft,
                    bint allow_reference) except -1
    cdef int change_devices(self, tuple names) except -1
    cdef int assign(self, GraphIR ir, Placer placer) except -1
    # Keeps the devices of other nodes with state, which were chosen when they were placed first.
    cdef int keep(self, GraphIR ir) except -1
