# cython: language_level=3
# distutils: language = c++
"""Nodes that replace others in a specialisation."""

from libcpp.string cimport string
from libcpp.string_view cimport string_view

from headrace.runtime.graph.attributes cimport attributes_of, bytes_attr, kString, make_attributes
from headrace.runtime.graph.graph_node cimport GraphNode, OpInfo
from headrace.runtime.graph.op_table cimport op_entry


cdef GraphNode* new_fused_node(bytes op, const string& name, const GraphNode* like,
                               str origins) except NULL:
    cdef GraphNode* node = new GraphNode()
    node.op = op
    node.name = name
    node.device = like.device
    node.session = like.session
    node.info = <const OpInfo*>op_entry(string_view(node.op))
    make_attributes(node)
    attributes_of(node).add(<string>b"_origins", bytes_attr(kString, <string>origins.encode()))
    return node
