# distutils: language = c++
"""Builds the program of a signature: the nodes to run for its fetches and targets, for any shapes."""

from difflib import get_close_matches

from libc.stdint cimport int32_t, int64_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport AttrScalar, find_scalar, kString
from headrace.runtime.passes.fed_values cimport note_feed_shapes
from headrace.runtime.graph.expand_calls cimport expand_calls
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_OK, HR_REF, hr_dtype
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.kernels.kernel_table cimport library_of
from headrace.runtime.graph.node_text cimport dtype_text, text, text_of
from headrace.runtime.passes.common_subexpressions cimport merge_common
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.order_writes cimport order_writes
from headrace.runtime.passes.memory_copies cimport computes_on_host, insert_copies, memory_given
from headrace.runtime.passes.partition cimport partition
from headrace.runtime.passes.placement_report cimport placement_report, report_receives
from headrace.runtime.passes.place cimport Placer, place
from headrace.runtime.passes.prune cimport prune
from headrace.runtime.passes.read_slots cimport read_slots
from headrace.runtime.passes.schedule_receives cimport ReceiveSchedule, schedule_receives
from headrace.runtime.graph.session_graph cimport SessionGraph, find_tensor

from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.runtime.passes.device_table import device_table

_KIND_NAMES = ("KERNEL", "FEED", "READ_SLOT", "SWITCH", "MERGE", "ENTER", "EXIT",
               "NEXT_ITERATION", "SEND", "RECV")


cdef class ProgramConfig:
    """What a session's ConfigProto says about programs."""

    def __init__(self, devices=None, allow_reference=True, allow_soft_placement=False,
                 merge_common=True, partial_run=False, placement=None, state=None,
                 schedule_receives=False, bfloat16_edges=False):
        self.devices = devices or ["/job:localhost/replica:0/task:0/device:CPU:0"]
        self.allow_reference = allow_reference
        self.allow_soft_placement = allow_soft_placement
        self.merge_common = merge_common
        self.partial_run = partial_run
        self.placement = placement
        self.state = state
        self.schedule_receives = schedule_receives
        self.bfloat16_edges = bfloat16_edges


cdef class Program:
    """The nodes that one signature runs; program.pxd describes the arrays."""

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.owned.size()):
            del self.owned[i]

    cpdef describe(self):
        """Nodes, feeds and fetches, for `explain()` and tests.

        Returns: a dict; its "nodes" are dicts with kind, name, op, device, library, inputs and
        outputs (value numbers), controls (node numbers), and edge: a number that identifies a pair
        of SEND and RECV.
        """
        cdef ProgramNode node
        cdef AttrScalar edge
        cdef int32_t i
        cdef const char* library
        nodes = []
        for node in self.nodes:
            library = library_of(node.kernel) if node.kernel != NULL else NULL
            named = (node.kind == NodeKind.SEND or node.kind == NodeKind.RECV) and find_scalar(
                node.source, string_view(<const char*>b"tensor_name"), kString, edge) == HR_OK
            nodes.append({
                "kind": _KIND_NAMES[<int>node.kind],
                "name": text_of(node.source.name),
                "op": text_of(node.source.op),
                "device": self.devices[node.device],
                "library": library.decode() if library != NULL else None,
                "inputs": [self.inputs[node.first_input + i] for i in range(node.n_inputs)],
                "controls": [self.controls[node.first_control + i] for i in range(node.n_controls)],
                "outputs": list(range(node.first_output, node.first_output + node.n_outputs)),
                "edge": text(edge.bytes) if named else None,
            })
        return {
            "nodes": nodes,
            "dtypes": [dtype_text(value.dtype) for value in self.values],
            "feeds": list(self.feeds),
            "fetches": list(self.fetches),
            "targets": list(self.targets),
            "dynamic": self.dynamic,
        }

    cpdef list placement(self):
        """Where each node runs, as a list of pairs of a name and the number of a device."""
        cdef size_t i
        return [(self.nodes[i].source.name, self.nodes[i].device)
                for i in range(self.nodes.size()) if self.nodes[i].kind == NodeKind.KERNEL]


