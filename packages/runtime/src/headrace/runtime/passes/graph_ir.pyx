# distutils: language = c++
"""The intermediate representation that passes transform: the nodes that a program runs."""

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport make_attributes
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_REF, hr_dtype, hr_node
from headrace.runtime.kernels.kernel_table cimport READS_SLOT, SESSION_CONSTANT
from headrace.runtime.graph.node_kind cimport NodeKind

from headrace.formats.errors import InternalError


cdef enum:
    _NOT_SENT = 0x7fffffff   # the urgency of what no Send needs


cdef extern from *:
    """
    #include <cstdint>
    #include <functional>
    #include <queue>
    #include <vector>
    #include <tuple>
    using min_heap = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<int64_t>>;
    // Writers: the one with the shorter chain of inputs first, then the earlier one in the graph.
    class writer_heap {
     public:
      void push(int32_t depth, int32_t rank, int32_t node) { heap_.emplace(depth, rank, node); }
      int32_t pop() {
        const int32_t node = std::get<2>(heap_.top());
        heap_.pop();
        return node;
      }
      bool empty() const { return heap_.empty(); }

     private:
      using Writer = std::tuple<int32_t, int32_t, int32_t>;
      std::priority_queue<Writer, std::vector<Writer>, std::greater<Writer>> heap_;
    };
    """
    cdef cppclass min_heap nogil:
        void push(int64_t)
        int64_t top()
        void pop()
        bint empty()
    cdef cppclass writer_heap nogil:
        void push(int32_t depth, int32_t rank, int32_t node)
        int32_t pop()
        bint empty()


cdef extern from "headrace/kernel.h" nogil:
    int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise)


cdef bint is_fetch(const GraphNode* node) noexcept nogil:
    return node.op == b"_Send" and hr_attr_bool(&node.abi_node, "client_terminated", 0) != 0


cdef class GraphIR:
    """Nodes and edges of one signature, as passes transform them."""

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.owned.size()):
            del self.owned[i]

    cdef hr_dtype dtype_of(self, Edge edge) noexcept nogil:
        cdef IRNode* node = &self.nodes[edge.node]
        if node.kind == NodeKind.FEED:  # a fed variable is a plain value
            return node.source.output_dtypes[node.port] % HR_REF
        return node.source.output_dtypes[edge.port]

    cdef int32_t add_node(self, NodeKind kind, const string& op, const string& name,
                          GraphNode* like) except -1 nogil:
        """A synthetic node; the caller sets its dtypes and calls fill_abi_node."""
        cdef GraphNode* source = new GraphNode()
        cdef IRNode node
        self.owned.push_back(source)
        source.op = op
        source.name = name
        source.device = like.device
        source.session = like.session
        make_attributes(source)
        node.source = source
        node.entry = NULL
        node.kernel = NULL
        node.kind = kind
        node.removed = False
        node.device = 0
        node.rank = 0
        node.first_input = 0
        node.n_inputs = 0
        node.first_control = 0
        node.n_controls = 0
        node.n_outputs = 0
        node.port = 0
        self.nodes.push_back(node)
        return <int32_t>(self.nodes.size() - 1)

    cdef int set_inputs(self, int32_t node, vector[Edge]& inputs) except -1 nogil:
        self.nodes[node].first_input = <int32_t>self.edges.size()
        self.nodes[node].n_inputs = <int32_t>inputs.size()
        self.edges.insert(self.edges.end(), inputs.begin(), inputs.end())
        return 0

    cdef int set_controls(self, int32_t node, vector[int32_t]& controls) except -1 nogil:
        self.nodes[node].first_control = <int32_t>self.controls.size()
        self.nodes[node].n_controls = <int32_t>controls.size()
        self.controls.insert(self.controls.end(), controls.begin(), controls.end())
        return 0

    cdef int order(self, vector[int32_t]& sorted_nodes) except -1:
        cdef size_t left
        with nogil:
            left = _order(self, sorted_nodes, NULL)
        if left:
            raise InternalError(None, None, f"the passes left {left} nodes in a cycle")
        return 0

    cdef int order_for_sends(self, vector[int32_t]& sorted_nodes) except -1:
        cdef vector[int32_t] urgency
        self.order(sorted_nodes)
        with nogil:
            if _find_urgency(self, sorted_nodes, urgency):
                _order(self, sorted_nodes, &urgency)
        return 0


cdef inline cbool _closes_loop(GraphIR ir, int32_t producer, int32_t consumer) noexcept nogil:
    return (ir.nodes[producer].kind == NodeKind.NEXT_ITERATION
            and ir.nodes[consumer].kind == NodeKind.MERGE)


