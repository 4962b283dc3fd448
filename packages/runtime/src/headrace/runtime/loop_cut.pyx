# cython: language_level=3
"""Puts the frame of a while loop into the form in which native_loop.pyx runs it.

Iterations follow one another, so an iteration is a list of steps. Nodes that run under the same
conditions (`key`: the predicates that must be true or false) and need nothing from between (`phase`)
are one part. A key holds the loop's own predicate for all that a Switch of the loop leads to; those
without it come first and decide whether the iteration goes on. Only what may wait (asynchronous
kernels, other devices), and graphs in which a Merge does not join the two sides of one condition,
are left to the dynamic executor.
"""

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from headrace.runtime.attributes cimport OpEntry, argument_range, op_entry_of
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.native_loop cimport CHOOSE, RUN_INNER, RUN_PART, Guard, LoopStep, NativeLoop
from headrace.runtime.node_kind cimport ENTER, EXIT, KERNEL, MERGE, NEXT_ITERATION, READ_SLOT, SWITCH
from headrace.runtime.passes.segments cimport Segment, Segments, predicate_of
from headrace.runtime.program cimport Program, ProgramNode

cdef frozenset ALWAYS = frozenset()


class _NotNative(Exception):
    """The frame has something in it that only the dynamic executor can run."""


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
            cut.place(node)
        cut.place_inner_loops()
        cut.make_parts()
        cut.make_steps()
        cut.wire_ends()
    except _NotNative:
        return None
    return cut.loop


