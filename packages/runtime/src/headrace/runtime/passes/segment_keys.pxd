"""What the nodes of one segment have in common: device, tokens, deadness and level."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.map cimport map
from libcpp.vector cimport vector

from headrace.runtime.passes.token_sets cimport TokenSets
from headrace.runtime.passes.program cimport Program, ProgramNode


cdef class SegmentKeys:
    cdef Program program
    cdef vector[uint8_t] isolated          # per node: whether it is a segment of its own; empty: none is
    cdef bint late_feeds, by_class
    cdef TokenSets sets
    cdef map[vector[int32_t], int32_t] token_numbers, frame_numbers, group_numbers
    cdef vector[int32_t] frame_parents
    # per node
    cdef vector[int32_t] frame, tokens, dead, group, level, known
    cdef vector[uint8_t] boundary, data_dependent, has_back_edge
    cdef vector[uint8_t] fixed          # its values depend on constants and shapes only
    cdef vector[uint64_t] shape_values  # fixed value inputs that decide shapes, by argument

    cdef int32_t token(self, int32_t what, int32_t a, int32_t b) noexcept nogil
    cdef int32_t own_token(self, int32_t i, int32_t port) noexcept nogil
    cdef int32_t find_frame(self, int32_t i) noexcept nogil
    cdef void find_keys(self) noexcept nogil
    cdef void find_key(self, int32_t i) noexcept nogil
    cdef int32_t tokens_behind(self, int32_t producer) noexcept nogil
    cdef bint is_fixed(self, int32_t i) noexcept nogil
    cdef void find_shape_values(self, int32_t i) noexcept nogil
    cdef bint runs_user_code(self, int32_t i) noexcept nogil
    cdef void find_level(self, int32_t i) noexcept nogil


cdef inline int32_t node_of(Program program, int32_t input) noexcept nogil:
    return program.values[program.inputs[input]].node

# The value that decides a Switch, through Identities (a condition has a few).
cdef int32_t predicate_of(Program program, ProgramNode* switch) noexcept nogil
