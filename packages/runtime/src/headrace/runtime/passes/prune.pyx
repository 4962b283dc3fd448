# distutils: language = c++
"""Finds the nodes that fetches and targets need; fed tensors end the search.

A pure node that only control edges reach would compute a value without a reader. It is pruned, and
the nodes that wait for it wait for its own inputs instead, so that an Assert or a read of a
variable before it still comes first. TensorFlow's dependency optimizer does the same.

Edges lead through calls of functions and their arguments to the nodes of the bodies.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport ParsedValue, op_entry_of, parsed_value
from headrace.runtime.graph.expand_calls cimport control_source, step_back
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_REF
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport dtype_text, text_of
from headrace.runtime.graph.session_graph cimport SessionGraph

from headrace.formats.errors import InvalidArgumentError, NotFoundError


cdef int prune(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
               vector[int]& targets, GraphIR ir) except -1:
    cdef _Pruning pruning = _Pruning(graph, ir)
    cdef Edge edge
    pruning.feeds = feeds
    pruning.fed_nodes.assign(graph.nodes.size(), 0)
    pruning.number.assign(graph.nodes.size(), _UNSEEN)
    for edge in feeds:
        pruning.fed_nodes[edge.node] = 1
    ir.feeds.assign(feeds.size(), -1)
    with nogil:
        pruning.find_needed(fetches, targets)
        pruning.add_nodes()
        pruning.add_edges(fetches, targets)
    return 0


# Values of `number` until the nodes that run are numbered.
cdef enum:
    _UNSEEN = -1
    _RUNS = -2
    _ORDERS = -3    # pruned: control edges pass through it
    _CALLED = -4    # a call: its effects run


cdef class _Pruning:
    cdef SessionGraph graph
    cdef GraphIR ir
    cdef vector[Edge] feeds
    cdef vector[char] fed_nodes         # by node of the graph: some output is fed
    cdef vector[int32_t] number         # by node of the graph: its number in the ir, or as above
    cdef vector[int32_t] found          # the nodes that run
    cdef vector[int32_t] runs, orders   # whose inputs are not looked at yet
    cdef vector[int32_t] calls          # calls whose effects are not looked at yet

    def __init__(self, SessionGraph graph, GraphIR ir):
        self.graph = graph
        self.ir = ir

    # ---- what feeds and calls replace ----

    cdef inline int32_t fed(self, Edge edge) noexcept nogil:
        """The number of the feed that replaces a tensor, or -1."""
        cdef size_t i
        if not self.fed_nodes[edge.node]:
            return -1
        for i in range(self.feeds.size()):
            if self.feeds[i].node == edge.node and self.feeds[i].port == edge.port:
                return <int32_t>i
        return -1

    cdef inline bint fed_placeholder(self, int32_t node) noexcept nogil:
        """A control edge from a fed placeholder is satisfied by the feed."""
        return self.fed_nodes[node] and op_entry_of(self.graph.nodes[node]).placeholder

    cdef inline Edge producer(self, Edge edge) noexcept nogil:
        """The tensor that an edge carries: an output of a node that runs, or a fed one."""
        cdef Edge before
        if not self.graph.has_calls:
            return edge
        while self.fed(edge) < 0:
            before = step_back(self.graph, edge)
            if before.node == edge.node and before.port == edge.port:
                break
            edge = before
        return edge

    # ---- nodes ----

    cdef int find_needed(self, vector[Edge]& fetches, vector[int]& targets) except -1 nogil:
        """Marks in `number` the nodes that run, and those that only carry control edges."""
        cdef vector[int32_t] groups
        cdef GraphNode* source
        cdef Edge edge
        cdef int32_t at, i
        for edge in fetches:
            self.need_tensor(edge)
        for at in targets:
            at = self.call_of_control(at)
            if self.need(at):
                groups.push_back(at)
        while not groups.empty():   # a group that is a target needs its members
            at = groups.back()
            groups.pop_back()
            source = self.graph.nodes[at]
            if source.op == b"NoOp":
                for i in source.controls:
                    i = self.call_of_control(i)
                    if not self.fed_placeholder(i) and self.need(i):
                        groups.push_back(i)
        while True:
            if not self.calls.empty():
                self.need_effects()
            elif not self.runs.empty():
                at = self.runs.back()
                self.runs.pop_back()
                self.need_inputs(at)
            elif not self.orders.empty():
                at = self.orders.back()
                self.orders.pop_back()
                if self.number[at] != _RUNS:    # else it has a reader
                    self.wait_for_inputs(at)
            else:
                return 0

    cdef int need_inputs(self, int32_t at) except -1 nogil:
        cdef GraphNode* source = self.graph.nodes[at]
        cdef Edge edge
        cdef int32_t i
        if op_entry_of(source).placeholder:
            with gil:
                raise _unfed(source)
        if op_entry_of(source).kind == NodeKind.ARGUMENT:
            with gil:
                raise InvalidArgumentError(
                    None, None, f"_Arg '{text_of(source.name)}': no CPU kernel computes it; it "
                    "stands for an input of a function", node_name=text_of(source.name))
        self.found.push_back(at)
        for edge in source.inputs:
            self.need_tensor(edge)
        for i in source.controls:
            i = self.call_of_control(i)
            if self.fed_placeholder(i):
                continue
            if self.ir.partial_run:   # a later feed may be what a control edge waits for
                self.need(i)
            else:
                self.wait_for(i)
        return 0

    cdef int wait_for_inputs(self, int32_t at) except -1 nogil:
        cdef Edge edge
        cdef int32_t i
        for edge in self.graph.nodes[at].inputs:
            self.run_calls(edge)
            edge = self.producer(edge)
            if self.fed(edge) < 0:
                self.wait_for(edge.node)
        for i in self.graph.nodes[at].controls:
            i = self.call_of_control(i)
            if not self.fed_placeholder(i):
                self.wait_for(i)
        return 0

    cdef int need_tensor(self, Edge edge) except -1 nogil:
        cdef int32_t feed
        self.run_calls(edge)
        edge = self.producer(edge)
        feed = self.fed(edge)
        if feed >= 0:
            self.ir.feeds[feed] = -2
        else:
            self.need(edge.node)
        return 0

    cdef inline bint need(self, int32_t node) except -1 nogil:
        """Marks a node that runs; true: it was not marked before."""
        if self.number[node] == _RUNS:
            return False
        self.number[node] = _RUNS
        self.runs.push_back(node)
        return True

    cdef inline int wait_for(self, int32_t node) except -1 nogil:
        if self.number[node] != _UNSEEN:
            return 0
        if self.may_be_left_out(self.graph.nodes[node]):
            self.number[node] = _ORDERS
            self.orders.push_back(node)
        else:
            self.need(node)
        return 0

    cdef bint may_be_left_out(self, GraphNode* source) noexcept nogil:
        """Whether a node is pure and does not carry the deadness of a branch or the frame of a
        loop.

        A control edge from a Switch differs from one of its outputs, so nodes directly after a
        control flow op stay; later ones may be pruned.
        """
        cdef Edge edge
        cdef int32_t i
        if not op_entry_of(source).pure:
            return False
        for edge in source.inputs:
            edge = self.producer(edge)
            if self.fed(edge) >= 0:
                continue
            if op_entry_of(self.graph.nodes[edge.node]).kind != NodeKind.KERNEL:
                return False
            if self.graph.nodes[edge.node].output_dtypes[edge.port] >= HR_REF:
                return False    # it reads a variable that must have a value
        for i in source.controls:
            i = control_source(self.graph, i)
            if op_entry_of(self.graph.nodes[i]).kind != NodeKind.KERNEL:
                return False
        return True

    # ---- calls ----

    cdef inline int run_calls(self, Edge edge) except -1 nogil:
        """Marks the calls between a tensor and its producer as running."""
        cdef Edge before
        if not self.graph.has_calls:
            return 0
        while self.fed(edge) < 0:
            self.call(edge.node)
            before = step_back(self.graph, edge)
            if before.node == edge.node and before.port == edge.port:
                break
            edge = before
        return 0

    cdef inline int32_t call_of_control(self, int32_t node) except -1 nogil:
        """The node at which control edges from `node` start; the calls on the way run."""
        if self.graph.has_calls:
            while self.graph.nodes[node].body or self.graph.nodes[node].argument.node >= 0:
                self.call(node)
                if self.graph.nodes[node].body:
                    node = self.graph.nodes[node].body.get().done
                else:
                    node = self.graph.nodes[node].argument.node
        return node

    cdef inline int call(self, int32_t node) except -1 nogil:
        if self.graph.nodes[node].body and self.number[node] == _UNSEEN:
            self.number[node] = _CALLED
            self.calls.push_back(node)
        return 0

    cdef int need_effects(self) except -1 nogil:
        cdef int32_t at = self.calls.back()
        cdef int32_t effect
        self.calls.pop_back()
        for effect in self.graph.nodes[at].body.get().effects:
            if self.graph.nodes[effect].body:
                self.call(effect)
            else:
                self.need(effect)
        return 0

    # ---- the program ----

    cdef int add_nodes(self) except -1 nogil:
        cdef GraphNode* source
        cdef IRNode node
        cdef int32_t at
        cdef size_t f, n_edges = 0, n_controls = 0
        for at in self.found:
            n_edges += self.graph.nodes[at].inputs.size()
            n_controls += self.graph.nodes[at].controls.size()
        self.ir.nodes.reserve(self.found.size() + self.feeds.size() + 16)
        self.ir.edges.reserve(n_edges + 16)
        self.ir.controls.reserve(n_controls + 16)
        for f in range(self.feeds.size()):
            if self.ir.feeds[f] == -1:
                continue
            self.ir.feeds[f] = <int32_t>self.ir.nodes.size()
            _start_node(self.graph.nodes[self.feeds[f].node], &node)
            node.entry = NULL
            node.kind = NodeKind.FEED
            node.rank = self.feeds[f].node
            node.n_outputs = 1
            node.port = self.feeds[f].port
            self.ir.nodes.push_back(node)
        for at in self.found:
            self.number[at] = <int32_t>self.ir.nodes.size()
            source = self.graph.nodes[at]
            _start_node(source, &node)
            node.entry = op_entry_of(source)
            node.kind = <NodeKind>node.entry.kind
            while source.caller >= 0:   # its order in the program is that of the call
                at = source.caller
                source = self.graph.nodes[at]
            node.rank = at
            node.n_outputs = <int32_t>node.source.output_dtypes.size()
            self.ir.nodes.push_back(node)
        return 0

    cdef int add_edges(self, vector[Edge]& fetches, vector[int]& targets) except -1 nogil:
        cdef vector[int32_t] seen
        cdef GraphNode* source
        cdef Edge edge
        cdef int32_t at, from_graph
        seen.assign(self.graph.nodes.size(), 0)
        for from_graph in self.found:
            source = self.graph.nodes[from_graph]
            at = self.number[from_graph]
            self.ir.nodes[at].first_input = <int32_t>self.ir.edges.size()
            self.ir.nodes[at].n_inputs = <int32_t>source.inputs.size()
            for edge in source.inputs:
                self.ir.edges.push_back(self.moved(edge))
            self.add_controls(source, at, seen)
        for edge in fetches:
            self.ir.fetches.push_back(self.moved(edge))
        for at in targets:
            self.ir.targets.push_back(self.number[control_source(self.graph, at)])
        return 0

    cdef int add_controls(
            self, GraphNode* source, int32_t to, vector[int32_t]& seen) except -1 nogil:
        """Adds the control inputs of node `to`, through pruned nodes."""
        cdef vector[int32_t] ahead
        cdef size_t next = 0
        cdef int32_t at, i
        cdef Edge edge
        self.ir.nodes[to].first_control = <int32_t>self.ir.controls.size()
        if source.controls.empty():
            self.ir.nodes[to].n_controls = 0
            return 0
        for i in source.controls:
            ahead.push_back(control_source(self.graph, i))
        while next < ahead.size():
            at = ahead[next]
            next += 1
            if seen[at] == to + 1:
                continue
            seen[at] = to + 1
            if self.number[at] >= 0:
                if next <= source.controls.size() or not self.reads(source, at):
                    self.ir.controls.push_back(self.number[at])
            elif self.number[at] == _ORDERS:
                for edge in self.graph.nodes[at].inputs:
                    edge = self.producer(edge)
                    if self.fed(edge) < 0:
                        ahead.push_back(edge.node)
                for i in self.graph.nodes[at].controls:
                    ahead.push_back(control_source(self.graph, i))
        self.ir.nodes[to].n_controls = (
            <int32_t>self.ir.controls.size() - self.ir.nodes[to].first_control)
        return 0

    cdef inline bint reads(self, GraphNode* source, int32_t node) noexcept nogil:
        cdef Edge edge
        for edge in source.inputs:
            edge = self.producer(edge)
            if edge.node == node:
                return True
        return False

    cdef inline Edge moved(self, Edge edge) noexcept nogil:
        """The edge of the program for an edge of the graph."""
        cdef Edge to
        cdef int32_t feed
        edge = self.producer(edge)
        feed = self.fed(edge)
        if feed >= 0:
            to.node = self.ir.feeds[feed]
            to.port = 0
        else:
            to.node = self.number[edge.node]
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
