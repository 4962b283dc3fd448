"""When each node of a while loop runs: under which conditions, and after which nodes."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.executor.native_loop cimport NativeLoop
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.passes.program cimport Program, ProgramNode


cdef class LoopPhases:
    cdef Program program
    cdef Segments segments
    cdef int32_t frame
    cdef NativeLoop loop
    cdef list members          # nodes of the frame, in the program's order
    cdef dict variables        # Merge at the loop's head -> loop variable
    cdef dict invariants       # value of an Enter -> number of the loop's input
    cdef dict inner_of_frame   # frame -> inner loop that is entered from this frame
    cdef dict entered_frame    # Enter of an inner loop -> its frame
    cdef dict inner_of_exit    # Exit of an inner loop -> that loop
    cdef dict inner_places     # id of an inner loop -> its (key, phase); None while they are computed
    cdef int32_t root          # the value that decides whether the loop continues
    cdef tuple go_on           # its token
    cdef dict switches         # value of a predicate -> a Switch
    cdef dict keys             # node -> frozenset of tokens: (predicate, its value)
    cdef dict phases           # node -> number
    cdef dict known            # node -> the phase in which its values are known

    cdef int collect(self, vector[int32_t]& frame_of, vector[int32_t]& entered,
                     dict inner) except -1
    cdef bint is_head(self, ProgramNode* merge)
    cdef int find_predicate(self) except -1
    cdef int32_t maker(self, int32_t value)
    cdef int32_t source(self, int32_t value)
    cdef tuple place_of(self, int32_t value)
    cdef tuple place_of_node(self, int32_t node)
    cdef int place(self, int32_t i) except -1
    cdef int place_switch(self, int32_t i, ProgramNode* node) except -1
    cdef int place_merge(self, int32_t i, ProgramNode* node) except -1
    cdef int place_kernel(self, int32_t i, ProgramNode* node) except -1
    cdef bint is_kernel(self, int32_t node)
    cdef tuple place_inner(self, NativeLoop loop)
    cdef int place_inner_loops(self) except -1
