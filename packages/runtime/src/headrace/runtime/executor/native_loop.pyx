# cython: language_level=3
"""Runs native loops: the steps of one iteration in their fixed order, then the next iteration.

Loop variables have buffers of the loop; values that do not change cost nothing per iteration. Loops
that loop_lowering.pyx cannot lower run on the dynamic executor, while their inner loops may run
here.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.utility cimport move

from headrace.runtime.executor.step cimport keep_error
from headrace.runtime.memory.buffer cimport (
    OwnedTensor, buffer_references, copy_tensor, is_plain,
)
from headrace.runtime.state.context cimport (
    HR_REPLAN, Run, SessionState, check_has_value, fail_not_scalar, run_attend, run_blame,
    run_blamed, run_code, run_fail_text, run_wants_attention,
)
from headrace.runtime.plan.executable cimport Executable, fail_no_room, run_entries
from headrace.runtime.memory.kernel_abi cimport (
    HR_ABORTED, HR_DEADLINE_EXCEEDED, HR_INTERNAL, HR_INVALID_ARGUMENT, HR_OK,
    HR_RESOURCE_EXHAUSTED, hr_code, hr_tensor,
)
from headrace.runtime.passes.program cimport Program
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.threads.pools cimport (
    expected_ns, kHeavy, kLong, kSignalCheckNs, kParallel, run_intra_op, may_handle_signals, steady_ns,
)

# Plans that one part may try while other threads change the shapes of its variables.
cdef int MOST_PLANS = 16
# Up to this size, copying a loop variable is cheaper than counting references.
cdef int64_t SMALL = 4096


cdef class NativeLoop:
    cdef void bind(self, Program program, SessionState* session, int intra_op_threads):
        cdef SegmentRunner runner
        cdef NativeLoop loop
        self.parts = []
        for number in range(self.segments.segments.size()):
            runner = SegmentRunner()
            runner.program = program
            runner.segments = self.segments
            runner.number = number
            runner.session = session
            runner.copy_small = True
            runner.intra_op_threads = intra_op_threads
            self.parts.append(runner)
            self.part_pointers.push_back(<void*>runner)
        for loop in self.inner:
            loop.bind(program, session, intra_op_threads)
            self.inner_pointers.push_back(<void*>loop)

    def describe(self) -> list:
        """The parts' runners with their names, inner loops among them, for `explain`."""
        found = []
        cdef LoopStep step
        cdef size_t i
        counts = {}
        for i in range(self.steps.size()):
            step = self.steps[i]
            where = "condition" if <int32_t>i < self.n_condition else "body"
            if step.kind == RUN_PART:
                counts[where] = counts.get(where, 0) + 1
                name = where if counts[where] == 1 else f"{where}, part {counts[where]}"
                if step.n_guards:
                    name += ", in a branch"
                found.append((name, self.parts[step.number]))
            elif step.kind == RUN_INNER:
                found += [(f"{where}, inner loop, {name}", runner) for name, runner
                          in (<NativeLoop>self.inner[step.number]).describe()]
        return found


cdef unique_ptr[LoopRun] new_run(NativeLoop loop) noexcept nogil:
    """Null: out of memory."""
    cdef unique_ptr[LoopRun] loop_run = new_loop_run(
        loop.start.size(), loop.n_slots, loop.part_pointers.size(), loop.steps)
    cdef unique_ptr[LoopRun] inner
    cdef size_t i
    for i in range(loop.inner_pointers.size()):
        if loop_run.get() == NULL:
            break
        inner = new_run(<NativeLoop>loop.inner_pointers[i])
        if inner.get() == NULL or not add_inner(loop_run.get(), inner):
            loop_run.reset()
    return move(loop_run)


