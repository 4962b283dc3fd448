"""Sets of small numbers, each stored once, so that equal sets have equal numbers."""

from libc.stdint cimport int32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector


cdef class TokenSets:
    cdef vector[vector[int32_t]] sets           # set 0 is empty
    cdef unordered_map[uint64_t, vector[int32_t]] by_hash
    cdef unordered_map[uint64_t, int32_t] unions

    cdef int32_t single(self, int32_t token) noexcept nogil
    cdef int32_t join(self, int32_t a, int32_t b) noexcept nogil
    cdef int32_t _keep(self, vector[int32_t]& tokens) noexcept nogil
