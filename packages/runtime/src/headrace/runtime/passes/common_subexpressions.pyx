# distutils: language = c++
"""Merges nodes that must give the same values (white paper §5.1).

Two nodes are merged if op, attributes, inputs, control inputs and device are equal and the op has
no state and no reference outputs. The inputs of commutative ops may be in another order.
"""

from libc.stdint cimport int32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.algorithm cimport sort
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport AttrEntry, Attributes, attributes_of
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_RESOURCE
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode


cdef extern from *:
    """
    #include <cstring>
    #include <string_view>
    // The hash of a long value (a constant) covers its ends and its size.
    static inline uint64_t headrace_hash(std::string_view bytes) {
      if (bytes.size() > 256) {
        std::hash<std::string_view> hash;
        return hash(bytes.substr(0, 128)) * 31 + hash(bytes.substr(bytes.size() - 128)) +
               bytes.size();
      }
      return std::hash<std::string_view>()(bytes);
    }
    """
    uint64_t headrace_hash(string_view) nogil


cdef int merge_common(GraphIR ir) except -1:
    cdef vector[int32_t] order
    ir.order(order)
    with nogil:
        _merge(ir, order)
    return 0


cdef void _merge(GraphIR ir, vector[int32_t]& order) noexcept nogil:
    # A hash table with open addressing: slots hold nodes, `hashes` is by node.
    cdef vector[int32_t] slots, stands_for
    cdef vector[uint64_t] hashes
    cdef int32_t i, k
    cdef size_t e
    cdef IRNode* node
    cdef uint64_t hashed
    cdef uint64_t mask = 1
    cdef uint64_t slot
    cdef cbool merged_any = False
    stands_for.resize(ir.nodes.size())
    for i in range(<int32_t>ir.nodes.size()):
        stands_for[i] = i
    while mask < 2 * order.size():
        mask *= 2
    slots.assign(mask, -1)
    hashes.assign(ir.nodes.size(), 0)
    mask -= 1
    for i in order:
        node = &ir.nodes[i]
        if merged_any:
            _rewire(ir, node, stands_for)
        if not _may_merge(node):
            continue
        hashed = _hash(ir, node)
        hashes[i] = hashed
        slot = (hashed ^ hashed >> 32) & mask
        while slots[slot] >= 0:
            k = slots[slot]
            if hashes[k] == hashed and _same(ir, &ir.nodes[k], node):
                node.removed = True
                stands_for[i] = k
                merged_any = True
                break
            slot = (slot + 1) & mask
        if not node.removed:
            slots[slot] = i
    if not merged_any:
        return
    for i in order:  # again: back edges of loops point at later nodes
        if not ir.nodes[i].removed:
            _rewire(ir, &ir.nodes[i], stands_for)
    for e in range(ir.fetches.size()):
        ir.fetches[e].node = stands_for[ir.fetches[e].node]
    for e in range(ir.targets.size()):
        ir.targets[e] = stands_for[ir.targets[e]]


cdef inline void _rewire(GraphIR ir, IRNode* node, vector[int32_t]& stands_for) noexcept nogil:
    cdef int32_t k
    for k in range(node.first_input, node.first_input + node.n_inputs):
        ir.edges[k].node = stands_for[ir.edges[k].node]
    for k in range(node.first_control, node.first_control + node.n_controls):
        ir.controls[k] = stands_for[ir.controls[k]]


cdef inline bint _may_merge(IRNode* node) noexcept nogil:
    cdef int32_t k
    if (node.kind != NodeKind.KERNEL or node.entry == NULL or node.entry.stateful
            or node.entry.has_ref or node.entry.writes or node.n_outputs == 0):
        return False
    for k in range(node.n_outputs):
        if node.source.output_dtypes[k] == HR_RESOURCE:
            return False
    return True


cdef inline cbool _matters(string_view key) noexcept nogil:
    """Annotations for other programs, and device requests that placement has already used."""
    return not (key.size() > 0 and key.data()[0] == c"_" and (
        key == string_view(<const char*>b"_class")
        or key == string_view(<const char*>b"_output_shapes")
        or key == string_view(<const char*>b"_gradient_op_type")))


cdef uint64_t _hash(GraphIR ir, IRNode* node) noexcept nogil:
    cdef uint64_t hashed = <uint64_t>node.entry * 0x9E3779B97F4A7C15ULL
    cdef uint64_t edges = 0
    cdef uint64_t one
    cdef int32_t k
    cdef Edge edge
    cdef Attributes* attributes = attributes_of(node.source)
    cdef size_t a
    for k in range(node.n_inputs):
        edge = ir.edges[node.first_input + k]
        one = (<uint64_t>edge.node << 16 ^ <uint64_t>edge.port) * 0xBF58476D1CE4E5B9ULL
        one ^= one >> 29
        edges = edges + one if node.entry.commutative else (edges * 31 + one)
    hashed = hashed * 31 + edges
    for k in range(node.n_controls):
        hashed += <uint64_t>ir.controls[node.first_control + k] * 0x94D049BB133111EBULL
    for a in range(attributes.entries.size()):
        if _matters(attributes.entries[a].key):  # in any order, hence a sum
            hashed += (headrace_hash(attributes.entries[a].key)
                       ^ headrace_hash(attributes.entries[a].value) * 31)
    return hashed ^ <uint64_t>node.device


cdef bint _same(GraphIR ir, IRNode* a, IRNode* b) noexcept nogil:
    if (a.entry != b.entry or a.device != b.device or a.n_inputs != b.n_inputs
            or a.n_controls != b.n_controls or a.source.input_dtypes != b.source.input_dtypes
            or a.source.output_dtypes != b.source.output_dtypes):
        return False
    return (_same_inputs(ir, a, b) and _same_controls(ir, a, b)
            and _contains(attributes_of(a.source), attributes_of(b.source))
            and _contains(attributes_of(b.source), attributes_of(a.source)))


cdef bint _same_inputs(GraphIR ir, IRNode* a, IRNode* b) noexcept nogil:
    cdef vector[uint64_t] left, right
    cdef int32_t k
    cdef Edge edge
    for k in range(a.n_inputs):
        edge = ir.edges[a.first_input + k]
        left.push_back(<uint64_t>edge.node << 32 | <uint64_t>edge.port)
        edge = ir.edges[b.first_input + k]
        right.push_back(<uint64_t>edge.node << 32 | <uint64_t>edge.port)
    if a.entry.commutative:
        sort(left.begin(), left.end())
        sort(right.begin(), right.end())
    return left == right


cdef bint _same_controls(GraphIR ir, IRNode* a, IRNode* b) noexcept nogil:
    cdef vector[int32_t] left, right
    left.assign(ir.controls.begin() + a.first_control,
                ir.controls.begin() + a.first_control + a.n_controls)
    right.assign(ir.controls.begin() + b.first_control,
                 ir.controls.begin() + b.first_control + b.n_controls)
    sort(left.begin(), left.end())
    sort(right.begin(), right.end())
    return left == right


cdef bint _contains(Attributes* a, Attributes* b) noexcept nogil:
    """Whether all attributes of a are in b, with the same values."""
    cdef const AttrEntry* other
    cdef size_t i
    for i in range(a.entries.size()):
        if not _matters(a.entries[i].key):
            continue
        other = b.find(a.entries[i].key)
        if other == NULL or not (other.value == a.find(a.entries[i].key).value):
            return False
    return True
