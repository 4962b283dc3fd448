"""The devices of a session: their names, and those of them that have memory of their own."""

from libcpp.vector cimport vector

from headrace.runtime.memory.kernel_abi cimport hr_device


cdef class DeviceList:
    cdef readonly list names              # full names
    cdef vector[hr_device*] devices       # of each; null: its memory is the host's
    cdef readonly bint accelerated        # whether any has memory of its own
