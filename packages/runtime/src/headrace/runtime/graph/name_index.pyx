# distutils: language = c++
"""Nodes by name: a hash table of node numbers that refers to the nodes' own names."""

from libc.stdint cimport int32_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode


cdef extern from *:
    """
    #include <functional>
    #include <string_view>
    static inline uint32_t headrace_name_hash(std::string_view name) {
      return static_cast<uint32_t>(std::hash<std::string_view>()(name));
    }
    """
    uint32_t headrace_name_hash(string_view) nogil


cdef class NameIndex:
    """A hash table with open addressing. Stored hashes avoid most comparisons of names."""

    def __cinit__(self):
        self.slots.resize(1)
        self.slots[0].node = -1

    cdef int32_t find(self, vector[GraphNode*]& nodes, string_view name) noexcept nogil:
        cdef size_t mask = self.slots.size() - 1
        cdef uint32_t hashed = headrace_name_hash(name)
        cdef size_t at = hashed & mask
        while self.slots[at].node >= 0:
            if self.slots[at].hashed == hashed and (
                    string_view(nodes[self.slots[at].node].name) == name):
                return self.slots[at].node
            at = (at + 1) & mask
        return -1

    cdef cbool add(self, vector[GraphNode*]& nodes, int32_t number) noexcept nogil:
        cdef size_t mask = self.slots.size() - 1
        cdef string_view name = string_view(nodes[number].name)
        cdef uint32_t hashed = headrace_name_hash(name)
        cdef size_t at = hashed & mask
        while self.slots[at].node >= 0:
            if self.slots[at].hashed == hashed and (
                    string_view(nodes[self.slots[at].node].name) == name):
                return False
            at = (at + 1) & mask
        self.slots[at].hashed = hashed
        self.slots[at].node = number
        return True

    cdef int reserve(self, vector[GraphNode*]& nodes, size_t size) except -1 nogil:
        cdef NameSlot empty
        cdef size_t room = self.slots.size()
        if room >= 2 * size:
            return 0
        while room < 2 * size:
            room *= 2
        empty.hashed = 0
        empty.node = -1
        self.slots.assign(room, empty)
        return self._add_all(nodes)

    cdef int clear(self, size_t size) except -1 nogil:
        cdef NameSlot empty
        cdef size_t room = 1
        while room < 2 * size:
            room *= 2
        empty.hashed = 0
        empty.node = -1
        self.slots.assign(room, empty)
        return 0

    cdef int reset(self, vector[GraphNode*]& nodes) except -1 nogil:
        cdef NameSlot empty
        empty.hashed = 0
        empty.node = -1
        self.slots.assign(self.slots.size(), empty)
        return self._add_all(nodes)

    cdef int _add_all(self, vector[GraphNode*]& nodes) except -1 nogil:
        cdef size_t i
        for i in range(nodes.size()):
            if nodes[i].caller < 0:
                self.add(nodes, <int32_t>i)
        return 0
