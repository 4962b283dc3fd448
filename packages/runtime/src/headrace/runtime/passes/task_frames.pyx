# distutils: language = c++
"""The loops of a graph before it is cut: which node is in which (white paper §4.4)."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport text_attribute
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport blame
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode


cdef class TaskFrames:
    cdef int find(self, GraphIR ir) except -1:
        cdef vector[int32_t] order
        cdef size_t n = ir.nodes.size()
        cdef int32_t i, k, source, own
        cdef IRNode* node
        ir.order(order)
        self.frame_of.assign(n, 0)
        self.inside.assign(n, 0)
        self.parents.assign(1, -1)
        self.enters.assign(1, -1)
        self.conditions.assign(1, -1)
        self.names = [""]
        numbers = {}
        for i in order:
            node = &ir.nodes[i]
            own = 0
            for k in range(node.n_inputs + node.n_controls):
                source = (ir.edges[node.first_input + k].node if k < node.n_inputs
                          else ir.controls[node.first_control + k - node.n_inputs])
                if node.kind == NodeKind.MERGE and ir.nodes[source].kind == NodeKind.NEXT_ITERATION:
                    continue
                if self.is_inside(self.inside[source], own):
                    own = self.inside[source]
            self.frame_of[i] = self.inside[i] = own
            if node.kind == NodeKind.ENTER:
                name = (<bytes>text_attribute(&node.source.abi_node, "frame_name")).decode(
                    errors="backslashreplace")
                if (own, name) not in numbers:
                    numbers[own, name] = len(self.names)
                    self.names.append(name)
                    self.parents.push_back(own)
                    self.enters.push_back(i)
                    self.conditions.push_back(-1)
                self.inside[i] = numbers[own, name]
            elif node.kind == NodeKind.EXIT:
                if own == 0:
                    raise blame(node.source, "it is in no loop: only a loop has what it leads out of")
                self.inside[i] = self.parents[own]
            elif node.source.op == b"LoopCond":
                self.conditions[own] = i
        return 0

    def is_inside(self, int32_t inner, int32_t outer):
        """Whether frame `inner` is `outer`, or nested in it."""
        while inner > 0:
            if inner == outer:
                return True
            inner = self.parents[inner]
        return outer == 0
