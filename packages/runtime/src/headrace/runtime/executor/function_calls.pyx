# cython: language_level=3
"""Calls of functions from kernels, outside of steps (hr_function_api of kernel.h).

A body of one segment runs like a static step, without the GIL: on the calling thread if it is
short, otherwise on the session's pool. Any other body runs on the dynamic executor, without a
thread of its own: where nothing is ready, its driver returns, and what makes something ready hands
it to the pool again.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.executor.executor cimport Driven, begin_execution, drive_execution
from headrace.runtime.executor.executor_plan cimport ExecutorPlan
from headrace.runtime.executor.executor_state cimport ExecutionState
from headrace.runtime.executor.propagation cimport fail, propagate_value
from headrace.runtime.executor.step cimport keep_error
from headrace.runtime.kernels.kernel_table cimport is_python_kernel
from headrace.runtime.memory.buffer cimport OwnedTensor, buffer_release, copy_tensor
from headrace.runtime.memory.kernel_abi cimport (
    HR_ABORTED, HR_CANCELLED, HR_INVALID_ARGUMENT, HR_OK, HR_RESOURCE_EXHAUSTED, hr_buffer,
    hr_code, hr_object, hr_tensor,
)
from headrace.runtime.passes.program cimport Program, ProgramNode
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.plan.executable cimport (
    Executable, Lease, RunBuffers, SegmentOutput, fail_no_room, run_entries,
)
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.state.context cimport (
    HR_REPLAN, Run, StepFunctions, hr_function_api, run_begin, run_code, run_fail_text, set_functions,
)
from headrace.runtime.state.session_owner cimport SessionFunctions, SessionOwner, hr_function
from headrace.runtime.threads.pools cimport (
    InterOpPool, PoolCall, begin_kernel_thread, end_kernel_thread, flush_denormals,
    process_inter_op_pool, restore_denormals, steady_ns,
)

from headrace.runtime.executor.dynamic_step import DynamicStep

ctypedef void (*CallDone)(void* argument, hr_code code, const char* message) noexcept nogil

cdef extern from "headrace/kernel.h" nogil:
    ctypedef struct hr_scope:
        pass
    enum:
        HR_CALL_HERE
        HR_CALL_ONE_THREAD

cdef extern from "executor/call_scopes.hpp" namespace "headrace" nogil:
    cdef cppclass ScopedCall:
        void (*end)(ScopedCall*, hr_code, const char*) noexcept nogil

    cbool enter_scope(hr_scope* scope, ScopedCall* call, string* why)
    void leave_scope(hr_scope* scope, ScopedCall* call)
    void close_functions(SessionFunctions& session, const char* why, cbool wait)
    void end_all_scopes(SessionFunctions& session, const char* why)
    cbool leave_functions(SessionFunctions& session, const char* why)
    void drop_scope_bodies(SessionFunctions& session)
    hr_code body_of_scope(hr_scope* scope, hr_function* function, shared_ptr[void]* body,
                          string* error)
    void end_scopes_of(SessionFunctions& session, const vector[hr_object*]& objects,
                       const char* why)
    void set_thread_hooks(void (*begin)() noexcept nogil, void (*end)() noexcept nogil)

cdef extern from "executor/call_scopes.hpp" namespace "headrace":
    shared_ptr[void] shared_python(PyObject* made)

cdef extern from "executor/function_call.hpp" namespace "headrace" nogil:
    cdef cppclass Call:
        hr_function* function
        shared_ptr[void] body
        hr_scope* scope
        const hr_tensor* const* inputs
        hr_tensor* const* outputs
        CallDone done
        void* argument
        uint32_t flags

    cdef cppclass WaitingCall:
        Call call

    cdef cppclass ScopedRun(ScopedCall):
        Run run

    cdef cppclass DynamicCall(ScopedCall):
        ExecutionState state
        Call call
        PoolCall waits

    cdef cppclass CallTensors:
        cbool hold(size_t n)
        hr_tensor* data()

    WaitingCall* new_waiting_call(const Call& call)   # null: out of memory
    DynamicCall* new_dynamic_call(const Call& call, size_t n_frames, size_t n_fetches)
    string call_error(Run* run)
    void fill_function_api(
        hr_function_api* api,
        void (*call)(hr_function*, hr_scope*, uint32_t, const hr_tensor* const*,
                     hr_tensor* const*, CallDone, void*) noexcept nogil)

# Plans that one call may try while other threads change the shapes of its variables.
cdef int MOST_PLANS = 16
# Calls that take longer run on the pool, where that is allowed: submitting one takes some 5 us.
cdef int64_t SHORT_NS = 20_000
cdef const char* NO_MEMORY = b"no memory for a result of a function"


# ---- compiled functions ----------------------------------------------------------------------------

cdef class CompiledFunction:
    def __init__(self, SessionOwner owner, Program program, Segments segments, bint dynamic):
        cdef size_t i
        cdef int32_t value
        self.owner = owner
        self.owner_pointer = <void*>owner
        self.program = program
        feeds = {program.feeds[i]: i for i in range(program.feeds.size())
                 if program.feeds[i] >= 0}
        outputs = {}
        if not segments.whole or dynamic:
            self.plan = DynamicStep(owner, program, segments, not dynamic).plan
            self.plan_pointer = <void*>self.plan
        elif segments.segments.size():
            self.runner = SegmentRunner()
            self.runner.program = program
            self.runner.segments = segments
            self.runner.number = 0
            self.runner.session = owner.state
            self.runner.intra_op_threads = owner.intra_op_threads
            self.runner_pointer = <void*>self.runner
            for i in range(segments.segments[0].n_inputs):
                self.input_of.push_back(feeds[segments.inputs[i]])
            outputs = {segments.outputs[i]: i for i in range(segments.outputs.size())}
        for i in range(program.fetches.size()):
            value = program.fetches[i]
            if value in feeds:
                self.output_of.push_back(-1 - <int32_t>feeds[value])
            else:
                self.output_of.push_back(outputs.get(value, 0))
        self.waits = self.plan is not None or self.calls_python()

    cdef bint calls_python(self):
        cdef ProgramNode node
        for node in self.program.nodes:
            if node.kernel != NULL and is_python_kernel(node.kernel):
                return True
        return False


cdef hr_function* new_function(CompiledFunction compiled, bytes key, bytes name, list inputs,
                               list outputs, bint draws) except NULL:
    cdef hr_function* made = new hr_function()
    made.key = key
    made.name = name
    made.draws = draws
    for dtype in inputs:
        made.inputs.push_back(dtype)
    for dtype in outputs:
        made.outputs.push_back(dtype)
    made.waits = compiled.waits
    made.body = body_pointer(compiled)
    return made


cdef shared_ptr[void] body_pointer(object compiled):
    return shared_python(<PyObject*>compiled)


cdef void drop_bodies_of_scopes(SessionFunctions* session) noexcept nogil:
    drop_scope_bodies(session[0])


cdef void close_session_functions(SessionFunctions* session, const char* why,
                                  cbool wait) noexcept nogil:
    close_functions(session[0], why, wait)


cdef void end_session_scopes(SessionFunctions* session, const char* why) noexcept nogil:
    end_all_scopes(session[0], why)


cdef cbool leave_session_functions(SessionFunctions* session, const char* why) noexcept nogil:
    return leave_functions(session[0], why)


cdef void end_scopes_of_objects(SessionFunctions* session, const vector[hr_object*]& objects,
                                const char* why) noexcept nogil:
    end_scopes_of(session[0], objects, why)


# ---- where a call runs -----------------------------------------------------------------------------

cdef void call_function(hr_function* function, hr_scope* scope, uint32_t flags,
                        const hr_tensor* const* inputs, hr_tensor* const* outputs, CallDone done,
                        void* argument) noexcept nogil:
    cdef Call call
    cdef WaitingCall* waiting
    cdef string message
    cdef hr_code code
    call.function = function
    call.body = function.body_now()
    call.scope = scope
    call.inputs = inputs
    call.outputs = outputs
    call.done = done
    call.argument = argument
    call.flags = flags
    if call.body.get() == NULL:
        done(argument, HR_CANCELLED, "the session was closed")
        return
    if function.draws:
        code = body_of_scope(scope, function, &call.body, &message)
        if code != HR_OK:
            done(argument, code, message.c_str())
            return
    if flags & HR_CALL_HERE or is_short(call.body.get()):
        run_call(&call)
        return
    waiting = new_waiting_call(call)
    if waiting == NULL:
        done(argument, HR_RESOURCE_EXHAUSTED, "no memory for a call")
    elif not submit(call.body.get(), run_waiting, waiting):
        run_waiting(waiting)


cdef bint is_short(void* body) noexcept nogil:
    """Whether the calling thread may run it although it has other calls to begin."""
    if (<CompiledFunction>body).waits:
        return False
    return (<CompiledFunction>body).runner_pointer == NULL or \
        0 < (<CompiledFunction>body).took_ns.get() < SHORT_NS


cdef bint submit(void* body, void (*work)(void*) noexcept nogil, void* argument) noexcept nogil:
    """Runs work on the session's pool, or on that of the process if the session has none."""
    cdef shared_ptr[InterOpPool] pool = \
        (<SessionOwner>(<CompiledFunction>body).owner_pointer).inter_op_pool
    if pool.get() != NULL and pool.get().size() > 0 and pool.get().submit(work, argument):
        return True
    pool = process_inter_op_pool()
    return pool.get().submit(work, argument)


