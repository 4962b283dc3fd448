"""A program: the nodes that one signature (feeds, fetches, targets) runs, for any shapes.

Arrays, not objects: node i of `nodes` reads values `inputs[first_input : +n_inputs]`, waits for
nodes `controls[first_control : +n_controls]` and makes values `first_output : +n_outputs`. Nodes
are in topological order, except for edges from NextIteration to Merge.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_device, hr_dtype, hr_kernel
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.kernels.device_list cimport DeviceList
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.place cimport Placer
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.state_devices cimport StateDevices


cdef struct ProgramNode:
    GraphNode* source        # name, attributes, state; synthetic ones are owned by the program
    const hr_kernel* kernel  # the chosen kernel; null unless KERNEL or READ_SLOT
    NodeKind kind
    bint awaited             # a target, or the source of a control edge: runs even if nothing reads it
    int32_t device           # index into Program.devices
    int32_t first_input, n_inputs
    int32_t first_control, n_controls
    int32_t first_output, n_outputs
    bint on_host             # it computes on the host, whatever memory its device has


cdef struct ProgramValue:
    int32_t node
    int32_t port
    int32_t memory           # the number of the device that it is on; -1: the host
    hr_dtype dtype


cdef class Program:
    cdef vector[ProgramNode] nodes
    cdef vector[int32_t] inputs      # value numbers
    cdef vector[int32_t] controls    # node numbers
    cdef vector[ProgramValue] values
    cdef vector[int32_t] feeds       # value number per feed of the signature, in its order; -1: not needed
    # Per feed of the signature, what its placeholder declares: rank -1: any, size -1: any.
    cdef vector[int32_t] feed_ranks
    cdef vector[vector[int64_t]] feed_dims
    cdef vector[int32_t] fetches     # value number per fetch of the signature, in its order
    cdef vector[int32_t] targets     # node numbers that must run
    cdef readonly list devices       # full device names
    cdef vector[hr_device*] memories # of each device, null for the host's; empty: all are
    cdef readonly list feed_names
    cdef readonly list fetch_names
    cdef object owner                # the SessionGraph, kept alive
    cdef vector[GraphNode*] owned    # synthetic nodes
    # Its PlacementReport if some nodes might run on other devices, else None.
    cdef readonly object placement_report
    cdef readonly bint spread        # and the simulation has chosen for them
    cdef readonly bint dynamic       # has control flow, asynchronous kernels or several devices

    cpdef describe(self)
    cpdef list placement(self)


# What a session's ConfigProto says about programs.
cdef class ProgramConfig:
    cdef public list devices               # full names; the first is the default device
    cdef public bint allow_reference       # Python kernels may be chosen
    cdef public bint allow_soft_placement
    cdef public bint merge_common          # common-subexpression elimination
    cdef public bint partial_run           # feeds arrive one by one: the program is dynamic
    cdef public PlacementConfig placement  # None: a node runs on the first device that it may have
    cdef public bint explains              # the program has a report also where nothing had a choice
    cdef public bint schedule_receives     # what is sent is delayed until it is needed
    cdef public bint bfloat16_edges        # float tensors pass between tasks as bfloat16
    cdef public StateDevices state         # None: the session has one device, or its plans differ
    cdef public DeviceList device_list     # of the same devices; None: all have the host's memory


# The node of input k of a node, or of its control input k - n_inputs.
cdef inline int32_t source_of(Program program, const ProgramNode* node, int32_t k) noexcept:
    if k < node.n_inputs:
        return program.values[program.inputs[node.first_input + k]].node
    return program.controls[node.first_control + k - node.n_inputs]


# feeds, fetches: tensor names ("x:0"; "x" is "x:0"); targets: operation names.
cpdef Program build_program(SessionGraph graph, list feeds, list fetches, list targets,
                            ProgramConfig config)

# What a signature needs of the graph, before it is placed. The caller holds the graph's lock.
cdef GraphIR pruned_graph(SessionGraph graph, list feeds, list fetches, list targets,
                          ProgramConfig config)

# Whether the program has devices with memory of their own.
cdef inline bint is_accelerated(Program program) noexcept nogil:
    return not program.memories.empty()


# Places a graph by the config, with the session's state where it is.
cdef Placer placed(GraphIR ir, SessionGraph graph, ProgramConfig config)

# The tensor of a name. Raises: NotFoundError, InvalidArgumentError; `role` is how they call it.
cdef Edge checked_tensor(SessionGraph graph, str role, str name) except *
