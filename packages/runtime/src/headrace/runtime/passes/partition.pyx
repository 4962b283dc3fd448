# distutils: language = c++
"""Inserts Send and Recv into edges between devices, one Recv per tensor and device (§3.2.2).

Feeds and fetches need none: they are in host memory, which all CPU devices share. Neither do edges
of devices with memory of their own: memory_copies.pyx inserts copies into these. Control edges
between devices and all edges inside a loop do not change, so that loops need no copy on each device
(§4.4); the executor and the cut into segments handle such edges.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, uint8_t
from libcpp.map cimport map
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    Attributes, attributes_of, bytes_attr, fill_abi_node, kBool, kInt, kString, kType, number_attr,
)
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_REF, HR_RESOURCE, hr_dtype
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.graph.node_text cimport text_of

from headrace.formats.errors import UnimplementedError


cdef int partition(GraphIR ir) except -1:
    if ir.n_devices == 1:
        return 0
    cdef vector[int32_t] order
    cdef vector[uint8_t] depth
    cdef vector[Edge] inputs
    cdef map[vector[int32_t], int32_t] receivers
    cdef vector[int32_t] key
    cdef int32_t i, k, device
    cdef Edge edge
    ir.order(order)
    _find_loops(ir, order, depth)
    for i in order:
        if ir.nodes[i].kind == NodeKind.FEED:
            continue
        device = ir.nodes[i].device
        for k in range(ir.nodes[i].n_inputs):
            edge = ir.edges[ir.nodes[i].first_input + k]
            if ir.nodes[edge.node].device == device or depth[edge.node] > 0 or (
                    ir.nodes[edge.node].kind == NodeKind.FEED) or _has_memory(
                    ir, device) or _has_memory(ir, ir.nodes[edge.node].device):
                continue
            key.clear()
            key.push_back(edge.node)
            key.push_back(edge.port)
            key.push_back(device)
            found = receivers.find(key)
            if found == receivers.end():
                receivers[key] = _send_and_receive(ir, edge, i, <int32_t>receivers.size())
            edge.node = receivers[key]
            edge.port = 0
            ir.edges[ir.nodes[i].first_input + k] = edge
    return 0


cdef inline bint _has_memory(GraphIR ir, int32_t device) noexcept:
    return not ir.memories.empty() and ir.memories[device] != NULL


cdef int _find_loops(GraphIR ir, vector[int32_t]& order, vector[uint8_t]& depth) except -1:
    """Marks the nodes inside loops."""
    cdef int32_t i, k
    cdef uint8_t inside
    cdef IRNode* node
    depth.assign(ir.nodes.size(), 0)
    for i in order:
        node = &ir.nodes[i]
        inside = 0
        for k in range(node.n_inputs):
            inside = max(inside, depth[ir.edges[node.first_input + k].node])
        for k in range(node.n_controls):
            inside = max(inside, depth[ir.controls[node.first_control + k]])
        if node.kind == NodeKind.ENTER and inside < 255:
            inside += 1
        elif node.kind == NodeKind.EXIT and inside > 0:
            inside -= 1
        depth[i] = inside
    return 0


cdef int32_t _send_and_receive(GraphIR ir, Edge edge, int32_t consumer, int32_t number) except -1:
    """Adds a Send after the tensor and a Recv on the consumer's device; returns the Recv."""
    cdef GraphNode* producer = ir.nodes[edge.node].source
    cdef hr_dtype dtype = ir.dtype_of(edge)
    cdef int32_t source_device = ir.nodes[edge.node].device
    cdef int32_t device = ir.nodes[consumer].device
    cdef int32_t rank = ir.nodes[edge.node].rank
    cdef int32_t send, receive
    cdef vector[Edge] inputs
    if dtype >= HR_REF or dtype == HR_RESOURCE:
        name = text_of(ir.nodes[consumer].source.name)
        raise UnimplementedError(
            None, None,
            f"'{name}' on {ir.devices[device]} needs the variable or resource that "
            f"'{text_of(producer.name)}' keeps on {ir.devices[source_device]}: place both on "
            f"one device", node_name=name)
    tensor_name = f"edge_{number}_{text_of(producer.name)}:{edge.port}".encode()
    send = ir.add_node(NodeKind.SEND, <string>b"_Send", producer.name, producer)
    ir.nodes[send].device = source_device
    ir.nodes[send].rank = rank
    ir.nodes[send].source.input_dtypes.push_back(dtype)
    _describe_edge(ir, send, <string>b"T", dtype, tensor_name, source_device, device)
    inputs.push_back(edge)
    ir.set_inputs(send, inputs)
    receive = ir.add_node(NodeKind.RECV, <string>b"_Recv", producer.name, producer)
    ir.nodes[receive].device = device
    ir.nodes[receive].rank = rank
    ir.nodes[receive].n_outputs = 1
    ir.nodes[receive].source.output_dtypes.push_back(dtype)
    _describe_edge(
        ir, receive, <string>b"tensor_type", dtype, tensor_name, source_device, device)
    return receive


cdef int _describe_edge(GraphIR ir, int32_t node, const string& type_key, hr_dtype dtype,
                        bytes tensor_name, int32_t source_device, int32_t device) except -1:
    cdef GraphNode* source = ir.nodes[node].source
    cdef Attributes* attributes = attributes_of(source)
    attributes.add(type_key, number_attr(kType, dtype))
    attributes.add(<string>b"tensor_name", bytes_attr(kString, <string>tensor_name))
    attributes.add(<string>b"send_device",
                   bytes_attr(kString, <string>ir.devices[source_device].encode()))
    attributes.add(<string>b"recv_device",
                   bytes_attr(kString, <string>ir.devices[device].encode()))
    attributes.add(<string>b"send_device_incarnation", number_attr(kInt, 0))
    attributes.add(<string>b"client_terminated", number_attr(kBool, 0))
    fill_abi_node(source)
    return 0
