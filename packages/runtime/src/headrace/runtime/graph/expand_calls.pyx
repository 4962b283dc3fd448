# distutils: language = c++
"""Replaces calls of functions by the nodes of their bodies (white paper, section 10).

The nodes of a body join the graph. They are named after the call, and no name of a user finds them.
Edges from the call lead to them: a program has neither the call nor the arguments. A body that is not in
the root frame, or that may be dead, gets a start node, so that its nodes without inputs run where
the call would.
"""

from libc.stdint cimport int8_t, int32_t
from libcpp.memory cimport unique_ptr
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.unordered_set cimport unordered_set
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport AttrEntry, attributes_of, op_entry_of
from headrace.runtime.graph.graph_node cimport CallBody, Edge, GraphNode
from headrace.runtime.graph.name_index cimport NameIndex
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport dtype_text, text, text_of
from headrace.runtime.graph.session_graph cimport SessionGraph, add_functions
from headrace.runtime.memory.kernel_abi cimport HR_REF, hr_dtype

from headrace.formats.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.formats.proto.graph_pb2 import NodeDef
from headrace.formats.proto.op_pb2 import AttrValue
from headrace.runtime.graph.functional_ops import Call, call_body, call_size, function_key

cdef enum:
    _MOST_NODES = 2_000_000  # of the bodies of a graph
    _DEEPEST = 200           # calls within calls


cdef int expand_calls(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
                      vector[int]& targets) except -1:
    cdef _Search search
    cdef Edge edge
    cdef int32_t i, at
    if not graph.has_calls:
        return 0
    search = _Search(graph)
    for edge in feeds:
        search.fed.insert(_key(edge))
    for edge in fetches:
        search.visit(edge)
    for at in targets:
        search.visit_node(at)
    while not search.ahead.empty():
        at = search.ahead.back()
        search.ahead.pop_back()
        if op_entry_of(graph.nodes[at]).kind == NodeKind.CALL:
            if not graph.nodes[at].body:
                _expand(graph, at, search.flow)
            search.seen.resize(graph.nodes.size(), 0)
            for i in range(<int32_t>graph.nodes[at].body.get().effects.size()):
                search.visit_node(graph.nodes[at].body.get().effects[i])
            search.visit_node(graph.nodes[at].body.get().done)
            for i in range(<int32_t>graph.nodes[at].body.get().outputs.size()):
                search.visit(graph.nodes[at].body.get().outputs[i])
            continue
        if graph.nodes[at].argument.node >= 0:
            search.visit(graph.nodes[at].argument)
        for i in range(<int32_t>graph.nodes[at].inputs.size()):
            search.visit(graph.nodes[at].inputs[i])
        for i in range(<int32_t>graph.nodes[at].controls.size()):
            search.visit_node(graph.nodes[at].controls[i])
    return 0


cdef inline long long _key(Edge edge) noexcept nogil:
    return <long long>edge.node << 32 | edge.port


cdef class _Search:
    """A search backwards through the graph."""
    cdef SessionGraph graph
    cdef vector[char] seen
    cdef vector[int32_t] ahead
    cdef unordered_set[long long] fed
    cdef vector[int8_t] flow    # of _in_control_flow

    def __init__(self, SessionGraph graph):
        self.graph = graph
        self.seen.assign(graph.nodes.size(), 0)

    cdef int visit(self, Edge edge) except -1:
        if self.fed.empty() or self.fed.find(_key(edge)) == self.fed.end():
            self.visit_node(edge.node)
        return 0

    cdef int visit_node(self, int32_t node) except -1:
        if not self.seen[node]:
            self.seen[node] = 1
            self.ahead.push_back(node)
        return 0


# ---- one call ----------------------------------------------------------------------------------


