"""The devices of a session's variables and other state, which all its signatures share."""

from libc.stdint cimport int32_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.place cimport Placer


cdef class StateDevices:
    # By the names of nodes; a node stays where it was placed first while that device is there.
    cdef unordered_map[string, int32_t] assigned    # numbers in `devices`
    cdef unordered_map[string, int32_t] first       # numbers in `known`
    cdef tuple devices
    cdef list known                                 # all devices that there have ever been
    cdef vector[int32_t] number_of                  # in `known`, by number in `devices`
    cdef int version                                # of the graph

    # Assigns the state of what the graph has had added. The caller holds the graph's lock. Over
    # several tasks, what uses state always follows it.
    cdef int update(self, SessionGraph graph, list devices, bint between_tasks, bint soft,
                    bint allow_reference) except -1
    cdef int change_devices(self, tuple names) except -1
    cdef int assign(self, GraphIR ir, Placer placer) except -1
    cdef int set_device(self, const string& name, int32_t device) except -1
    # Keeps the devices of other nodes with state, which were chosen when they were placed first.
    cdef int keep(self, GraphIR ir) except -1
