"""Gives every node a device and, where its kind is KERNEL, a kernel."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_kernel
from headrace.runtime.passes.colocation cimport Colocation
from headrace.runtime.passes.device_sets cimport DeviceSets
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.simulate_placement cimport SimulationRecord


# What limits the devices of a node, for the report.
cdef enum Limit:
    REQUESTED = 1     # its device string
    SOFTENED = 2      # its device string cannot be met
    KEPT = 4          # it has state there
    BY_KERNELS = 8    # it has no kernel for other types of device


cdef class Placer:
    cdef GraphIR ir
    cdef bint soft, allow_reference
    cdef DeviceSets* sets
    cdef vector[string] type_names
    cdef vector[uint8_t] accelerated                # per type: its devices have memory of their own
    cdef int32_t accelerators                       # the set of such devices
    cdef vector[int32_t] type_of                    # per device
    cdef vector[int32_t] task_of                    # per device
    cdef vector[int32_t] set_of_task                # -1: not made yet
    cdef unordered_map[uint64_t, int32_t] set_of_types
    cdef unordered_map[string_view, int32_t] requests, soft_requests
    cdef vector[int32_t] required, possible         # per node: sets
    cdef vector[uint8_t] limits                     # per node: Limit
    cdef vector[const hr_kernel*] kernels           # per node and type
    cdef Colocation groups                          # None: there is one device
    cdef SimulationRecord simulation                # None: nothing was simulated

    cdef int find_sets(self) except -1 nogil
    cdef int32_t feasible(self, int32_t i) except -1 nogil
    cdef int32_t request(self, GraphNode* source) except -1 nogil
    cdef int32_t soft_request(self, GraphNode* source) except -1 nogil
    cdef int choose(self, PlacementConfig config) except -1
    cdef int32_t preferred(self, int32_t allowed) except -1
    cdef int32_t devices_of_task(self, int32_t task) except -1
    cdef object no_common_device(self, int32_t root)


# config: None places each node on the first device that it may have. Returns how it was done.
cdef Placer place(GraphIR ir, bint soft, bint allow_reference, PlacementConfig config)
