# distutils: language = c++
"""Makes the implicit dereference explicit: a plain input of a reference reads its variable."""

from cython.operator cimport dereference
from libc.stdint cimport int32_t
from libcpp.algorithm cimport sort
from libcpp.map cimport map
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    attributes_of, fill_abi_node, kType, needs_value, number_attr,
)
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_REF, hr_dtype
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode, gives_own_reference, is_fetch
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text_of

from headrace.formats.errors import InvalidArgumentError


cdef int read_slots(GraphIR ir) except -1:
    with nogil:
        _read_slots(ir)
    return 0


cdef int _read_slots(GraphIR ir) except -1 nogil:
    # Consumers that wait for the same nodes share a read, which waits for these nodes as well.
    cdef map[vector[int32_t], int32_t] reads
    cdef vector[int32_t] waits
    cdef GraphNode* source
    cdef IRNode* node
    cdef Edge edge
    cdef int32_t i, k
    cdef size_t f
    for i in range(<int32_t>ir.nodes.size()):
        source = ir.nodes[i].source
        if ir.nodes[i].kind == NodeKind.FEED:
            continue
        for k in range(ir.nodes[i].n_inputs):
            edge = ir.edges[ir.nodes[i].first_input + k]
            if source.input_dtypes[k] >= HR_REF:
                if ir.nodes[edge.node].kind == NodeKind.FEED:
                    with gil:
                        raise _fed_reference(source, k, ir.nodes[edge.node].source)
            elif ir.dtype_of(edge) >= HR_REF:
                node = &ir.nodes[i]
                waits.assign(ir.controls.begin() + node.first_control,
                               ir.controls.begin() + node.first_control + node.n_controls)
                sort(waits.begin(), waits.end())
                if is_fetch(source) and gives_own_reference(ir.nodes[edge.node].source):
                    waits.assign(1, _FETCHED)   # it sends what a local session would fetch
                edge.node = _read(ir, reads, edge, waits, node.rank)
                edge.port = 0
                ir.edges[ir.nodes[i].first_input + k] = edge
    _read_entered(ir, reads)
    for f in range(ir.fetches.size()):
        edge = ir.fetches[f]
        if ir.dtype_of(edge) >= HR_REF:
            waits.clear()
            if gives_own_reference(ir.nodes[edge.node].source):
                # A read for fetches only: order_writes.pyx orders it after the step's writes.
                waits.push_back(_FETCHED)
            edge.node = _read(ir, reads, edge, waits, ir.nodes[edge.node].rank)
            edge.port = 0
            ir.fetches[f] = edge
    return 0


cdef int _read_entered(GraphIR ir, map[vector[int32_t], int32_t]& reads) except -1 nogil:
    """Adds a read of a reference that enters a loop: its variable must have a value.

    As a node beside the RefEnter, the read comes before unordered writes, which need not wait for
    the loop.
    """
    cdef vector[char] written
    cdef vector[int32_t] no_waits
    cdef IRNode* node
    cdef Edge edge
    cdef int32_t i, k, n = <int32_t>ir.nodes.size()
    cdef bint any_written = False
    written.assign(n, 0)
    for i in range(n):
        node = &ir.nodes[i]
        if node.entry == NULL or not node.entry.writes:
            continue
        for k in range(node.n_inputs):
            edge = ir.edges[node.first_input + k]
            if node.source.input_dtypes[k] >= HR_REF and \
                    gives_own_reference(ir.nodes[edge.node].source):
                written[edge.node] = 1
                any_written = True
    if not any_written:
        return 0
    for i in range(n):
        if ir.nodes[i].kind != NodeKind.ENTER or not needs_value(ir.nodes[i].source) \
                or ir.nodes[i].n_controls:
            continue
        edge = ir.edges[ir.nodes[i].first_input]
        if written[edge.node]:
            _read(ir, reads, edge, no_waits, ir.nodes[i].rank)
    return 0


cdef enum:
    _FETCHED = -1   # instead of the nodes that a read waits for


cdef int32_t _read(GraphIR ir, map[vector[int32_t], int32_t]& reads, Edge edge,
                   vector[int32_t]& controls, int32_t rank) except -1 nogil:
    cdef vector[int32_t] key
    cdef vector[Edge] inputs
    cdef GraphNode* producer
    cdef GraphNode* source
    cdef int32_t read
    cdef hr_dtype dtype
    key.push_back(edge.node)
    key.push_back(edge.port)
    key.insert(key.end(), controls.begin(), controls.end())
    found = reads.find(key)
    if found != reads.end():
        read = dereference(found).second
        if rank < ir.nodes[read].rank:
            ir.nodes[read].rank = rank
        return read
    producer = ir.nodes[edge.node].source
    dtype = producer.output_dtypes[edge.port]
    # It has the name of the variable that it reads, so that errors name a node of the user.
    read = ir.add_node(
        NodeKind.READ_SLOT, string(<const char*>b"_ReadSlot"), producer.name, producer)
    source = ir.nodes[read].source
    source.input_dtypes.push_back(dtype)
    source.output_dtypes.push_back(dtype - HR_REF)
    attributes_of(source).add(
        string(<const char*>b"T"), number_attr(kType, dtype - HR_REF))
    fill_abi_node(source)
    ir.nodes[read].n_outputs = 1
    ir.nodes[read].rank = rank
    inputs.push_back(edge)
    ir.set_inputs(read, inputs)
    if controls.size() != 1 or controls[0] != _FETCHED:
        ir.set_controls(read, controls)
    reads[key] = read
    return read


cdef object _fed_reference(GraphNode* node, int32_t k, GraphNode* fed):
    return InvalidArgumentError(
        None, None,
        f"{text_of(node.op)} '{text_of(node.name)}': input {k} must be a variable, but "
        f"'{text_of(fed.name)}' is fed: a fed value cannot be written",
        node_name=text_of(node.name))