cpdef Program build_program(SessionGraph graph, list feeds, list fetches, list targets,
                            ProgramConfig config):
    """Makes the program of a signature.

    Args:
      feeds: tensor names; "x" is "x:0".
      fetches: tensor names; one may be fed, too.
      targets: operation names.
    Raises: NotFoundError for an unknown name or an op without a kernel; InvalidArgumentError for a
    tensor that is fed twice, an output that a node does not have, a placeholder that is needed and
    not fed, or an impossible placement.
    """
    cdef GraphIR ir
    cdef Placer placer
    cdef ReceiveSchedule schedule = None
    report = None
    with graph.lock:
        ir = pruned_graph(graph, feeds, fetches, targets, config)
        read_slots(ir)
        placer = placed(ir, graph, config)
        if placer.simulation is not None or config.explains:
            report = placement_report(ir, placer, config.placement)
        if config.merge_common:
            merge_common(ir)
        order_writes(ir)
        # In a partial run nothing may wait for what is perhaps fed later, or never.
        if config.schedule_receives and ir.n_devices > 1 and config.placement is not None and \
                not ir.partial_run:
            schedule = schedule_receives(ir, config.placement)
        partition(ir)
        insert_copies(ir)
        program = _finish(ir)
    program.owner = graph
    if report is not None:
        report_receives(report, schedule)
    program.placement_report = report
    program.spread = placer.simulation is not None and placer.simulation.adopted
    program.feed_names = list(feeds)
    program.fetch_names = list(fetches)
    note_feed_shapes(program, graph.producer)
    return program


cdef Placer placed(GraphIR ir, SessionGraph graph, ProgramConfig config):
    cdef Placer placer
    if config.state is not None:
        config.state.update(graph, config.devices, ir.between_tasks,
                            config.allow_soft_placement, config.allow_reference)
        ir.assigned = &config.state.assigned
    placer = place(ir, config.allow_soft_placement, config.allow_reference, config.placement)
    if config.state is not None and placer.simulation is not None:
        config.state.keep(ir)
    return placer


cdef GraphIR pruned_graph(SessionGraph graph, list feeds, list fetches, list targets,
                          ProgramConfig config):
    cdef vector[Edge] feed_edges, fetch_edges
    cdef vector[int] target_nodes
    cdef GraphIR ir = GraphIR()
    ir.devices = list(config.devices)
    ir.table = device_table(tuple(config.devices))
    ir.n_devices = <int32_t>len(ir.devices)
    if config.device_list is not None and config.device_list.accelerated:
        ir.memories = config.device_list.devices
    ir.partial_run = config.partial_run
    with graph.lock:
        seen = {}
        for name in feeds:
            edge = checked_tensor(graph, "Feed", name)
            if (edge.node, edge.port) in seen:
                raise InvalidArgumentError(
                    None, None, f"Feed {name!r}: the tensor is fed already, as "
                    f"{seen[edge.node, edge.port]!r}; feed it once")
            seen[edge.node, edge.port] = name
            feed_edges.push_back(edge)
        for name in fetches:
            fetch_edges.push_back(checked_tensor(graph, "Fetch", name))
        for name in targets:
            target_nodes.push_back(_operation(graph, name))
        expand_calls(graph, feed_edges, fetch_edges, target_nodes)
        prune(graph, feed_edges, fetch_edges, target_nodes, ir)
    return ir


# ---- names -------------------------------------------------------------------------------------


cdef Edge checked_tensor(SessionGraph graph, str role, str name) except *:
    cdef bytes encoded = name.encode()
    cdef Edge edge = find_tensor(graph, string_view(<const char*>encoded, len(encoded)))
    if edge.node < 0:
        raise _unknown(graph, role, name)
    cdef GraphNode* node = graph.nodes[edge.node]
    if edge.port < 0 or edge.port >= <int32_t>node.output_dtypes.size():
        raise InvalidArgumentError(
            None, None,
            f"{role} {name!r}: {text_of(node.op)} '{text_of(node.name)}' has "
            f"{node.output_dtypes.size()} outputs", node_name=text_of(node.name))
    return edge


