"""How a session places nodes that may run on several devices."""

cdef extern from "threads/cost_model.hpp" namespace "headrace" nogil:
    const double kNsBetweenTasks
    const double kNsPerByteBetweenTasks


# By number.
SIMULATIONS = ("one_task", "all_tasks", "none")


cdef class PlacementConfig:
    """What ConfigProto.experimental says about placement, and what was measured.

    Args:
      simulate: "one_task", "all_tasks" or "none".
      latency_us, gigabytes_per_second: between two tasks; 0: the cost model's.
      intra_op_threads: of each task.
      costs: the NodeCosts of the session, or None.
    """

    def __init__(self, str simulate="one_task", double latency_us=0,
                 double gigabytes_per_second=0, int intra_op_threads=1, NodeCosts costs=None):
        self.simulate = SIMULATIONS.index(simulate)
        self.between_tasks_ns = latency_us * 1000 or kNsBetweenTasks
        self.ns_per_byte = (1 / gigabytes_per_second if gigabytes_per_second
                            else kNsPerByteBetweenTasks)
        self.intra_op_threads = intra_op_threads
        self.costs = costs
