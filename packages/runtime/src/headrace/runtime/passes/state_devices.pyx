# distutils: language = c++
"""The devices of a session's variables and other state, which all its signatures share.

Nodes that refer to one another's state are placed once for the whole graph: the part of it that a
signature runs may not show that they belong together. A node whose state is its own (a random op)
stays where the first signature that runs it had it placed.
"""

from libc.stdint cimport int32_t
from libc.string cimport memset
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport op_entry_of
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.memory.kernel_abi cimport HR_RESOURCE, hr_dtype
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.place cimport Placer, place

from headrace.runtime.passes.device_table import device_table


cdef class StateDevices:
    def __init__(self):
        self.version = -1
        self.devices = ()
        self.known = []

    cdef int update(self, SessionGraph graph, list devices, bint between_tasks, bint soft,
                    bint allow_reference) except -1:
        cdef GraphIR ir
        names = tuple(devices)
        if self.devices != names:
            self.change_devices(names)
        if self.version == graph.version:
            return 0
        ir = GraphIR()
        ir.devices = list(devices)
        ir.table = device_table(names)
        ir.n_devices = <int32_t>len(devices)
        ir.between_tasks = between_tasks
        ir.tolerant = True
        ir.assigned = &self.assigned
        _add_nodes(graph, ir)
        self.assign(ir, place(ir, soft or between_tasks, allow_reference, None))
        self.version = graph.version
        return 0

    cdef int change_devices(self, tuple names) except -1:
        """Numbers change where tasks come or go."""
        numbers = {name: i for i, name in enumerate(names)}
        self.assigned.clear()
        for entry in self.first:
            number = numbers.get(self.known[entry.second])
            if number is not None:
                self.assigned[entry.first] = number
        self.devices = names
        self.number_of.clear()
        for name in names:
            if name not in self.known:
                self.known.append(name)
            self.number_of.push_back(<int32_t>self.known.index(name))
        self.version = -1
        return 0

    cdef int assign(self, GraphIR ir, Placer placer) except -1:
        """Where nodes cannot share a device, none is assigned: a signature that needs them says
        so."""
        cdef vector[int32_t] members
        cdef vector[char] refers
        cdef size_t i
        cdef int32_t root
        if ir.n_devices == 1:
            return 0
        members.assign(ir.nodes.size(), 0)
        refers.assign(ir.nodes.size(), 0)
        for i in range(ir.nodes.size()):
            root = placer.groups.root(<int32_t>i)
            members[root] += 1
            if _refers(&ir.nodes[i]) or ir.nodes[i].source.info.stateful and members[root] > 1:
                refers[root] = 1
        for i in range(ir.nodes.size()):
            root = placer.groups.root(<int32_t>i)
            if refers[root] and ir.nodes[i].device >= 0:
                self.set_device(ir.nodes[i].source.name, ir.nodes[i].device)
        return 0

    cdef int set_device(self, const string& name, int32_t device) except -1:
        if self.assigned.count(name):
            return 0
        self.assigned[name] = device
        if self.first.count(name) == 0:
            self.first[name] = self.number_of[device]
        return 0

    cdef int keep(self, GraphIR ir) except -1:
        cdef size_t i
        for i in range(ir.nodes.size()):
            if not ir.nodes[i].removed and ir.nodes[i].entry != NULL and \
                    ir.nodes[i].entry.stateful and ir.nodes[i].kind == NodeKind.KERNEL:
                self.set_device(ir.nodes[i].source.name, ir.nodes[i].device)
        return 0


cdef bint _refers(IRNode* node) noexcept:
    """Whether a node has state that others can refer to, or refers to that of others."""
    cdef size_t k
    if node.entry.has_ref:
        return True
    for k in range(node.source.input_dtypes.size()):
        if node.source.input_dtypes[k] == HR_RESOURCE:
            return True
    for k in range(node.source.output_dtypes.size()):
        if node.source.output_dtypes[k] == HR_RESOURCE:
            return True
    return False


cdef int _add_nodes(SessionGraph graph, GraphIR ir) except -1:
    """The whole graph, without the nodes of functions' bodies."""
    cdef vector[int32_t] number
    cdef GraphNode* source
    cdef IRNode node
    cdef Edge edge
    cdef size_t i
    number.assign(graph.nodes.size(), -1)
    for i in range(graph.nodes.size()):
        source = graph.nodes[i]
        if source.caller >= 0:
            continue
        number[i] = <int32_t>ir.nodes.size()
        memset(&node, 0, sizeof(IRNode))
        node.source = source
        node.entry = op_entry_of(source)
        node.kind = <NodeKind>node.entry.kind
        node.n_outputs = <int32_t>source.output_dtypes.size()
        ir.nodes.push_back(node)
    for i in range(graph.nodes.size()):
        source = graph.nodes[i]
        if number[i] < 0:
            continue
        ir.nodes[number[i]].first_input = <int32_t>ir.edges.size()
        ir.nodes[number[i]].n_inputs = <int32_t>source.inputs.size()
        for edge in source.inputs:
            edge.node = number[edge.node]
            ir.edges.push_back(edge)
    return 0