cdef void run_waiting(void* argument) noexcept nogil:
    cdef WaitingCall* waiting = <WaitingCall*>argument
    run_call(&waiting.call)
    del waiting


cdef void run_call(Call* call) noexcept nogil:
    if (<CompiledFunction>call.body.get()).plan_pointer != NULL:
        start_dynamic(call)
    else:
        run_static(call)


# ---- one kernel schedule -----------------------------------------------------------------------------

cdef void run_static(Call* call) noexcept nogil:
    cdef ScopedRun scoped
    cdef string message
    cdef uint64_t mode
    cdef hr_code code = HR_CANCELLED
    begin_function_run(&scoped.run, call.body.get())
    if not enter_scope(call.scope, &scoped, &message):
        call.done(call.argument, HR_CANCELLED, message.c_str())
        return
    mode = flush_denormals()
    code = compute(call, &scoped.run, &message)
    restore_denormals(mode)
    leave_scope(call.scope, &scoped)
    call.done(call.argument, code, message.c_str())


cdef void begin_function_run(Run* run, void* body) noexcept nogil:
    cdef void* owner = (<CompiledFunction>body).owner_pointer
    run_begin(run, (<SessionOwner>owner).state, 1)
    run.functions = <StepFunctions*>(<SessionOwner>owner).functions.get()