cdef bint _find_urgency(GraphIR ir, const vector[int32_t]& sorted_nodes,
                        vector[int32_t]& urgency) noexcept nogil:
    """Finds the shortest chain at whose end a Send needs the node, as if each op took the same time.

    Returns: whether there are Sends.
    """
    cdef vector[int32_t] depth
    cdef IRNode* node
    cdef int32_t i, k, producer
    cdef size_t at
    cdef bint any_sends = False
    for at in range(sorted_nodes.size()):
        any_sends = any_sends or ir.nodes[sorted_nodes[at]].kind == NodeKind.SEND
    if not any_sends:
        return False
    depth.assign(ir.nodes.size(), 0)
    urgency.assign(ir.nodes.size(), _NOT_SENT)
    for at in range(sorted_nodes.size()):
        i = sorted_nodes[at]
        node = &ir.nodes[i]
        for k in range(node.n_inputs + node.n_controls):
            producer = (ir.edges[node.first_input + k].node if k < node.n_inputs
                        else ir.controls[node.first_control + k - node.n_inputs])
            if not _closes_loop(ir, producer, i):
                depth[i] = max(depth[i], depth[producer] + 1)
        if node.kind == NodeKind.SEND:
            urgency[i] = depth[i]
    at = sorted_nodes.size()
    while at > 0:
        at -= 1
        i = sorted_nodes[at]
        node = &ir.nodes[i]
        for k in range(node.n_inputs + node.n_controls):
            producer = (ir.edges[node.first_input + k].node if k < node.n_inputs
                        else ir.controls[node.first_control + k - node.n_inputs])
            if not _closes_loop(ir, producer, i):
                urgency[producer] = min(urgency[producer], urgency[i])
    return True


cdef size_t _order(GraphIR ir, vector[int32_t]& sorted_nodes,
                   const vector[int32_t]* urgency) noexcept nogil:
    """Kahn's algorithm; returns the number of nodes that it could not place. urgency: null, or per
    node: the lower comes first."""
    cdef int32_t n = <int32_t>ir.nodes.size()
    cdef int32_t i, k, producer, consumer
    cdef size_t alive = 0
    cdef IRNode* node
    cdef vector[int32_t] missing, first, consumers, at, depth
    cdef min_heap ready
    cdef writer_heap writers, urgent
    missing.assign(n, 0)
    depth.assign(n, 0)
    first.assign(n + 1, 0)
    for i in range(n):
        node = &ir.nodes[i]
        if node.removed:
            continue
        alive += 1
        for k in range(node.n_inputs):
            producer = ir.edges[node.first_input + k].node
            if not _closes_loop(ir, producer, i):
                missing[i] += 1
                first[producer + 1] += 1
        for k in range(node.n_controls):
            missing[i] += 1
            first[ir.controls[node.first_control + k] + 1] += 1
    for i in range(n):
        first[i + 1] += first[i]
    consumers.resize(first[n])
    at.assign(first.begin(), first.end())
    for i in range(n):
        node = &ir.nodes[i]
        if node.removed:
            continue
        for k in range(node.n_inputs):
            producer = ir.edges[node.first_input + k].node
            if not _closes_loop(ir, producer, i):
                consumers[at[producer]] = i
                at[producer] += 1
        for k in range(node.n_controls):
            producer = ir.controls[node.first_control + k]
            consumers[at[producer]] = i
            at[producer] += 1
    for i in range(n):
        if missing[i] == 0 and not ir.nodes[i].removed:
            _push(ir, i, 0, urgency, ready, urgent, writers)
    sorted_nodes.clear()
    sorted_nodes.reserve(alive)
    while True:
        if not ready.empty():
            i = <int32_t>(ready.top() & 0x7fffffff)
            ready.pop()
        elif not urgent.empty():
            i = urgent.pop()
        elif not writers.empty():
            i = writers.pop()
        else:
            break
        sorted_nodes.push_back(i)
        for k in range(first[i], first[i + 1]):
            consumer = consumers[k]
            depth[consumer] = max(depth[consumer], depth[i] + 1)
            missing[consumer] -= 1
            if missing[consumer] == 0:
                _push(ir, consumer, depth[consumer], urgency, ready, urgent, writers)
    return alive - sorted_nodes.size()


cdef inline void _push(GraphIR ir, int32_t i, int32_t depth, const vector[int32_t]* urgency,
                       min_heap& ready, writer_heap& urgent,
                       writer_heap& writers) noexcept nogil:
    """Writers are ordered by the length of the chain before them, as if each op took the same time."""
    cdef IRNode* node = &ir.nodes[i]
    if node.entry != NULL and node.entry.writes:
        writers.push(depth, node.rank, i)
    elif node.n_controls == 0 and is_leading(node):
        ready.push(i)
    elif urgency != NULL:
        urgent.push(urgency[0][i], node.rank, i)
    else:
        ready.push((<int64_t>(node.rank + 1) << 31) | i)


cdef inline cbool is_leading(IRNode* node) noexcept nogil:
    """Variables and their reads come first, so that a changed shape is found before any effect."""
    if node.kind == NodeKind.READ_SLOT:
        return True
    return node.kernel != NULL and node.kernel.flags & (SESSION_CONSTANT | READS_SLOT) != 0
