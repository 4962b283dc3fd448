# distutils: language = c++
"""Takes the nodes that fetches and targets need out of a graph, the fed tensors cut off."""

from libc.stdint cimport int32_t, int64_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.attributes cimport ParsedValue, op_entry_of, parsed_value
from headrace.runtime.graph_node cimport Edge, GraphNode
from headrace.runtime.passes.draft cimport Draft, DraftNode
from headrace.runtime.node_kind cimport NodeKind
from headrace.runtime.node_text cimport dtype_text, text_of
from headrace.runtime.session_graph cimport SessionGraph

from headrace.formats.errors import InvalidArgumentError


cdef int prune(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
               vector[int]& targets, Draft draft) except -1:
    with nogil:
        _prune(graph, feeds, fetches, targets, draft)
    return 0



cdef inline int32_t _fed(vector[int32_t]& fed_nodes, vector[Edge]& feeds, Edge edge) noexcept nogil:
    """The number of the feed that stands for a tensor, or -1."""
    cdef size_t i
    if not fed_nodes[edge.node]:
        return -1
    for i in range(feeds.size()):
        if feeds[i].node == edge.node and feeds[i].port == edge.port:
            return <int32_t>i
    return -1


cdef int _prune(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
                vector[int]& targets, Draft draft) except -1 nogil:
    cdef vector[int32_t] fed_nodes, number, stack, found
    cdef GraphNode* source
    cdef DraftNode node
    cdef Edge edge
    cdef int32_t at, feed, i
    cdef size_t f, n_edges = 0, n_controls = 0
    fed_nodes.assign(graph.nodes.size(), 0)
    number.assign(graph.nodes.size(), -1)  # -2: seen
    for edge in feeds:
        fed_nodes[edge.node] = 1
    draft.feeds.assign(feeds.size(), -1)

    for edge in fetches:
        feed = _fed(fed_nodes, feeds, edge)
        if feed >= 0:
            draft.feeds[feed] = -2
        elif number[edge.node] == -1:
            number[edge.node] = -2
            stack.push_back(edge.node)
    for at in targets:
        if number[at] == -1:
            number[at] = -2
            stack.push_back(at)
    while not stack.empty():
        at = stack.back()
        stack.pop_back()
        source = graph.nodes[at]
        if op_entry_of(source).placeholder:
            with gil:
                raise _unfed(source)
        found.push_back(at)
        n_edges += source.inputs.size()
        n_controls += source.controls.size()
        for edge in source.inputs:
            feed = _fed(fed_nodes, feeds, edge)
            if feed >= 0:
                draft.feeds[feed] = -2
            elif number[edge.node] == -1:
                number[edge.node] = -2
                stack.push_back(edge.node)
        for i in source.controls:
            if number[i] == -1 and not _fed_placeholder(graph, fed_nodes, i):
                number[i] = -2
                stack.push_back(i)

    draft.nodes.reserve(found.size() + feeds.size() + 16)
    draft.edges.reserve(n_edges + 16)
    draft.controls.reserve(n_controls + 16)
    for f in range(feeds.size()):
        if draft.feeds[f] == -1:
            continue
        draft.feeds[f] = <int32_t>draft.nodes.size()
        _start_node(graph.nodes[feeds[f].node], &node)
        node.entry = NULL
        node.kind = NodeKind.FEED
        node.rank = feeds[f].node
        node.n_outputs = 1
        node.port = feeds[f].port
        draft.nodes.push_back(node)
    for at in found:
        number[at] = <int32_t>draft.nodes.size()
        source = graph.nodes[at]
        _start_node(source, &node)
        node.entry = op_entry_of(source)
        node.kind = <NodeKind>node.entry.kind
        node.rank = at
        node.n_outputs = <int32_t>source.output_dtypes.size()
        draft.nodes.push_back(node)
    for i in range(<int32_t>found.size()):
        source = graph.nodes[found[i]]
        at = number[found[i]]
        draft.nodes[at].first_input = <int32_t>draft.edges.size()
        draft.nodes[at].n_inputs = <int32_t>source.inputs.size()
        for edge in source.inputs:
            draft.edges.push_back(_moved(edge, fed_nodes, feeds, number, draft))
        draft.nodes[at].first_control = <int32_t>draft.controls.size()
        for feed in source.controls:
            if number[feed] >= 0:
                draft.controls.push_back(number[feed])
        draft.nodes[at].n_controls = (
            <int32_t>draft.controls.size() - draft.nodes[at].first_control)
    for edge in fetches:
        draft.fetches.push_back(_moved(edge, fed_nodes, feeds, number, draft))
    for at in targets:
        draft.targets.push_back(number[at])
    return 0


cdef inline Edge _moved(Edge edge, vector[int32_t]& fed_nodes, vector[Edge]& feeds,
                        vector[int32_t]& number, Draft draft) noexcept nogil:
    cdef Edge to
    cdef int32_t feed = _fed(fed_nodes, feeds, edge)
    if feed >= 0:
        to.node = draft.feeds[feed]
        to.port = 0
    else:
        to.node = number[edge.node]
        to.port = edge.port
    return to


cdef inline void _start_node(GraphNode* source, DraftNode* node) noexcept nogil:
    node.source = source
    node.kernel = NULL
    node.removed = False
    node.device = 0
    node.first_input = node.n_inputs = 0
    node.first_control = node.n_controls = 0
    node.port = 0


cdef inline bint _fed_placeholder(SessionGraph graph, vector[int32_t]& fed_nodes,
                                  int32_t node) noexcept nogil:
    """To wait for a fed placeholder is to wait for its feed, which is there."""
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