cdef hr_code compute(Call* call, Run* run, string* message) noexcept nogil:
    cdef void* body = call.body.get()
    cdef CallTensors tensors
    cdef size_t i, n = (<CompiledFunction>body).input_of.size()
    cdef hr_code code = HR_OK
    cdef int attempt
    if not tensors.hold(n):
        return HR_RESOURCE_EXHAUSTED
    for i in range(n):
        tensors.data()[i] = call.inputs[(<CompiledFunction>body).input_of[i]][0]
    if (<CompiledFunction>body).runner_pointer == NULL:
        code = give_outputs(call, run, NULL, NULL)
        return code if code == HR_OK else failed(run, message)
    for attempt in range(MOST_PLANS):
        code = try_plan(call, run, tensors.data(), message)
        if code != HR_REPLAN:
            return code
    message.assign(b"variables that the function reads changed their shapes at each attempt")
    return HR_ABORTED


cdef hr_code failed(Run* run, string* message) noexcept nogil:
    """The error of a run whose nodes still exist."""
    message[0] = call_error(run)
    return run_code(run) if run_code(run) != HR_OK else HR_CANCELLED


cdef hr_code try_plan(Call* call, Run* run, const hr_tensor* inputs,
                      string* message) noexcept nogil:
    cdef void* body = call.body.get()
    cdef shared_ptr[Executable] chosen
    cdef Lease lease
    cdef Executable* executable
    cdef RunBuffers* buffers
    cdef int64_t start
    cdef size_t i
    cdef hr_code code
    chosen = (<SegmentRunner>(<CompiledFunction>body).runner_pointer).lookup(inputs, 1)
    if chosen.get() == NULL:
        chosen = planned(body, run, inputs)
        if chosen.get() == NULL:
            return failed(run, message)
    if not lease.begin(chosen):
        fail_no_room(run, chosen.get()[0])
        return failed(run, message)
    executable = lease.executable()
    buffers = lease.buffers()
    for i in range(executable.input_tensor.size()):
        buffers.tensors[executable.input_tensor[i]] = inputs[i]
    start = steady_ns()
    code = run_entries(executable, buffers, run)
    (<CompiledFunction>body).took_ns.set(steady_ns() - start + 1)
    if code == HR_OK:
        code = give_outputs(call, run, executable, buffers)
    if code == HR_OK:
        return code
    return code if code == HR_REPLAN else failed(run, message)


cdef shared_ptr[Executable] planned(void* body, Run* run, const hr_tensor* inputs) noexcept nogil:
    """A new executable; null: the run has an error."""
    cdef shared_ptr[Executable] found
    with gil:
        try:
            found = (<CompiledFunction>body).runner.find(inputs, 1)
        except BaseException as error:
            keep_error(run, NULL, error, (<CompiledFunction>body).program)
    return found


cdef hr_code give_outputs(Call* call, Run* run, Executable* executable,
                          RunBuffers* buffers) noexcept nogil:
    """Gives the caller counted references to the results."""
    cdef void* body = call.body.get()
    cdef SegmentOutput* output
    cdef const hr_tensor* value
    cdef hr_buffer* owner
    cdef OwnedTensor result
    cdef size_t i
    cdef int32_t which
    for i in range((<CompiledFunction>body).output_of.size()):
        which = (<CompiledFunction>body).output_of[i]
        if which < 0:
            result.share(call.inputs[-1 - which][0])
        else:
            output = &executable.outputs[which]
            result.share(buffers.tensors[output.tensor],
                         output.constant if output.constant != NULL
                         else buffers.tensors[output.root].owner)
        if take_counted(&result, call.outputs[i]) != HR_OK:
            drop_outputs(call, i)
            return run_fail_text(run, HR_RESOURCE_EXHAUSTED, NO_MEMORY)
    return HR_OK