cdef class _LoopCut:
    cdef Program program
    cdef Segments segments
    cdef int32_t frame
    cdef NativeLoop loop
    cdef list members          # nodes of the frame, in the program's order
    cdef dict variables        # Merge at the loop's head -> loop variable
    cdef dict invariants       # value of an Enter -> entering number
    cdef dict inner_of_frame   # frame -> inner loop, as far as it is entered from here
    cdef dict entered_frame    # Enter of an inner loop -> its frame
    cdef dict inner_of_exit    # Exit of an inner loop -> that loop
    cdef dict inner_places     # id of an inner loop -> its (key, phase); None while it is looked for
    cdef int32_t root          # the value that decides whether the loop goes on
    cdef tuple go_on           # its token
    cdef dict switches         # value of a predicate -> a Switch
    cdef dict keys             # node -> frozenset of tokens: (value of a predicate, wanted)
    cdef dict phases           # node -> number
    cdef dict known            # node -> the phase in which its values are known
    cdef dict part_of          # node -> part
    cdef list parts            # lists of nodes
    cdef dict slot_of          # value -> slot

    # ---- what is in the frame

    cdef int collect(self, vector[int32_t]& frame_of, vector[int32_t]& entered,
                     dict inner) except -1:
        cdef int32_t i, j, source
        cdef ProgramNode* node
        cdef NativeLoop loop
        cdef int32_t device = -1
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
                self.invariants[node.first_output] = <int32_t>self.loop.entering.size()
                self.loop.entering.push_back(self.program.inputs[node.first_input])
                for j in range(node.n_controls):
                    waits.add(self.program.controls[node.first_control + j])
                nodes.add(i)
            elif frame_of[i] == self.frame:
                self.members.append(i)
                nodes.add(i)
                if node.kind == ENTER:
                    if entered[i] not in inner:
                        raise _NotNative
                    self.entered_frame[i] = entered[i]
                    self.inner_of_frame[entered[i]] = inner[entered[i]]
                elif node.kind == KERNEL or node.kind == READ_SLOT:
                    if self.segments.segment_of[i] < 0 or device >= 0 and node.device != device:
                        raise _NotNative     # it may wait, or there are several devices
                    device = node.device
        for frame in sorted(self.inner_of_frame):
            loop = self.inner_of_frame[frame]
            self.loop.inner.append(loop)
            nodes.update(loop.nodes)
            for i in range(<int32_t>loop.leaving.size()):
                self.inner_of_exit[self.program.values[loop.leaving[i]].node] = loop
        for i in self.members:
            node = &self.program.nodes[i]
            if node.kind == MERGE and self.is_head(node):
                source = self.program.inputs[node.first_input]
                if node.n_inputs != 2 or node.n_controls or source not in self.invariants:
                    raise _NotNative
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
        """One value decides for all loop variables whether there is another iteration."""
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
                    raise _NotNative
                roots.add(predicate_of(self.program, node))
            elif node.kind == SWITCH and \
                    self.maker(self.program.inputs[node.first_input]) in self.variables:
                roots.add(predicate_of(self.program, node))
        if len(roots) != 1:
            raise _NotNative
        self.root = roots.pop()
        self.go_on = (self.root, 1)
        return 0

    cdef int32_t maker(self, int32_t value):
        return self.program.values[value].node

    cdef int32_t source(self, int32_t value):
        """The value that a chain of Switches passes on."""
        cdef ProgramNode* node = &self.program.nodes[self.maker(value)]
        while node.kind == SWITCH:
            value = self.program.inputs[node.first_input]
            node = &self.program.nodes[self.maker(value)]
        return value

    # ---- when each node runs

    cdef tuple place_of(self, int32_t value):
        """Key of a value, and the phase after which it is there; -1: from the start."""
        cdef int32_t node = self.maker(value)
        if value in self.invariants:
            return ALWAYS, -1
        if node in self.variables:
            if self.program.values[value].port:
                raise _NotNative
            return ALWAYS, -1
        if node in self.inner_of_exit:
            return self.place_inner(self.inner_of_exit[node])
        if node not in self.keys:
            raise _NotNative     # an odd cycle
        key = self.keys[node]
        if self.program.nodes[node].kind == SWITCH:
            key = key | {(predicate_of(self.program, &self.program.nodes[node]),
                          self.program.values[value].port)}
        return key, self.phases[node]

    cdef tuple place_of_node(self, int32_t node):
        """The same of a node that another waits for."""
        if node in self.inner_of_exit:
            return self.place_inner(self.inner_of_exit[node])
        if node in self.variables or self.program.nodes[node].first_output in self.invariants:
            return ALWAYS, -1
        if node in self.entered_frame:
            return self.place_inner(self.inner_of_frame[self.entered_frame[node]])
        if node not in self.keys:
            raise _NotNative
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
                    raise _NotNative
        elif node.kind != ENTER:
            raise _NotNative
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
            raise _NotNative
        one, ready = self.place_of(self.program.inputs[node.first_input])
        other, also_ready = self.place_of(self.program.inputs[node.first_input + 1])
        differing = sorted(one ^ other)
        if len(differing) != 2 or differing[0][0] != differing[1][0] or \
                differing[0][0] == self.root:
            raise _NotNative
        key = one & other
        of_root, root_ready = self.place_of(differing[0][0])
        if not of_root <= key:
            raise _NotNative
        self.keys[i] = key
        self.phases[i] = max(ready, also_ready, root_ready) + 1
        return 0

    cdef int place_kernel(self, int32_t i, ProgramNode* node) except -1:
        cdef OpEntry* entry = op_entry_of(node.source)
        cdef int32_t k, argument, first, count, source
        cdef uint64_t wanted = self.segments.wanted[i]
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
            sources.append((source, its, ready, k < node.n_inputs))
        if (self.root, 0) in key:
            raise _NotNative     # after the last iteration
        for source, its, ready, by_value in sources:
            if not self.is_kernel(source) or its != key:
                phase = max(phase, ready + 1)
            elif by_value:
                phase = max(phase, ready + self.segments.data_dependent[source])
            else:
                phase = max(phase, ready)
        for argument in range(64):
            if not wanted >> argument:
                break
            if wanted >> argument & 1:
                argument_range(node.source, False, argument, &first, &count)
                for k in range(first, min(first + count, node.n_inputs)):
                    if self.is_kernel(sources[k][0]) and sources[k][1] == key:
                        phase = max(phase, self.known[sources[k][0]])
        known = phase
        if self.segments.data_dependent[i] or entry == NULL or entry.stateful:
            known = phase + 1
        elif not entry.shape_only:
            for source, its, ready, by_value in sources:
                if by_value and self.is_kernel(source) and its == key:
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
                raise _NotNative     # it waits for itself
            return self.inner_places[id(loop)]
        self.inner_places[id(loop)] = None
        key = ALWAYS
        phase = 0
        for i in range(<int32_t>(loop.entering.size() + loop.waits.size())):
            if i < <int32_t>loop.entering.size():
                its, ready = self.place_of(loop.entering[i])
            else:
                its, ready = self.place_of_node(loop.waits[i - loop.entering.size()])
            key |= its
            phase = max(phase, ready + 1)
        if (self.root, 0) in key:
            raise _NotNative
        self.inner_places[id(loop)] = key, phase
        return key, phase

    cdef int place_inner_loops(self) except -1:
        for loop in self.loop.inner:
            self.place_inner(loop)
        return 0

    # ---- parts

    cdef int make_parts(self) except -1:
        """One part for each key and phase; which of its values others read."""
        cdef int32_t i, j, value
        cdef ProgramNode* node
        cdef Segment segment
        groups = {}
        for i in self.members:
            if self.is_kernel(i):
                groups.setdefault((self.phases[i], self.keys[i]), []).append(i)
        self.parts = list(groups.values())
        self.part_of = {i: number for number, part in enumerate(self.parts) for i in part}
        read = self.values_read_elsewhere()
        self.loop.segments = Segments()
        for part in self.parts:
            memset(&segment, 0, sizeof(Segment))
            segment.device = self.program.nodes[<size_t>part[0]].device
            segment.first_node = <int32_t>self.loop.segments.nodes.size()
            segment.n_nodes = <int32_t>len(part)
            segment.first_entering = <int32_t>self.loop.segments.entering.size()
            segment.first_leaving = <int32_t>self.loop.segments.leaving.size()
            wanted = self.wanted_by(part)
            entering = {}
            inside = set(part)
            for i in part:
                self.loop.segments.nodes.push_back(i)
                node = &self.program.nodes[i]
                for j in range(node.n_inputs):
                    value = self.program.inputs[node.first_input + j]
                    if self.maker(value) not in inside:
                        entering[value] = True
                for j in range(node.n_outputs):
                    if node.first_output + j in read:
                        self.loop.segments.leaving.push_back(node.first_output + j)
            for value in entering:
                self.loop.segments.entering.push_back(value)
                self.loop.segments.shape_like.push_back(value in wanted)
            segment.n_entering = <int32_t>len(entering)
            segment.n_leaving = <int32_t>(
                self.loop.segments.leaving.size() - segment.first_leaving)
            self.loop.segments.segments.push_back(segment)
        return 0

    cdef set values_read_elsewhere(self):
        """Values that leave the part in which they are made."""
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

    cdef set wanted_by(self, list part):
        """The values that must be known before a part can be prepared."""
        cdef int32_t i, k, argument, first, count
        cdef uint64_t bits
        cdef ProgramNode* node
        cdef OpEntry* entry
        wanted = set()
        for i in reversed(part):
            node = &self.program.nodes[i]
            if node.kind != KERNEL:
                continue
            entry = op_entry_of(node.source)
            asked = any(node.first_output + k in wanted for k in range(node.n_outputs))
            if asked and not (entry != NULL and entry.shape_only):
                wanted.update(self.program.inputs[node.first_input + k]
                              for k in range(node.n_inputs))
                continue
            bits = self.segments.wanted[i]
            for argument in range(64):
                if not bits >> argument:
                    break
                if bits >> argument & 1:
                    argument_range(node.source, False, argument, &first, &count)
                    for k in range(first, min(first + count, node.n_inputs)):
                        wanted.add(self.program.inputs[node.first_input + k])
        return wanted

    # ---- steps

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
        count = self.loop.start.size() + self.loop.entering.size()
        for value in segments.leaving:
            self.slot_of[value] = count
            count += 1
        for loop in self.loop.inner:
            for value in loop.leaving:
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
            raise _NotNative
        return found

    cdef int add_step(self, LoopStep* step, key) except -1:
        """Appends a step that runs if the predicates of the key are as it wants them."""
        cdef Guard guard
        cdef LoopStep made = step[0]
        made.first_guard = <int32_t>self.loop.guards.size()
        # In the order in which they are made: a predicate inside a branch counts if that is taken.
        for value, port in sorted(key - {self.go_on}):
            guard.slot = self.slot(value)
            guard.wanted = port
            guard.node = self.switch_of(value)
            self.loop.guards.push_back(guard)
        made.n_guards = <int32_t>self.loop.guards.size() - made.first_guard
        self.loop.steps.push_back(made)
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
        step.n_inputs = segment.n_entering
        step.n_outputs = segment.n_leaving
        for j in range(segment.n_entering):
            self.loop.slots.push_back(self.slot(segments.entering[segment.first_entering + j]))
        for j in range(segment.n_leaving):
            self.loop.slots.push_back(self.slot(segments.leaving[segment.first_leaving + j]))
        return self.add_step(&step, self.keys[self.parts[number][0]])

    cdef int add_inner(self, int32_t number) except -1:
        cdef NativeLoop loop = self.loop.inner[number]
        cdef LoopStep step
        cdef int32_t value
        step.kind = RUN_INNER
        step.number = number
        step.index_if_true = 0
        step.first_slot = <int32_t>self.loop.slots.size()
        step.n_inputs = <int32_t>loop.entering.size()
        step.n_outputs = <int32_t>loop.leaving.size()
        for value in loop.entering:
            self.loop.slots.push_back(self.slot(value))
        for value in loop.leaving:
            self.loop.slots.push_back(self.slot(value))
        return self.add_step(&step, self.inner_places[id(loop)][0])

    cdef int add_choice(self, int32_t i) except -1:
        cdef ProgramNode* node = &self.program.nodes[i]
        cdef int32_t inputs[2]
        cdef LoopStep step
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
        return self.add_step(&step, self.keys[i])

    cdef GraphNode* switch_of(self, int32_t root) except? NULL:
        """A Switch with that predicate."""
        cdef int32_t node = self.switches[root]
        return self.program.nodes[node].source

    cdef int wire_ends(self) except -1:
        """What leads to the next iteration, and what leaves the loop."""
        cdef int32_t i, value
        cdef ProgramNode* node
        cdef dict following = {}
        for i in self.members:
            node = &self.program.nodes[i]
            if node.kind == MERGE and i in self.variables:
                value = self.program.inputs[node.first_input + 1]
                if self.program.nodes[self.maker(value)].kind != NEXT_ITERATION:
                    raise _NotNative
                value = self.program.inputs[
                    self.program.nodes[self.maker(value)].first_input]
                if not self.place_of(value)[0] <= {self.go_on}:
                    raise _NotNative     # a value that some iterations do not make
                following[self.variables[i]] = self.slot(value)
            elif node.kind == EXIT:
                value = self.program.inputs[node.first_input]
                if self.place_of(value)[0] != {(self.root, 0)}:
                    raise _NotNative
                self.loop.leaving.push_back(node.first_output)
                self.loop.exits.push_back(self.slot(value))
        for i in range(<int32_t>self.loop.start.size()):
            self.loop.following.push_back(following[i])
        if self.place_of(self.root)[0] != ALWAYS:
            raise _NotNative
        self.loop.predicate.slot = self.slot(self.root)
        self.loop.predicate.wanted = 1
        self.loop.predicate.node = self.switch_of(self.root)
        return 0