cdef hr_code run_native(NativeLoop loop, LoopContext* context, const hr_tensor* inputs,
                        OwnedTensor* outputs) noexcept nogil:
    cdef unique_ptr[LoopRun] held = new_run(loop)
    cdef LoopRun* state = held.get()
    cdef LoopValue* value
    cdef size_t i
    cdef hr_code code
    if state == NULL:
        return run_fail_text(context.run, HR_RESOURCE_EXHAUSTED, "no memory for a loop")
    for i in range(loop.inputs.size()):
        value = &state.values[loop.start.size() + i]
        value.tensor = &inputs[i]
        value.owner = inputs[i].owner
    context.next_signal_check_ns = steady_ns() + kSignalCheckNs
    code = iterate(loop, state, context)
    if code == HR_OK:
        code = hand_exits_out(loop, state, context.run, outputs)
    return code


cdef hr_code hand_exits_out(NativeLoop loop, LoopRun* state, Run* run,
                            OwnedTensor* outputs) noexcept nogil:
    cdef size_t i
    cdef LoopValue* value
    cdef hr_code code
    for i in range(loop.exits.size()):
        value = &state.values[loop.exits[i]]
        if value.owner == NULL and \
                loop.exits[i] >= <int32_t>(loop.start.size() + loop.inputs.size()):
            code = copy_tensor(value.tensor, outputs[i].get())   # it is in the loop's memory
            if code != HR_OK:
                return run_fail_text(run, code, "no memory for a loop's result")
        else:
            outputs[i].share(value.tensor[0], value.owner)
    return HR_OK


# ---- iterations -----------------------------------------------------------------------------------

cdef hr_code iterate(NativeLoop loop, LoopRun* state, LoopContext* context) noexcept nogil:
    """Runs the loop from its input values to its end."""
    cdef int32_t i, n = <int32_t>loop.steps.size()
    cdef LoopStep* steps = loop.steps.data()
    cdef int go_on
    cdef hr_code code = HR_OK
    if loop.references.size():
        code = check_references(loop, state, context.run)
    if code == HR_OK:
        code = start(loop, state, context.run)
    while code == HR_OK:
        context.rounds += 1
        if not context.rounds & 15:
            code = check_signals(context)
            if code != HR_OK:
                return code
        for i in range(loop.n_condition):
            code = run_step(loop, state, &steps[i], context)
            if code != HR_OK:
                return code
        go_on = test(state, &loop.predicate, context.run)
        if go_on <= 0:
            return HR_OK if go_on == 0 else run_code(context.run)
        for i in range(loop.n_condition, n):
            code = run_step(loop, state, &steps[i], context)
            if code != HR_OK:
                return code
        code = take_over(loop, state, context.run)
        if state.dirty.size() or state.has_inner():
            state.release_values()
    return code


cdef hr_code check_references(NativeLoop loop, LoopRun* state, Run* run) noexcept nogil:
    cdef size_t i
    for i in range(loop.references.size()):
        if check_has_value(run, state.values[loop.start.size()
                                             + loop.references[i].slot].tensor) != HR_OK:
            run_blame(run, loop.references[i].node)
            return run_code(run)
    return HR_OK


cdef hr_code check_signals(LoopContext* context) noexcept nogil:
    """Ends the loop at its deadline, on a cancellation or on Ctrl-C."""
    cdef int64_t now_ns = steady_ns()
    cdef Run* run = context.run
    if run.deadline_ns and now_ns > run.deadline_ns:
        return run_fail_text(run, HR_DEADLINE_EXCEEDED, "the run took longer than its timeout")
    if now_ns > context.next_signal_check_ns:
        context.next_signal_check_ns = now_ns + kSignalCheckNs
        if may_handle_signals():
            with gil:
                try:
                    PyErr_CheckSignals()
                except BaseException as interrupt:
                    keep_error(run, context.errors, interrupt, None)
                    return HR_INTERNAL
    return run_attend(run) if run_wants_attention(run) else HR_OK


cdef inline int test(LoopRun* state, Guard* guard, Run* run) noexcept nogil:
    """1: the predicate has the value of the guard; 0: it does not; -1: it is not a scalar, and the run
    failed."""
    cdef const hr_tensor* predicate = state.values[guard.slot].tensor
    if predicate.rank != 0:
        return fail_predicate(guard, predicate, run)
    return ((<uint8_t*>predicate.data)[0] != 0) == guard.value


cdef int fail_predicate(Guard* guard, const hr_tensor* predicate, Run* run) noexcept nogil:
    fail_not_scalar(run, predicate)
    run_blame(run, guard.node)
    return -1


