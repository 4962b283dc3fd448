"""Chooses devices by simulating a step (white paper §3.2.1)."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.passes.colocation cimport Colocation
from headrace.runtime.passes.device_sets cimport DeviceSets
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.step_costs cimport StepCosts


cdef extern from "passes/simulated_step.hpp" namespace "headrace" nogil:
    cdef cppclass Machine:
        vector[int32_t] task_of
        vector[uint8_t] uses_cores
        int32_t cores
        double between_devices_ns, between_tasks_ns, ns_per_byte, sending_ns, sending_to_task_ns

    cdef enum Presence "headrace::Presence":
        ON_ITS_DEVICE "headrace::kOnItsDevice"
        FLOATS "headrace::kFloats"
        ON_ITS_TASK "headrace::kOnItsTask"

    cdef struct StepInput:
        int32_t producer
        int32_t value

    cdef cppclass StepGraph:
        vector[double] ns
        vector[uint8_t] wide
        vector[Presence] presence
        vector[int32_t] rank
        vector[int32_t] first_input
        vector[StepInput] inputs
        vector[int64_t] bytes

    cdef cppclass GroupPlace:
        int32_t device
        int32_t allowed

    cdef struct DeviceEstimate:
        int32_t device
        double finish_ns

    cdef cppclass SimulatedStep:
        vector[double] start, finish, busy
        double length
        SimulatedStep(const StepGraph& graph, const Machine& machine) except +
        bint run(const vector[int32_t]& group, vector[GroupPlace]& places, const DeviceSets& sets,
                 unordered_map[int32_t, vector[DeviceEstimate]]* estimates) except +


# What the simulation of a placement said, for the report.
cdef class SimulationRecord:
    cdef StepCosts costs
    cdef unordered_map[int32_t, vector[DeviceEstimate]] estimates    # per node that decided
    cdef vector[double] start_ns, finish_ns      # per node, as placed
    cdef vector[double] busy_ns                  # per device
    cdef vector[uint8_t] had_choice              # per node
    cdef double first_devices_ns, best_ns        # what a step takes; best_ns 0: not simulated
    cdef bint adopted                            # whether the simulated placement is used


# The devices, links and cores of a plan.
cdef Machine machine_of(GraphIR ir, PlacementConfig config)
# The nodes of the ir with their expected or measured times.
cdef int step_graph(GraphIR ir, const StepCosts& costs, PlacementConfig config,
                    StepGraph* graph) except -1
# Sets the devices of the groups that have a choice; others have one already. Returns whether they
# differ from the first devices.
cdef bint simulate_placement(GraphIR ir, PlacementConfig config, Colocation groups,
                             DeviceSets& sets, vector[GroupPlace]& places,
                             SimulationRecord record) except -1
# The same for a graph whose nodes have devices and no choice.
cdef SimulationRecord simulate_as_placed(GraphIR ir, PlacementConfig config)
