"""The parts of a while loop: nodes that run together, as segments."""

from headrace.runtime.executor.loop_phases cimport LoopPhases


cdef class LoopParts(LoopPhases):
    cdef dict part_of          # node -> part
    cdef list parts            # lists of nodes

    cdef int make_parts(self) except -1
    cdef set values_read_elsewhere(self)
