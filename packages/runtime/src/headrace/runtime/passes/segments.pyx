# distutils: language = c++
"""Cuts a program into segments: convex sets of nodes that run as one unit without a deadlock.

The nodes of a segment agree in device, in the boundary nodes among their ancestors (`tokens`:
what they must wait for), in what makes them dead, and in level. A level ends where shapes depend
on values that only running the level can tell. All four only grow along an edge, so no path
leaves a segment and comes back.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.map cimport map
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.attributes cimport (
    AttrScalar, OpEntry, argument_range, find_scalar, kString, op_entry_of,
)
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport HR_KERNEL_DATA_SHAPE, HR_OK, hr_node, hr_tensor
from headrace.runtime.kernel_table cimport is_python_kernel
from headrace.runtime.node_kind cimport NodeKind
from headrace.runtime.passes.token_sets cimport TokenSets
from headrace.runtime.program cimport Program, ProgramNode
from headrace.runtime.node_text cimport text_of

from headrace.formats.errors import InternalError


cdef extern from "headrace/kernel.h" nogil:
    int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise)


cdef extern from *:
    """
    #include "headrace/runtime/graph_node.hpp"
    static const hr_tensor* constant_value(const headrace::GraphNode* node) {
      const hr_tensor* value = nullptr;
      if (node->op != "Const" ||
          node->face.api->attr_tensor(&node->face, "value", &value) != HR_OK)
        return nullptr;
      return value;
    }
    """
    # The value of a Const; null for any other node.
    const hr_tensor* constant_value(const GraphNode* node) nogil


cdef class Segments:
    """The cut of one program; segments.pxd says how its arrays hang together."""

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
                "entering": [self.entering[segment.first_entering + i]
                             for i in range(segment.n_entering)],
                "shape_like": [self.entering[segment.first_entering + i]
                               for i in range(segment.n_entering)
                               if self.shape_like[segment.first_entering + i]],
                "leaving": [self.leaving[segment.first_leaving + i]
                            for i in range(segment.n_leaving)],
                "waits": [self.waits[segment.first_wait + i] for i in range(segment.n_waits)],
            })
        return found


def segments_of(Program program, late_feeds=False):
    """The segments of a program.

    Args:
      late_feeds: whether each feed arrives on its own.
    """
    return cut_segments(program, late_feeds)


cdef Segments cut_segments(Program program, bint late_feeds):
    cdef Segments result = Segments()
    cdef bint done
    cdef _Cutter cutter
    # First with one token for all Enters, Merges, Switches of a loop or condition, so that its
    # body is one segment; where a graph is so strange that this closes a cycle, with one each.
    for by_class in (True, False):
        cutter = _Cutter(program, result, late_feeds, by_class)
        with nogil:
            cutter.find_keys()
            cutter.number_segments()
            done = cutter.sort_segments()
        if done:
            with nogil:
                cutter.fill(result)
            return result
    raise InternalError(None, None, "the segments of the program wait for one another")


# What a token stands for, with by_class.
cdef enum:
    _NODE = 0        # (node, port)
    _ENTERS = 1      # (frame, 0)
    _MERGES = 2      # (frame, 0)
    _SWITCHES = 3    # (value of the predicate, port)
    _EXITS = 4       # (frame, 0)
    _CONTROL = 5     # (node, 0): a control edge from another device


cdef class _Cutter:
    cdef Program program
    cdef Segments result
    cdef bint late_feeds, by_class
    cdef TokenSets sets
    cdef map[vector[int32_t], int32_t] token_numbers, frame_numbers, group_numbers
    cdef vector[int32_t] frame_parents
    # per node
    cdef vector[int32_t] frame, tokens, dead, group, level, known
    cdef vector[uint8_t] boundary, data_dependent, has_back_edge
    cdef vector[uint8_t] fixed          # its values follow from constants and shapes alone
    cdef vector[uint64_t] shape_values  # fixed value inputs that decide shapes, by argument
    # per segment
    cdef vector[int32_t] device_of, level_of

    def __init__(self, Program program, Segments result, bint late_feeds, bint by_class):
        self.program = program
        self.result = result
        self.late_feeds = late_feeds
        self.by_class = by_class
        self.sets = TokenSets()
        self.frame_parents.push_back(0)

    cdef int32_t token(self, int32_t what, int32_t a, int32_t b) noexcept nogil:
        """The set of one token alone."""
        cdef vector[int32_t] key
        key.push_back(what)
        key.push_back(a)
        key.push_back(b)
        found = self.token_numbers.find(key)
        if found != self.token_numbers.end():
            return dereference(found).second
        cdef int32_t alone = self.sets.single(<int32_t>self.token_numbers.size())
        self.token_numbers[key] = alone
        return alone

    cdef int32_t own_token(self, int32_t i, int32_t port) noexcept nogil:
        """What a boundary node adds to those behind it."""
        cdef ProgramNode* node = &self.program.nodes[i]
        if self.by_class:
            if node.kind == NodeKind.ENTER:
                return self.token(_ENTERS, self.frame[i], 0)
            if node.kind == NodeKind.MERGE and self.has_back_edge[i]:
                return self.token(_MERGES, self.frame[i], 0)
            if node.kind == NodeKind.SWITCH and port >= 0:
                return self.token(_SWITCHES, predicate_of(self.program, node), port)
            if node.kind == NodeKind.EXIT:
                return self.token(_EXITS, self.frame[node_of(self.program, node.first_input)], 0)
        return self.token(_NODE, i, port if node.kind == NodeKind.SWITCH else 0)

    cdef int32_t find_frame(self, int32_t i) noexcept nogil:
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef vector[int32_t] key
        cdef AttrScalar scalar
        cdef int32_t k, producer
        cdef int32_t frame = 0
        cdef size_t c
        for k in range(node.n_inputs):
            producer = node_of(self.program, node.first_input + k)
            if producer < i and self.frame[producer]:
                frame = self.frame[producer]
                break
        if frame == 0:
            for k in range(node.n_controls):
                frame = max(frame, self.frame[self.program.controls[node.first_control + k]])
        if node.kind == NodeKind.EXIT:
            return self.frame_parents[frame]
        if node.kind != NodeKind.ENTER:
            return frame
        key.push_back(frame)
        if find_scalar(node.source, string_view(<const char*>b"frame_name"), kString,
                       scalar) == HR_OK:
            for c in range(scalar.bytes.size()):
                key.push_back(scalar.bytes.data()[c])
        found = self.frame_numbers.find(key)
        if found != self.frame_numbers.end():
            return dereference(found).second
        self.frame_parents.push_back(frame)
        self.frame_numbers[key] = <int32_t>(self.frame_parents.size() - 1)
        return <int32_t>(self.frame_parents.size() - 1)

    cdef void find_keys(self) noexcept nogil:
        cdef int32_t n = <int32_t>self.program.nodes.size()
        cdef int32_t i
        self.frame.assign(n, 0)
        self.tokens.assign(n, 0)
        self.dead.assign(n, 0)
        self.group.assign(n, -1)
        self.level.assign(n, 0)
        self.known.assign(n, 0)
        self.boundary.assign(n, 0)
        self.data_dependent.assign(n, 0)
        self.fixed.assign(n, 0)
        self.shape_values.assign(n, 0)
        self.has_back_edge.assign(n, 0)
        for i in range(n):
            self.find_key(i)
            self.fixed[i] = self.is_fixed(i)

    cdef void find_key(self, int32_t i) noexcept nogil:
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef ProgramNode* other
        cdef OpEntry* entry
        cdef int32_t k, producer, port
        cdef int32_t tokens = 0
        cdef int32_t dead = 0
        for k in range(node.n_inputs):
            producer = node_of(self.program, node.first_input + k)
            if producer >= i:
                self.has_back_edge[i] = 1
                continue
            other = &self.program.nodes[producer]
            tokens = self.sets.join(tokens, self.tokens[producer])
            dead = self.sets.join(dead, self.dead[producer])
            if other.kind == NodeKind.SWITCH:
                port = self.program.inputs[node.first_input + k] - other.first_output
                port = self.own_token(producer, port)
                tokens = self.sets.join(tokens, port)
                dead = self.sets.join(dead, port)
        for k in range(node.n_controls):
            producer = self.program.controls[node.first_control + k]
            other = &self.program.nodes[producer]
            tokens = self.sets.join(tokens, self.tokens[producer])
            dead = self.sets.join(dead, self.dead[producer])
            if other.kind == NodeKind.SWITCH:
                tokens = self.sets.join(tokens, self.own_token(producer, -1))
            if other.device != node.device and other.kind != NodeKind.FEED:
                tokens = self.sets.join(tokens, self.token(_CONTROL, producer, 0))
        self.frame[i] = self.find_frame(i)
        # What the node leaves behind it; for an ordinary node that is also its key.
        self.tokens[i] = tokens
        self.dead[i] = dead
        if node.kind == NodeKind.FEED:
            self.boundary[i] = 1
            if self.late_feeds:
                self.tokens[i] = self.own_token(i, 0)
        elif node.kind == NodeKind.READ_SLOT or (
                node.kind == NodeKind.KERNEL and node.kernel.compute != NULL):
            self.find_level(i)
        else:
            self.boundary[i] = 1
            if node.kind != NodeKind.SWITCH and node.kind != NodeKind.SEND:
                self.tokens[i] = self.sets.join(tokens, self.own_token(i, 0))
            if node.kind == NodeKind.MERGE or node.kind == NodeKind.EXIT:
                self.dead[i] = self.own_token(i, 0)
            elif node.kind == NodeKind.RECV:
                self.dead[i] = self.sets.join(dead, self.own_token(i, 0))

    cdef bint is_fixed(self, int32_t i) noexcept nogil:
        """Whether a node's values follow from constants and from shapes alone."""
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef OpEntry* entry = op_entry_of(node.source)
        cdef int32_t k, producer
        if node.kind == NodeKind.ENTER:
            if not hr_attr_bool(&node.source.face, "is_constant", 0):
                return False
        elif node.kind == NodeKind.SWITCH:
            producer = node_of(self.program, node.first_input)
            return producer < i and self.fixed[producer] != 0
        elif node.kind != NodeKind.KERNEL or entry == NULL or entry.stateful or \
                self.data_dependent[i]:
            return False
        elif entry.shape_only:
            return True
        for k in range(node.n_inputs):
            producer = node_of(self.program, node.first_input + k)
            if producer >= i or not self.fixed[producer]:
                return False
        return True

    cdef void find_shape_values(self, int32_t i) noexcept nogil:
        """Which of a node's values decide shapes: part of the key where fixed, else data."""
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef vector[const hr_tensor*] known
        cdef uint64_t bits
        cdef int32_t k, argument, first, count, producer
        self.shape_values[i] = 0
        if node.kernel.value_inputs == 0 or node.kernel.shape_inputs == NULL:
            return
        for k in range(node.n_inputs):
            known.push_back(constant_value(
                self.program.nodes[node_of(self.program, node.first_input + k)].source))
        bits = node.kernel.shape_inputs(&node.source.face, known.data()) & node.kernel.value_inputs
        for argument in range(64):
            if not bits >> argument:
                break
            if bits >> argument & 1:
                argument_range(node.source, False, argument, &first, &count)
                for k in range(first, min(first + count, node.n_inputs)):
                    producer = node_of(self.program, node.first_input + k)
                    if producer >= i or not self.fixed[producer]:
                        self.data_dependent[i] = 1
                        return
        self.shape_values[i] = bits

    cdef bint runs_user_code(self, int32_t i) noexcept nogil:
        """Whether a node may give variables other shapes than the program tells (by `session.run`)."""
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef OpEntry* entry = op_entry_of(node.source)
        return node.kind == NodeKind.KERNEL and is_python_kernel(node.kernel) and (
            entry == NULL or entry.stateful)

    cdef void find_level(self, int32_t i) noexcept nogil:
        """Group and level of an ordinary node, and the level at which its values are known."""
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef OpEntry* entry = op_entry_of(node.source)
        cdef vector[int32_t] key
        cdef int32_t k, producer
        cdef int32_t level = 0
        cdef int32_t known = 0
        cdef int32_t argument, first, count
        cdef uint64_t wanted
        key.push_back(node.device)
        key.push_back(self.tokens[i])
        key.push_back(self.dead[i])
        found = self.group_numbers.find(key)
        if found == self.group_numbers.end():
            self.group[i] = <int32_t>self.group_numbers.size()
            self.group_numbers[key] = self.group[i]
        else:
            self.group[i] = dereference(found).second
        for k in range(node.n_inputs):
            producer = node_of(self.program, node.first_input + k)
            if self.group[producer] == self.group[i]:
                level = max(level, self.level[producer] + self.data_dependent[producer])
                known = max(known, self.known[producer])
        for k in range(node.n_controls):
            producer = self.program.controls[node.first_control + k]
            if self.group[producer] == self.group[i]:
                level = max(level, self.level[producer] + self.runs_user_code(producer))
        if node.kind == NodeKind.KERNEL:
            self.data_dependent[i] = (
                node.kernel.flags & HR_KERNEL_DATA_SHAPE != 0
                or (entry != NULL and entry.data_shape)
                or is_python_kernel(node.kernel))
            self.find_shape_values(i)
            wanted = node.kernel.constant_inputs | self.shape_values[i]
            argument = 0
            while wanted >> argument:
                if wanted >> argument & 1:
                    argument_range(node.source, False, argument, &first, &count)
                    for k in range(first, min(first + count, node.n_inputs)):
                        producer = node_of(self.program, node.first_input + k)
                        if self.group[producer] == self.group[i]:
                            level = max(level, self.known[producer])
                argument += 1
                if argument == 64:
                    break
        self.level[i] = level
        if self.data_dependent[i] or entry == NULL or entry.stateful:
            self.known[i] = level + 1
        elif entry.shape_only:
            self.known[i] = level
        else:
            self.known[i] = max(known, level)

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
        cdef vector[int32_t] at, fetched, read_outside, stamp, wait_stamp, wanted
        cdef Segment segment
        cdef int32_t i, k, s, value, producer
        cdef ProgramNode* node
        cdef bint bounded = False
        read_outside.assign(n_values, 0)
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
        to.segments.reserve(n_segments)
        stamp.assign(n_values, -1)
        wanted.assign(n_values, -1)
        wait_stamp.assign(n, -1)
        for s in range(n_segments):
            segment.device = self.device_of[s]
            segment.level = self.level_of[s]
            segment.first_node = at[s - 1] if s > 0 else 0
            segment.n_nodes = at[s] - segment.first_node
            segment.first_entering = <int32_t>to.entering.size()
            segment.first_leaving = <int32_t>to.leaving.size()
            segment.first_wait = <int32_t>to.waits.size()
            self.mark_wanted(s, segment.first_node, at[s], wanted)
            for i in range(segment.first_node, at[s]):
                node = &self.program.nodes[to.nodes[i]]
                for k in range(node.n_inputs):
                    value = self.program.inputs[node.first_input + k]
                    if to.segment_of[self.program.values[value].node] != s and stamp[value] != s:
                        stamp[value] = s
                        to.entering.push_back(value)
                        to.shape_like.push_back(wanted[value] == s)
                for k in range(node.n_controls):
                    producer = self.program.controls[node.first_control + k]
                    if to.segment_of[producer] != s and wait_stamp[producer] != s and (
                            self.late_feeds
                            or self.program.nodes[producer].kind != NodeKind.FEED):
                        wait_stamp[producer] = s
                        to.waits.push_back(producer)
                for k in range(node.n_outputs):
                    if read_outside[node.first_output + k]:
                        to.leaving.push_back(node.first_output + k)
            segment.n_entering = <int32_t>to.entering.size() - segment.first_entering
            segment.n_leaving = <int32_t>to.leaving.size() - segment.first_leaving
            segment.n_waits = <int32_t>to.waits.size() - segment.first_wait
            to.segments.push_back(segment)
        to.whole = n_segments <= 1 and not bounded
        to.data_dependent = self.data_dependent
        to.wanted = self.shape_values
        for i in range(n):
            if self.program.nodes[i].kind == NodeKind.KERNEL:
                to.wanted[i] |= self.program.nodes[i].kernel.constant_inputs

    cdef void mark_wanted(self, int32_t s, int32_t begin, int32_t end,
                          vector[int32_t]& wanted) noexcept nogil:
        """Marks the values that must be known before segment s can be prepared."""
        cdef int32_t i, k, argument, first, count
        cdef uint64_t bits
        cdef ProgramNode* node
        cdef OpEntry* entry
        cdef bint asked
        i = end
        while i > begin:
            i -= 1
            node = &self.program.nodes[self.result.nodes[i]]
            if node.kind != NodeKind.KERNEL:
                continue
            entry = op_entry_of(node.source)
            asked = False
            for k in range(node.n_outputs):
                asked = asked or wanted[node.first_output + k] == s
            if asked and not (entry != NULL and entry.shape_only):
                for k in range(node.n_inputs):
                    wanted[self.program.inputs[node.first_input + k]] = s
                continue
            bits = node.kernel.constant_inputs | self.shape_values[self.result.nodes[i]]
            for argument in range(64):
                if not bits >> argument:
                    break
                if bits >> argument & 1:
                    argument_range(node.source, False, argument, &first, &count)
                    for k in range(first, min(first + count, node.n_inputs)):
                        wanted[self.program.inputs[node.first_input + k]] = s


cdef inline int32_t node_of(Program program, int32_t input) noexcept nogil:
    return program.values[program.inputs[input]].node


cdef int32_t predicate_of(Program program, ProgramNode* switch) noexcept nogil:
    cdef int32_t value = program.inputs[switch.first_input + 1]
    cdef ProgramNode* maker = &program.nodes[program.values[value].node]
    while maker.kind == NodeKind.KERNEL and maker.source.op == b"Identity":
        value = program.inputs[maker.first_input]
        maker = &program.nodes[program.values[value].node]
    return value
