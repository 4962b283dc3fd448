# cython: language_level=3
"""The parts of a while loop: nodes that run together, as segments."""

from libc.stdint cimport int32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from headrace.runtime.executor.loop_phases cimport LoopPhases
from headrace.runtime.graph.node_kind cimport SWITCH
from headrace.runtime.passes.program cimport ProgramNode
from headrace.runtime.passes.segment_keys cimport predicate_of
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.passes.constant_inputs cimport mark_constants


cdef class LoopParts(LoopPhases):

    cdef int make_parts(self) except -1:
        """Makes a part for each key, phase and device, and finds the values that other parts read."""
        cdef int32_t i, j, value
        cdef ProgramNode* node
        cdef Segment segment
        cdef vector[int32_t] constant      # per value: the last part that needs it as a constant
        groups = {}
        for i in self.members:
            if self.is_kernel(i):
                device = self.program.nodes[i].device
                groups.setdefault((self.phases[i], self.keys[i], device), []).append(i)
        self.parts = list(groups.values())
        self.part_of = {i: number for number, part in enumerate(self.parts) for i in part}
        read = self.values_read_elsewhere()
        self.loop.segments = Segments()
        constant.assign(self.program.values.size(), -1)
        for part in self.parts:
            memset(&segment, 0, sizeof(Segment))
            segment.device = self.program.nodes[<size_t>part[0]].device
            segment.first_node = <int32_t>self.loop.segments.nodes.size()
            segment.n_nodes = <int32_t>len(part)
            segment.first_input = <int32_t>self.loop.segments.inputs.size()
            segment.first_output = <int32_t>self.loop.segments.outputs.size()
            inputs = {}
            inside = set(part)
            for i in part:
                self.loop.segments.nodes.push_back(i)
            mark_constants(self.program, self.loop.segments.nodes.data() + segment.first_node,
                        segment.n_nodes, self.segments.constant_args, constant,
                        <int32_t>self.loop.segments.segments.size())
            for i in part:
                node = &self.program.nodes[i]
                for j in range(node.n_inputs):
                    value = self.program.inputs[node.first_input + j]
                    if self.maker(value) not in inside:
                        inputs[value] = True
                for j in range(node.n_outputs):
                    if node.first_output + j in read:
                        self.loop.segments.outputs.push_back(node.first_output + j)
                        self.loop.segments.sent.push_back(False)
            for value in inputs:
                self.loop.segments.inputs.push_back(value)
                self.loop.segments.shape_like.push_back(
                    constant[value] == <int32_t>self.loop.segments.segments.size())
            segment.n_inputs = <int32_t>len(inputs)
            segment.n_outputs = <int32_t>(
                self.loop.segments.outputs.size() - segment.first_output)
            self.loop.segments.segments.push_back(segment)
        return 0

    cdef set values_read_elsewhere(self):
        """Finds the values that are read outside the part that makes them."""
        cdef int32_t i, j, value
        cdef ProgramNode* node
        read = {self.root}
        for i in self.members:
            node = &self.program.nodes[i]
            for j in range(node.n_inputs):
                value = self.program.inputs[node.first_input + j]
                if i not in self.part_of or self.part_of.get(self.maker(value)) != self.part_of[i]:
                    read.add(self.source(value))
            if node.kind == SWITCH:
                read.add(predicate_of(self.program, node))
        return read