cdef int _expand(SessionGraph graph, int32_t number, vector[int8_t]& flow) except -1:
    cdef GraphNode* call = graph.nodes[number]
    cdef bint in_flow = _in_control_flow(graph, number, flow)
    cdef NameIndex names = NameIndex()
    cdef int32_t first
    cdef string function
    node_def = _node_def(call)
    function = function_key(graph.library, node_def)
    _reject_recursion(graph, number, function)
    if graph.body_nodes + call_size(graph.library, node_def) > _MOST_NODES:
        raise _too_many(call)
    known = len(graph.library)
    made = call_body(graph.library, Call(
        node_def, [t % HR_REF for t in call.input_dtypes],
        [t % HR_REF for t in call.output_dtypes],
        "all" if call.controls.size() else "inputs" if in_flow else ""))
    if len(graph.library) != known:
        add_functions(graph, list(graph.library.values())[known:])
    if graph.body_nodes + len(made.graph_def.node) > _MOST_NODES:
        raise _too_many(call)
    if made.start:
        _add_start(graph, call, made, in_flow, flow)
    first = graph.add_body(number, made.graph_def.SerializeToString(), names)
    try:
        _connect_body(graph, number, first, made, names)
    except BaseException:
        graph.body_nodes -= graph.nodes.size() - first
        graph.remove_nodes(first)
        raise
    graph.nodes[number].body.get().function = function
    return 0


cdef int _connect_body(SessionGraph graph, int32_t number, int32_t first, made,
                       NameIndex names) except -1:
    """Leads the edges of a call to the nodes of its body, which are those from `first` on."""
    cdef GraphNode* call = graph.nodes[number]
    cdef unique_ptr[CallBody] body
    cdef Edge edge
    cdef int32_t i
    body.reset(new CallBody())
    for i, name in enumerate(made.outputs):
        edge = _find(graph, names, name)
        _check_output(graph, call, i, edge)
        body.get().outputs.push_back(edge)
    for name in made.effects:
        edge = _find(graph, names, name)
        body.get().effects.push_back(edge.node)
    edge = _find(graph, names, made.done)
    body.get().done = edge.node
    for i in range(first, <int32_t>graph.nodes.size()):
        if graph.nodes[i].device.empty():
            graph.nodes[i].device = call.device
    for i, node in enumerate(made.graph_def.node):
        if node.op == "_Arg":
            graph.nodes[first + i].argument = call.inputs[node.attr["index"].i]
        elif node.name == made.start or node.name == made.done:
            graph.nodes[first + i].controls.insert(
                graph.nodes[first + i].controls.end(), call.controls.begin(), call.controls.end())
    call.body.swap(body)
    return 0


cdef int _check_output(SessionGraph graph, GraphNode* call, int32_t i, Edge edge) except -1:
    """Checks that the body returns what the function declares: readers of the call rely on it."""
    cdef GraphNode* producer = graph.nodes[edge.node]
    cdef hr_dtype declared = call.output_dtypes[i] % HR_REF
    if edge.port >= <int32_t>producer.output_dtypes.size() or \
            producer.output_dtypes[edge.port] % HR_REF != declared:
        raise InvalidArgumentError(
            None, None, f"{text_of(call.op)} '{text_of(call.name)}': output {i} is declared as "
            f"{dtype_text(declared)}, but the function returns '{text_of(producer.name)}:"
            f"{edge.port}' of another type", node_name=text_of(call.name))
    return 0


cdef object _too_many(GraphNode* call):
    return ResourceExhaustedError(
        None, None, f"Function call '{text_of(call.name)}': the bodies of the graph's calls have "
        f"more than {_MOST_NODES} nodes", node_name=text_of(call.name))


cdef Edge _find(SessionGraph graph, NameIndex names, str name) except *:
    cdef Edge edge
    stem, _, port = name.rpartition(":")
    encoded = (stem or name).encode()
    edge.node = names.find(graph.nodes, string_view(<const char*>encoded, len(encoded)))
    edge.port = int(port) if stem else 0
    if edge.node < 0:
        raise InvalidArgumentError(None, None, f"the function has no node for '{name}'")
    return edge


cdef object _node_def(GraphNode* call):
    cdef AttrEntry entry
    node = NodeDef(name=text_of(call.name), op=text_of(call.op))
    for entry in attributes_of(call).entries:
        node.attr[text(entry.key)].CopyFrom(
            AttrValue.FromString(entry.value.data()[:entry.value.size()]))
    return node


