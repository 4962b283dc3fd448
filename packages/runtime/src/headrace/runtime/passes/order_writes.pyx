# distutils: language = c++
"""Lets writers of a variable wait for the reads of it that the graph does not order.

Each pair is ordered as Draft.order has it, so no cycle can come of it. Reads that might not happen
(behind a Switch), happen often (in a loop) or wait for something outside are left alone: a writer
that waited for them might wait for ever.
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph_node cimport Edge
from headrace.runtime.kernel_abi cimport HR_REF, HR_RESOURCE, hr_dtype
from headrace.runtime.node_kind cimport NodeKind
from headrace.runtime.passes.draft cimport Draft, DraftNode


cdef int order_writes(Draft draft) except -1:
    cdef vector[int32_t] order
    cdef size_t i
    cdef bint any_writer = False
    for i in range(draft.nodes.size()):
        if not draft.nodes[i].removed and draft.nodes[i].entry != NULL:
            any_writer = any_writer or draft.nodes[i].entry.writes
    if not any_writer:
        return 0
    draft.order(order)
    with nogil:
        _order_writes(draft, order)
    return 0



cdef int _order_writes(Draft draft, vector[int32_t]& order) except -1 nogil:
    cdef size_t n = draft.nodes.size()
    cdef vector[int32_t] variable       # of the references that a node gives; else -1
    cdef vector[uint8_t] unsure, in_loop
    cdef unordered_map[int32_t, vector[int32_t]] readers
    cdef vector[int32_t] waits
    cdef DraftNode* node
    cdef Edge edge
    cdef hr_dtype dtype
    cdef int32_t i, k, producer
    cdef size_t r
    cdef bint takes, hands_on
    variable.assign(n, -1)
    unsure.assign(n, 0)
    in_loop.assign(n, 0)
    for i in order:
        node = &draft.nodes[i]
        takes = False
        for k in range(node.n_inputs):
            edge = draft.edges[node.first_input + k]
            unsure[i] |= unsure[edge.node]
            in_loop[i] |= in_loop[edge.node]
            dtype = draft.dtype_of(edge)
            if (dtype >= HR_REF or dtype == HR_RESOURCE) and not takes:
                takes = True
                variable[i] = variable[edge.node]
        for k in range(node.n_controls):
            producer = draft.controls[node.first_control + k]
            unsure[i] |= unsure[producer]
            in_loop[i] |= in_loop[producer]
        if _is_boundary(node) or (node.kind == NodeKind.FEED and draft.partial_run):
            unsure[i] = 1
        if node.kind == NodeKind.ENTER:
            in_loop[i] = 1
        hands_on = False
        if node.kind != NodeKind.FEED:
            for k in range(node.n_outputs):
                dtype = node.source.output_dtypes[k]
                hands_on = hands_on or dtype >= HR_REF or dtype == HR_RESOURCE
        if hands_on and not takes:
            variable[i] = i
        if variable[i] < 0:
            continue
        if node.entry != NULL and node.entry.writes:
            if not in_loop[i] and not readers[variable[i]].empty():
                waits.assign(draft.controls.begin() + node.first_control,
                             draft.controls.begin() + node.first_control + node.n_controls)
                for r in range(readers[variable[i]].size()):
                    k = readers[variable[i]][r]
                    if draft.nodes[k].device == node.device and not _reads(draft, node, k):
                        waits.push_back(k)
                draft.set_controls(i, waits)
        elif takes and not hands_on and not unsure[i]:
            readers[variable[i]].push_back(i)
    return 0


cdef inline bint _reads(Draft draft, DraftNode* node, int32_t producer) noexcept nogil:
    cdef int32_t k
    for k in range(node.n_inputs):
        if draft.edges[node.first_input + k].node == producer:
            return True
    for k in range(node.n_controls):
        if draft.controls[node.first_control + k] == producer:
            return True
    return False


cdef inline bint _is_boundary(DraftNode* node) noexcept nogil:
    if node.kind == NodeKind.KERNEL:
        return node.kernel.compute == NULL
    return node.kind != NodeKind.FEED and node.kind != NodeKind.READ_SLOT
