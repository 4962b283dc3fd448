# cython: language_level=3
"""The dynamic executor: one run of an ExecutorPlan.

Counts and ready units (white paper §3.1), frames and iterations (§4.4), asynchronous kernels with
continuations (§5.3). The calling thread executes the step: it takes a ready unit, runs it and
propagates its outputs, which makes other units ready. Threads of the inter-op pool run heavy units.
The lock is released only while a unit runs. The step is over when nothing is ready, running or
awaited. After an error the rest is cancelled, the first error is reported, and nothing is freed
before the last callback.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.memory.arrays cimport array_from_tensor
from headrace.runtime.passes.fed_values cimport fed_tensor
from headrace.runtime.memory.buffer cimport OwnedTensor, OwnedTensors, allocate_tensor, tensors_of
from headrace.runtime.state.context cimport (
    SessionState, StepFunctions, check_has_value, fail_not_scalar, run_begin, run_code,
)
from headrace.runtime.executor.propagation cimport (
    propagate_value, fail, fail_memory, finish, finish_failed, finish_switch, new_iteration, record_unit,
    push,
)
from headrace.runtime.executor.asynchronous_nodes cimport send, start_async, start_recv
from headrace.runtime.executor.device_work cimport await_work, end_work
from headrace.runtime.executor.executor_plan cimport (
    RUN_ASYNC, RUN_LOOP, RUN_MERGE, RUN_RECV, RUN_SEGMENT, RUN_SEND, RUN_SWITCH,
    ExecutorPlan, Unit,
)
from headrace.runtime.executor.executor_segments cimport run_loop, run_segment
from headrace.runtime.executor.executor_state cimport (
    BUSY, ExecutionState, Iteration, Ready, add_device_runs, wait_for_change, wake,
)
from headrace.runtime.memory.kernel_abi cimport (
    HR_CANCELLED, HR_DEADLINE_EXCEEDED, HR_FAILED_PRECONDITION, HR_INT32, HR_INTERNAL,
    HR_INVALID_ARGUMENT, HR_OK, hr_code, hr_tensor,
)
from headrace.runtime.passes.program cimport is_accelerated
from headrace.runtime.state.session_owner cimport SessionOwner
from headrace.runtime.executor.step cimport run_error
from headrace.runtime.threads.pools cimport (
    LONG, begin_run, end_run, flush_denormals, kSignalCheckNs, restore_denormals,
    may_handle_signals,
)
from headrace.runtime.executor.trace cimport metadata_of, monotonic_ns


cdef inline ExecutionState* state_of(Execution e) noexcept nogil:
    return <ExecutionState*>e.state


cdef bint begin_execution(ExecutionState* state, void* owner_pointer, void* plan_pointer,
                          bint traced) noexcept nogil:
    cdef int32_t unit, intra_op_threads = (<SessionOwner>owner_pointer).intra_op_threads
    cdef SessionState* session = (<SessionOwner>owner_pointer).state
    run_begin(&state.run, session, 1)
    run_begin(&state.wide, session, intra_op_threads)
    state.wide.first = &state.run
    state.run.functions = <StepFunctions*>(<SessionOwner>owner_pointer).functions.get()
    state.wide.functions = state.run.functions
    state.traced = traced
    if is_accelerated((<ExecutorPlan>plan_pointer).program) and not begin_on_devices(
            state, (<ExecutorPlan>plan_pointer).program.memories.size(), session):
        return False
    state.plan = plan_pointer
    state.intra_op_threads = 1 if (<ExecutorPlan>plan_pointer).one_thread else intra_op_threads
    state.pool = (<SessionOwner>owner_pointer).inter_op_pool
    state.active.end = end_execution
    state.active.argument = state
    state.active.session = owner_pointer
    state.active.state = <void*>session
    state.active.cancelled = &state.run.cancelled
    state.root_iteration = new_iteration(state, <ExecutorPlan>plan_pointer, &state.root)
    if state.root_iteration == NULL:
        return False
    # It never completes before the step does: late feeds may come.
    state.root_iteration.outstanding += 1
    for unit in (<ExecutorPlan>plan_pointer).roots:
        push(state, <ExecutorPlan>plan_pointer, unit, state.root_iteration)
    return True


cdef bint begin_on_devices(ExecutionState* state, size_t n, SessionState* session) noexcept nogil:
    cdef size_t i
    if not add_device_runs(state, n):
        return False
    for i in range(n):
        run_begin(state.on_devices[i].get(), session, 1)
        state.on_devices[i].get().first = &state.run
        state.on_devices[i].get().functions = state.run.functions
    return True


cdef class Execution:
    def __init__(self, SessionOwner owner, ExecutorPlan plan, bint traced):
        cdef ExecutionState* state = new ExecutionState(
            plan.frames.size(), plan.program.fetches.size())
        self.state = state
        self.owner = owner
        self.plan = plan
        self.kept = []
        self.errors = []
        state.errors = <void*>self.errors
        if not begin_execution(state, <void*>owner, <void*>plan, traced):
            raise MemoryError()
        state.run.on_check_signals = poll
        state.run.check_signals_argument = <void*>self

    def __dealloc__(self):
        cdef ExecutionState* state = state_of(self)
        if state != NULL:    # it is null where there was no memory for it
            end_work(state)
        del state

    cdef int feed(self, int number, object value) except -1:
        """Sets a fed value; strings are copied, other arrays are borrowed until the step is over."""
        cdef int32_t unit = self.plan.feed_units[number]
        cdef OwnedTensor t
        cdef ExecutionState* state = state_of(self)
        if unit < 0:
            return 0
        cdef int32_t value_number = self.plan.program.feeds[number]
        self.kept.append(fed_tensor(
            self.plan.program, number, value, self.plan.program.values[value_number].dtype, &t))
        with nogil:
            state.lock.lock()
            propagate_value(state, self.plan, self.plan.units[unit].first_port,
                          state.root_iteration, &t)
            state.lock.unlock()
        return 0

    cdef bint has_fetch(self, int number) noexcept:
        return state_of(self).fetch_state[number] != 0

    cdef object fetch(self, int number):
        cdef ExecutionState* state = state_of(self)
        if state.fetch_state[number] != 1:
            name = self.plan.program.fetch_names[number]
            raise errors.InvalidArgumentError(
                None, None, f"fetch '{name}' has no value: it lies in a branch that was not taken")
        cdef const hr_tensor* t = state.fetched[number].get()
        found = array_from_tensor(t)
        return found if t.rank else found[()]

    cdef int take_pool(self, int number) except -1:
        state_of(self).pool = self.owner.pool_of(number)
        return 0

    cdef bint advance(self, vector[int32_t]& fetches, int64_t deadline_ns) except -1:
        cdef ExecutionState* state = state_of(self)
        cdef bint over = False
        state.active.deadline_ns = deadline_ns
        state.run.deadline_ns = deadline_ns
        state.active.check_signals = &state.run.check_signals
        begin_run(&state.active)
        # A nested run already has a thread of the pool.
        state.takes_long = state.pool.get() == NULL or state.active.in_pool
        try:
            if self.owner.closed:  # closed after the check: `close` did not end this run
                self.cancel("the session was closed")
            while not over:
                with nogil:
                    over = run_ready_units(state, self.plan, fetches, <void*>self)
                if not over:
                    # Nothing is ready, or much has run: check for Ctrl-C now.
                    check_signals(self)
        finally:
            end_run(&state.active)
        if self.errors:
            # Planning was ended without a reason; the run has it: timeout, close or reset.
            if isinstance(self.errors[0], errors.CancelledError) and run_code(&state.run) != HR_OK:
                raise run_error(&state.run)
            raise self.errors[0]
        if run_code(&state.run) != HR_OK:
            PyErr_CheckSignals()  # a Python kernel may have received one
            raise run_error(&state.run)
        return True

    def cancel(self, str reason):
        """Ends the step with CancelledError as soon as its kernels stop."""
        cancel(self, HR_CANCELLED, reason.encode())

    cdef bytes metadata(self):
        cdef ExecutionState* state = state_of(self)
        if state.device_trace.get() != NULL and not state.device_trace.get().finish(state.records):
            raise MemoryError()
        return metadata_of(state_of(self).records, self.plan.program)


cdef void cancel(Execution e, hr_code code, const char* reason) noexcept:
    with nogil:
        fail(state_of(e), NULL, code, reason)


cdef void end_execution(void* argument, hr_code code, const char* why) noexcept nogil:
    fail(<ExecutionState*>argument, NULL, code, why)


cdef void check_signals(Execution e) noexcept:
    """Ends the step on Ctrl-C or at its deadline."""
    cdef ExecutionState* state = state_of(e)
    state.run.check_signals.set(0)
    # The watch thread also ends it, but a waiting step must not depend on that thread.
    if state.run.deadline_ns and monotonic_ns() > state.run.deadline_ns:
        state.run.deadline_ns = 0
        cancel(e, HR_DEADLINE_EXCEEDED, "the run took longer than its timeout")
    try:
        PyErr_CheckSignals()
    except BaseException as interrupt:
        e.errors.append(interrupt)
        cancel(e, HR_CANCELLED, "interrupted")


cdef void poll(void* argument) noexcept nogil:
    """Lets Python handle pending signals between kernels or while a pool works, on the thread that
    may."""
    if may_handle_signals():
        with gil:
            check_signals(<Execution>argument)


cdef void nothing(void* argument) noexcept nogil:
    pass


# ---- taking units ---------------------------------------------------------------------------------

cdef bint run_ready_units(ExecutionState* state, ExecutorPlan plan, vector[int32_t]& fetches,
               void* execution) noexcept nogil:
    """Runs ready units. True: the step is over or all of `fetches` are available; False: check
    for signals and the deadline, then call again."""
    cdef uint64_t mode = flush_denormals()
    cdef bint over
    state.lock.lock()
    state.partial = fetches.size() > 0
    over = take_units(state, plan, fetches, execution)
    state.lock.unlock()
    restore_denormals(mode)
    return over


cdef Driven drive_execution(ExecutionState* state, ExecutorPlan plan) noexcept nogil:
    cdef vector[int32_t] everything
    cdef uint64_t mode = flush_denormals()
    cdef Driven how = Driven.PARKED
    state.lock.lock()
    if take_units(state, plan, everything, NULL):
        how = Driven.OVER
    elif state.light_only and not state.parked:
        state.light_only = False
        how = Driven.FOR_POOL
    state.lock.unlock()
    restore_denormals(mode)
    return how


cdef bint take_units(ExecutionState* state, ExecutorPlan plan, vector[int32_t]& fetches,
                     void* execution) noexcept nogil:
    """As run_ready_units. The lock is held before and after. A step without a thread of its own is
    parked where nothing is ready."""
    cdef Ready item
    cdef int64_t next_signal_check_ns = monotonic_ns() + kSignalCheckNs
    cdef uint32_t rounds = 0
    cdef bint driven = state.resume != NULL    # without a thread of its own
    while True:
        state.lock.let_others()
        if state.failed:
            end_failed(state)
        if state.light.size():
            item = state.light.back()
            state.light.pop_back()
        elif state.heavy.size() and state.light_only:
            return False    # drive_execution hands the step to a pool
        elif state.heavy.size() and not is_for_pool(state, plan):
            item = state.heavy.back()
            state.heavy.pop_back()
            request_pool_thread(state, plan)
        elif state.outstanding == 0:
            if await_devices(state):
                continue
            if state.work.size():
                state.lock.unlock()
                end_work(state)
                state.lock.lock()
            if state.pool_tasks:
                state.pool_tasks -= state.pool.get().withdraw(state)
            if state.pool_tasks == 0:
                return True
            if driven:
                state.parked = True
                return False
            wait_for_change(state, may_handle_signals())
            continue
        elif driven:
            state.parked = True
            return False
        else:
            if fetches.size() and not state.failed and all_there(state, fetches):
                return True
            wait_for_change(state, may_handle_signals())
            if state.light.size() or state.outstanding == 0:
                continue
            return False
        run_ready(state, plan, item, nothing if driven else poll, execution)
        rounds += 1
        if not driven and not rounds & 63 and monotonic_ns() > next_signal_check_ns:
            return False


cdef bint await_devices(ExecutionState* state) noexcept nogil:
    """Waits for the devices that have work of the step: it is over when theirs is. False: none has.

    A step that failed also takes their errors, which would be those of the next step otherwise. The
    lock is held before and after.
    """
    cdef size_t i
    cdef bint found = False
    for i in range(state.busy.size()):
        if state.busy[i] == BUSY or (state.failed or state.traced) and state.busy[i]:
            found = True
            state.busy[i] = 0
            await_work(state, <int32_t>i)
    return found


cdef void run_heavy_units(void* argument) noexcept nogil:
    """Runs heavy units of a step on a thread of the pool, as long as there are any."""
    cdef ExecutionState* state = <ExecutionState*>argument
    cdef Ready item
    state.lock.lock()
    while state.heavy.size() and not state.failed:
        item = state.heavy.back()
        state.heavy.pop_back()
        request_pool_thread(state, <ExecutorPlan>state.plan)
        run_ready(state, <ExecutorPlan>state.plan, item, nothing, NULL)
    state.pool_tasks -= 1
    wake(state)
    # Once the lock is released the step may have been freed.
    state.lock.unlock()


cdef inline void request_pool_thread(ExecutionState* state, ExecutorPlan plan) noexcept nogil:
    """Wakes another thread of the pool if heavy units wait and the pool has one."""
    cdef int32_t most
    if state.heavy.size() == 0 or state.pool.get() == NULL:
        return
    most = state.pool.get().size()
    if state.takes_long or plan.weights[state.heavy.back().unit].get() != LONG:
        most -= 1   # the calling thread takes one itself
    if state.pool_tasks < most and state.pool.get().submit(run_heavy_units, state):
        state.pool_tasks += 1


cdef inline bint is_for_pool(ExecutionState* state, ExecutorPlan plan) noexcept nogil:
    """Whether only threads of the pool may run the next heavy unit."""
    if state.takes_long or plan.weights[state.heavy.back().unit].get() != LONG:
        return False
    request_pool_thread(state, plan)
    return state.pool_tasks > 0   # otherwise the pool has no thread


cdef void end_failed(ExecutionState* state) noexcept nogil:
    """Drops ready units, and cancels what is awaited where propagation failed."""
    if not state.run.cancelled.get():
        state.lock.unlock()
        fail(state, NULL, HR_INTERNAL, "the step failed")
        state.lock.lock()
    state.outstanding -= <int32_t>(state.light.size() + state.heavy.size())
    state.light.clear()
    state.heavy.clear()


cdef bint all_there(ExecutionState* state, vector[int32_t]& fetches) noexcept nogil:
    cdef size_t i
    for i in range(fetches.size()):
        if state.fetch_state[fetches[i]] == 0:
            return False
    return True


# ---- running one ------------------------------------------------------------------------------------

cdef void run_ready(ExecutionState* state, ExecutorPlan plan, Ready item,
                    void (*poll)(void*) noexcept nogil, void* execution) noexcept nogil:
    """Runs one unit and propagates its outputs. The lock is held before and after."""
    cdef Unit* unit = &plan.units[item.unit]
    cdef Iteration* iteration = item.iteration
    cdef OwnedTensor* inputs = iteration.slots + unit.first_slot
    cdef OwnedTensor value
    cdef bint usable = True
    if unit.kind == RUN_SEND and iteration.units[unit.local].merged:
        # The segment that made the value has sent it. A pointer that is not null: it is not dead.
        finish(state, plan, item.unit, iteration, inputs)
    elif unit.kind == RUN_SEND or (unit.kind == RUN_RECV and iteration.units[unit.local].dead == 0):
        state.lock.unlock()
        if unit.kind == RUN_SEND:
            send(state, item.unit, iteration)
        else:
            start_recv(state, item.unit, iteration)
        state.lock.lock()
    elif unit.kind == RUN_MERGE:
        run_merge(state, plan, item)
    elif iteration.units[unit.local].dead:
        finish(state, plan, item.unit, iteration, NULL)
    elif unit.kind == RUN_SEGMENT or unit.kind == RUN_LOOP:
        run_work(state, plan, unit, item, tensors_of(inputs), poll, execution)
    elif unit.kind == RUN_ASYNC:
        state.lock.unlock()
        start_async(state, item.unit, iteration)
        state.lock.lock()
    else:
        # A unit that only passes a value on moves its reference.
        if unit.n_inputs:
            value.take_from(inputs[0])
            if unit.needs_value:
                usable = has_value(state, unit, value.get())
        if unit.kind == RUN_SWITCH and inputs[1].get().rank != 0:
            fail_predicate(state, unit, inputs[1].get())
            usable = False
        if not usable:
            finish_failed(state, plan, item.unit, iteration)
        elif unit.kind == RUN_SWITCH:
            finish_switch(state, plan, item.unit, iteration,
                          (<uint8_t*>inputs[1].get().data)[0] != 0, &value)
        else:
            finish(state, plan, item.unit, iteration, &value)


cdef void fail_predicate(ExecutionState* state, Unit* unit, const hr_tensor* predicate) noexcept nogil:
    state.lock.unlock()
    fail_not_scalar(&state.run, predicate)
    fail(state, unit.node, HR_INVALID_ARGUMENT, "")
    state.lock.lock()


cdef bint has_value(ExecutionState* state, Unit* unit, const hr_tensor* reference) noexcept nogil:
    """Whether the variable of a reference has a value; the step fails if not."""
    if check_has_value(&state.run, reference) == HR_OK:
        return True
    state.lock.unlock()
    fail(state, unit.node, HR_FAILED_PRECONDITION, "")
    state.lock.lock()
    return False


cdef void run_work(ExecutionState* state, ExecutorPlan plan, Unit* unit, Ready item,
                   const hr_tensor* inputs, void (*poll)(void*) noexcept nogil, void* execution) noexcept nogil:
    cdef OwnedTensors outputs
    cdef hr_code code
    cdef int64_t start = 0
    cdef bint alone = state.heavy.size() == 0 and state.outstanding == 1
    if not outputs.hold(unit.n_ports):
        fail_memory(state, "no memory for the results of a unit")
        finish_failed(state, plan, item.unit, item.iteration)
        return
    state.lock.unlock()
    if unit.kind == RUN_SEGMENT:
        code = run_segment(state, plan, item.unit, item.iteration, inputs, outputs.data(), alone,
                           poll, execution)
    else:
        start = monotonic_ns()
        code = run_loop(state, unit, inputs, outputs.data(), poll, execution)
    if code != HR_OK:
        fail(state, unit.node, code, "")
    state.lock.lock()
    if code != HR_OK:
        finish_failed(state, plan, item.unit, item.iteration)
        return
    if start and state.traced:
        record_unit(state, plan, item.unit, outputs.data(), start)
    finish(state, plan, item.unit, item.iteration, outputs.data())


cdef void run_merge(ExecutionState* state, ExecutorPlan plan, Ready item) noexcept nogil:
    cdef Unit* unit = &plan.units[item.unit]
    cdef OwnedTensor outputs[2]
    cdef int32_t chosen = item.iteration.units[unit.local].merged - 1
    cdef hr_tensor* index = outputs[1].get()
    if chosen < 0:
        finish(state, plan, item.unit, item.iteration, NULL)
        return
    if unit.needs_value and not has_value(
            state, unit, item.iteration.slots[unit.first_slot + chosen].get()):
        finish_failed(state, plan, item.unit, item.iteration)
        return
    outputs[0].take_from(item.iteration.slots[unit.first_slot + chosen])
    if unit.n_ports > 1 and has_consumers(plan, unit.first_port + 1):
        index.dtype = HR_INT32
        index.rank = 0
        if allocate_tensor(index) != HR_OK:
            fail_memory(state, "no memory for a merge's index")
        else:
            (<int32_t*>index.data)[0] = chosen
    finish(state, plan, item.unit, item.iteration, outputs)


cdef inline bint has_consumers(ExecutorPlan plan, int32_t port) noexcept nogil:
    return plan.ports[port].n_targets != 0 or plan.ports[port].n_fetches != 0