cdef inline hr_code run_step(NativeLoop loop, LoopRun* state, LoopStep* step,
                             LoopContext* context) noexcept nogil:
    cdef int32_t i
    cdef int32_t* slots = loop.slots.data() + step.first_slot
    cdef int taken
    for i in range(step.first_guard, step.first_guard + step.n_guards):
        taken = test(state, &loop.guards[i], context.run)
        if taken <= 0:
            return HR_OK if taken == 0 else run_code(context.run)
    if step.kind == RUN_PART:
        return run_part(loop, state, step, slots, context)
    if step.kind == RUN_INNER:
        return run_inner(<NativeLoop>loop.inner_pointers[step.number],
                         state.inner_at(step.number), state, slots, context)
    taken = test(state, &loop.guards[step.first_guard + step.n_guards], context.run)
    if taken < 0:
        return run_code(context.run)
    if slots[2] >= 0:
        state.values[slots[2]] = state.values[slots[taken]]
    if slots[3] >= 0:
        state.values[slots[3]].tensor = index_tensor(step.index_if_true ^ taken ^ 1)
        state.values[slots[3]].owner = NULL
    return HR_OK


cdef hr_code run_inner(NativeLoop loop, LoopRun* state, LoopRun* outer, int32_t* slots,
                       LoopContext* context) noexcept nogil:
    cdef size_t i, n = loop.inputs.size()
    cdef hr_code code
    for i in range(n):
        state.values[loop.start.size() + i] = outer.values[slots[i]]
    code = iterate(loop, state, context)
    if code == HR_OK:
        for i in range(loop.exits.size()):
            if slots[n + i] >= 0:
                outer.values[slots[n + i]] = state.values[loop.exits[i]]
    return code


# ---- loop variables --------------------------------------------------------------------------------

cdef inline bint is_overwritable(LoopRun* state, size_t k, const hr_tensor* by) noexcept nogil:
    """Whether the value fits the variable's own memory, and a copy costs less than sharing."""
    cdef const hr_tensor* variable = state.variables[k].get()
    return state.own[k] and by.bytes == variable.bytes and \
        (by.owner == NULL or by.bytes <= SMALL) and buffer_references(variable.owner) == 1


cdef inline void overwrite(hr_tensor* variable, const hr_tensor* by) noexcept nogil:
    if by.data != variable.data:
        copy_bytes(variable.data, by.data, by.bytes)
    if variable.rank or by.rank:
        variable.rank = by.rank
        memcpy(variable.dims, by.dims, sizeof(variable.dims))
    variable.dtype = by.dtype


cdef inline void copy_bytes(void* to, const void* data, int64_t n) noexcept nogil:
    if n == 4:      # counters and sums
        memcpy(to, data, 4)
    else:
        memcpy(to, data, n)


cdef hr_code start(NativeLoop loop, LoopRun* state, Run* run) noexcept nogil:
    """The input values become the loop variables."""
    cdef size_t k, n = loop.start.size()
    cdef LoopValue* value
    cdef hr_tensor* variable
    state.release_values()
    state.started = True
    for k in range(n):
        variable = state.variables[k].get()
        value = &state.values[n + loop.start[k]]
        if variable.owner != NULL and value.tensor.bytes <= SMALL and \
                is_overwritable(state, k, value.tensor):
            overwrite(variable, value.tensor)
        else:
            state.variables[k].share(value.tensor[0], value.owner)
            state.own[k] = 0
        state.values[k].tensor = variable
        state.values[k].owner = variable.owner
    return HR_OK


