# cython: language_level=3
# distutils: language = c++
"""Plans of a session's graph over the devices of several tasks: services.Planner."""

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.fed_values cimport tensor_spec
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.plan_tasks cimport explain_tasks, plan_tasks
from headrace.runtime.passes.program cimport ProgramConfig
from headrace.runtime.passes.state_devices cimport StateDevices
from headrace.runtime.passes.step_costs cimport NodeCosts

from headrace.runtime.kernels.kernel_libraries import load_kernels
from headrace.runtime.session.placement_text import placement_text
from headrace.runtime.state.session_options import SessionOptions


cdef class GraphPlanner:
    """services.Planner."""
    cdef SessionGraph graph
    cdef StateDevices state
    cdef PlacementConfig placement_config
    cdef NodeCosts costs
    cdef object options

    def __init__(self, bytes config):
        load_kernels()
        self.options = SessionOptions(config)
        self.graph = SessionGraph()
        self.state = StateDevices()
        self.costs = NodeCosts()
        self.placement_config = placement_of(self.options, self.costs)

    def extend(self, bytes graph_def):
        self.graph.extend(graph_def)

    def plan(self, feeds, fetches, targets, devices):
        return plan_tasks(self.graph, list(feeds), list(fetches), list(targets),
                          self.program_config(devices))

    def placement(self, feeds, fetches, targets, devices):
        return explain_tasks(self.graph, list(feeds), list(fetches), list(targets),
                             self.program_config(devices))

    def explain(self, feeds, fetches, targets, devices):
        return placement_text(self.placement(feeds, fetches, targets, devices))

    def observe(self, bytes run_metadata):
        with self.graph.lock:
            self.costs.observe(run_metadata)

    cdef ProgramConfig program_config(self, devices):
        cdef ProgramConfig config = ProgramConfig()
        config.devices = list(devices)
        config.allow_reference = self.options.allow_reference
        config.allow_soft_placement = self.options.allow_soft_placement
        config.placement = self.placement_config
        config.state = self.state
        config.schedule_receives = self.options.schedule_receives
        config.bfloat16_edges = self.options.bfloat16_edges
        return config

    def tensor_spec(self, str name):
        return tensor_spec(self.graph, name)


def placement_of(options, costs):
    """The PlacementConfig of a session's options."""
    return PlacementConfig(options.simulate, options.transfer_latency_us,
                           options.transfer_gigabytes_per_s, options.intra_op_threads, costs)
