# distutils: language = c++
"""Orders the reads and writes of a variable that the graph does not order (docs/state.md).

A writer waits for the reads of its variable; a fetch of a reference waits for the writers.
Unordered writers run in the order of GraphIR.order: those with the shorter chain of inputs first.
Each new edge follows GraphIR.order or leads to a node without consumers, so it cannot close a
cycle. Reads that may not happen (behind a Switch), happen repeatedly (in a loop) or wait for
something outside the step are not ordered: a writer that waits for them might never run.
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.memory.kernel_abi cimport HR_REF, HR_RESOURCE, hr_dtype
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.passes.branches cimport Branches
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode, gives_own_reference, is_fetch


cdef int order_writes(GraphIR ir) except -1:
    cdef _Orderer orderer
    cdef vector[int32_t] order
    cdef size_t i
    cdef bint any_writer = False
    for i in range(ir.nodes.size()):
        if not ir.nodes[i].removed and ir.nodes[i].entry != NULL:
            any_writer = any_writer or ir.nodes[i].entry.writes
    if not any_writer:
        return 0
    ir.order(order)
    orderer = _Orderer()
    orderer.ir = ir
    with nogil:
        orderer.run(order)
    return 0


cdef class _Orderer:
    cdef GraphIR ir
    cdef Branches branches
    # Per node.
    cdef vector[int32_t] variable      # of its reference outputs; -1: it has none
    cdef vector[uint8_t] may_not_run   # or waits for something outside the step
    cdef vector[uint8_t] in_loop
    cdef vector[uint8_t] at_end        # reads a reference that is fetched
    # Whose outputs leave the step: to the caller, or from a worker to the client.
    cdef vector[int32_t] fetched
    # Per variable.
    cdef unordered_map[int32_t, vector[int32_t]] readers, writers

    cdef int run(self, vector[int32_t]& order) except -1 nogil:
        cdef size_t n = self.ir.nodes.size()
        cdef int32_t i
        self.variable.assign(n, -1)
        self.may_not_run.assign(n, 0)
        self.in_loop.assign(n, 0)
        self.at_end.assign(n, 0)
        self.branches.resize(n)
        self.find_fetched()
        for i in self.fetched:
            self.mark_fetch(i)
        for i in order:
            self.visit(i)
        for i in self.fetched:
            if self.at_end[i]:
                self.at_end[i] = 0   # a fetch may occur twice
                self.wait_for(i, self.writers[self.variable[i]])
        return 0

    cdef int find_fetched(self) except -1 nogil:
        cdef size_t f
        cdef int32_t i
        for f in range(self.ir.fetches.size()):
            self.fetched.push_back(self.ir.fetches[f].node)
        for i in range(<int32_t>self.ir.nodes.size()):
            if self.ir.nodes[i].kind == NodeKind.SEND and is_fetch(self.ir.nodes[i].source):
                self.fetched.push_back(self.ir.edges[self.ir.nodes[i].first_input].node)
        return 0

    cdef void mark_fetch(self, int32_t i) noexcept nogil:
        cdef IRNode* node = &self.ir.nodes[i]
        cdef IRNode* read
        if node.kind == NodeKind.READ_SLOT:
            read = &self.ir.nodes[self.ir.edges[node.first_input].node]
            self.at_end[i] = gives_own_reference(read.source)

    cdef int visit(self, int32_t i) except -1 nogil:
        cdef IRNode* node = &self.ir.nodes[i]
        cdef Edge edge
        cdef hr_dtype dtype
        cdef int32_t k, producer
        cdef bint reads_reference = False
        cdef bint forwards_reference = False
        self.branches.begin(i, node.kind == NodeKind.MERGE)
        for k in range(node.n_inputs):
            edge = self.ir.edges[node.first_input + k]
            self.may_not_run[i] |= self.may_not_run[edge.node]
            self.in_loop[i] |= self.in_loop[edge.node]
            self.branches.add(edge.node, self.predicate(edge.node), edge.port)
            dtype = self.ir.dtype_of(edge)
            if (dtype >= HR_REF or dtype == HR_RESOURCE) and not reads_reference:
                reads_reference = True
                self.variable[i] = self.variable[edge.node]
        for k in range(node.n_controls):
            producer = self.ir.controls[node.first_control + k]
            self.may_not_run[i] |= self.may_not_run[producer]
            self.in_loop[i] |= self.in_loop[producer]
            self.branches.add(producer, -1, 0)
        self.branches.end()
        if _is_boundary(node) or (node.kind == NodeKind.FEED and self.ir.partial_run):
            self.may_not_run[i] = 1
        if node.kind == NodeKind.ENTER:
            self.in_loop[i] = 1
        if node.kind != NodeKind.FEED:
            for k in range(node.n_outputs):
                dtype = node.source.output_dtypes[k]
                forwards_reference |= dtype >= HR_REF or dtype == HR_RESOURCE
        if forwards_reference and not reads_reference:
            self.variable[i] = i
        if self.variable[i] < 0:
            return 0
        if node.entry != NULL and node.entry.writes:
            if not self.in_loop[i]:
                self.wait_for(i, self.readers[self.variable[i]])
                if self.branches.always_runs(i) and not (self.ir.partial_run
                                                         and self.may_not_run[i]):
                    self.writers[self.variable[i]].push_back(i)
        elif reads_reference and not (forwards_reference or self.may_not_run[i]
                                      or self.at_end[i]):
            self.readers[self.variable[i]].push_back(i)
        return 0

    cdef int32_t predicate(self, int32_t i) noexcept nogil:
        """The node whose value decides a Switch, through Identities; -1: i is not a Switch."""
        cdef IRNode* node = &self.ir.nodes[i]
        if node.kind != NodeKind.SWITCH:
            return -1
        i = self.ir.edges[node.first_input + 1].node
        while self.ir.nodes[i].kind == NodeKind.KERNEL and \
                self.ir.nodes[i].source.op == b"Identity":
            i = self.ir.edges[self.ir.nodes[i].first_input].node
        return i

    cdef int wait_for(self, int32_t i, vector[int32_t]& others) except -1 nogil:
        cdef IRNode* node = &self.ir.nodes[i]
        cdef vector[int32_t] waits
        cdef int32_t k
        waits.assign(self.ir.controls.begin() + node.first_control,
                     self.ir.controls.begin() + node.first_control + node.n_controls)
        for k in others:
            if self.ir.nodes[k].device == node.device and not _reads(self.ir, node, k):
                waits.push_back(k)
        if waits.size() > <size_t>node.n_controls:
            self.ir.set_controls(i, waits)
        return 0


cdef inline bint _reads(GraphIR ir, IRNode* node, int32_t producer) noexcept nogil:
    cdef int32_t k
    for k in range(node.n_inputs):
        if ir.edges[node.first_input + k].node == producer:
            return True
    for k in range(node.n_controls):
        if ir.controls[node.first_control + k] == producer:
            return True
    return False


cdef inline bint _is_boundary(IRNode* node) noexcept nogil:
    if node.kind == NodeKind.KERNEL:
        return node.kernel.compute == NULL
    return node.kind != NodeKind.FEED and node.kind != NodeKind.READ_SLOT
