"""Nodes by name: a hash table of node numbers that refers to the nodes' own names."""

from libc.stdint cimport int32_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode


cdef struct NameSlot:
    uint32_t hashed
    int32_t node       # -1: empty


cdef class NameIndex:
    cdef vector[NameSlot] slots    # a power of two, at most half full

    # The number of a node; -1: there is none.
    cdef int32_t find(self, vector[GraphNode*]& nodes, string_view name) noexcept nogil
    # Adds nodes[number]; false where its name is taken. Call reserve first.
    cdef cbool add(self, vector[GraphNode*]& nodes, int32_t number) noexcept nogil
    # Makes room for `size` nodes, of which those of the graph are added.
    cdef int reserve(self, vector[GraphNode*]& nodes, size_t size) except -1 nogil
    # Removes all names and makes room for `size` nodes.
    cdef int clear(self, size_t size) except -1 nogil
    # Removes all names except those of `nodes`.
    cdef int reset(self, vector[GraphNode*]& nodes) except -1 nogil
    cdef int _add_all(self, vector[GraphNode*]& nodes) except -1 nogil
