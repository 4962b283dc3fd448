"""The loops of a graph before it is cut: which node is in which."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.passes.graph_ir cimport GraphIR


cdef class TaskFrames:
    cdef vector[int32_t] frame_of     # per node: the frame that it runs in; 0: none
    cdef vector[int32_t] inside       # per node: the frame of its outputs
    cdef vector[int32_t] parents      # per frame
    cdef readonly list names          # per frame
    cdef vector[int32_t] enters       # per frame: one of its Enter nodes
    cdef vector[int32_t] conditions   # per frame: its LoopCond; -1: none

    cdef int find(self, GraphIR ir) except -1
