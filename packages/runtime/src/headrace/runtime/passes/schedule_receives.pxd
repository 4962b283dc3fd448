"""Delays what is sent until its receiver needs it (white paper §5.2)."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.step_costs cimport StepCosts
from headrace.runtime.passes.step_units cimport StepUnits


# The lists of a node before it was changed.
cdef struct NodeLists:
    int32_t node
    int32_t first_input, n_inputs, first_control, n_controls


cdef class ReceiveSchedule:
    cdef GraphIR ir
    cdef PlacementConfig config
    cdef StepCosts costs
    cdef StepUnits units                     # as the graph was
    cdef vector[int32_t] order
    cdef vector[int32_t] task_of             # per device
    cdef bint writes                         # whether the step changes a variable
    cdef vector[uint8_t] certain             # per node: it runs in each step, once
    cdef vector[uint8_t] blocked             # per node: it or what it needs may wait for others
    cdef vector[uint8_t] fetched             # per node
    cdef vector[vector[int32_t]] consumers   # per node, by number; a node with two inputs twice
    cdef vector[int32_t] by_finish           # units that others may wait for, by their end
    cdef vector[int32_t] last_of             # per unit: a node that ends with it; -1: none
    cdef vector[uint8_t] in_cone             # per node
    cdef vector[uint8_t] awaited             # per unit
    cdef vector[NodeLists] changed
    cdef size_t n_nodes                      # before Identity nodes were added
    cdef readonly int n_delayed              # tensors
    cdef StepUnits after                     # as it became; None: nothing changed

    cdef bint run(self) except -1
    cdef int find_consumers(self) except -1
    cdef int find_triggers(self) except -1
    cdef int delay_sends(self, int32_t value, int32_t i, int32_t port) except -1
    cdef bint delay_making(self, int32_t i, int64_t size) except -1
    cdef bint delay_sending(self, int32_t i, int32_t port, int32_t task, int64_t size) except -1
    cdef double transfer_ns(self, int32_t source, int32_t consumer, int64_t size) noexcept
    cdef bint may_move(self, int32_t i) noexcept
    cdef bint is_held(self, int32_t i) noexcept
    cdef vector[uint8_t] held_values(self) except *
    cdef int find_cone(self, int32_t i, bint whole, vector[int32_t]& cone) except -1
    cdef int64_t kept_alive(self, vector[int32_t]& cone) except -1
    cdef bint follows_cone(self, int32_t i) noexcept
    cdef int32_t trigger(self, int32_t device, double latest, double earliest) noexcept
    cdef int wait_for(self, int32_t i, int32_t trigger) except -1
    cdef int save(self, int32_t i) except -1
    cdef int undo(self) except -1


# Adds control edges and nodes where that saves memory and takes no time. Returns what it did; `n_delayed` 0: nothing.
cdef ReceiveSchedule schedule_receives(GraphIR ir, PlacementConfig config)
