# cython: language_level=3
"""Running a segment, or a native loop, as one unit of a dynamic step.

Small segments run on the thread that takes them. A segment that is worth several cores goes to the
intra-op pool if nothing else of the step is ready; otherwise it shares the cores with the other
units.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.state.context cimport (
    HR_REPLAN, Run, run_blame, run_blamed, run_code, run_fail_text,
)
from headrace.runtime.plan.executable cimport (
    EarlyOutput, Executable, Lease, RunBuffers, SegmentOutput, fail_no_room, run_entries, run_part,
    run_traced,
)
from headrace.runtime.executor.step cimport keep_error
from headrace.runtime.executor.executor_plan cimport ExecutorPlan, Unit
from headrace.runtime.executor.asynchronous_nodes cimport send_early
from headrace.runtime.executor.device_work cimport begin_work, wait_for_room
from headrace.runtime.executor.executor_state cimport (
    BUSY, ExecutionState, Iteration, keep_named,
)
from headrace.runtime.memory.kernel_abi cimport (
    HR_ABORTED, HR_INTERNAL, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_device, hr_tensor,
)
from headrace.runtime.executor.native_loop cimport LoopContext, NativeLoop, run_native
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.threads.pools cimport (
    begin_heavy_unit, end_heavy_unit, expected_ns, kHeavy, kLong, kParallel, others_compute,
    run_intra_op, steady_ns, thread_number, weight_of,
)
from headrace.runtime.executor.trace cimport Clock, trace_device_entries, trace_entries


# Plans that one segment may try while other threads change the shapes of its variables.
cdef int MOST_PLANS = 16


cdef hr_code run_segment(ExecutionState* state, ExecutorPlan plan, int unit,
                         Iteration* iteration, const hr_tensor* inputs, OwnedTensor* outputs,
                         bint alone, void (*poll)(void*) noexcept nogil,
                         void* poll_argument) noexcept nogil:
    cdef hr_code code = HR_REPLAN
    cdef int attempt
    for attempt in range(MOST_PLANS):
        code = try_segment(state, plan, unit, iteration, inputs, outputs, alone, poll,
                           poll_argument)
        if code != HR_REPLAN:
            return code
    return run_fail_text(&state.run, HR_ABORTED,
                         "variables that the step reads changed their shapes at each attempt")


cdef hr_code try_segment(ExecutionState* state, ExecutorPlan plan, int unit,
                         Iteration* iteration, const hr_tensor* inputs, OwnedTensor* outputs,
                         bint alone, void (*poll)(void*) noexcept nogil,
                         void* poll_argument) noexcept nogil:
    """Returns HR_REPLAN where a variable has another shape than planned; nothing has had an effect."""
    cdef int number = plan.units[unit].number
    cdef shared_ptr[Executable] chosen
    cdef double ns
    cdef bint timed
    cdef int64_t start = 0, took_ns = 0
    cdef int32_t before = 0
    cdef hr_code code
    chosen = (<SegmentRunner>plan.runner_pointers[number]).lookup(inputs, 1)
    if chosen.get() == NULL:
        chosen = specialised(state, number, inputs, 1)
        if chosen.get() == NULL:
            return HR_INTERNAL
        if chosen.get().memory == NULL:
            plan.weights[unit].set(weight_of(cost_of(chosen.get())))
    if chosen.get().memory != NULL:
        return run_on_device(state, plan.units[unit].device, unit, iteration, inputs, outputs,
                             chosen, poll, poll_argument)
    ns = cost_of(chosen.get()) if plan.weights[unit].get() else 0
    if alone and state.intra_op_threads > 1 and ns > kParallel and \
            (ns > kLong or not others_compute()):
        if run_wide(state, unit, iteration, inputs, outputs, poll, poll_argument, &code, &took_ns):
            if code == HR_OK:
                # About the time of one thread, and no less, so that a wrong estimate is corrected.
                chosen.get().cost.add_sample(<double>took_ns * state.intra_op_threads)
                plan.weights[unit].set(weight_of(cost_of(chosen.get())))
            return code
    timed = chosen.get().cost.wants_sample()
    if timed:
        start = steady_ns()
    if ns > kHeavy:
        before = begin_heavy_unit()
    code = run_on(state, &state.run, unit, iteration, inputs, outputs, chosen)
    if ns > kHeavy:
        end_heavy_unit(before)
    if timed:
        chosen.get().cost.add_sample(<double>(steady_ns() - start))
        plan.weights[unit].set(weight_of(cost_of(chosen.get())))
    return code


cdef hr_code run_on_device(ExecutionState* state, int32_t device, int unit, Iteration* iteration,
                           const hr_tensor* inputs, OwnedTensor* outputs,
                           shared_ptr[Executable]& chosen, void (*poll)(void*) noexcept nogil,
                           void* poll_argument) noexcept nogil:
    """Enqueues the segment's work; what it makes is there in the order of the device."""
    cdef Run* run = state.on_devices[device].get()
    cdef hr_device* memory = chosen.get().memory
    cdef hr_code code = begin_work(state, device, memory, poll, poll_argument)
    if code != HR_OK:
        return code
    code = run_on(state, run, unit, iteration, inputs, outputs, chosen)
    memory.flush(memory)
    state.busy[device] = BUSY
    if code != HR_OK and code != HR_REPLAN:
        run_fail_text(&state.run, run_code(run), run.message)
        run_blame(&state.run, run_blamed(run))
    return code


