# cython: language_level=3
"""Units that finish in a callback on any thread: asynchronous kernels and receives.

No thread waits for them (white paper §5.3): a call owns everything that its kernel may access, and
the callback propagates the outputs.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset
from libcpp.memory cimport unique_ptr
from libcpp.utility cimport move

from headrace.runtime.memory.buffer cimport OwnedTensor, allocate_tensor, copy_tensor
from headrace.runtime.state.context cimport Run, SessionState, run_blame, run_fail_text
from headrace.runtime.executor.step cimport keep_error
from headrace.runtime.executor.propagation cimport fail, finish, finish_failed, record_unit
from headrace.runtime.state.error_boundary cimport call_compute_async, call_prepare
from headrace.runtime.executor.executor_plan cimport RUN_SEND, ExecutorPlan, Port, Target, Unit
from headrace.runtime.executor.executor_state cimport AWAITED, ExecutionState, Iteration
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_CANCELLED, HR_INTERNAL, HR_INVALID_ARGUMENT, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_node,
    hr_ctx, hr_request, hr_tensor,
)
from headrace.runtime.memory.worker_abi cimport hr_edge_key, hr_rendezvous
from headrace.runtime.plan.segment_builder cimport ensure_state
from headrace.runtime.threads.pools cimport begin_prepare, end_prepare
from headrace.runtime.executor.trace cimport (
    DeviceTrace, TraceRecord, add_output, monotonic_ns,
)


cdef extern from "graph/input_ranks.hpp" namespace "headrace" nogil:
    hr_code check_input_ranks(GraphNode* node, const hr_request* request)

cdef extern from "executor/async_call.hpp" namespace "headrace" nogil:
    cdef cppclass AsyncCall:
        ExecutionState* state
        int32_t unit
        Iteration* iteration
        OwnedTensor* outputs
        hr_tensor** output_pointers
        const hr_tensor** input_pointers
        void* plan
        void (*destroy)(void*) noexcept nogil
        OwnedTensor workspace
        int64_t start_ns
        void end_plan()

    unique_ptr[AsyncCall] make_async_call "headrace::AsyncCall::make"(
        ExecutionState* state, int32_t unit, Iteration* iteration, int32_t n_inputs,
        int32_t n_outputs)
    hr_edge_key edge_key(int64_t edge, const Iteration* iteration)
    hr_rendezvous* rendezvous_of(ExecutionState* state, int64_t edge)
    bint check_received(Run* run, const hr_node* node, const hr_tensor* value)


cdef unique_ptr[AsyncCall] new_call(ExecutionState* state, int32_t number,
                         Iteration* iteration) noexcept nogil:
    cdef Unit* unit = &(<ExecutorPlan>state.plan).units[number]
    cdef int32_t i
    cdef unique_ptr[AsyncCall] call = make_async_call(
        state, number, iteration, unit.n_inputs, max(unit.n_ports, 1))
    if call.get() == NULL:
        fail_unit(state, number, iteration, HR_RESOURCE_EXHAUSTED, "no memory for a call")
    else:
        call.get().start_ns = monotonic_ns()
        for i in range(unit.n_inputs):
            call.get().input_pointers[i] = iteration.slots[unit.first_slot + i].get()
    return move(call)


cdef void fail_unit(ExecutionState* state, int32_t number, Iteration* iteration, hr_code code,
                  const char* message) noexcept nogil:
    fail(state, (<ExecutorPlan>state.plan).units[number].node, code, message)
    state.lock.lock()
    finish_failed(state, <ExecutorPlan>state.plan, number, iteration)
    state.lock.unlock()


cdef void start_async(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil:
    cdef Unit* unit = &(<ExecutorPlan>state.plan).units[number]
    # From here on the kernel owns the call, and calls back when it is done.
    cdef AsyncCall* call = new_call(state, number, iteration).release()
    cdef hr_request request
    cdef void* kernel_state = NULL
    cdef hr_ctx* ctx = &state.run.ctx
    cdef hr_code code
    cdef int32_t i
    if call == NULL:
        return
    for i in range(unit.n_ports):
        call.outputs[i].get().dtype = unit.node.abi_node.output_dtypes[i]
    code = make_state(state, unit, &kernel_state)
    memset(&request, 0, sizeof(hr_request))
    request.size = sizeof(hr_request)
    request.node = &unit.node.abi_node
    request.inputs = call.input_pointers
    request.outputs = <hr_tensor* const*>call.output_pointers
    request.threads = 1
    if code == HR_OK:
        begin_prepare()
        code = check_input_ranks(<GraphNode*>unit.node, &request)
        if code == HR_OK:
            code = call_prepare(unit.kernel, kernel_state, &request)
        end_prepare()
        if code != HR_OK:
            run_fail_text(&state.run, code, unit.node.error.take().c_str())
        call.plan = request.plan
        call.destroy = request.destroy_plan
    if code == HR_OK and not request.shape_depends_on_data:
        for i in range(unit.n_ports):
            if code == HR_OK:
                code = allocate_tensor(call.outputs[i].get())
    if code == HR_OK and request.workspace:
        call.workspace.get().dtype = 4
        call.workspace.get().rank = 1
        call.workspace.get().dims[0] = <int64_t>request.workspace
        code = allocate_tensor(call.workspace.get())
    if code != HR_OK:
        kernel_done(call, code)
        return
    # Nothing is copied of what is empty, and nothing waited for.
    if state.busy.size() and unit.kernel.host_outputs and call.input_pointers[0].bytes:
        state.busy[unit.device] = AWAITED   # what it waits for ends after all work before it
        if state.traced:
            # Units on other threads have the context of the step.
            ctx = &state.on_devices[unit.device].get().ctx
            profile_copy(state, unit, call, ctx)
    call_compute_async(unit.kernel, ctx, kernel_state, call.plan,
                       <const hr_tensor* const*>call.input_pointers,
                       <hr_tensor* const*>call.output_pointers, call.workspace.get().data,
                       kernel_done, call)


cdef void profile_copy(ExecutionState* state, Unit* unit, AsyncCall* call,
                       hr_ctx* ctx) noexcept nogil:
    """Has the device report the time of a copy to the host."""
    cdef DeviceTrace* trace = state.device_trace.get()
    cdef int32_t number = trace.reserve(1)
    cdef TraceRecord* record
    ctx.profile = NULL
    if number < 0:
        return    # the trace lacks it
    record = &trace.entry(number)
    record.node = unit.node
    record.device = unit.device
    record.thread = 0
    add_output(record[0], 0, call.outputs[0].get()[0])
    trace.abi().entry = number
    ctx.profile = trace.abi()


cdef hr_code make_state(ExecutionState* state, Unit* unit, void** kernel_state) noexcept nogil:
    if unit.node.find_state(unit.kernel, kernel_state):
        return HR_OK
    cdef hr_code code = HR_INTERNAL   # an unforeseen path is never a success
    with gil:
        try:
            ensure_state(unit.node, unit.kernel, state.run.session, kernel_state)
            code = HR_OK
        except BaseException as error:
            keep_error(&state.run, state.errors, error, (<ExecutorPlan>state.plan).program)
    return code


cdef void kernel_done(void* argument, hr_code code) noexcept nogil:
    end_call(<AsyncCall*>argument, code, False)


cdef void end_call(AsyncCall* ended, hr_code code, bint dead) noexcept nogil:
    cdef unique_ptr[AsyncCall] call
    cdef ExecutionState* state = ended.state
    cdef int32_t number = ended.unit
    cdef Iteration* iteration = ended.iteration
    call.reset(ended)
    call.get().end_plan()  # while the step exists
    if code != HR_OK:
        call.reset()
        fail_unit(state, number, iteration, code, "")
        return
    state.lock.lock()
    if state.traced and not dead:
        record_unit(state, <ExecutorPlan>state.plan, number, call.get().outputs,
             call.get().start_ns)
    # Once the lock is released the step may have been freed, so nothing of it is accessed
    # afterwards.
    if dead:
        finish(state, <ExecutorPlan>state.plan, number, iteration, NULL)
    else:
        finish(state, <ExecutorPlan>state.plan, number, iteration, call.get().outputs)
    state.lock.unlock()


# ---- between devices ----------------------------------------------------------------------------------

cdef void start_recv(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil:
    cdef AsyncCall* call = new_call(state, number, iteration).release()
    cdef int64_t edge = (<ExecutorPlan>state.plan).units[number].edge
    cdef hr_edge_key key = edge_key(edge, iteration)
    cdef hr_rendezvous* rendezvous = rendezvous_of(state, edge)
    if call != NULL:
        rendezvous.recv(rendezvous, &key, received, call)


cdef void received(void* argument, hr_code code, const char* message, hr_tensor* value,
                   int32_t dead) noexcept nogil:
    cdef AsyncCall* call = <AsyncCall*>argument
    cdef GraphNode* node = (<ExecutorPlan>call.state.plan).units[call.unit].node
    if code == HR_OK and value != NULL and not dead:
        if check_received(&call.state.run, &node.abi_node, value):
            call.outputs[0].own(value[0])
            value.owner = NULL
        else:
            code = HR_INVALID_ARGUMENT
    elif code != HR_OK:
        run_fail_text(&call.state.run, code, message)
    end_call(call, code, dead != 0)


cdef void send(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil:
    cdef Unit* unit = &(<ExecutorPlan>state.plan).units[number]
    cdef bint dead = iteration.units[unit.local].dead != 0
    cdef hr_edge_key key = edge_key(unit.edge, iteration)
    cdef hr_rendezvous* rendezvous = rendezvous_of(state, unit.edge)
    cdef int64_t start = monotonic_ns()
    cdef const hr_tensor* value = NULL
    cdef OwnedTensor copy
    cdef hr_code code = HR_OK
    if not dead:
        value = iteration.slots[unit.first_slot].get()
    if value != NULL and value.owner == NULL and rendezvous == state.between_tasks:
        # A constant is in memory of this task's partition, which the receiver may outlive.
        code = copy_tensor(value, copy.get())
        value = copy.get()
    if code == HR_OK:
        code = rendezvous.send(rendezvous, &key, value, dead)
    if code != HR_OK and not state.run.cancelled.get():
        fail_unit(state, number, iteration, code, could_not_send(code))
        return
    state.lock.lock()
    if state.traced and not dead:
        record_unit(state, <ExecutorPlan>state.plan, number, iteration.slots, start)
    if dead:
        finish(state, <ExecutorPlan>state.plan, number, iteration, NULL)
    else:
        # It has no outputs; a pointer that is not null means that it is not dead.
        finish(state, <ExecutorPlan>state.plan, number, iteration, iteration.slots)
    state.lock.unlock()


cdef hr_code send_early(ExecutionState* state, ExecutorPlan plan, Run* run, int32_t number,
                        Iteration* iteration, int32_t output,
                        const hr_tensor* value) noexcept nogil:
    cdef Port* port = &plan.ports[plan.units[number].first_port + output]
    cdef Unit* unit
    cdef hr_edge_key key
    cdef hr_rendezvous* rendezvous
    cdef int32_t i, target
    cdef int64_t start
    cdef hr_code code
    for i in range(port.n_targets):
        target = plan.targets[port.first_target + i].unit
        unit = &plan.units[target]
        if unit.kind != RUN_SEND or unit.pending != 1:
            continue
        start = monotonic_ns()
        key = edge_key(unit.edge, iteration)
        rendezvous = rendezvous_of(state, unit.edge)
        code = rendezvous.send(rendezvous, &key, value, 0)
        if code != HR_OK:
            run_blame(run, unit.node)
            return run_fail_text(run, code, could_not_send(code))
        iteration.units[unit.local].merged = 1
        if state.traced:
            state.lock.lock()
            record_unit(state, plan, target, NULL, start)
            state.lock.unlock()
    return HR_OK


cdef const char* could_not_send(hr_code code) noexcept nogil:
    if code == HR_RESOURCE_EXHAUSTED:
        return "no memory to send a value"
    return "the value could not be sent"
