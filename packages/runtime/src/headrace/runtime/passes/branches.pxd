"""The branches of conditions that contain a node (branches.hpp)."""

from libc.stdint cimport int32_t
from libcpp cimport bool as cbool


cdef extern from "passes/branches.hpp" namespace "headrace" nogil:
    cdef cppclass Branches:
        void resize(size_t nodes)
        cbool always_runs(int32_t node)
        void begin(int32_t node, cbool merges)
        void add(int32_t producer, int32_t predicate, int32_t port)
        void end()