cdef int32_t _operation(SessionGraph graph, name) except -1:
    cdef bytes encoded = name.encode()
    cdef int32_t node = graph.find(string_view(<const char*>encoded, len(encoded)))
    if node < 0:
        raise _unknown(graph, "Target", name)
    return node


cdef object _unknown(SessionGraph graph, str role, str name):
    stem, colon, port = name.rpartition(":")
    node = stem if colon and port.isdigit() else name
    known = graph.node_names()
    near = [other for other in known if other.lower() == node.lower()]
    if not near:
        near = get_close_matches(node, known, n=3)
    remedy = f"did you mean {' or '.join([repr(n) for n in near[:3]])}?" if near else (
        f"the session has {len(known)} other nodes; was it made before the node?")
    return NotFoundError(None, None, f"{role} {name!r}: no node {node!r} in the graph; {remedy}")


# ---- from ir to program ---------------------------------------------------------------------


cdef Program _finish(GraphIR ir):
    cdef Program program = Program()
    cdef vector[int32_t] order
    ir.order_for_sends(order)
    program.devices = ir.devices
    program.memories = ir.memories
    with nogil:
        _emit(ir, order, program)
    program.owned.swap(ir.owned)
    return program


cdef int _emit(GraphIR ir, vector[int32_t]& order, Program program) except -1 nogil:
    cdef vector[int32_t] position
    cdef IRNode* node
    cdef ProgramNode out
    cdef ProgramValue value
    cdef Edge edge
    cdef int32_t i, k, at
    cdef size_t f
    cdef bint dynamic = ir.partial_run
    cdef int32_t first_device = -1
    position.assign(ir.nodes.size(), -1)
    program.nodes.reserve(order.size())
    program.inputs.reserve(ir.edges.size())
    program.controls.reserve(ir.controls.size())
    program.values.reserve(2 * order.size())
    for i in range(<int32_t>order.size()):
        at = order[i]
        node = &ir.nodes[at]
        position[at] = i
        out.source = node.source
        out.kernel = node.kernel
        out.kind = node.kind
        out.device = node.device
        out.n_inputs = node.n_inputs
        out.n_controls = node.n_controls
        out.first_input = 0
        out.first_control = 0
        out.first_output = <int32_t>program.values.size()
        out.n_outputs = node.n_outputs
        out.awaited = False
        out.on_host = ir.memories.empty() or ir.memories[node.device] == NULL or \
            computes_on_host(ir, at)
        program.nodes.push_back(out)
        for k in range(node.n_outputs):
            value.node = i
            value.port = k
            value.memory = memory_given(ir, at, k)
            if node.kind == NodeKind.FEED:
                value.dtype = node.source.output_dtypes[node.port] % HR_REF
            else:
                value.dtype = node.source.output_dtypes[k]
            program.values.push_back(value)
        if node.kind == NodeKind.KERNEL:
            dynamic = dynamic or node.kernel.compute == NULL
        elif node.kind != NodeKind.FEED and node.kind != NodeKind.READ_SLOT:
            dynamic = True
        if node.kind != NodeKind.FEED:
            if first_device < 0:
                first_device = node.device
            dynamic = dynamic or node.device != first_device
    for i in range(<int32_t>order.size()):
        node = &ir.nodes[order[i]]
        program.nodes[i].first_input = <int32_t>program.inputs.size()
        for k in range(node.n_inputs):
            edge = ir.edges[node.first_input + k]
            program.inputs.push_back(
                program.nodes[position[edge.node]].first_output + edge.port)
        program.nodes[i].first_control = <int32_t>program.controls.size()
        for k in range(node.n_controls):
            program.controls.push_back(position[ir.controls[node.first_control + k]])
            program.nodes[program.controls.back()].awaited = True
    for f in range(ir.feeds.size()):
        at = ir.feeds[f]
        program.feeds.push_back(-1 if at < 0 else program.nodes[position[at]].first_output)
    for edge in ir.fetches:
        program.fetches.push_back(program.nodes[position[edge.node]].first_output + edge.port)
    for at in ir.targets:
        program.targets.push_back(position[at])
        program.nodes[position[at]].awaited = True
    program.dynamic = dynamic
    return 0