cdef int _add_start(SessionGraph graph, GraphNode* call, made, bint in_flow,
                    vector[int8_t]& flow) except -1:
    """Adds the node that runs in the frame of the call, and only if the call is not dead."""
    cdef size_t i
    node = made.graph_def.node.add(name=made.start, op="NoOp")
    if not in_flow:
        return 0
    for i in range(call.inputs.size()):
        if _in_control_flow(graph, call.inputs[i].node, flow):
            node.op = "Identity"
            node.attr["T"].type = call.input_dtypes[i]
            for argument in made.graph_def.node:
                if argument.op == "_Arg" and argument.attr["index"].i == <long long>i:
                    node.input.append(argument.name)
            return 0
    return 0


# ---- checks ------------------------------------------------------------------------------------


cdef int _reject_recursion(SessionGraph graph, int32_t number, const string& function) except -1:
    cdef int32_t at = graph.nodes[number].caller
    cdef int depth = 0
    cdef CallBody* body
    recursive = False
    chain = [_function_name(function)]
    while at >= 0:
        depth += 1
        body = graph.nodes[at].body.get()
        if not body.function.empty():
            chain.append(_function_name(body.function))
            recursive = recursive or body.function == function
        at = graph.nodes[at].caller
    if depth > _DEEPEST:
        raise InvalidArgumentError(
            None, None, f"{text_of(graph.nodes[number].op)} '{text_of(graph.nodes[number].name)}': "
            "calls of functions nest too deeply", node_name=_outermost(graph, number))
    if recursive and not function.empty():
        shown = chain[::-1] if len(chain) < 8 else [*chain[:-4:-1], "...", *chain[3::-1]]
        raise InvalidArgumentError(
            None, None,
            f"Function '{chain[0]}' is recursive: calls "
            f"{' -> '.join(shown)}; a function cannot call itself", node_name=_outermost(graph, number))
    return 0


cdef str _function_name(const string& key):
    return text_of(key).partition("\n")[0]


cdef str _outermost(SessionGraph graph, int32_t number):
    while graph.nodes[number].caller >= 0:
        number = graph.nodes[number].caller
    return text_of(graph.nodes[number].name)


cdef enum:
    _UNKNOWN = 0
    _OUTSIDE = 1
    _INSIDE = 2


cdef bint _in_control_flow(SessionGraph graph, int32_t number, vector[int8_t]& flow) except *:
    """Whether a node is behind a Switch, Merge or Enter, so that it may be dead or in a frame."""
    cdef vector[int32_t] path, looked_at     # nodes, and how many of their inputs are seen
    cdef int32_t at, other, seen
    flow.resize(graph.nodes.size(), _UNKNOWN)
    path.push_back(number)
    looked_at.push_back(0)
    while not path.empty():
        at = path.back()
        seen = looked_at.back()
        if flow[at] == _UNKNOWN:
            other = _input_node(graph.nodes[at], seen)
            if _carries_flow(graph.nodes[at]) or (
                    seen and flow[_input_node(graph.nodes[at], seen - 1)] == _INSIDE):
                flow[at] = _INSIDE
            elif other < 0:
                flow[at] = _OUTSIDE
            else:
                looked_at[looked_at.size() - 1] = seen + 1
                path.push_back(other)
                looked_at.push_back(0)
                continue
        path.pop_back()
        looked_at.pop_back()
    return flow[number] == _INSIDE


cdef inline bint _carries_flow(GraphNode* node) noexcept nogil:
    cdef int32_t kind = op_entry_of(node).kind
    return NodeKind.SWITCH <= kind <= NodeKind.NEXT_ITERATION


cdef inline int32_t _input_node(GraphNode* node, int32_t i) noexcept nogil:
    """The node of input i, of which control inputs are the last; -1 after the last."""
    if node.argument.node >= 0:
        return node.argument.node if i == 0 else -1
    if i < <int32_t>node.inputs.size():
        return node.inputs[i].node
    i -= <int32_t>node.inputs.size()
    return node.controls[i] if i < <int32_t>node.controls.size() else -1
