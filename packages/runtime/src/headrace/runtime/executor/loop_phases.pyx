# cython: language_level=3
"""When each node of a while loop runs: under which conditions, and after which nodes.

Iterations run one after another, so an iteration is a list of steps. Nodes form one part if they
run under the same conditions (`key`: the predicates that must be true or false), depend on no step
in between (`phase`) and are on one device. The key of every node after a Switch of the loop
contains the loop's own predicate. Nodes without it run first and decide whether the iteration
continues.
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport OpEntry, needs_value, op_entry_of
from headrace.runtime.executor.native_loop cimport Guard, NativeLoop
from headrace.runtime.graph.node_kind cimport ENTER, EXIT, KERNEL, MERGE, NEXT_ITERATION, READ_SLOT, SWITCH
from headrace.runtime.passes.segment_keys cimport predicate_of
from headrace.runtime.passes.constant_inputs cimport handles_variants, input_positions
from headrace.runtime.passes.program cimport ProgramNode

ALWAYS = frozenset()


class NotNative(Exception):
    """Only the dynamic executor can run the frame."""


cdef class LoopPhases:
    # ---- what is in the frame

    cdef int collect(self, vector[int32_t]& frame_of, vector[int32_t]& entered,
                     dict inner) except -1:
        cdef int32_t i, j, source
        cdef ProgramNode* node
        cdef NativeLoop loop
        cdef Guard entered_reference
        nodes = set()
        waits = set()
        self.members = []
        self.variables = {}
        self.invariants = {}
        self.inner_of_frame = {}
        self.entered_frame = {}
        self.inner_of_exit = {}
        self.inner_places = {}
        self.keys = {}
        self.phases = {}
        self.known = {}
        for i in range(<int32_t>self.program.nodes.size()):
            node = &self.program.nodes[i]
            if node.kind == ENTER and entered[i] == self.frame:
                self.invariants[node.first_output] = <int32_t>self.loop.inputs.size()
                if needs_value(node.source):
                    entered_reference.slot = <int32_t>self.loop.inputs.size()
                    entered_reference.value = 1
                    entered_reference.node = node.source
                    self.loop.references.push_back(entered_reference)
                self.loop.inputs.push_back(self.program.inputs[node.first_input])
                for j in range(node.n_controls):
                    waits.add(self.program.controls[node.first_control + j])
                nodes.add(i)
            elif frame_of[i] == self.frame:
                self.members.append(i)
                nodes.add(i)
                if node.kind in (MERGE, EXIT, NEXT_ITERATION) and needs_value(node.source):
                    raise NotNative     # a loop variable that is a reference
                if node.kind == ENTER:
                    if entered[i] not in inner:
                        raise NotNative
                    self.entered_frame[i] = entered[i]
                    self.inner_of_frame[entered[i]] = inner[entered[i]]
                elif node.kind == KERNEL or node.kind == READ_SLOT:
                    if self.segments.segment_of[i] < 0:
                        raise NotNative     # it may wait
        for frame in sorted(self.inner_of_frame):
            loop = self.inner_of_frame[frame]
            self.loop.inner.append(loop)
            nodes.update(loop.nodes)
            for i in range(<int32_t>loop.outputs.size()):
                self.inner_of_exit[self.program.values[loop.outputs[i]].node] = loop
        for i in self.members:
            node = &self.program.nodes[i]
            if node.kind == MERGE and self.is_head(node):
                source = self.program.inputs[node.first_input]
                if node.n_inputs != 2 or node.n_controls or source not in self.invariants:
                    raise NotNative
                self.variables[i] = <int32_t>self.loop.start.size()
                self.loop.start.push_back(self.invariants[source])
        for i in sorted(waits):
            self.loop.waits.push_back(i)
        self.loop.nodes = sorted(nodes)
        return 0

    cdef bint is_head(self, ProgramNode* merge):
        cdef int32_t k
        for k in range(merge.n_inputs):
            if self.program.nodes[self.maker(self.program.inputs[merge.first_input + k])].kind == \
                    NEXT_ITERATION:
                return True
        return False

    cdef int find_predicate(self) except -1:
        """Finds the one predicate that decides about the next iteration for all loop variables."""
        cdef ProgramNode* node
        cdef int32_t i
        roots = set()
        self.switches = {}
        for i in self.members:
            node = &self.program.nodes[i]
            if node.kind == SWITCH:
                self.switches[predicate_of(self.program, node)] = i
            if node.kind == EXIT:
                node = &self.program.nodes[self.maker(self.program.inputs[node.first_input])]
                if node.kind != SWITCH:
                    raise NotNative
                roots.add(predicate_of(self.program, node))
            elif node.kind == SWITCH and \
                    self.maker(self.program.inputs[node.first_input]) in self.variables:
                roots.add(predicate_of(self.program, node))
        if len(roots) != 1:
            raise NotNative
        self.root = roots.pop()
        self.go_on = (self.root, 1)
        return 0

    cdef int32_t maker(self, int32_t value):
        return self.program.values[value].node

    cdef int32_t source(self, int32_t value):
        """The value at the start of a chain of Switches."""
        cdef ProgramNode* node = &self.program.nodes[self.maker(value)]
        while node.kind == SWITCH:
            value = self.program.inputs[node.first_input]
            node = &self.program.nodes[self.maker(value)]
        return value

    # ---- when each node runs

    cdef tuple place_of(self, int32_t value):
        """Key of a value, and the phase after which it is available; -1: from the start."""
        cdef int32_t node = self.maker(value)
        if value in self.invariants:
            return ALWAYS, -1
        if node in self.variables:
            if self.program.values[value].port:
                raise NotNative
            return ALWAYS, -1
        if node in self.inner_of_exit:
            return self.place_inner(self.inner_of_exit[node])
        if node not in self.keys:
            raise NotNative     # a cycle that no loop variable closes
        key = self.keys[node]
        if self.program.nodes[node].kind == SWITCH:
            key = key | {(predicate_of(self.program, &self.program.nodes[node]),
                          self.program.values[value].port)}
        return key, self.phases[node]

    cdef tuple place_of_node(self, int32_t node):
        """The same for a node with a control edge."""
        if node in self.inner_of_exit:
            return self.place_inner(self.inner_of_exit[node])
        if node in self.variables or self.program.nodes[node].first_output in self.invariants:
            return ALWAYS, -1
        if node in self.entered_frame:
            return self.place_inner(self.inner_of_frame[self.entered_frame[node]])
        if node not in self.keys:
            raise NotNative
        return self.keys[node], self.phases[node]

    cdef int place(self, int32_t i) except -1:
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef int32_t k
        if node.kind == KERNEL or node.kind == READ_SLOT:
            self.place_kernel(i, node)
        elif node.kind == SWITCH:
            self.place_switch(i, node)
        elif node.kind == MERGE:
            if i not in self.variables:
                self.place_merge(i, node)
        elif node.kind == NEXT_ITERATION or node.kind == EXIT:
            for k in range(node.n_controls):
                if node.kind == EXIT or not self.place_of_node(
                        self.program.controls[node.first_control + k])[0] <= {self.go_on}:
                    raise NotNative
        elif node.kind != ENTER:
            raise NotNative
        return 0

    cdef int place_switch(self, int32_t i, ProgramNode* node) except -1:
        cdef int32_t k
        key, phase = self.place_of(self.program.inputs[node.first_input])
        if predicate_of(self.program, node) != self.root:
            other, ready = self.place_of(self.program.inputs[node.first_input + 1])
            key |= other
            phase = max(phase, ready)
        for k in range(node.n_controls):
            other, ready = self.place_of_node(self.program.controls[node.first_control + k])
            key |= other
            phase = max(phase, ready)
        self.keys[i] = key
        self.phases[i] = phase
        return 0

    cdef int place_merge(self, int32_t i, ProgramNode* node) except -1:
        if node.n_inputs != 2 or node.n_controls:
            raise NotNative
        one, ready = self.place_of(self.program.inputs[node.first_input])
        other, also_ready = self.place_of(self.program.inputs[node.first_input + 1])
        differing = sorted(one ^ other)
        if len(differing) != 2 or differing[0][0] != differing[1][0] or \
                differing[0][0] == self.root:
            raise NotNative
        key = one & other
        of_root, root_ready = self.place_of(differing[0][0])
        if not of_root <= key:
            raise NotNative
        self.keys[i] = key
        self.phases[i] = max(ready, also_ready, root_ready) + 1
        return 0

    cdef int place_kernel(self, int32_t i, ProgramNode* node) except -1:
        cdef OpEntry* entry = op_entry_of(node.source)
        cdef vector[int32_t] positions
        cdef int32_t k, source
        cdef int32_t phase = 0
        cdef int32_t known
        sources = []
        key = ALWAYS
        for k in range(node.n_inputs + node.n_controls):
            if k < node.n_inputs:
                source = self.maker(self.program.inputs[node.first_input + k])
                its, ready = self.place_of(self.program.inputs[node.first_input + k])
            else:
                source = self.program.controls[node.first_control + k - node.n_inputs]
                its, ready = self.place_of_node(source)
            key |= its
            beside = self.is_kernel(source) and self.program.nodes[source].device == node.device
            sources.append((source, its, ready, k < node.n_inputs, beside))
        if (self.root, 0) in key:
            raise NotNative     # after the last iteration
        for source, its, ready, by_value, beside in sources:
            if not beside or its != key:
                phase = max(phase, ready + 1)
            elif by_value:
                phase = max(phase, ready + self.segments.data_dependent[source])
            else:
                phase = max(phase, ready)
        input_positions(node, self.segments.constant_args[i], positions)
        for k in positions:
            if sources[k][4] and sources[k][1] == key:
                phase = max(phase, self.known[sources[k][0]])
        known = phase
        if self.segments.data_dependent[i] or entry == NULL or entry.stateful:
            known = phase + 1
        elif handles_variants(self.program, node) and not entry.shape_only:
            known = phase + 1
        elif not entry.shape_only:
            for source, its, ready, by_value, beside in sources:
                if by_value and beside and its == key:
                    known = max(known, self.known[source])
        self.keys[i] = key
        self.phases[i] = phase
        self.known[i] = known
        return 0

    cdef bint is_kernel(self, int32_t node):
        return self.program.nodes[node].kind == KERNEL or self.program.nodes[node].kind == READ_SLOT

    cdef tuple place_inner(self, NativeLoop loop):
        cdef int32_t i
        if id(loop) in self.inner_places:
            if self.inner_places[id(loop)] is None:
                raise NotNative     # it waits for itself
            return self.inner_places[id(loop)]
        self.inner_places[id(loop)] = None
        key = ALWAYS
        phase = 0
        for i in range(<int32_t>(loop.inputs.size() + loop.waits.size())):
            if i < <int32_t>loop.inputs.size():
                its, ready = self.place_of(loop.inputs[i])
            else:
                its, ready = self.place_of_node(loop.waits[i - loop.inputs.size()])
            key |= its
            phase = max(phase, ready + 1)
        if (self.root, 0) in key:
            raise NotNative
        self.inner_places[id(loop)] = key, phase
        return key, phase

    cdef int place_inner_loops(self) except -1:
        for loop in self.loop.inner:
            self.place_inner(loop)
        return 0
