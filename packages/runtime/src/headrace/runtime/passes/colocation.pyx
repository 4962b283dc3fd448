# distutils: language = c++
"""Which nodes must share a device: by attribute `_class`, by references, by state (§4.3)."""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, uint8_t
from libcpp.string_view cimport string_view
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport ParsedValue, parsed_value
from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.memory.kernel_abi cimport HR_REF, HR_RESOURCE, HR_VARIANT, hr_dtype
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode


cdef class Colocation:
    cdef int find(self, GraphIR ir, const vector[uint8_t]& may_accelerate) except -1 nogil:
        cdef int32_t n = <int32_t>ir.nodes.size()
        cdef int32_t i, k
        cdef size_t c
        cdef hr_dtype dtype
        cdef IRNode* node
        cdef ParsedValue* classes
        cdef string_view name
        cdef unordered_map[string_view, int32_t] by_name
        cdef Edge edge
        self.parent.resize(n)
        self.partner.assign(n, -1)
        self.bond.assign(n, NO_BOND)
        by_name.reserve(n)
        for i in range(n):
            self.parent[i] = i
            node = &ir.nodes[i]
            if not node.removed and node.entry != NULL:
                by_name[string_view(node.source.name)] = i
        for i in range(n):
            node = &ir.nodes[i]
            if node.removed or node.kind == NodeKind.FEED:
                continue
            for k in range(node.n_inputs):
                edge = ir.edges[node.first_input + k]
                dtype = node.source.input_dtypes[k]
                # A list of tensors or a dataset is memory of one process, and that of an accelerator
                # has its tensors where only kernels of its library take them.
                if ((_is_reference(dtype) or dtype == HR_VARIANT and (
                        ir.between_tasks or may_accelerate[edge.node] or may_accelerate[i]))
                        and ir.nodes[edge.node].kind != NodeKind.FEED):
                    self.join(edge.node, i, REFERENCE)
            if ir.between_tasks or not ir.memories.empty():
                self.keep_loop_variables_together(ir, i)
            if node.entry == NULL:
                continue
            classes = parsed_value(node.source, string_view(<const char*>b"_class"))
            if classes == NULL:
                continue
            for c in range(classes.strings.size()):
                name = string_view(classes.strings[c].data, classes.strings[c].size)
                if name.size() > 5 and (
                        string_view(name.data(), 5) == string_view(<const char*>b"loc:@")):
                    name = string_view(name.data() + 5, name.size() - 5)
                    # The name of a pruned node still identifies the group.
                    found = by_name.find(name)
                    if found == by_name.end():
                        by_name[name] = i
                    else:
                        self.join(dereference(found).second, i, SAME_CLASS)
        return 0

    cdef int32_t root(self, int32_t i) noexcept nogil:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    cdef void join(self, int32_t a, int32_t b, Bond bond) noexcept nogil:
        cdef int32_t one = self.root(a), other = self.root(b)
        if one == other:
            return
        self.parent[other] = one
        if self.bond[b] == NO_BOND:
            self.partner[b] = a
            self.bond[b] = <int>bond

    cdef int keep_loop_variables_together(self, GraphIR ir, int32_t i) except -1 nogil:
        """The control flow nodes of one loop variable share a task, and a memory: what passes between
        them does not pass once per iteration, as what a Recv receives."""
        cdef IRNode* node = &ir.nodes[i]
        cdef int32_t k, source
        for k in range(node.n_inputs):
            source = ir.edges[node.first_input + k].node
            if node.kind == NodeKind.EXIT:
                self.join(source, i, SAME_LOOP)
            elif node.kind == NodeKind.MERGE and (
                    ir.nodes[source].kind == NodeKind.NEXT_ITERATION
                    or ir.nodes[source].kind == NodeKind.ENTER):
                self.join(source, i, SAME_LOOP)
            elif node.kind == NodeKind.SWITCH and k == 0 and \
                    ir.nodes[source].kind == NodeKind.MERGE:
                self.join(source, i, SAME_LOOP)
        return 0


cdef inline bint _is_reference(hr_dtype dtype) noexcept nogil:
    return dtype >= HR_REF or dtype == HR_RESOURCE


cdef bint makes_state(GraphIR ir, int32_t i) noexcept nogil:
    cdef IRNode* node = &ir.nodes[i]
    cdef int32_t k
    cdef size_t o
    if node.entry == NULL:
        return False
    for k in range(node.n_inputs):
        if _is_reference(node.source.input_dtypes[k]):
            return False
    for o in range(node.source.output_dtypes.size()):
        if _is_reference(node.source.output_dtypes[o]):
            return True
    return False
