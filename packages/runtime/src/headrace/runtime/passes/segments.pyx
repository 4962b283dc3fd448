# distutils: language = c++
"""Cuts a program into segments: convex sets of nodes that run as one unit without a deadlock.

The nodes of a segment have the same device, the same boundary nodes among their ancestors
(`tokens`, for which they must wait), the same deadness and the same level. A level ends where
shapes depend on values that are known only after the level has run. All four can only grow along an
edge, so no path leaves a segment and returns to it.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.map cimport map
from libcpp.vector cimport vector

from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.passes.segment_keys cimport SegmentKeys, node_of
from headrace.runtime.passes.constant_inputs cimport mark_constants
from headrace.runtime.passes.program cimport Program, ProgramNode

from headrace.formats.errors import InternalError


cdef class Segments:
    """The segments of one program; segments.pxd describes the arrays."""

    def segment_numbers(self):
        """The segment of each node, or -1."""
        return list(self.segment_of)

    def describe(self, Program program):
        """One dict a segment, for `explain()` and tests: node names, value and node numbers."""
        cdef Segment segment
        cdef int32_t i
        found = []
        for segment in self.segments:
            found.append({
                "device": program.devices[segment.device],
                "level": segment.level,
                "nodes": [text_of(program.nodes[self.nodes[segment.first_node + i]].source.name)
                          for i in range(segment.n_nodes)],
                "inputs": [self.inputs[segment.first_input + i]
                             for i in range(segment.n_inputs)],
                "shape_like": [self.inputs[segment.first_input + i]
                               for i in range(segment.n_inputs)
                               if self.shape_like[segment.first_input + i]],
                "outputs": [self.outputs[segment.first_output + i]
                            for i in range(segment.n_outputs)],
                "waits": [self.waits[segment.first_wait + i] for i in range(segment.n_waits)],
            })
        return found


def segments_of(Program program, late_feeds=False):
    """The segments of a program.

    Args:
      late_feeds: whether feeds arrive one by one.
    """
    return cut_segments(program, late_feeds)


cdef Segments cut_segments(Program program, bint late_feeds):
    cdef vector[uint8_t] none
    return _cut(program, late_feeds, none)


cdef Segments cut_isolated(Program program, const vector[uint8_t]& isolated):
    return _cut(program, False, isolated)


cdef Segments _cut(Program program, bint late_feeds, const vector[uint8_t]& isolated):
    cdef Segments result = Segments()
    cdef bint done
    cdef _Cutter cutter
    # First with one token for all Enters, Merges and Switches of a loop or condition, so that its
    # body is one segment; if that closes a cycle in an unusual graph, with one token for each.
    for by_class in (True, False):
        cutter = _Cutter(program, result, late_feeds, by_class)
        cutter.isolated = isolated
        with nogil:
            cutter.find_keys()
            cutter.number_segments()
            done = cutter.sort_segments()
        if done:
            with nogil:
                cutter.fill(result)
            return result
    raise InternalError(None, None, "the segments of the program wait for one another")


cdef class _Cutter(SegmentKeys):
    cdef Segments result
    cdef vector[int32_t] device_of, level_of   # per segment

    def __init__(self, Program program, Segments result, bint late_feeds, bint by_class):
        super().__init__(program, late_feeds, by_class)
        self.result = result

    cdef void number_segments(self) noexcept nogil:
        cdef map[int64_t, int32_t] numbers
        cdef int64_t key
        cdef int32_t i
        cdef int32_t n = <int32_t>self.program.nodes.size()
        self.device_of.clear()
        self.level_of.clear()
        self.result.segment_of.assign(n, -1)
        for i in range(n):
            if self.boundary[i]:
                continue
            key = <int64_t>self.group[i] << 32 | self.level[i]
            found = numbers.find(key)
            if found != numbers.end():
                self.result.segment_of[i] = dereference(found).second
                continue
            self.result.segment_of[i] = <int32_t>self.level_of.size()
            numbers[key] = self.result.segment_of[i]
            self.device_of.push_back(self.program.nodes[i].device)
            self.level_of.push_back(self.level[i])

    cdef bint sort_segments(self) noexcept nogil:
        """Numbers the segments in an order in which they may run; false: there is none."""
        cdef int32_t n = <int32_t>self.program.nodes.size()
        cdef int32_t n_segments = <int32_t>self.level_of.size()
        cdef int32_t n_units = n_segments
        cdef vector[int32_t] unit, missing, first, after, at, ready, devices, levels, renumbered
        cdef int32_t i, k, round, producer, position
        cdef ProgramNode* node
        unit.resize(n)
        for i in range(n):
            if self.boundary[i]:
                unit[i] = n_units
                n_units += 1
            else:
                unit[i] = self.result.segment_of[i]
        if n_segments <= 1 and n_units == n_segments:
            return True
        missing.assign(n_units, 0)
        first.assign(n_units + 1, 0)
        for round in range(2):
            for i in range(n):
                node = &self.program.nodes[i]
                for k in range(node.n_inputs + node.n_controls):
                    if k < node.n_inputs:
                        producer = node_of(self.program, node.first_input + k)
                    else:
                        producer = self.program.controls[node.first_control + k - node.n_inputs]
                    if producer >= i or unit[producer] == unit[i]:
                        continue
                    if round == 0:
                        missing[unit[i]] += 1
                        first[unit[producer] + 1] += 1
                    else:
                        after[at[unit[producer]]] = unit[i]
                        at[unit[producer]] += 1
            if round == 0:
                for i in range(n_units):
                    first[i + 1] += first[i]
                after.resize(first[n_units])
                at.assign(first.begin(), first.end())
        for i in range(n_units):
            if missing[i] == 0:
                ready.push_back(i)
        position = 0
        while position < <int32_t>ready.size():
            i = ready[position]
            position += 1
            for k in range(first[i], first[i + 1]):
                missing[after[k]] -= 1
                if missing[after[k]] == 0:
                    ready.push_back(after[k])
        if position < n_units:
            return False
        renumbered.resize(n_segments)
        for i in ready:
            if i < n_segments:
                renumbered[i] = <int32_t>levels.size()
                levels.push_back(self.level_of[i])
                devices.push_back(self.device_of[i])
        self.level_of.swap(levels)
        self.device_of.swap(devices)
        for i in range(n):
            if not self.boundary[i]:
                self.result.segment_of[i] = renumbered[self.result.segment_of[i]]
        return True

    cdef void fill(self, Segments to) noexcept nogil:
        cdef int32_t n = <int32_t>self.program.nodes.size()
        cdef int32_t n_segments = <int32_t>self.level_of.size()
        cdef int32_t n_values = <int32_t>self.program.values.size()
        cdef vector[int32_t] at, fetched, read_outside, stamp, wait_stamp, constant
        cdef vector[uint8_t] sent
        cdef Segment segment
        cdef int32_t i, k, s, value, producer
        cdef ProgramNode* node
        cdef bint bounded = False
        read_outside.assign(n_values, 0)
        sent.assign(n_values, 0)
        for value in self.program.fetches:
            read_outside[value] = 1
        at.assign(n_segments + 1, 0)
        for i in range(n):
            node = &self.program.nodes[i]
            s = to.segment_of[i]
            if s >= 0:
                at[s + 1] += 1
            elif node.kind != NodeKind.FEED or self.late_feeds:
                bounded = True
            if node.kind == NodeKind.SEND and node.n_controls == 0:
                sent[self.program.inputs[node.first_input]] = 1
            for k in range(node.n_inputs):
                value = self.program.inputs[node.first_input + k]
                if s < 0 or to.segment_of[self.program.values[value].node] != s:
                    read_outside[value] = 1
        for s in range(n_segments):
            at[s + 1] += at[s]
        to.nodes.resize(at[n_segments])
        for i in range(n):
            if to.segment_of[i] >= 0:
                to.nodes[at[to.segment_of[i]]] = i
                at[to.segment_of[i]] += 1
        to.data_dependent = self.data_dependent
        to.constant_args = self.shape_values
        for i in range(n):
            if self.program.nodes[i].kind == NodeKind.KERNEL:
                to.constant_args[i] |= self.program.nodes[i].kernel.constant_inputs
        to.segments.reserve(n_segments)
        stamp.assign(n_values, -1)
        constant.assign(n_values, -1)
        wait_stamp.assign(n, -1)
        for s in range(n_segments):
            segment.device = self.device_of[s]
            segment.level = self.level_of[s]
            segment.first_node = at[s - 1] if s > 0 else 0
            segment.n_nodes = at[s] - segment.first_node
            segment.first_input = <int32_t>to.inputs.size()
            segment.first_output = <int32_t>to.outputs.size()
            segment.first_wait = <int32_t>to.waits.size()
            mark_constants(self.program, to.nodes.data() + segment.first_node, segment.n_nodes,
                        to.constant_args, constant, s)
            for i in range(segment.first_node, at[s]):
                node = &self.program.nodes[to.nodes[i]]
                for k in range(node.n_inputs):
                    value = self.program.inputs[node.first_input + k]
                    if to.segment_of[self.program.values[value].node] != s and stamp[value] != s:
                        stamp[value] = s
                        to.inputs.push_back(value)
                        to.shape_like.push_back(constant[value] == s)
                for k in range(node.n_controls):
                    producer = self.program.controls[node.first_control + k]
                    if to.segment_of[producer] != s and wait_stamp[producer] != s and (
                            self.late_feeds
                            or self.program.nodes[producer].kind != NodeKind.FEED):
                        wait_stamp[producer] = s
                        to.waits.push_back(producer)
                for k in range(node.n_outputs):
                    if read_outside[node.first_output + k]:
                        to.outputs.push_back(node.first_output + k)
                        to.sent.push_back(sent[node.first_output + k])
            segment.n_inputs = <int32_t>to.inputs.size() - segment.first_input
            segment.n_outputs = <int32_t>to.outputs.size() - segment.first_output
            segment.n_waits = <int32_t>to.waits.size() - segment.first_wait
            to.segments.push_back(segment)
        to.whole = n_segments <= 1 and not bounded