cdef hr_code take_over(NativeLoop loop, LoopRun* state, Run* run) noexcept nogil:
    """The results of the iteration become the loop variables of the next one."""
    cdef size_t k, n = loop.following.size()
    cdef hr_tensor* variable
    cdef LoopValue* value
    cdef hr_code code = HR_OK
    for k in range(n):
        if loop.following[k] == <int32_t>k:
            continue
        value = &state.values[loop.following[k]]
        state.by[k] = value.tensor
        if value.owner != NULL or state.is_variable(value.tensor):
            # It may be another loop variable, which must not be overwritten before it is read.
            state.following[k].share(value.tensor[0], value.owner)
            state.by[k] = state.following[k].get()
    for k in range(n):
        if loop.following[k] == <int32_t>k:
            continue
        variable = state.variables[k].get()
        if is_same_memory(state.by[k], variable):
            overwrite(variable, state.by[k])
            state.following[k].reset()
        elif is_overwritable(state, k, state.by[k]):
            overwrite(variable, state.by[k])
            state.following[k].reset()
        elif state.following[k].get().owner != NULL:
            state.variables[k].take_from(state.following[k])
            state.own[k] = 0
            state.values[k].owner = variable.owner
        else:
            code = replace_by_copy(state, k)
            if code != HR_OK:
                return run_fail_text(run, code, "no memory for a loop variable")
    return HR_OK


cdef hr_code replace_by_copy(LoopRun* state, size_t k) noexcept nogil:
    cdef OwnedTensor copied
    cdef hr_code code = copy_tensor(state.by[k], copied.get())
    if code == HR_OK:
        state.variables[k].take_from(copied)
        state.values[k].owner = state.variables[k].get().owner
        state.own[k] = is_plain(state.variables[k].get().dtype)
    return code


cdef inline bint is_same_memory(const hr_tensor* a, const hr_tensor* b) noexcept nogil:
    return a.data == b.data and a.owner == b.owner and a.bytes == b.bytes


# ---- parts -------------------------------------------------------------------------------------------

cdef hr_code run_part(NativeLoop loop, LoopRun* state, LoopStep* step, int32_t* slots,
                      LoopContext* context) noexcept nogil:
    cdef PartRun* part = &state.parts[step.number]
    cdef LoopValue* values = state.values.data()
    cdef hr_code code = HR_OK
    cdef int attempt
    if part.executable == NULL or part.chosen_again or not part.fits(values, slots):
        code = choose(loop, state, step, slots, 1, context)
    for attempt in range(MOST_PLANS):
        if code == HR_OK:
            if part.heavy:
                code = run_heavy(loop, state, step, slots, context)
            elif part.samples_left or part.measured:
                code = run_measured(part, values, slots, context)
            else:
                part.place(values, slots)
                code = run_entries(part.executable, part.buffers, context.run)
        if code == HR_OK:
            if part.leaves_counted:
                state.dirty.push_back(step.number)
            if not part.same_places:
                part.hand_out(values, slots + step.n_inputs)
            return HR_OK
        if code != HR_REPLAN:
            return code
        # A variable that the part reads has another shape than planned.
        code = choose(loop, state, step, slots, 1, context)
    return run_fail_text(context.run, HR_ABORTED,
                         "variables that the loop reads changed their shapes at each attempt")


cdef hr_code choose(NativeLoop loop, LoopRun* state, LoopStep* step, int32_t* slots, int threads,
                    LoopContext* context) noexcept nogil:
    """Leases the executable for the part's current input shapes, and plans it if there is none."""
    cdef PartRun* part = &state.parts[step.number]
    cdef shared_ptr[Executable] chosen
    cdef int32_t i
    for i in range(step.n_inputs):
        part.inputs[i] = state.values[slots[i]].tensor[0]
        part.inputs[i].owner = state.values[slots[i]].owner
    chosen = (<SegmentRunner>loop.part_pointers[step.number]).lookup(
        part.inputs.data(), threads)
    if chosen.get() == NULL:
        with gil:
            try:
                chosen = (<SegmentRunner>loop.part_pointers[step.number]).find(
                    part.inputs.data(), threads)
            except BaseException as error:
                keep_error(context.run, context.errors, error,
                           (<SegmentRunner>loop.part_pointers[step.number]).program)
                return HR_INTERNAL
    if not part.begin(chosen):
        return fail_no_room(context.run, chosen.get()[0])
    if threads == 1:
        part.single = chosen
    part.samples_left = 0 if part.executable.cost.known() else 4
    part.chosen_again = False
    part.hand_out(state.values.data(), slots + step.n_inputs)
    weigh(part, context)
    return HR_OK


