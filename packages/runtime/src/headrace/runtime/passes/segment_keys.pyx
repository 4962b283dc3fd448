# distutils: language = c++
"""What the nodes of one segment have in common: device, tokens, deadness and level.

A node's tokens are the boundary nodes among its ancestors, for which it must wait. A level ends
where shapes depend on values that are known only after the level has run. All four can only grow
along an edge.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, uint64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport AttrScalar, OpEntry, find_scalar, kString, op_entry_of
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_KERNEL_DATA_SHAPE, HR_OK, hr_node, hr_tensor
from headrace.runtime.kernels.kernel_table cimport is_python_kernel
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.passes.token_sets cimport TokenSets
from headrace.runtime.passes.constant_inputs cimport handles_variants, input_positions
from headrace.runtime.passes.program cimport Program, ProgramNode


cdef extern from "headrace/kernel.h" nogil:
    int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise)


cdef extern from *:
    """
    #include "graph/graph_node.hpp"
    static const hr_tensor* constant_value(const headrace::GraphNode* node) {
      const hr_tensor* value = nullptr;
      if (node->op != "Const" ||
          node->abi_node.api->attr_tensor(&node->abi_node, "value", &value) != HR_OK)
        return nullptr;
      return value;
    }
    """
    # The value of a Const; null for any other node.
    const hr_tensor* constant_value(const GraphNode* node) nogil


# The meaning of a token, with by_class.
cdef enum:
    _NODE = 0        # (node, port)
    _ENTERS = 1      # (frame, 0)
    _MERGES = 2      # (frame, 0)
    _SWITCHES = 3    # (value of the predicate, port)
    _EXITS = 4       # (frame, 0)
    _OTHER_DEVICE = 5  # (node, 0): an edge from another device


cdef class SegmentKeys:
    def __init__(self, Program program, bint late_feeds, bint by_class):
        self.program = program
        self.late_feeds = late_feeds
        self.by_class = by_class
        self.sets = TokenSets()
        self.frame_parents.push_back(0)

    cdef int32_t token(self, int32_t what, int32_t a, int32_t b) noexcept nogil:
        """The set that contains one token."""
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
        """The token that a boundary node adds to its descendants."""
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
            tokens = self.sets.join(tokens, self.tokens_behind(producer))
            dead = self.sets.join(dead, self.dead[producer])
            if other.kind == NodeKind.SWITCH:
                port = self.program.inputs[node.first_input + k] - other.first_output
                port = self.own_token(producer, port)
                tokens = self.sets.join(tokens, port)
                dead = self.sets.join(dead, port)
            elif other.device != node.device and not self.boundary[producer]:
                tokens = self.sets.join(tokens, self.token(_OTHER_DEVICE, producer, 0))
        for k in range(node.n_controls):
            producer = self.program.controls[node.first_control + k]
            other = &self.program.nodes[producer]
            tokens = self.sets.join(tokens, self.tokens_behind(producer))
            dead = self.sets.join(dead, self.dead[producer])
            if other.kind == NodeKind.SWITCH:
                tokens = self.sets.join(tokens, self.own_token(producer, -1))
            if other.device != node.device and other.kind != NodeKind.FEED:
                tokens = self.sets.join(tokens, self.token(_OTHER_DEVICE, producer, 0))
        self.frame[i] = self.find_frame(i)
        # The tokens of its outputs; for an ordinary node also its key.
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

    cdef int32_t tokens_behind(self, int32_t producer) noexcept nogil:
        """The tokens that a node passes to its consumers."""
        if self.isolated.empty() or not self.isolated[producer]:
            return self.tokens[producer]
        return self.sets.join(self.tokens[producer], self.token(_NODE, producer, 0))

    cdef bint is_fixed(self, int32_t i) noexcept nogil:
        """Whether a node's values depend on constants and shapes only."""
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef OpEntry* entry = op_entry_of(node.source)
        cdef int32_t k, producer
        if node.kind == NodeKind.ENTER:
            if not hr_attr_bool(&node.source.abi_node, "is_constant", 0):
                return False
        elif node.kind == NodeKind.SWITCH:
            producer = node_of(self.program, node.first_input)
            return producer < i and self.fixed[producer] != 0
        elif node.kind != NodeKind.KERNEL or entry == NULL or entry.stateful or \
                self.data_dependent[i]:
            return False
        elif entry.shape_only:
            return True
        elif handles_variants(self.program, node):
            return False
        for k in range(node.n_inputs):
            producer = node_of(self.program, node.first_input + k)
            if producer >= i or not self.fixed[producer]:
                return False
        return True

    cdef void find_shape_values(self, int32_t i) noexcept nogil:
        """The inputs whose values decide shapes: part of the key if they are fixed, data otherwise."""
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef vector[const hr_tensor*] known
        cdef vector[int32_t] positions
        cdef uint64_t bits
        cdef int32_t k, producer
        self.shape_values[i] = 0
        if node.kernel.value_inputs == 0 or node.kernel.shape_inputs == NULL:
            return
        for k in range(node.n_inputs):
            known.push_back(constant_value(
                self.program.nodes[node_of(self.program, node.first_input + k)].source))
        bits = node.kernel.shape_inputs(&node.source.abi_node, known.data()) & node.kernel.value_inputs
        self.shape_values[i] = bits
        input_positions(node, bits, positions)
        for k in positions:
            producer = node_of(self.program, node.first_input + k)
            if producer >= i or not self.fixed[producer]:
                self.shape_values[i] = 0
                self.data_dependent[i] = 1
                return

    cdef bint runs_user_code(self, int32_t i) noexcept nogil:
        """Whether a node may change shapes of variables in a way the program does not show (by
        `session.run`)."""
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
        cdef vector[int32_t] positions
        key.push_back(node.device)
        key.push_back(self.tokens[i])
        key.push_back(self.dead[i])
        if not self.isolated.empty() and self.isolated[i]:
            key.push_back(i)
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
            input_positions(node, node.kernel.constant_inputs | self.shape_values[i], positions)
            for k in positions:
                producer = node_of(self.program, node.first_input + k)
                if self.group[producer] == self.group[i]:
                    level = max(level, self.known[producer])
        self.level[i] = level
        if self.data_dependent[i] or entry == NULL or entry.stateful:
            self.known[i] = level + 1
        elif entry.shape_only:
            self.known[i] = level
        elif handles_variants(self.program, node):
            self.known[i] = level + 1
        else:
            self.known[i] = max(known, level)


cdef int32_t predicate_of(Program program, ProgramNode* switch) noexcept nogil:
    cdef int32_t value = program.inputs[switch.first_input + 1]
    cdef ProgramNode* maker = &program.nodes[program.values[value].node]
    while maker.kind == NodeKind.KERNEL and maker.source.op == b"Identity":
        value = program.inputs[maker.first_input]
        maker = &program.nodes[program.values[value].node]
    return value
