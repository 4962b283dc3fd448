# distutils: language = c++
"""Where each value is, and the copies between host and device memory.

A node on a device with memory of its own takes and gives values there, except those that its kernel
has in host memory. Control flow, views and variables keep small things on the host whose elements
decide what runs next: counters, indices, conditions. Arithmetic on such values runs on the host, too,
as part of the device's segments, so that shapes computed from shapes are folded there as anywhere.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport strcmp
from libcpp.map cimport map
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    argument_range, attributes_of, fill_abi_node, kType, number_attr,
)
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.kernels.kernel_table cimport (
    KEEPS_SMALL_ON_HOST, find_kernel, is_python_kernel,
)
from headrace.runtime.memory.buffer cimport is_kept_on_host, is_plain
from headrace.runtime.memory.kernel_abi cimport HR_KERNEL_VIEW, HR_REF, hr_dtype, hr_kernel
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode

from headrace.formats.errors import InternalError


cdef int insert_copies(GraphIR ir) except -1:
    cdef vector[int32_t] order
    cdef map[vector[int32_t], int32_t] copies
    cdef Edge edge
    cdef int32_t i, k, needed
    cdef size_t f
    if ir.memories.empty():
        return 0
    ir.order(order)
    for i in order:
        if ir.nodes[i].kind == NodeKind.FEED:
            continue
        with nogil:
            _keep_on_host(ir, i)
        for k in range(ir.nodes[i].n_inputs):
            edge = ir.edges[ir.nodes[i].first_input + k]
            needed = _memory_needed(ir, i, k)
            if memory_given(ir, edge.node, edge.port) != needed:
                edge = _copied(ir, copies, edge, needed)
                ir.edges[ir.nodes[i].first_input + k] = edge
    for f in range(ir.fetches.size()):
        edge = ir.fetches[f]
        if memory_given(ir, edge.node, edge.port) != ON_HOST:
            ir.fetches[f] = _copied(ir, copies, edge, ON_HOST)
    return 0


cdef bint computes_on_host(GraphIR ir, int32_t node) noexcept nogil:
    cdef const hr_kernel* kernel = ir.nodes[node].kernel
    return kernel == NULL or strcmp(kernel.device_type, "CPU") == 0


cdef void _keep_on_host(GraphIR ir, int32_t i) noexcept nogil:
    """Lets a node whose inputs are on the host compute there, if all it handles is small."""
    cdef IRNode* node = &ir.nodes[i]
    cdef const hr_kernel* kernel
    cdef Edge edge
    cdef size_t k
    if node.kind != NodeKind.KERNEL or node.entry == NULL or node.n_inputs == 0 or \
            ir.memories[node.device] == NULL or computes_on_host(ir, i) or \
            node.kernel.flags & (HR_KERNEL_VIEW | KEEPS_SMALL_ON_HOST) or _handles_on_host(node):
        return
    for k in range(node.source.input_dtypes.size()):
        edge = ir.edges[node.first_input + <int32_t>k]
        if not is_kept_on_host(node.source.input_dtypes[k]) or \
                memory_given(ir, edge.node, edge.port) != ON_HOST:
            return
    for k in range(node.source.output_dtypes.size()):
        if not is_kept_on_host(node.source.output_dtypes[k]):
            return
    kernel = find_kernel(node.source, "CPU", False)
    if kernel != NULL and kernel.compute != NULL:
        node.kernel = kernel


cdef bint _handles_on_host(IRNode* node) noexcept nogil:
    """Whether a kernel handles a resource or variant, which kernels of its library made, and nothing
    in memory of the device."""
    cdef uint64_t listed = (
        node.kernel.host_inputs | node.kernel.constant_inputs | node.kernel.value_inputs)
    cdef bint found = False
    cdef hr_dtype dtype
    cdef size_t k
    for k in range(node.source.input_dtypes.size()):
        dtype = node.source.input_dtypes[k]
        if dtype >= HR_REF or not is_plain(dtype):
            found = True
        elif not _is_listed(node, False, <int32_t>k, listed):
            return False
    for k in range(node.source.output_dtypes.size()):
        dtype = node.source.output_dtypes[k]
        if dtype >= HR_REF or not is_plain(dtype):
            found = True
        elif not _is_listed(node, True, <int32_t>k, node.kernel.host_outputs):
            return False
    return found


cdef int32_t memory_given(GraphIR ir, int32_t node, int32_t port) noexcept nogil:
    cdef IRNode* at = &ir.nodes[node]
    cdef hr_dtype dtype
    if ir.memories.empty() or at.kind == NodeKind.FEED or ir.memories[at.device] == NULL:
        return ON_HOST
    dtype = at.source.output_dtypes[port]
    if not is_plain(dtype) or dtype >= HR_REF:
        return ON_HOST
    if at.kind == NodeKind.KERNEL or at.kind == NodeKind.READ_SLOT:
        if computes_on_host(ir, node):
            return ON_HOST
        if at.kernel.flags & (HR_KERNEL_VIEW | KEEPS_SMALL_ON_HOST) and is_kept_on_host(dtype):
            return ON_HOST
        return ON_HOST if _is_listed(at, True, port, at.kernel.host_outputs) else at.device
    if at.kind == NodeKind.RECV:
        return ON_HOST
    return ON_HOST if is_kept_on_host(dtype) else at.device   # control flow


cdef int32_t _memory_needed(GraphIR ir, int32_t node, int32_t k) noexcept nogil:
    cdef IRNode* at = &ir.nodes[node]
    cdef hr_dtype dtype = at.source.input_dtypes[k]
    cdef uint64_t listed
    if ir.memories[at.device] == NULL or not is_plain(dtype) or dtype >= HR_REF:
        return ON_HOST
    if at.kind == NodeKind.KERNEL or at.kind == NodeKind.READ_SLOT:
        if computes_on_host(ir, node):
            return ON_HOST
        if at.kernel.flags & (HR_KERNEL_VIEW | KEEPS_SMALL_ON_HOST) and is_kept_on_host(dtype):
            return ON_HOST
        listed = at.kernel.host_inputs | at.kernel.constant_inputs | at.kernel.value_inputs
        return ON_HOST if _is_listed(at, False, k, listed) else at.device
    if at.kind == NodeKind.SEND or at.kind == NodeKind.SWITCH and k == 1:
        return ON_HOST
    return ON_HOST if is_kept_on_host(dtype) else at.device


cdef bint _is_listed(IRNode* node, bint output, int32_t position, uint64_t arguments) noexcept nogil:
    cdef int32_t argument, first = 0, count = 0
    if arguments == 0:
        return False
    if node.entry == NULL:   # of a pass: each argument is one tensor
        return arguments >> position & 1 != 0
    for argument in range(64):
        if arguments >> argument == 0:
            return False
        if arguments >> argument & 1:
            argument_range(node.source, output, argument, &first, &count)
            if first <= position < first + count:
                return True
    return False


cdef Edge _copied(GraphIR ir, map[vector[int32_t], int32_t]& copies, Edge edge,
                  int32_t needed) except *:
    """The value in the memory `needed`; consumers there share the copy."""
    cdef vector[int32_t] key
    cdef int32_t given = memory_given(ir, edge.node, edge.port), copy
    if given != ON_HOST and needed != ON_HOST:
        edge = _copied(ir, copies, edge, ON_HOST)
    key.push_back(edge.node)
    key.push_back(edge.port)
    key.push_back(needed)
    found = copies.find(key)
    if found != copies.end():
        copy = dereference(found).second
    else:
        copy = _add_copy(ir, edge, needed if given == ON_HOST or needed != ON_HOST else given,
                         needed != ON_HOST)
        copies[key] = copy
    edge.node = copy
    edge.port = 0
    return edge


cdef int32_t _add_copy(GraphIR ir, Edge edge, int32_t device, bint to_device) except -1:
    cdef GraphNode* producer = ir.nodes[edge.node].source
    cdef hr_dtype dtype = ir.dtype_of(edge)
    cdef int32_t rank = ir.nodes[edge.node].rank
    cdef vector[Edge] inputs
    cdef string op = b"_CopyToDevice" if to_device else b"_CopyToHost"
    cdef int32_t copy = ir.add_node(NodeKind.KERNEL, op, producer.name, producer)
    cdef GraphNode* source = ir.nodes[copy].source
    source.input_dtypes.push_back(dtype)
    source.output_dtypes.push_back(dtype)
    attributes_of(source).add(<string>b"T", number_attr(kType, dtype))
    fill_abi_node(source)
    ir.nodes[copy].device = device
    ir.nodes[copy].rank = rank
    ir.nodes[copy].n_outputs = 1
    ir.nodes[copy].kernel = find_kernel(source, ir.memories[device].type, False)
    if ir.nodes[copy].kernel == NULL:
        raise InternalError(None, None, f"no kernel for {op.decode()}")
    inputs.push_back(edge)
    ir.set_inputs(copy, inputs)
    return copy