cdef hr_code take_counted(OwnedTensor* value, hr_tensor* output) noexcept nogil:
    """Gives the caller a value. A constant is copied: the body, whose memory it is in, may end before
    what the caller keeps the result in."""
    if value.get().owner == NULL:
        return copy_tensor(value.get(), output)
    output[0] = value.take()
    return HR_OK


cdef void drop_outputs(Call* call, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        buffer_release(call.outputs[i].owner)
        call.outputs[i].owner = NULL


# ---- the dynamic executor ----------------------------------------------------------------------------

cdef void start_dynamic(Call* call) noexcept nogil:
    cdef void* plan = (<CompiledFunction>call.body.get()).plan_pointer
    cdef void* owner = (<CompiledFunction>call.body.get()).owner_pointer
    cdef DynamicCall* made = new_dynamic_call(
        call[0], (<ExecutorPlan>plan).frames.size(),
        (<CompiledFunction>call.body.get()).output_of.size())
    cdef string message
    cdef OwnedTensor value
    cdef int32_t unit
    cdef size_t i
    if made == NULL or not begin_execution(&made.state, owner, plan, False) or \
            not process_inter_op_pool().get().ready():
        del made
        call.done(call.argument, HR_RESOURCE_EXHAUSTED, "no memory for a call")
        return
    if call.flags & HR_CALL_ONE_THREAD:
        made.state.intra_op_threads = 1
    made.state.resume = resume
    made.state.resume_argument = made
    made.waits.work = drive
    made.waits.argument = made
    made.end = end_dynamic
    if not enter_scope(call.scope, made, &message):
        del made
        call.done(call.argument, HR_CANCELLED, message.c_str())
        return
    made.state.lock.lock()
    for i in range((<ExecutorPlan>plan).feed_units.size()):
        unit = (<ExecutorPlan>plan).feed_units[i]
        if unit >= 0:
            value.share(call.inputs[i][0])
            propagate_value(&made.state, <ExecutorPlan>plan,
                            (<ExecutorPlan>plan).units[unit].first_port,
                            made.state.root_iteration, &value)
    made.state.lock.unlock()
    drive(made)


cdef void end_dynamic(ScopedCall* scoped, hr_code code, const char* why) noexcept nogil:
    fail(&(<DynamicCall*>scoped).state, NULL, code, why)


cdef void resume(void* argument) noexcept nogil:
    """Goes on with a call; it needs no memory, since there is no caller to report its lack to."""
    cdef DynamicCall* call = <DynamicCall*>argument
    cdef shared_ptr[InterOpPool] pool = \
        (<SessionOwner>(<CompiledFunction>call.call.body.get()).owner_pointer).inter_op_pool
    if pool.get() != NULL and pool.get().size() > 0 and pool.get().submit(&call.waits):
        return
    pool = process_inter_op_pool()
    pool.get().submit(&call.waits)    # it has a thread since the call began


cdef void drive(void* argument) noexcept nogil:
    """Runs what is ready. The call may be gone when this returns."""
    cdef DynamicCall* dynamic = <DynamicCall*>argument
    cdef Call call
    cdef string message
    cdef hr_code code
    if drive_execution(&dynamic.state, <ExecutorPlan>dynamic.state.plan) != Driven.OVER:
        return
    leave_scope(dynamic.call.scope, dynamic)
    code = run_code(&dynamic.state.run)
    if code == HR_OK:
        code = take_results(dynamic, &message)
    else:
        message = call_error(&dynamic.state.run)
    call = dynamic.call
    del dynamic
    call.done(call.argument, code, message.c_str())


cdef hr_code take_results(DynamicCall* dynamic, string* message) noexcept nogil:
    cdef size_t i, n = dynamic.state.fetched.size()
    for i in range(n):
        if dynamic.state.fetch_state[i] != 1:
            message.assign(b"a result of the function has no value: it lies in a branch that was "
                           b"not taken")
            return HR_INVALID_ARGUMENT
    for i in range(n):
        if take_counted(&dynamic.state.fetched[i], dynamic.call.outputs[i]) != HR_OK:
            drop_outputs(&dynamic.call, i)
            message.assign(NO_MEMORY)
            return HR_RESOURCE_EXHAUSTED
    return HR_OK


set_thread_hooks(begin_kernel_thread, end_kernel_thread)

cdef hr_function_api function_api
fill_function_api(&function_api, call_function)
set_functions(&function_api)
