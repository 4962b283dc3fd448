# cython: language_level=3
# distutils: language = c++
"""Plans of a session's graph over the devices of several tasks: services.Planner."""

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.fed_values cimport tensor_spec
from headrace.runtime.passes.plan_tasks cimport StateDevices, plan_tasks
from headrace.runtime.passes.program cimport ProgramConfig

from headrace.runtime.kernels.kernel_libraries import load_kernels
from headrace.runtime.state.session_options import SessionOptions


cdef class GraphPlanner:
    """services.Planner."""
    cdef SessionGraph graph
    cdef StateDevices state
    cdef object options

    def __init__(self, bytes config):
        load_kernels()
        self.options = SessionOptions(config)
        self.graph = SessionGraph()
        self.state = StateDevices()

    def extend(self, bytes graph_def):
        self.graph.extend(graph_def)

    def plan(self, feeds, fetches, targets, devices):
        cdef ProgramConfig config = ProgramConfig()
        config.devices = list(devices)
        config.allow_reference = self.options.allow_reference
        config.allow_soft_placement = self.options.allow_soft_placement
        return plan_tasks(self.graph, list(feeds), list(fetches), list(targets), config,
                          self.state)

    def tensor_spec(self, str name):
        return tensor_spec(self.graph, name)