cdef inline double cost_of(const Executable* executable) noexcept nogil:
    return executable.cost.ns(expected_ns(executable.flops, executable.bytes_moved))


cdef hr_code run_on(ExecutionState* state, Run* run, int unit, Iteration* iteration,
                    const hr_tensor* inputs, OwnedTensor* outputs,
                    shared_ptr[Executable]& chosen) noexcept nogil:
    cdef Lease lease
    cdef Executable* executable
    cdef RunBuffers* buffers
    cdef SegmentOutput* output
    cdef size_t i
    cdef hr_code code
    if not lease.begin(chosen):
        return fail_no_room(run, chosen.get()[0])
    executable = lease.executable()
    buffers = lease.buffers()
    for i in range(executable.input_tensor.size()):
        buffers.tensors[executable.input_tensor[i]] = inputs[i]
    if state.traced:
        code = run_with_clock(state, run, unit, iteration, executable, buffers)
    elif executable.early.size():
        code = run_and_send(state, run, unit, iteration, executable, buffers, NULL)
    elif executable.memory != NULL:
        code = run_in_parts(state, (<ExecutorPlan>state.plan).units[unit].device, run, executable,
                            buffers)
    else:
        code = run_entries(executable, buffers, run)
    if code == HR_OK:
        for i in range(executable.outputs.size()):
            output = &executable.outputs[i]
            # A constant belongs to the executable, which may be dropped while the step still uses
            # the value.
            outputs[i].share(buffers.tensors[output.tensor],
                             output.constant if output.constant != NULL
                             else buffers.tensors[output.root].owner)
    if code != HR_OK or state.traced:
        # Errors of the step still name its nodes, some of which the executable owns.
        keep_named(state, chosen)
    return code


cdef hr_code run_in_parts(ExecutionState* state, int32_t device, Run* run, Executable* executable,
                          RunBuffers* buffers) noexcept nogil:
    """Enqueues all entries, but never more than the device does in short time."""
    cdef size_t at = 0, n = executable.entries.size(), end
    cdef hr_code code = HR_OK
    while code == HR_OK and at < n:
        end = at + wait_for_room(state, device, n - at)
        code = run_part(executable, buffers, run, at, end, NULL)
        at = end
    return code


cdef hr_code run_with_clock(ExecutionState* state, Run* run, int unit, Iteration* iteration,
                            Executable* executable, RunBuffers* buffers) noexcept nogil:
    cdef Clock clock
    cdef hr_code code
    cdef bint kept
    if executable.memory != NULL:
        run.first_profiled = state.device_trace.get().reserve(executable.entries.size())
        run.ctx.profile = state.device_trace.get().abi()
    if not clock.start(executable.entries.size()) or run.first_profiled < 0:
        return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for the step's trace")
    if executable.early.size():    # the clock starts with zeros
        code = run_and_send(state, run, unit, iteration, executable, buffers, clock.data())
    else:
        code = run_traced(executable, buffers, run, clock.data())
    if executable.memory != NULL:
        run.ctx.profile = NULL
    state.lock.lock()
    kept = executable.memory == NULL or trace_device_entries(
        state.device_trace.get(), run.first_profiled, executable, buffers)
    kept = kept and trace_entries(state.records, executable, buffers, clock.data(), thread_number())
    state.lock.unlock()
    if not kept:
        return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for the step's trace")
    return code


