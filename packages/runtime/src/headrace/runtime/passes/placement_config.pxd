"""How a session places nodes that may run on several devices."""

from headrace.runtime.passes.step_costs cimport NodeCosts


# Among which devices; as ConfigProto.experimental.placement_simulation.
cdef enum Simulation:
    SIMULATE_ON_ONE_TASK = 0
    SIMULATE_ON_ALL = 1
    SIMULATE_NOTHING = 2


cdef class PlacementConfig:
    cdef public int simulate
    cdef public double between_tasks_ns, ns_per_byte
    cdef public int intra_op_threads        # of each task
    cdef public NodeCosts costs             # None: nothing is measured
