# distutils: language = c++
"""Finds the nodes that fetches and targets need; fed tensors end the search.

A pure node that only control edges reach would compute a value without a reader. It is pruned, and
the nodes that wait for it wait for its own inputs instead, so that an Assert or a read of a
variable before it still comes first. TensorFlow's dependency optimizer does the same.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport ParsedValue, op_entry_of, parsed_value
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_REF
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport dtype_text, text_of
from headrace.runtime.graph.session_graph cimport SessionGraph

from headrace.formats.errors import InvalidArgumentError


cdef int prune(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
               vector[int]& targets, GraphIR ir) except -1:
    with nogil:
        _prune(graph, feeds, fetches, targets, ir)
    return 0



cdef inline int32_t _fed(vector[int32_t]& fed_nodes, vector[Edge]& feeds, Edge edge) noexcept nogil:
    """The number of the feed that replaces a tensor, or -1."""
    cdef size_t i
    if not fed_nodes[edge.node]:
        return -1
    for i in range(feeds.size()):
        if feeds[i].node == edge.node and feeds[i].port == edge.port:
            return <int32_t>i
    return -1


# Values of `number` until the nodes that run are numbered.
cdef enum:
    _UNSEEN = -1
    _RUNS = -2
    _ORDERS = -3    # pruned: control edges pass through it


cdef int _prune(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
                vector[int]& targets, GraphIR ir) except -1 nogil:
    cdef vector[int32_t] fed_nodes, number, found, seen
    cdef GraphNode* source
    cdef IRNode node
    cdef Edge edge
    cdef int32_t at, feed, i
    cdef size_t f, n_edges = 0, n_controls = 0
    fed_nodes.assign(graph.nodes.size(), 0)
    number.assign(graph.nodes.size(), _UNSEEN)
    for edge in feeds:
        fed_nodes[edge.node] = 1
    ir.feeds.assign(feeds.size(), -1)
    _find_needed(graph, feeds, fed_nodes, fetches, targets, ir, number, found)
    for at in found:
        n_edges += graph.nodes[at].inputs.size()
        n_controls += graph.nodes[at].controls.size()

    ir.nodes.reserve(found.size() + feeds.size() + 16)
    ir.edges.reserve(n_edges + 16)
    ir.controls.reserve(n_controls + 16)
    for f in range(feeds.size()):
        if ir.feeds[f] == -1:
            continue
        ir.feeds[f] = <int32_t>ir.nodes.size()
        _start_node(graph.nodes[feeds[f].node], &node)
        node.entry = NULL
        node.kind = NodeKind.FEED
        node.rank = feeds[f].node
        node.n_outputs = 1
        node.port = feeds[f].port
        ir.nodes.push_back(node)
    for at in found:
        number[at] = <int32_t>ir.nodes.size()
        source = graph.nodes[at]
        _start_node(source, &node)
        node.entry = op_entry_of(source)
        node.kind = <NodeKind>node.entry.kind
        node.rank = at
        node.n_outputs = <int32_t>source.output_dtypes.size()
        ir.nodes.push_back(node)
    seen.assign(graph.nodes.size(), 0)
    for i in range(<int32_t>found.size()):
        source = graph.nodes[found[i]]
        at = number[found[i]]
        ir.nodes[at].first_input = <int32_t>ir.edges.size()
        ir.nodes[at].n_inputs = <int32_t>source.inputs.size()
        for edge in source.inputs:
            ir.edges.push_back(_moved(edge, fed_nodes, feeds, number, ir))
        _add_controls(graph, feeds, fed_nodes, source, number, ir, at, seen)
    for edge in fetches:
        ir.fetches.push_back(_moved(edge, fed_nodes, feeds, number, ir))
    for at in targets:
        ir.targets.push_back(number[at])
    return 0


cdef int _find_needed(SessionGraph graph, vector[Edge]& feeds, vector[int32_t]& fed_nodes,
                      vector[Edge]& fetches, vector[int]& targets, GraphIR ir,
                      vector[int32_t]& number, vector[int32_t]& found) except -1 nogil:
    """Marks in `number` the nodes that run, and those that only carry control edges."""
    cdef vector[int32_t] runs, orders, groups
    cdef GraphNode* source
    cdef Edge edge
    cdef int32_t at, feed, i
    for edge in fetches:
        feed = _fed(fed_nodes, feeds, edge)
        if feed >= 0:
            ir.feeds[feed] = -2
        else:
            _need(edge.node, number, runs)
    for at in targets:
        if _need(at, number, runs):
            groups.push_back(at)
    while not groups.empty():   # a group that is a target needs its members
        at = groups.back()
        groups.pop_back()
        source = graph.nodes[at]
        if source.op == b"NoOp":
            for i in source.controls:
                if not _fed_placeholder(graph, fed_nodes, i) and _need(i, number, runs):
                    groups.push_back(i)
    while not runs.empty() or not orders.empty():
        if runs.empty():
            at = orders.back()
            orders.pop_back()
            if number[at] == _RUNS:     # it already has a reader
                continue
            source = graph.nodes[at]
            for edge in source.inputs:
                if _fed(fed_nodes, feeds, edge) < 0:
                    _wait_for(graph, feeds, fed_nodes, edge.node, number, runs, orders)
            for i in source.controls:
                if not _fed_placeholder(graph, fed_nodes, i):
                    _wait_for(graph, feeds, fed_nodes, i, number, runs, orders)
            continue
        at = runs.back()
        runs.pop_back()
        source = graph.nodes[at]
        if op_entry_of(source).placeholder:
            with gil:
                raise _unfed(source)
        found.push_back(at)
        for edge in source.inputs:
            feed = _fed(fed_nodes, feeds, edge)
            if feed >= 0:
                ir.feeds[feed] = -2
            else:
                _need(edge.node, number, runs)
        for i in source.controls:
            if _fed_placeholder(graph, fed_nodes, i):
                continue
            if ir.partial_run:   # a later feed may be what a control edge waits for
                _need(i, number, runs)
            else:
                _wait_for(graph, feeds, fed_nodes, i, number, runs, orders)
    return 0


cdef inline bint _need(int32_t node, vector[int32_t]& number,
                       vector[int32_t]& runs) except -1 nogil:
    """Marks a node that runs; true: it was not marked before."""
    if number[node] == _RUNS:
        return False
    number[node] = _RUNS
    runs.push_back(node)
    return True


cdef inline int _wait_for(SessionGraph graph, vector[Edge]& feeds, vector[int32_t]& fed_nodes,
                          int32_t node, vector[int32_t]& number, vector[int32_t]& runs,
                          vector[int32_t]& orders) except -1 nogil:
    if number[node] != _UNSEEN:
        return 0
    if _may_be_left_out(graph, feeds, fed_nodes, graph.nodes[node]):
        number[node] = _ORDERS
        orders.push_back(node)
    else:
        _need(node, number, runs)
    return 0


cdef bint _may_be_left_out(SessionGraph graph, vector[Edge]& feeds, vector[int32_t]& fed_nodes,
                           GraphNode* source) noexcept nogil:
    """Whether a node is pure and does not carry the deadness of a branch or the frame of a loop.

    A control edge from a Switch differs from one of its outputs, so nodes directly after a control
    flow op stay; later ones may be pruned.
    """
    cdef Edge edge
    cdef int32_t i
    if not op_entry_of(source).pure:
        return False
    for edge in source.inputs:
        if _fed(fed_nodes, feeds, edge) >= 0:
            continue
        if op_entry_of(graph.nodes[edge.node]).kind != NodeKind.KERNEL:
            return False
        if graph.nodes[edge.node].output_dtypes[edge.port] >= HR_REF:
            return False    # it reads a variable that must have a value
    for i in source.controls:
        if op_entry_of(graph.nodes[i]).kind != NodeKind.KERNEL:
            return False
    return True


cdef int _add_controls(SessionGraph graph, vector[Edge]& feeds, vector[int32_t]& fed_nodes,
                       GraphNode* source, vector[int32_t]& number, GraphIR ir, int32_t to,
                       vector[int32_t]& seen) except -1 nogil:
    """Adds the control inputs of node `to`, through pruned nodes."""
    cdef vector[int32_t] ahead
    cdef size_t next = 0
    cdef int32_t at, i
    cdef Edge edge
    ir.nodes[to].first_control = <int32_t>ir.controls.size()
    if source.controls.empty():
        ir.nodes[to].n_controls = 0
        return 0
    ahead.assign(source.controls.begin(), source.controls.end())
    while next < ahead.size():
        at = ahead[next]
        next += 1
        if seen[at] == to + 1:
            continue
        seen[at] = to + 1
        if number[at] >= 0:
            if next <= source.controls.size() or not _reads(source, at):
                ir.controls.push_back(number[at])
        elif number[at] == _ORDERS:
            for edge in graph.nodes[at].inputs:
                if _fed(fed_nodes, feeds, edge) < 0:
                    ahead.push_back(edge.node)
            for i in graph.nodes[at].controls:
                ahead.push_back(i)
    ir.nodes[to].n_controls = <int32_t>ir.controls.size() - ir.nodes[to].first_control
    return 0


cdef inline bint _reads(GraphNode* source, int32_t node) noexcept nogil:
    cdef Edge edge
    for edge in source.inputs:
        if edge.node == node:
            return True
    return False


cdef inline Edge _moved(Edge edge, vector[int32_t]& fed_nodes, vector[Edge]& feeds,
                        vector[int32_t]& number, GraphIR ir) noexcept nogil:
    cdef Edge to
    cdef int32_t feed = _fed(fed_nodes, feeds, edge)
    if feed >= 0:
        to.node = ir.feeds[feed]
        to.port = 0
    else:
        to.node = number[edge.node]
        to.port = edge.port
    return to


cdef inline void _start_node(GraphNode* source, IRNode* node) noexcept nogil:
    node.source = source
    node.kernel = NULL
    node.removed = False
    node.device = 0
    node.first_input = node.n_inputs = 0
    node.first_control = node.n_controls = 0
    node.port = 0


cdef inline bint _fed_placeholder(SessionGraph graph, vector[int32_t]& fed_nodes,
                                  int32_t node) noexcept nogil:
    """A control edge from a fed placeholder is satisfied by the feed."""
    return fed_nodes[node] and op_entry_of(graph.nodes[node]).placeholder


cdef object _unfed(GraphNode* source):
    cdef ParsedValue* value = parsed_value(source, string_view(<const char*>b"shape"))
    cdef int32_t i
    shape = ""
    if value != NULL and not value.ranks.empty() and value.ranks[0] > 0:
        dims = [value.dims[0][i] for i in range(value.ranks[0])]
        shape = f" and shape [{','.join(['?' if d < 0 else str(d) for d in dims])}]"
    name = text_of(source.name)
    return InvalidArgumentError(
        None, None,
        f"You must feed a value for placeholder tensor '{name}' with dtype "
        f"{dtype_text(source.output_dtypes[0])}{shape}", node_name=name)