cdef inline void weigh(PartRun* part, LoopContext* context) noexcept nogil:
    cdef double ns = part.executable.cost.ns(expected_ns(part.executable.flops, part.executable.bytes_moved))
    part.measured = ns > kHeavy
    # An estimate may be far off, so a part whose estimate is not clear is measured first.
    part.heavy = context.intra_op_threads > 1 and ns > (kParallel if part.executable.cost.known() else kLong)


cdef hr_code run_measured(PartRun* part, const LoopValue* values, const int32_t* slots,
                          LoopContext* context) noexcept nogil:
    cdef bint timed = part.samples_left > 0 or part.executable.cost.wants_sample()
    cdef int64_t start_ns = steady_ns() if timed else 0
    cdef hr_code code
    part.place(values, slots)
    code = run_entries(part.executable, part.buffers, context.run)
    if timed and code == HR_OK:
        record_single(part, steady_ns() - start_ns)
        part.samples_left = max(0, part.samples_left - 1)
        weigh(part, context)
    return code


cdef inline void record_single(PartRun* part, int64_t took_ns) noexcept nogil:
    part.executable.cost.add_sample(<double>took_ns)
    part.executable.team.ran_on_one(<double>took_ns)


cdef struct HeavyWork:
    void* loop
    LoopRun* state
    LoopStep* step
    int32_t* slots
    LoopContext* context
    hr_code code
    int64_t took_ns


cdef hr_code run_heavy(NativeLoop loop, LoopRun* state, LoopStep* step, int32_t* slots,
                       LoopContext* context) noexcept nogil:
    """Runs the part on the intra-op pool, or on this thread if that is faster or the pool is busy."""
    cdef PartRun* part = &state.parts[step.number]
    cdef Executable* single = part.single.get()
    cdef double ns = single.cost.ns(2 * kLong)  # an unknown cost was expected to be long
    cdef int64_t start_ns = steady_ns()
    cdef HeavyWork work
    cdef hr_code code = HR_OK
    work.loop = <void*>loop
    work.state = state
    work.step = step
    work.slots = slots
    work.context = context
    work.code = HR_INTERNAL
    if single.team.wants_team(ns) and \
            run_intra_op(work_heavy, &work, context.intra_op_threads, context.poll, context.poll_argument):
        if work.code != HR_OK and work.code != HR_REPLAN and run_code(context.wide) != HR_OK:
            run_fail_text(context.run, run_code(context.wide), context.wide.message)
            run_blame(context.run, run_blamed(context.wide))
        if work.code == HR_OK:
            single.team.ran_on_team(<double>(steady_ns() - start_ns))
        if work.code == HR_OK and ns > kLong:
            # About the time of one thread, and no less. If the estimate was wrong, the next
            # iteration runs on one thread.
            single.cost.add_sample(<double>work.took_ns * context.intra_op_threads)
            if single.cost.ns(0) <= kParallel:
                part.chosen_again = True
        return work.code
    if part.executable.threads != 1:
        code = choose(loop, state, step, slots, 1, context)
        part.heavy = True
    if code == HR_OK:
        part.place(state.values.data(), slots)
        start_ns = steady_ns()
        code = run_entries(part.executable, part.buffers, context.run)
    if code == HR_OK:
        record_single(part, steady_ns() - start_ns)
        weigh(part, context)
    return code


cdef void work_heavy(void* argument) noexcept nogil:
    cdef HeavyWork* work = <HeavyWork*>argument
    cdef LoopContext* context = work.context
    cdef PartRun* part = &work.state.parts[work.step.number]
    work.code = HR_OK
    if part.executable.threads != context.intra_op_threads:
        # Planning runs here as well: folded kernels may use all threads.
        work.code = choose(<NativeLoop>work.loop, work.state, work.step, work.slots, context.intra_op_threads,
                           context)
        part.heavy = True
    if work.code == HR_OK:
        part.place(work.state.values.data(), work.slots)
        work.took_ns = steady_ns()
        work.code = run_entries(part.executable, part.buffers, context.wide)
        work.took_ns = steady_ns() - work.took_ns
