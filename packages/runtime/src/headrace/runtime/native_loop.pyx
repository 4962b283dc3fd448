# cython: language_level=3
"""A while loop whose condition and body run as one kernel schedule each.

A frame qualifies if it holds nothing but its control-flow nodes and plain segments: no nested
loop, no branch, nothing asynchronous, nothing whose shape hangs on data. Everything that does not
depend on a Switch is the condition, the rest the body. Loop variables live in buffers of the loop;
what stays the same costs nothing per iteration.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.buffer cimport (
    buffer_references, buffer_release, buffer_retain, copy_tensor, is_plain,
)
from headrace.runtime.context cimport HR_REPLAN, Run, SessionState, run_fail_text, shape_text
from headrace.runtime.kernel_abi cimport (
    HR_ABORTED, HR_DEADLINE_EXCEEDED, HR_INVALID_ARGUMENT, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_tensor,
)
from headrace.runtime.node_kind cimport ENTER, EXIT, KERNEL, MERGE, NEXT_ITERATION, READ_SLOT, SWITCH
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.program cimport Program, ProgramNode
from headrace.runtime.segment_runner cimport SegmentRunner
from headrace.runtime.executable cimport (
    Executable, Lease, RunBuffers, SegmentOutput, run_entries,
)
from headrace.runtime.trace cimport monotonic_ns


# ---- recognising ------------------------------------------------------------------------------------

cdef NativeLoop native_loop_of(Program program, Segments segments, int32_t frame, int32_t parent,
                               vector[int32_t]& frame_of, vector[int32_t]& entered):
    cdef NativeLoop loop = NativeLoop()
    cdef int32_t i, j, value, source, number
    cdef ProgramNode* node
    cdef list members = []
    cdef dict variables = {}      # merge node -> loop variable
    cdef dict invariants = {}     # value of an Enter -> entering number
    cdef dict after_switch = {}   # value of a Switch's true side -> loop variable
    cdef dict exits = {}          # value of a Switch's false side -> loop variable
    cdef set body = set()
    cdef set waits = set()
    cdef list following = []
    cdef Source made
    loop.nodes = []
    loop.parent_frame = max(parent, 0)
    for i in range(<int32_t>program.nodes.size()):
        node = &program.nodes[i]
        if node.kind == ENTER and entered[i] == frame:
            invariants[node.first_output] = <int32_t>loop.entering.size()
            loop.entering.push_back(program.inputs[node.first_input])
            for j in range(node.n_controls):
                waits.add(program.controls[node.first_control + j])
            loop.nodes.append(i)
        elif frame_of[i] == frame:
            if node.kind == ENTER:
                return None     # a loop inside this one
            members.append(i)
            loop.nodes.append(i)
    for node_number in sorted(waits):
        loop.waits.push_back(node_number)
    for i in members:
        node = &program.nodes[i]
        if node.kind == MERGE:
            if node.n_inputs != 2 or program.inputs[node.first_input] not in invariants:
                return None
            variables[i] = <int32_t>loop.start.size()
            loop.start.push_back(invariants[program.inputs[node.first_input]])
    for i in members:
        node = &program.nodes[i]
        if node.kind == SWITCH:
            source = program.values[program.inputs[node.first_input]].node
            if source not in variables:
                return None
            after_switch[node.first_output + 1] = variables[source]
            exits[node.first_output] = variables[source]
        elif node.kind == KERNEL or node.kind == READ_SLOT:
            if segments.segment_of[i] < 0 or segments.segments[segments.segment_of[i]].level:
                return None
            for j in range(node.n_inputs + node.n_controls):
                if j < node.n_inputs:
                    value = program.inputs[node.first_input + j]
                    source = program.values[value].node
                    if value in after_switch or source in body:
                        body.add(i)
                    if value in exits:
                        return None
                else:
                    source = program.controls[node.first_control + j - node.n_inputs]
                    if source in body or program.nodes[source].kind == SWITCH:
                        body.add(i)
        elif node.kind not in (MERGE, EXIT, NEXT_ITERATION):
            return None
    if shape_like_inside(program, segments, members):
        return None
    condition = [i for i in members if program.nodes[i].kind in (KERNEL, READ_SLOT)
                 and i not in body]
    loop.segments = two_segments(program, condition, sorted(body), set(members))
    if not wire_inputs(loop, program, 0, loop.condition_inputs, variables, invariants,
                       after_switch):
        return None
    if not wire_inputs(loop, program, 1, loop.body_inputs, variables, invariants, after_switch):
        return None
    cdef dict condition_leaving = leaving_numbers(loop.segments, 0)
    cdef dict body_leaving = leaving_numbers(loop.segments, 1)
    loop.following.resize(loop.start.size())
    loop.predicate = -1
    for i in members:
        node = &program.nodes[i]
        if node.kind == MERGE:
            source = program.values[program.inputs[node.first_input + 1]].node
            if program.nodes[source].kind != NEXT_ITERATION:
                return None
            value = program.inputs[program.nodes[source].first_input]
            if value in body_leaving:
                made.kind = FROM_BODY
                made.number = body_leaving[value]
            elif value in after_switch:
                made.kind = FROM_VARIABLE
                made.number = after_switch[value]
            elif value in condition_leaving:
                made.kind = FROM_CONDITION
                made.number = condition_leaving[value]
            elif value in invariants:
                made.kind = FROM_ENTERING
                made.number = invariants[value]
            else:
                return None
            loop.following[<size_t>variables[i]] = made
        elif node.kind == SWITCH:
            value = program.inputs[node.first_input + 1]
            if value not in condition_leaving:
                return None
            number = condition_leaving[value]
            if loop.predicate >= 0 and loop.predicate != number:
                return None
            loop.predicate = number
        elif node.kind == EXIT:
            value = program.inputs[node.first_input]
            if value not in exits:
                return None
            loop.leaving.push_back(node.first_output)
            loop.exit_variable.push_back(exits[value])
    if loop.predicate < 0:
        return None
    return loop


cdef bint shape_like_inside(Program program, Segments segments, list members):
    """Whether a value made in the loop decides a shape: then each iteration may be another."""
    cdef int32_t s, j
    cdef set seen = set()
    for i in members:
        s = segments.segment_of[<size_t>i]
        if s < 0 or s in seen:
            continue
        seen.add(s)
        for j in range(segments.segments[s].n_entering):
            if segments.shape_like[segments.segments[s].first_entering + j]:
                return True
    return False


cdef Segments two_segments(Program program, list condition, list body, set members):
    """The condition and the body as segments of their own."""
    cdef Segments made = Segments()
    cdef Segment segment
    cdef ProgramNode* node
    cdef int32_t i, j, value, number
    cdef list halves = [condition, body]
    cdef set needed
    for half in (0, 1):
        inside = set(halves[half])
        memset(&segment, 0, sizeof(Segment))
        segment.first_node = <int32_t>made.nodes.size()
        segment.n_nodes = <int32_t>len(inside)
        segment.first_entering = <int32_t>made.entering.size()
        segment.first_leaving = <int32_t>made.leaving.size()
        entering = []
        for i in halves[half]:
            made.nodes.push_back(i)
            node = &program.nodes[i]
            for j in range(node.n_inputs):
                value = program.inputs[node.first_input + j]
                if program.values[value].node not in inside and value not in entering:
                    entering.append(value)
        for value in entering:
            made.entering.push_back(value)
            made.shape_like.push_back(0)
        segment.n_entering = <int32_t>len(entering)
        needed = set()
        for i in members:
            if i in inside:
                continue
            node = &program.nodes[i]
            for j in range(node.n_inputs):
                value = program.inputs[node.first_input + j]
                if program.values[value].node in inside:
                    needed.add(value)
        for value in sorted(needed):
            made.leaving.push_back(value)
        segment.n_leaving = <int32_t>len(needed)
        made.segments.push_back(segment)
    return made


cdef dict leaving_numbers(Segments segments, int number):
    cdef Segment* segment = &segments.segments[number]
    return {segments.leaving[segment.first_leaving + j]: j for j in range(segment.n_leaving)}


cdef bint wire_inputs(NativeLoop loop, Program program, int number, vector[Source]& sources,
                      dict variables, dict invariants, dict after_switch):
    cdef Segment* segment = &loop.segments.segments[number]
    cdef dict from_condition = leaving_numbers(loop.segments, 0) if number == 1 else {}
    cdef int32_t j, value
    cdef Source source
    for j in range(segment.n_entering):
        value = loop.segments.entering[segment.first_entering + j]
        if program.values[value].node in variables and program.values[value].port == 0:
            source.kind = FROM_VARIABLE
            source.number = variables[program.values[value].node]
        elif value in after_switch and number == 1:
            source.kind = FROM_VARIABLE
            source.number = after_switch[value]
        elif value in invariants:
            source.kind = FROM_ENTERING
            source.number = invariants[value]
        elif value in from_condition:
            source.kind = FROM_CONDITION
            source.number = from_condition[value]
        else:
            return False
        sources.push_back(source)
    return True


# ---- running ------------------------------------------------------------------------------------------

# One half of the loop, ready to run: its executable in buffers that it keeps.
cdef struct Half:
    Lease* lease
    Executable* made        # null: none yet
    RunBuffers* buffers
    hr_tensor* entering     # gathered per iteration
    int replans             # in this iteration


cdef class NativeLoop:
    cdef void bind(self, Program program, SessionState* session, int team):
        cdef SegmentRunner runner
        for number in (0, 1):
            runner = SegmentRunner()
            runner.program = program
            runner.segments = self.segments
            runner.number = number
            runner.session = session
            runner.copy_small = True
            runner.team = team
            if number == 0:
                self.condition = runner
            else:
                self.body = runner

    cdef int run(self, Run* run, hr_tensor* inputs, hr_tensor* outputs) except -1:
        """inputs: the entering values; outputs: the leaving ones, counted for the caller."""
        cdef vector[hr_tensor] variables
        cdef vector[hr_tensor] condition_entering
        cdef vector[hr_tensor] body_entering
        cdef vector[uint8_t] own      # whether the variable's buffer is the loop's to overwrite
        cdef Lease condition_lease
        cdef Lease body_lease
        cdef Half condition
        cdef Half body
        cdef size_t i
        cdef int state = 0
        memset(&condition, 0, sizeof(Half))
        memset(&body, 0, sizeof(Half))
        variables.resize(self.start.size())
        own.assign(self.start.size(), 0)
        for i in range(self.start.size()):
            variables[i] = inputs[self.start[i]]
            buffer_retain(variables[i].owner)
        condition_entering.resize(self.condition_inputs.size() + 1)
        body_entering.resize(self.body_inputs.size() + 1)
        condition.lease = &condition_lease
        body.lease = &body_lease
        condition.entering = condition_entering.data()
        body.entering = body_entering.data()
        try:
            while True:
                with nogil:
                    state = iterate(self, run, inputs, variables, own, &condition, &body)
                if state == NEEDS_CONDITION:
                    respecialise(self.condition, &condition)
                elif state == NEEDS_BODY:
                    respecialise(self.body, &body)
                elif state == LOOK_UP:
                    PyErr_CheckSignals()
                else:
                    break
            if state == FINISHED:
                for i in range(self.exit_variable.size()):
                    outputs[i] = variables[self.exit_variable[i]]
                    buffer_retain(outputs[i].owner)
        finally:
            for i in range(variables.size()):
                buffer_release(variables[i].owner)
        return 0


# How long a loop goes on before it looks at signals.
cdef int64_t LOOK_UP_NS = 20_000_000
# Plans that one iteration may try while other threads change the shapes of its variables.
cdef int MOST_PLANS = 16


cdef enum IterationState:
    FINISHED
    FAILED
    NEEDS_CONDITION
    NEEDS_BODY
    LOOK_UP          # a moment for signals


cdef int respecialise(SegmentRunner runner, Half* half) except -1:
    cdef shared_ptr[Executable] made
    half.lease.end()
    half.made = NULL
    made = runner.find(half.entering, 1)
    if not half.lease.begin(made, buffer_release):
        raise MemoryError()
    half.made = half.lease.made()
    half.buffers = half.lease.buffers()
    return 0


cdef inline void gather(vector[Source]& sources, hr_tensor* inputs, vector[hr_tensor]& variables,
                        Half* condition, hr_tensor* entering) noexcept nogil:
    cdef size_t i
    for i in range(sources.size()):
        if sources[i].kind == FROM_VARIABLE:
            entering[i] = variables[sources[i].number]
        elif sources[i].kind == FROM_ENTERING:
            entering[i] = inputs[sources[i].number]
        else:
            entering[i] = condition.buffers.tensors[
                condition.made.outputs[sources[i].number].tensor]


cdef inline void place(Half* half) noexcept nogil:
    cdef size_t i
    for i in range(half.made.input_tensor.size()):
        half.buffers.tensors[half.made.input_tensor[i]] = half.entering[i]


cdef int iterate(NativeLoop loop, Run* run, hr_tensor* inputs, vector[hr_tensor]& variables,
                 vector[uint8_t]& own, Half* condition, Half* body) noexcept nogil:
    """Iterates until the loop ends or a shape needs another specialisation."""
    cdef int64_t rounds = 0
    cdef int64_t now_ns
    cdef int64_t look_up_ns = monotonic_ns() + LOOK_UP_NS
    cdef SegmentOutput* leaving
    cdef bint go_on
    cdef hr_code code
    cdef string text
    while True:
        rounds += 1
        if not rounds & 15:
            now_ns = monotonic_ns()
            if run.deadline_ns and now_ns > run.deadline_ns:
                run_fail_text(run, HR_DEADLINE_EXCEEDED, "the run took longer than its timeout")
                return FAILED
            if now_ns > look_up_ns:
                return LOOK_UP
        gather(loop.condition_inputs, inputs, variables, condition, condition.entering)
        if condition.made == NULL or not condition.made.fits(condition.entering):
            return NEEDS_CONDITION
        place(condition)
        code = run_half(run, condition)
        if code != HR_OK:
            return replan(run, condition, NEEDS_CONDITION) if code == HR_REPLAN else FAILED
        leaving = &condition.made.outputs[loop.predicate]
        if condition.buffers.tensors[leaving.tensor].rank != 0:
            text.assign(b"the condition of a loop: The second input must be a scalar, but it has "
                        b"shape ")
            text.append(shape_text(&condition.buffers.tensors[leaving.tensor]))
            run_fail_text(run, HR_INVALID_ARGUMENT, text.c_str())
            release_half(condition)
            return FAILED
        go_on = (<uint8_t*>condition.buffers.tensors[leaving.tensor].data)[0] != 0
        if not go_on:
            release_half(condition)
            return FINISHED
        gather(loop.body_inputs, inputs, variables, condition, body.entering)
        if body.made == NULL or not body.made.fits(body.entering):
            release_half(condition)
            return NEEDS_BODY
        place(body)
        code = run_half(run, body)
        if code != HR_OK:
            release_half(condition)
            return replan(run, body, NEEDS_BODY) if code == HR_REPLAN else FAILED
        if take_over(loop, run, inputs, variables, own, condition, body) != HR_OK:
            return FAILED
        release_half(condition)
        release_half(body)
        condition.replans = 0
        body.replans = 0


cdef inline int replan(Run* run, Half* half, int state) noexcept nogil:
    """state, if the half may be planned once more for variables that changed their shapes."""
    half.replans += 1
    if half.replans < MOST_PLANS:
        return state
    run_fail_text(run, HR_ABORTED,
                  "variables that the loop reads changed their shapes at each attempt")
    return FAILED


cdef inline hr_code run_half(Run* run, Half* half) noexcept nogil:
    return run_entries(half.made, half.buffers, run)


cdef inline void release_half(Half* half) noexcept nogil:
    if half.made.counted.size() or half.made.by_kernel.size():
        half.lease.release_values()


cdef hr_code take_over(NativeLoop loop, Run* run, hr_tensor* inputs, vector[hr_tensor]& variables,
                       vector[uint8_t]& own, Half* condition, Half* body) noexcept nogil:
    """Makes what the iteration made the loop variables of the next one."""
    cdef size_t k, n = loop.following.size()
    cdef hr_tensor few[16]
    cdef vector[hr_tensor] many
    cdef hr_tensor* following = few
    cdef Source* source
    if n > 16:
        many.resize(n)
        following = many.data()
    for k in range(n):
        source = &loop.following[k]
        if source.kind == FROM_BODY:
            result_of(body, source.number, &following[k])
        elif source.kind == FROM_CONDITION:
            result_of(condition, source.number, &following[k])
        elif source.kind == FROM_VARIABLE:
            following[k] = variables[source.number]
        else:
            following[k] = inputs[source.number]
        if following[k].owner != NULL:
            buffer_retain(following[k].owner)
        elif points_into(following[k].data, variables, own, k):
            # Another variable's memory, about to change: a copy before anything does.
            if copied_tensor(&following[k]) != HR_OK:
                return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for a loop variable")
    for k in range(n):
        if following[k].owner == NULL and own[k] and \
                following[k].bytes == variables[k].bytes and is_plain(following[k].dtype) and \
                buffer_references(variables[k].owner) == 1:
            if following[k].data != variables[k].data:
                memcpy(variables[k].data, following[k].data, following[k].bytes)
            variables[k].rank = following[k].rank
            memcpy(variables[k].dims, following[k].dims, sizeof(following[k].dims))
            continue
        if following[k].owner == NULL:
            if copied_tensor(&following[k]) != HR_OK:
                return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for a loop variable")
            own[k] = 1
        else:
            own[k] = 0
        buffer_release(variables[k].owner)
        variables[k] = following[k]
    return HR_OK


cdef inline hr_code copied_tensor(hr_tensor* t) noexcept nogil:
    cdef hr_tensor borrowed = t[0]
    return copy_tensor(&borrowed, t)


cdef inline bint points_into(void* data, vector[hr_tensor]& variables, vector[uint8_t]& own,
                             size_t but) noexcept nogil:
    cdef size_t i
    for i in range(variables.size()):
        if i != but and own[i] and data == variables[i].data:
            return True
    return False


cdef inline void result_of(Half* half, int32_t number, hr_tensor* out) noexcept nogil:
    """An output; its owner is that of the memory it lies in, null in the arena."""
    cdef SegmentOutput* output = &half.made.outputs[number]
    out[0] = half.buffers.tensors[output.tensor]
    out.owner = half.buffers.tensors[output.root].owner
