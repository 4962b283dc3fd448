"""Sets of devices, each stored once, so that equal sets have equal numbers (device_sets.hpp)."""

from libc.stdint cimport int32_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector


cdef extern from "passes/device_sets.hpp" namespace "headrace" nogil:
    const int32_t NO_DEVICES "headrace::DeviceSets::kNone"
    const int32_t ALL_DEVICES "headrace::DeviceSets::kAll"

    cdef cppclass DeviceSets:
        DeviceSets(int32_t n_devices) except +
        int32_t add(vector[int32_t] members) except +
        int32_t only(int32_t device) except +
        int32_t both(int32_t a, int32_t b) except +
        const vector[int32_t]& members(int32_t set)
        cbool has(int32_t set, int32_t device)
        cbool empty(int32_t set)
        int32_t size(int32_t set)
        int32_t lowest(int32_t set)
