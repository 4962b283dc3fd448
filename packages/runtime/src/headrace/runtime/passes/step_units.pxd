"""The units of a step: nodes that run together, because all of them wait for the same others."""

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.simulate_placement cimport StepGraph
from headrace.runtime.passes.step_costs cimport StepCosts


cdef class StepUnits:
    cdef vector[int32_t] unit_of             # per node; -1: removed
    cdef vector[int32_t] device              # per unit
    cdef StepGraph graph                     # of units
    cdef vector[double] start_ns, finish_ns  # per unit, of the expected step
    cdef readonly double length_ns
    cdef readonly double peak_bytes          # of the tensors that pass between units

    # held: per value, whether it exists before and after the step. False: the units wait for one
    # another, which only unusual graphs do.
    cdef bint find(self, GraphIR ir, PlacementConfig config, const StepCosts& costs,
                   const vector[int32_t]& order, const vector[uint8_t]& held) except -1
    cdef int make_units(self, GraphIR ir, const vector[int32_t]& order) except -1
    cdef int connect(self, GraphIR ir, PlacementConfig config, const StepCosts& costs,
                     const vector[int32_t]& order) except -1
    cdef int find_peak(self, GraphIR ir, PlacementConfig config,
                       const vector[uint8_t]& held) except -1


# Whether a node is a unit of its own, for which others wait.
cdef bint is_boundary(GraphIR ir, int32_t i) noexcept nogil
