# cython: language_level=3
"""Lowers the frame of a while loop to the form that native_loop.pyx runs.

loop_phases.pyx computes when each node runs, and loop_parts.pyx which nodes run together. Parts,
choices and inner loops are the steps of an iteration. The dynamic executor runs loops with
asynchronous kernels, and graphs in which a Merge does not join the two sides of one condition.
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.executor.loop_parts cimport LoopParts
from headrace.runtime.executor.native_loop cimport CHOOSE, RUN_INNER, RUN_PART, Guard, LoopStep, NativeLoop
from headrace.runtime.graph.node_kind cimport EXIT, MERGE, NEXT_ITERATION
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.passes.program cimport is_accelerated
from headrace.runtime.passes.program cimport Program, ProgramNode

from headrace.runtime.executor.loop_phases import ALWAYS, NotNative


cdef NativeLoop native_loop_of(Program program, Segments segments, int32_t frame, int32_t parent,
                               vector[int32_t]& frame_of, vector[int32_t]& entered, dict inner):
    cdef _LoopCut cut = _LoopCut()
    cut.program = program
    cut.segments = segments
    cut.frame = frame
    cut.loop = NativeLoop()
    cut.loop.parent_frame = max(parent, 0)
    cut.loop.inner = []
    try:
        cut.collect(frame_of, entered, inner)
        cut.find_predicate()
        for node in cut.members:
            if is_accelerated(program) and \
                    program.memories[program.nodes[<size_t>node].device] != NULL:
                return None   # its work is enqueued, and copies to the host wait
            cut.place(node)
        cut.place_inner_loops()
        cut.make_parts()
        cut.make_steps()
        cut.wire_ends()
    except NotNative:
        return None
    return cut.loop


cdef class _LoopCut(LoopParts):
    cdef dict slot_of          # value -> slot

    cdef int make_steps(self) except -1:
        cdef int32_t i
        cdef ProgramNode* node
        order = []     # (in the body, phase, first node, kind, what)
        for number, part in enumerate(self.parts):
            order.append((self.go_on in self.keys[part[0]], self.phases[part[0]], part[0],
                          <int>RUN_PART, number))
        for i in self.members:
            if self.program.nodes[i].kind == MERGE and i not in self.variables:
                order.append((self.go_on in self.keys[i], self.phases[i], i, <int>CHOOSE, i))
        for number, loop in enumerate(self.loop.inner):
            key, phase = self.inner_places[id(loop)]
            order.append((self.go_on in key, phase, loop.nodes[0], <int>RUN_INNER, number))
        order.sort()
        self.number_slots()
        for in_body, _, _, kind, what in order:
            if kind == RUN_PART:
                self.add_part(what)
            elif kind == RUN_INNER:
                self.add_inner(what)
            else:
                self.add_choice(what)
            if not in_body:
                self.loop.n_condition = <int32_t>self.loop.steps.size()
        return 0

    cdef int number_slots(self) except -1:
        cdef int32_t i, j
        cdef NativeLoop loop
        cdef Segments segments = self.loop.segments
        cdef ProgramNode* node
        self.slot_of = {}
        for i, number in self.variables.items():
            self.slot_of[self.program.nodes[i].first_output] = number
        for value, number in self.invariants.items():
            self.slot_of[value] = <int32_t>self.loop.start.size() + number
        count = self.loop.start.size() + self.loop.inputs.size()
        for value in segments.outputs:
            self.slot_of[value] = count
            count += 1
        for loop in self.loop.inner:
            for value in loop.outputs:
                self.slot_of[value] = count
                count += 1
        for i in self.members:
            node = &self.program.nodes[i]
            if node.kind == MERGE and i not in self.variables:
                for j in range(node.n_outputs):
                    self.slot_of[node.first_output + j] = count
                    count += 1
        self.loop.n_slots = count
        return 0

    cdef int32_t slot(self, int32_t value) except -1:
        found = self.slot_of.get(self.source(value))
        if found is None:
            raise NotNative
        return found

    cdef int add_step(self, LoopStep* step, key) except -1:
        """Appends a step that runs if the predicates have the values that the key requires."""
        cdef Guard guard
        cdef LoopStep result = step[0]
        result.first_guard = <int32_t>self.loop.guards.size()
        # In the order in which they are made: a predicate inside a branch counts only if the branch
        # is taken.
        for value, port in sorted(key - {self.go_on}):
            guard.slot = self.slot(value)
            guard.value = port
            guard.node = self.switch_of(value)
            self.loop.guards.push_back(guard)
        result.n_guards = <int32_t>self.loop.guards.size() - result.first_guard
        self.loop.steps.push_back(result)
        return 0

    cdef int add_part(self, int32_t number) except -1:
        cdef Segments segments = self.loop.segments
        cdef Segment* segment = &segments.segments[number]
        cdef LoopStep step
        cdef int32_t j
        step.kind = RUN_PART
        step.number = number
        step.index_if_true = 0
        step.first_slot = <int32_t>self.loop.slots.size()
        step.n_inputs = segment.n_inputs
        step.n_outputs = segment.n_outputs
        for j in range(segment.n_inputs):
            self.loop.slots.push_back(self.slot(segments.inputs[segment.first_input + j]))
        for j in range(segment.n_outputs):
            self.loop.slots.push_back(self.slot(segments.outputs[segment.first_output + j]))
        return self.add_step(&step, self.keys[self.parts[number][0]])

    cdef int add_inner(self, int32_t number) except -1:
        cdef NativeLoop loop = self.loop.inner[number]
        cdef LoopStep step
        cdef int32_t value
        step.kind = RUN_INNER
        step.number = number
        step.index_if_true = 0
        step.first_slot = <int32_t>self.loop.slots.size()
        step.n_inputs = <int32_t>loop.inputs.size()
        step.n_outputs = <int32_t>loop.outputs.size()
        for value in loop.inputs:
            self.loop.slots.push_back(self.slot(value))
        for value in loop.outputs:
            self.loop.slots.push_back(self.slot(value))
        return self.add_step(&step, self.inner_places[id(loop)][0])

    cdef int add_choice(self, int32_t i) except -1:
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef int32_t inputs[2]
        cdef LoopStep step
        cdef Guard predicate
        cdef int32_t k
        keys = []
        for k in range(2):
            inputs[k] = self.program.inputs[node.first_input + k]
            keys.append(self.place_of(inputs[k])[0])
        root, first_wants = next(iter(keys[0] - keys[1]))
        step.kind = CHOOSE
        step.number = self.slot(root)
        step.index_if_true = 0 if first_wants else 1
        step.first_slot = <int32_t>self.loop.slots.size()
        step.n_inputs = 2
        step.n_outputs = 2
        self.loop.slots.push_back(self.slot(inputs[1 if first_wants else 0]))
        self.loop.slots.push_back(self.slot(inputs[0 if first_wants else 1]))
        for k in range(2):
            self.loop.slots.push_back(
                self.slot_of[node.first_output + k] if k < node.n_outputs else -1)
        self.add_step(&step, self.keys[i])
        # After the guards of the step: the predicate of the choice.
        predicate.slot = step.number
        predicate.value = 1
        predicate.node = self.switch_of(root)
        self.loop.guards.push_back(predicate)
        return 0

    cdef GraphNode* switch_of(self, int32_t root) except? NULL:
        """A Switch with that predicate."""
        cdef int32_t node = self.switches[root]
        return self.program.nodes[node].source

    cdef int wire_ends(self) except -1:
        """Finds the values of the next iteration and those that leave the loop."""
        cdef int32_t i, value
        cdef ProgramNode* node
        cdef dict following = {}
        for i in self.members:
            node = &self.program.nodes[i]
            if node.kind == MERGE and i in self.variables:
                value = self.program.inputs[node.first_input + 1]
                if self.program.nodes[self.maker(value)].kind != NEXT_ITERATION:
                    raise NotNative
                value = self.program.inputs[
                    self.program.nodes[self.maker(value)].first_input]
                if not self.place_of(value)[0] <= {self.go_on}:
                    raise NotNative     # some iterations do not make the value
                following[self.variables[i]] = self.slot(value)
            elif node.kind == EXIT:
                value = self.program.inputs[node.first_input]
                if self.place_of(value)[0] != {(self.root, 0)}:
                    raise NotNative
                self.loop.outputs.push_back(node.first_output)
                self.loop.exits.push_back(self.slot(value))
        for i in range(<int32_t>self.loop.start.size()):
            self.loop.following.push_back(following[i])
        if self.place_of(self.root)[0] != ALWAYS:
            raise NotNative
        self.loop.predicate.slot = self.slot(self.root)
        self.loop.predicate.value = 1
        self.loop.predicate.node = self.switch_of(self.root)
        return 0
