# cython: language_level=3
# distutils: language = c++
"""The graph of each device, for RunMetadata.partition_graphs.

The graphs after pruning, merging and placement, with Send and Recv where values change devices.
"""

from libc.stdint cimport int32_t
from libcpp.string_view cimport string_view

from headrace.formats.proto import graph_pb2, op_pb2, run_pb2
from headrace.runtime.graph.attributes cimport AttrEntry, attributes_of
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.graph.node_text cimport text, text_of
from headrace.runtime.passes.program cimport Program, ProgramNode


cdef bytes partition_metadata(Program program):
    cdef ProgramNode* node
    cdef size_t i, a
    cdef int32_t j, value
    cdef const AttrEntry* entry
    names = _unique_names(program)
    graphs = {}
    for i in range(program.nodes.size()):
        node = &program.nodes[i]
        graph = graphs.get(node.device)
        if graph is None:
            graph = graphs[node.device] = graph_pb2.GraphDef()
        result = graph.node.add(
            name=names[i], op=text_of(node.source.op), device=program.devices[node.device])
        for j in range(node.n_inputs):
            value = program.inputs[node.first_input + j]
            source = names[program.values[value].node]
            port = program.values[value].port
            result.input.append(f"{source}:{port}" if port else source)
        for j in range(node.n_controls):
            result.input.append("^" + names[program.controls[node.first_control + j]])
        for a in range(attributes_of(node.source).entries.size()):
            entry = &attributes_of(node.source).entries[a]
            result.attr[text(entry.key)].CopyFrom(op_pb2.AttrValue.FromString(_bytes(entry.value)))
    return run_pb2.RunMetadata(
        partition_graphs=[graphs[device] for device in sorted(graphs)]).SerializeToString()


cdef list _unique_names(Program program):
    """A name for each node; nodes that passes add are named after the node they belong to."""
    cdef size_t i
    names = []
    seen = set()
    for i in range(program.nodes.size()):
        name = text_of(program.nodes[i].source.name)
        number = 0
        while (unique := f"{name}/_{number}" if number else name) in seen:
            number += 1
        seen.add(unique)
        names.append(unique)
    return names


cdef bytes _bytes(string_view value):
    return value.data()[:value.size()]