cdef hr_code run_and_send(ExecutionState* state, Run* run, int unit, Iteration* iteration,
                          Executable* executable, RunBuffers* buffers,
                          int64_t* clock_ns) noexcept nogil:
    """Runs all entries; values for Sends leave as soon as they are complete."""
    cdef size_t k, at = 0
    cdef EarlyOutput* early
    cdef SegmentOutput* output
    cdef OwnedTensor value
    cdef hr_code code
    for k in range(executable.early.size()):
        early = &executable.early[k]
        code = run_part(executable, buffers, run, at, <size_t>early.after, clock_ns)
        if code != HR_OK:
            return code
        at = <size_t>early.after
        output = &executable.outputs[early.output]
        value.share(buffers.tensors[output.tensor], buffers.tensors[output.root].owner)
        code = send_early(state, <ExecutorPlan>state.plan, run, unit, iteration, early.output,
                          value.get())
        if code != HR_OK:
            return code
    return run_part(executable, buffers, run, at, executable.entries.size(), clock_ns)


# ---- on several threads -----------------------------------------------------------------------------

cdef struct WideWork:
    ExecutionState* state
    int unit
    Iteration* iteration
    int number
    shared_ptr[Executable]* executable
    const hr_tensor* inputs
    OwnedTensor* outputs
    hr_code code
    int64_t took_ns


cdef bint run_wide(ExecutionState* state, int unit, Iteration* iteration, const hr_tensor* inputs,
                   OwnedTensor* outputs, void (*poll)(void*) noexcept nogil, void* poll_argument,
                   hr_code* code, int64_t* took_ns) noexcept nogil:
    """Runs the segment on the intra-op pool; False: the pool is busy, and nothing ran."""
    cdef WideWork work
    cdef shared_ptr[Executable] executable
    work.state = state
    work.unit = unit
    work.iteration = iteration
    work.number = (<ExecutorPlan>state.plan).units[unit].number
    work.inputs = inputs
    work.outputs = outputs
    work.executable = &executable
    if not run_intra_op(work_wide, &work, state.intra_op_threads, poll, poll_argument):
        return False
    code[0] = work.code
    took_ns[0] = work.took_ns
    if executable.get() == NULL:
        code[0] = HR_INTERNAL
    elif work.code != HR_OK and work.code != HR_REPLAN:
        run_fail_text(&state.run, run_code(&state.wide), state.wide.message)
        run_blame(&state.run, run_blamed(&state.wide))
    return True


cdef void work_wide(void* argument) noexcept nogil:
    cdef WideWork* work = <WideWork*>argument
    # Planning runs here as well: folded kernels may use all threads.
    work.executable[0] = specialised(work.state, work.number, work.inputs, work.state.intra_op_threads)
    if work.executable.get() != NULL:
        work.took_ns = steady_ns()
        work.code = run_on(work.state, &work.state.wide, work.unit, work.iteration, work.inputs,
                           work.outputs, work.executable[0])
        work.took_ns = steady_ns() - work.took_ns


# ---- what needs Python -------------------------------------------------------------------------------

cdef shared_ptr[Executable] specialised(ExecutionState* state, int number, const hr_tensor* inputs,
                                        int threads) noexcept nogil:
    """The executable for these shapes; null: planning failed, and the step has the error."""
    cdef shared_ptr[Executable] found
    found = (<SegmentRunner>(<ExecutorPlan>state.plan).runner_pointers[number]).lookup(
        inputs, threads)
    if found.get() != NULL:
        return found
    with gil:
        try:
            found = (<SegmentRunner>(<ExecutorPlan>state.plan).runners[number]).find(
                inputs, threads)
        except BaseException as error:
            keep_error(&state.run, state.errors, error, (<ExecutorPlan>state.plan).program)
    return found


cdef hr_code run_loop(ExecutionState* state, Unit* unit, const hr_tensor* inputs, OwnedTensor* outputs,
                      void (*poll)(void*) noexcept nogil, void* poll_argument) noexcept nogil:
    cdef LoopContext context
    context.run = &state.run
    context.wide = &state.wide
    context.intra_op_threads = state.intra_op_threads
    context.errors = state.errors
    context.poll = poll
    context.poll_argument = poll_argument
    context.rounds = 0
    return run_native(<NativeLoop>(<ExecutorPlan>state.plan).loop_pointers[unit.number], &context,
                      inputs, outputs)
