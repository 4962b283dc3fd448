# cython: language_level=3
"""The dynamic executor: one run of an ExecutorPlan.

Counts and a ready stack (white paper §3.1), frames and iterations (§4.4), asynchronous kernels
with continuations (§5.3). A step goes through four stages over and over: take a ready unit,
run it, deliver what it made, and end iterations and frames of which nothing is outstanding. It is
over when nothing is ready, running or awaited, also after an error: then the first error wins,
the rest is cancelled, and nothing is freed before the last callback came.
"""

import time

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.arrays cimport array_from_tensor, fetched, tensor_from_array
from headrace.runtime.buffer cimport allocate_tensor, buffer_release, buffer_retain, copy_tensor
from headrace.runtime.context cimport Run, run_begin, run_cancel, run_fail_text
from headrace.runtime.executor_plan cimport (
    RUN_ASYNC, RUN_ENTER, RUN_EXIT, RUN_FEED, RUN_LOOP, RUN_MERGE, RUN_NEXT, RUN_RECV,
    RUN_SEGMENT, RUN_SEND, RUN_SWITCH, ExecutorPlan, FrameInfo, Port, Target, Unit,
)
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport (
    HR_CANCELLED, HR_DEADLINE_EXCEEDED, HR_INT32, HR_INTERNAL, HR_OK, HR_RESOURCE_EXHAUSTED,
    hr_buffer, hr_code, hr_request, hr_tensor,
)
from headrace.runtime.native_loop cimport NativeLoop
from headrace.runtime.segment_runner cimport SegmentRunner
from headrace.runtime.specialisation cimport Leaving, Specialisation, ensure_state
from headrace.runtime.step cimport SessionOwner, run_error
from headrace.runtime.tape cimport BY_KERNEL, COUNTED, ENTERING, Frame, Tape


cdef extern from "executor_state.hpp" namespace "headrace" nogil:
    cdef cppclass Mutex "std::mutex":
        void lock()
        void unlock()

    cdef cppclass Condition "std::condition_variable":
        void notify_all()

    cdef cppclass Iteration:
        FrameRun* frame
        int64_t number
        int32_t outstanding
        Iteration* next
        FrameRun* children
        int32_t* pending
        int32_t* dead
        int32_t* merged
        hr_tensor* slots

    cdef cppclass Held:
        int32_t unit
        int32_t port
        hr_tensor value
        cbool dead

    cdef cppclass FrameRun:
        FrameRun() except +
        int32_t number
        FrameRun* sibling
        Iteration* parent
        int32_t enters_left
        cbool dead
        int64_t oldest
        int64_t next_number
        vector[Iteration*] live
        vector[Held] constants
        vector[Held] deferred

    cdef cppclass Ready:
        int32_t unit
        Iteration* iteration

    cdef cppclass TraceRecord:
        void* node
        int32_t unit
        int32_t lane
        int64_t start_ns
        int64_t end_ns

    ctypedef void (*ReceivedDone)(void*, hr_code, const char*, const hr_tensor*,
                                  int32_t) noexcept nogil

    cdef cppclass LocalRendezvous:
        hr_code send(const char* key, const hr_tensor* value, int32_t dead)
        void recv(const char* key, ReceivedDone done, void* argument)
        void abort(hr_code code, const char* message)
        void drain(void (*release)(void*) noexcept nogil)

    cdef cppclass ExecutionState:
        ExecutionState() except +
        Run run
        Mutex lock
        Condition changed
        vector[Ready] ready
        int32_t outstanding
        int32_t waiting
        cbool failed
        FrameRun root
        Iteration* root_iteration
        vector[vector[Iteration*]] pools
        vector[hr_tensor] fetched
        vector[int32_t] fetch_state
        LocalRendezvous rendezvous
        cbool traced
        vector[TraceRecord] records

    int64_t monotonic_ns()
    void wait_for_change(ExecutionState* state)
    Iteration* allocate_iteration(int32_t n_units, int32_t n_slots)


cdef extern from *:
    """
    #include "executor_state.hpp"
    static std::string send_key(const hr_node* node, uint64_t frame, int64_t iteration) {
      const char* data = nullptr;
      size_t size = 0;
      std::string key;
      if (node->api->attr_string(node, "tensor_name", &data, &size) == HR_OK) key.assign(data, size);
      return key + ";" + std::to_string(frame) + ":" + std::to_string(iteration);
    }
    static void drain_rendezvous(headrace::ExecutionState* s, void (*release)(hr_buffer*)) {
      s->rendezvous.drain(release);
    }
    """
    string send_key(const void* node, size_t frame, int64_t iteration) nogil
    void drain_rendezvous(ExecutionState* s, void (*release)(hr_buffer*) noexcept nogil) nogil


# An asynchronous kernel under way: owns what its kernel may look at until it calls back.
cdef struct AsyncCall:
    void* execution
    int32_t unit
    Iteration* iteration
    hr_tensor* outputs
    hr_tensor** output_pointers
    const hr_tensor** input_pointers
    void* plan
    void (*destroy_plan)(void*) noexcept nogil
    hr_tensor workspace
    int64_t start_ns


cdef inline ExecutionState* state_of(Execution e) noexcept nogil:
    return <ExecutionState*>e.state


cdef class Execution:
    def __init__(self, SessionOwner owner, ExecutorPlan plan, bint traced):
        cdef ExecutionState* state = new ExecutionState()
        cdef hr_tensor none
        self.state = state
        self.owner = owner
        self.plan = plan
        self.kept = []
        memset(&none, 0, sizeof(hr_tensor))
        run_begin(&state.run, owner.state, 1)
        state.traced = traced
        state.root.number = 0
        state.root.parent = NULL
        state.root.sibling = NULL
        state.root.enters_left = 0
        state.root.dead = False
        state.pools.resize(plan.frames.size())
        state.fetched.assign(plan.program.fetches.size(), none)
        state.fetch_state.assign(plan.program.fetches.size(), 0)
        state.lock.lock()
        state.root_iteration = new_iteration(self, &state.root)
        cdef int32_t unit
        if state.root_iteration != NULL:
            # Never complete before the step is: late feeds may come.
            state.root_iteration.outstanding += 1
            for unit in plan.roots:
                push(state, unit, state.root_iteration)
        state.lock.unlock()
        if state.root_iteration == NULL:
            raise MemoryError()

    def __dealloc__(self):
        cdef ExecutionState* state = state_of(self)
        cdef size_t i, j
        if state == NULL:
            return
        end_frame(self, &state.root)
        for i in range(state.pools.size()):
            for j in range(state.pools[i].size()):
                free(state.pools[i][j])
        for i in range(state.fetched.size()):
            buffer_release(state.fetched[i].owner)
        drain_rendezvous(state, buffer_release)
        del state

    cdef int feed(self, int number, object value) except -1:
        """Brings a fed value; strings are copied, other arrays borrowed until the step is over."""
        cdef int32_t unit = self.plan.feed_units[number]
        cdef hr_tensor t
        cdef ExecutionState* state = state_of(self)
        cdef vector[uint8_t] live
        if unit < 0:
            return 0
        cdef int32_t value_number = self.plan.program.feeds[number]
        self.kept.append(tensor_from_array(
            value, self.plan.program.values[value_number].dtype, &t, False))
        live.push_back(0)
        with nogil:
            state.lock.lock()
            deliver_unit(self, unit, state.root_iteration, &t, live.data(), False)
            state.lock.unlock()
            buffer_release(t.owner)
        return 0

    cdef bint has_fetch(self, int number) noexcept:
        return state_of(self).fetch_state[number] != 0

    cdef object fetch(self, int number):
        cdef ExecutionState* state = state_of(self)
        if state.fetch_state[number] != 1:
            name = self.plan.program.fetch_names[number]
            raise errors.InvalidArgumentError(
                None, None, f"fetch '{name}' has no value: it lies in a branch that was not taken")
        cdef hr_tensor t = state.fetched[number]
        found = array_from_tensor(&t)
        return found if t.rank else found[()]

    cdef bint advance(self, vector[int32_t]& wanted, double deadline) except -1:
        cdef ExecutionState* state = state_of(self)
        cdef bint over = False
        if deadline:
            state.run.deadline_ns = <int64_t>(deadline * 1e9)
        while True:
            with nogil:
                over = work(self, wanted)
            if over:
                break
            # Nothing is ready, or much was: now Ctrl-C and the clock have their turn.
            try:
                PyErr_CheckSignals()
            except BaseException as interrupt:
                if self.error is None:
                    self.error = interrupt
                cancel(self, HR_CANCELLED, "interrupted")
            if deadline and time.monotonic() > deadline:
                cancel(self, HR_DEADLINE_EXCEEDED, "the run took longer than its timeout")
                deadline = 0
        if self.error is not None:
            raise self.error
        if state.run.code != HR_OK:
            PyErr_CheckSignals()  # a Python kernel may have met one
            raise run_error(&state.run)
        return True

    def cancel(self, str reason):
        """Ends the step with CancelledError as soon as its kernels let go."""
        cancel(self, HR_CANCELLED, reason.encode())

    def trace_records(self) -> list:
        """(node, op, start_ns, end_ns) of what ran, if the execution was traced."""
        cdef ExecutionState* state = state_of(self)
        cdef size_t i
        cdef GraphNode* node
        out = []
        for i in range(state.records.size()):
            node = <GraphNode*>state.records[i].node
            if node != NULL:
                out.append(((<bytes>node.name).decode(), (<bytes>node.op).decode(),
                            state.records[i].start_ns, state.records[i].end_ns))
        return out


cdef void cancel(Execution e, hr_code code, const char* reason) noexcept:
    cdef ExecutionState* state = state_of(e)
    run_fail_text(&state.run, code, reason)
    with nogil:
        state.lock.lock()
        state.failed = True
        state.lock.unlock()
        run_cancel(&state.run)
        state.rendezvous.abort(HR_CANCELLED, reason)


# How long a busy step goes on before it looks at signals and the clock.
cdef int64_t LOOK_UP_NS = 20_000_000


# ---- take, run ------------------------------------------------------------------------------------

cdef bint work(Execution e, vector[int32_t]& wanted) noexcept nogil:
    """Runs ready units. True: the step is over or all wanted fetches are there; False: look up."""
    cdef ExecutionState* state = state_of(e)
    cdef Ready item
    cdef bint over
    cdef size_t i
    cdef int64_t look_up_ns = monotonic_ns() + LOOK_UP_NS
    cdef uint32_t rounds = 0
    state.lock.lock()
    while True:
        if state.ready.size():
            item = state.ready.back()
            state.ready.pop_back()
            if state.failed:
                state.outstanding -= 1
                continue
            state.lock.unlock()
            run_unit(e, item.unit, item.iteration)
            rounds += 1
            if not rounds & 63 and monotonic_ns() > look_up_ns:
                return False
            state.lock.lock()
            continue
        if state.outstanding == 0:
            state.lock.unlock()
            return True
        if wanted.size() and not state.failed:
            over = True
            for i in range(wanted.size()):
                over = over and state.fetch_state[wanted[i]] != 0
            if over:
                state.lock.unlock()
                return True
        wait_for_change(state)
        over = state.ready.size() > 0 or state.outstanding == 0
        if not over:
            state.lock.unlock()
            return False


cdef inline void push(ExecutionState* state, int32_t unit, Iteration* iteration) noexcept nogil:
    cdef Ready item
    item.unit = unit
    item.iteration = iteration
    state.ready.push_back(item)
    state.outstanding += 1
    iteration.outstanding += 1
    if state.waiting:
        state.changed.notify_all()


cdef void fail(Execution e, Unit* unit, hr_code code, const char* message) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    run_fail_text(&state.run, code, message)
    if state.run.failed == NULL and unit != NULL:
        state.run.failed = unit.node
    state.lock.lock()
    state.failed = True
    state.lock.unlock()
    run_cancel(&state.run)
    state.rendezvous.abort(HR_CANCELLED, "another part of the step failed")


cdef void run_unit(Execution e, int32_t number, Iteration* iteration) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef Unit* unit = &e.plan.units[number]
    cdef hr_tensor* inputs = iteration.slots + unit.first_slot
    cdef hr_tensor few[16]
    cdef uint8_t few_dead[16]
    cdef vector[hr_tensor] many
    cdef vector[uint8_t] many_dead
    cdef hr_tensor* outputs = few
    cdef uint8_t* dead_ports = few_dead
    cdef hr_code code = HR_OK
    cdef int32_t i, chosen
    cdef bint dead
    cdef int64_t start = 0
    cdef string key
    if unit.n_ports > 16:
        many.resize(unit.n_ports)
        many_dead.resize(unit.n_ports)
        outputs = many.data()
        dead_ports = many_dead.data()
    dead = iteration.dead[unit.local] != 0 and unit.kind != RUN_MERGE
    if unit.kind == RUN_MERGE:
        dead = iteration.merged[unit.local] == 0
    for i in range(unit.n_ports):
        dead_ports[i] = dead
        outputs[i].owner = NULL
    if state.traced:
        start = monotonic_ns()
    if not dead:
        if unit.kind == RUN_SEGMENT:
            code = run_segment(e, unit, inputs, outputs)
        elif unit.kind == RUN_SWITCH:
            chosen = (<uint8_t*>inputs[1].data)[0] != 0
            outputs[chosen] = inputs[0]
            dead_ports[1 - chosen] = 1
            buffer_retain(inputs[0].owner)
        elif unit.kind == RUN_MERGE:
            code = run_merge(unit, iteration, inputs, outputs)
        elif unit.kind == RUN_LOOP:
            code = run_loop(e, unit, inputs, outputs)
        elif unit.kind == RUN_ASYNC:
            start_async(e, number, unit, iteration, inputs, start)
            return
        elif unit.kind == RUN_RECV:
            start_recv(e, number, unit, iteration, start)
            return
        elif unit.kind == RUN_SEND:
            pass
        elif unit.n_ports > 0 and unit.n_inputs > 0:
            outputs[0] = inputs[0]
            buffer_retain(inputs[0].owner)
    if unit.kind == RUN_SEND:
        key = send_key(&unit.node.face, <size_t>iteration.frame.number, iteration.number)
        code = state.rendezvous.send(key.c_str(), inputs, dead)
        if code != HR_OK and code != HR_CANCELLED:
            fail(e, unit, code, "a value of that key was sent before")
    if state.traced and not dead and unit.kind != RUN_SEGMENT:
        record(e, unit, start)
    finish_unit(e, number, iteration, outputs, dead_ports, dead, code)


cdef void record(Execution e, Unit* unit, int64_t start) noexcept nogil:
    cdef TraceRecord made
    made.node = unit.node
    made.unit = 0
    made.lane = 0
    made.start_ns = start
    made.end_ns = monotonic_ns()
    cdef ExecutionState* state = state_of(e)
    state.lock.lock()
    state.records.push_back(made)
    state.lock.unlock()


cdef void finish_unit(Execution e, int32_t number, Iteration* iteration, hr_tensor* outputs,
                      uint8_t* dead_ports, bint dead, hr_code code) noexcept nogil:
    """Delivers what a unit made, gives its inputs back and counts it as done."""
    cdef ExecutionState* state = state_of(e)
    cdef Unit* unit = &e.plan.units[number]
    cdef hr_tensor* inputs = iteration.slots + unit.first_slot
    cdef int32_t i
    for i in range(unit.n_inputs):
        buffer_release(inputs[i].owner)
        inputs[i].owner = NULL
    if code != HR_OK:
        fail(e, unit, code, "")
    state.lock.lock()
    if code == HR_OK and not state.failed:
        deliver_unit(e, number, iteration, outputs, dead_ports, dead)
    if outputs != NULL:
        for i in range(unit.n_ports):
            buffer_release(outputs[i].owner)
    # From here on the step may be over and gone as soon as the lock is free.
    iteration.outstanding -= 1
    state.outstanding -= 1
    if iteration.outstanding == 0 and not state.failed:
        end_iterations(e, iteration.frame)
    if state.outstanding == 0 and state.waiting:
        state.changed.notify_all()
    state.lock.unlock()


cdef hr_code run_merge(Unit* unit, Iteration* iteration, hr_tensor* inputs,
                       hr_tensor* outputs) noexcept nogil:
    cdef int32_t chosen = iteration.merged[unit.local] - 1
    cdef hr_code code
    outputs[0] = inputs[chosen]
    buffer_retain(outputs[0].owner)
    if unit.n_ports > 1:
        memset(&outputs[1], 0, sizeof(hr_tensor))
        outputs[1].dtype = HR_INT32
        code = allocate_tensor(&outputs[1])
        if code != HR_OK:
            return code
        (<int32_t*>outputs[1].data)[0] = chosen
    return HR_OK


# ---- segments ---------------------------------------------------------------------------------------

cdef hr_code run_segment(Execution e, Unit* unit, hr_tensor* inputs,
                         hr_tensor* outputs) noexcept nogil:
    cdef void* chosen = (<SegmentRunner>e.plan.runner_pointers[unit.number]).ready_pointer
    if chosen == NULL or not (<Specialisation>chosen).fits(inputs):
        chosen = specialise_in_python(e, unit, inputs)
        if chosen == NULL:
            return HR_INTERNAL
    return run_specialised(e, unit, inputs, outputs, <Specialisation>chosen,
                           <Tape><void*>(<Specialisation>chosen).tape)


cdef hr_code run_specialised(Execution e, Unit* unit, hr_tensor* inputs, hr_tensor* outputs,
                             Specialisation made, Tape tape) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef Frame* frame = tape.take_frame()
    cdef Leaving* leaving
    cdef hr_tensor* root
    cdef int32_t i
    cdef size_t j
    cdef hr_code code
    if frame == NULL:
        return run_fail_text(&state.run, HR_RESOURCE_EXHAUSTED, "no memory for an arena")
    for i in range(unit.n_inputs):
        frame.tensors[made.entering_tensor[i]] = inputs[i]
    if state.traced:
        code = run_traced(e, tape, frame)
    else:
        code = tape.run(frame, &state.run)
    if code == HR_OK:
        for j in range(made.leaving.size()):
            leaving = &made.leaving[j]
            root = &frame.tensors[leaving.root]
            outputs[j] = frame.tensors[leaving.tensor]
            outputs[j].owner = root.owner
            buffer_retain(root.owner)
    tape.release_values(frame)
    tape.give_frame(frame)
    return code


cdef hr_code run_traced(Execution e, Tape tape, Frame* frame) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef vector[int64_t] clock
    cdef TraceRecord made
    cdef size_t i
    clock.resize(2 * tape.entries.size() + 1)
    cdef hr_code code = tape.run_traced(frame, &state.run, clock.data())
    state.lock.lock()
    for i in range(tape.entries.size()):
        made.node = tape.entries[i].node
        made.unit = 0
        made.lane = 0
        made.start_ns = clock[2 * i]
        made.end_ns = clock[2 * i + 1]
        state.records.push_back(made)
    state.lock.unlock()
    return code


cdef void* specialise_in_python(Execution e, Unit* unit, hr_tensor* inputs) noexcept nogil:
    with gil:
        try:
            return (<SegmentRunner>e.plan.runners[unit.number]).find_pointer(inputs)
        except BaseException as error:
            if e.error is None:
                e.error = error
            return NULL


cdef hr_code run_loop(Execution e, Unit* unit, hr_tensor* inputs, hr_tensor* outputs) noexcept nogil:
    with gil:
        try:
            (<NativeLoop>e.plan.loops[unit.number]).run(&state_of(e).run, inputs, outputs)
            return state_of(e).run.code
        except BaseException as error:
            if e.error is None:
                e.error = error
            return HR_INTERNAL


# ---- asynchronous kernels and receives ---------------------------------------------------------------

cdef void start_async(Execution e, int32_t number, Unit* unit, Iteration* iteration,
                      hr_tensor* inputs, int64_t start) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef AsyncCall* call = new_call(e, number, unit, iteration, start)
    cdef hr_request request
    cdef hr_code code
    cdef int32_t i
    if call == NULL:
        finish_unit(e, number, iteration, NULL, NULL, False, HR_RESOURCE_EXHAUSTED)
        return
    for i in range(unit.n_inputs):
        call.input_pointers[i] = &inputs[i]
    code = make_state(e, unit)
    memset(&request, 0, sizeof(hr_request))
    request.size = sizeof(hr_request)
    request.node = &unit.node.face
    request.inputs = call.input_pointers
    request.outputs = <hr_tensor* const*>call.output_pointers
    request.threads = 1
    if code == HR_OK:
        code = unit.kernel.prepare(unit.node.state, &request)
        if code != HR_OK:
            state.run.failed = unit.node
            run_fail_text(&state.run, code, unit.node.error.c_str())
        call.plan = request.plan
        call.destroy_plan = request.destroy_plan
    if code == HR_OK and not request.shape_depends_on_data:
        for i in range(unit.n_ports):
            if code == HR_OK:
                code = allocate_tensor(&call.outputs[i])
    if code == HR_OK and request.workspace:
        call.workspace.dtype = 4
        call.workspace.rank = 1
        call.workspace.dims[0] = <int64_t>request.workspace
        code = allocate_tensor(&call.workspace)
    if code != HR_OK:
        async_done(call, code)
        return
    unit.kernel.compute_async(&state.run.ctx, unit.node.state, call.plan,
                              <const hr_tensor* const*>call.input_pointers,
                              <hr_tensor* const*>call.output_pointers, call.workspace.data,
                              async_done, call)


cdef hr_code make_state(Execution e, Unit* unit) noexcept nogil:
    if unit.node.created:
        return HR_OK
    with gil:
        try:
            ensure_state(unit.node, unit.kernel, e.owner.state)
            return HR_OK
        except BaseException as error:
            if e.error is None:
                e.error = error
            return HR_INTERNAL


cdef AsyncCall* new_call(Execution e, int32_t number, Unit* unit, Iteration* iteration,
                         int64_t start) noexcept nogil:
    cdef size_t outputs = max(unit.n_ports, 1)
    cdef size_t inputs = max(unit.n_inputs, 1)
    cdef char* block = <char*>calloc(1, sizeof(AsyncCall) + outputs * sizeof(hr_tensor)
                                     + (outputs + inputs) * sizeof(void*))
    cdef AsyncCall* call = <AsyncCall*>block
    cdef int32_t i
    if call == NULL:
        return NULL
    call.execution = <void*>e
    call.unit = number
    call.iteration = iteration
    call.start_ns = start
    call.outputs = <hr_tensor*>(block + sizeof(AsyncCall))
    call.output_pointers = <hr_tensor**>(block + sizeof(AsyncCall) + outputs * sizeof(hr_tensor))
    call.input_pointers = <const hr_tensor**>(call.output_pointers + outputs)
    for i in range(unit.n_ports):
        call.output_pointers[i] = &call.outputs[i]
        if unit.kind == RUN_ASYNC:
            call.outputs[i].dtype = unit.node.face.output_dtypes[i]
    return call


cdef extern from "<cstdlib>" namespace "std" nogil:
    void* calloc(size_t n, size_t size)


cdef void async_done(void* argument, hr_code code) noexcept nogil:
    cdef AsyncCall* call = <AsyncCall*>argument
    finish_call(call, code, False)


cdef void finish_call(AsyncCall* call, hr_code code, bint dead) noexcept nogil:
    finish_call_of(<Execution>call.execution, call, code, dead)


cdef void finish_call_of(Execution e, AsyncCall* call, hr_code code, bint dead) noexcept nogil:
    cdef Unit* unit = &e.plan.units[call.unit]
    cdef vector[uint8_t] dead_ports
    dead_ports.assign(max(unit.n_ports, 1), dead)
    if call.destroy_plan != NULL and call.plan != NULL:
        call.destroy_plan(call.plan)
    buffer_release(call.workspace.owner)
    if state_of(e).traced:
        record(e, unit, call.start_ns)
    # The step may end inside finish_unit: nothing of it is touched afterwards.
    finish_unit(e, call.unit, call.iteration, call.outputs, dead_ports.data(), dead, code)
    free(call)


cdef void start_recv(Execution e, int32_t number, Unit* unit, Iteration* iteration,
                     int64_t start) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef AsyncCall* call = new_call(e, number, unit, iteration, start)
    cdef string key
    if call == NULL:
        finish_unit(e, number, iteration, NULL, NULL, False, HR_RESOURCE_EXHAUSTED)
        return
    key = send_key(&unit.node.face, <size_t>iteration.frame.number, iteration.number)
    state.rendezvous.recv(key.c_str(), received, call)


cdef void received(void* argument, hr_code code, const char* message, const hr_tensor* value,
                   int32_t dead) noexcept nogil:
    cdef AsyncCall* call = <AsyncCall*>argument
    if code == HR_OK and value != NULL:
        call.outputs[0] = value[0]
    elif code != HR_OK:
        run_fail_text(&state_of(<Execution>call.execution).run, code, message)
    finish_call(call, code, dead != 0)


# ---- deliver (the lock is held) -------------------------------------------------------------------------

cdef void deliver_unit(Execution e, int32_t number, Iteration* iteration, hr_tensor* outputs,
                       uint8_t* dead_ports, bint dead) noexcept nogil:
    cdef Unit* unit = &e.plan.units[number]
    cdef FrameRun* frame = iteration.frame
    cdef Iteration* into = iteration
    cdef int32_t i
    cdef Held held
    if unit.kind == RUN_ENTER:
        frame = child_frame(e, iteration, unit.child)
        if frame == NULL:
            return
        frame.enters_left -= 1
        frame.dead = frame.dead or dead
        into = frame.live[0]
        if unit.constant:
            held.unit = number
            held.port = unit.first_port
            held.dead = dead
            held.value = outputs[0]
            if not dead:
                buffer_retain(held.value.owner)
            frame.constants.push_back(held)
            for i in range(<int32_t>frame.live.size()):
                deliver_port(e, unit.first_port, frame.live[i], &outputs[0], dead)
                deliver_controls(e, unit, frame.live[i], dead)
        else:
            deliver_port(e, unit.first_port, into, &outputs[0], dead)
            deliver_controls(e, unit, into, dead)
        end_iterations(e, frame)
        return
    if unit.kind == RUN_EXIT:
        # Every iteration but the last brings a dead exit: only a dead loop's goes out.
        if dead and not frame.dead:
            return
        into = frame.parent
    elif unit.kind == RUN_NEXT:
        if dead:
            return
        into = next_iteration(e, number, iteration, outputs)
        if into == NULL:
            return
    for i in range(unit.n_ports):
        deliver_port(e, unit.first_port + i, into, &outputs[i], dead_ports[i])
    deliver_controls(e, unit, into, dead)


cdef void deliver_port(Execution e, int32_t number, Iteration* into, hr_tensor* value,
                       bint dead) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef Port* port = &e.plan.ports[number]
    cdef Target* target
    cdef Unit* unit
    cdef int32_t i, fetch
    for i in range(port.n_targets):
        target = &e.plan.targets[port.first_target + i]
        unit = &e.plan.units[target.unit]
        if not dead:
            into.slots[unit.first_slot + target.slot] = value[0]
            buffer_retain(value.owner)
        if unit.kind == RUN_MERGE:
            deliver_merge(state, target, unit, into, dead)
        else:
            if dead:
                into.dead[unit.local] += 1
            into.pending[unit.local] -= 1
            if into.pending[unit.local] == 0:
                push(state, target.unit, into)
    if port.n_fetches and into == state.root_iteration:
        for i in range(port.n_fetches):
            fetch = e.plan.fetches[port.first_fetch + i]
            # Not one conditional expression: Cython 3.3 makes a dangling reference of that.
            state.fetch_state[fetch] = 2
            if not dead:
                state.fetch_state[fetch] = 1
                state.fetched[fetch] = value[0]
                buffer_retain(value.owner)


cdef void deliver_merge(ExecutionState* state, Target* target, Unit* unit, Iteration* into,
                        bint dead) noexcept nogil:
    """A merge goes with its first live input; it is dead once all its inputs are."""
    cdef int32_t expected = 1 if unit.loop_head else unit.n_inputs
    if dead:
        into.dead[unit.local] += 1
        if into.dead[unit.local] < expected:
            return
    else:
        if into.merged[unit.local]:
            return
        into.merged[unit.local] = 1 + target.slot
    into.pending[unit.local] -= 1
    if into.pending[unit.local] == 0:
        push(state, target.unit, into)


cdef void deliver_controls(Execution e, Unit* unit, Iteration* into, bint dead) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef Target* target
    cdef Unit* other
    cdef int32_t i
    for i in range(unit.n_controls):
        target = &e.plan.targets[unit.first_control + i]
        other = &e.plan.units[target.unit]
        if dead and other.kind != RUN_MERGE:
            into.dead[other.local] += 1
        into.pending[other.local] -= 1
        if into.pending[other.local] == 0:
            push(state, target.unit, into)


# ---- frames and iterations (the lock is held) -------------------------------------------------------------

cdef Iteration* new_iteration(Execution e, FrameRun* frame) noexcept nogil:
    cdef ExecutionState* state = state_of(e)
    cdef FrameInfo* info = &e.plan.frames[frame.number]
    cdef Iteration* it
    cdef int32_t i
    if state.pools[frame.number].size():
        it = state.pools[frame.number].back()
        state.pools[frame.number].pop_back()
    else:
        it = allocate_iteration(info.n_units, info.n_slots)
        if it == NULL:
            run_fail_text(&state.run, HR_RESOURCE_EXHAUSTED, "no memory for a loop iteration")
            state.failed = True
            return NULL
    it.frame = frame
    it.number = frame.next_number
    it.outstanding = 0
    it.children = NULL
    for i in range(info.n_units):
        it.pending[i] = e.plan.units[e.plan.members[frame.number][i]].pending
        it.dead[i] = 0
        it.merged[i] = 0
    for i in range(info.n_slots):
        it.slots[i].owner = NULL
        it.slots[i].data = NULL
    frame.next_number += 1
    frame.live.push_back(it)
    return it


cdef FrameRun* child_frame(Execution e, Iteration* parent, int32_t number) noexcept nogil:
    """The frame entered from this iteration; made when its first Enter runs."""
    cdef FrameRun* frame = parent.children
    while frame != NULL and frame.number != number:
        frame = frame.sibling
    if frame != NULL:
        return frame
    frame = new FrameRun()
    frame.number = number
    frame.parent = parent
    frame.enters_left = e.plan.frames[number].n_enters
    frame.dead = False
    frame.sibling = parent.children
    parent.children = frame
    parent.outstanding += 1
    if new_iteration(e, frame) == NULL:
        return NULL
    return frame


cdef Iteration* next_iteration(Execution e, int32_t unit, Iteration* iteration,
                               hr_tensor* outputs) noexcept nogil:
    """The iteration after this one; null while the window of parallel iterations is full."""
    cdef FrameRun* frame = iteration.frame
    cdef int64_t wanted = iteration.number + 1
    cdef Held held
    if wanted < frame.next_number:
        return frame.live[wanted - frame.oldest]
    if frame.live.size() >= <size_t>e.plan.frames[frame.number].parallel_iterations + 1:
        held.unit = unit
        held.port = e.plan.units[unit].first_port
        held.value = outputs[0]
        held.dead = False
        buffer_retain(held.value.owner)
        frame.deferred.push_back(held)
        return NULL
    return start_iteration(e, frame)


cdef Iteration* start_iteration(Execution e, FrameRun* frame) noexcept nogil:
    cdef Iteration* it = new_iteration(e, frame)
    cdef size_t i
    cdef Held* held
    if it == NULL:
        return NULL
    for i in range(frame.constants.size()):
        held = &frame.constants[i]
        deliver_port(e, held.port, it, &held.value, held.dead)
        deliver_controls(e, &e.plan.units[held.unit], it, held.dead)
    return it


cdef void end_iterations(Execution e, FrameRun* frame) noexcept nogil:
    """Ends iterations from the oldest on, lets waiting ones in, and ends the frame after its last."""
    cdef ExecutionState* state = state_of(e)
    cdef Iteration* it
    cdef Iteration* parent
    cdef FrameRun** link
    cdef size_t i
    while frame.live.size() and frame.enters_left == 0 and frame.live[0].outstanding == 0:
        if frame.parent == NULL:
            return
        it = frame.live[0]
        if frame.live.size() == 1 and frame.deferred.size():
            admit_deferred(e, frame)
            continue
        frame.live.erase(frame.live.begin())
        frame.oldest += 1
        give_iteration(e, it)
        if frame.deferred.size():
            admit_deferred(e, frame)
    if frame.live.size() or frame.parent == NULL:
        return
    parent = frame.parent
    link = &parent.children
    while link[0] != frame:
        link = &link[0].sibling
    link[0] = frame.sibling
    end_frame(e, frame)
    del frame
    parent.outstanding -= 1
    if parent.outstanding == 0:
        end_iterations(e, parent.frame)


cdef void admit_deferred(Execution e, FrameRun* frame) noexcept nogil:
    cdef vector[Held] waiting
    cdef Iteration* it
    cdef size_t i
    waiting.swap(frame.deferred)
    it = start_iteration(e, frame)
    for i in range(waiting.size()):
        if it != NULL:
            deliver_port(e, waiting[i].port, it, &waiting[i].value, False)
            deliver_controls(e, &e.plan.units[waiting[i].unit], it, False)
        buffer_release(waiting[i].value.owner)


cdef void give_iteration(Execution e, Iteration* it) noexcept nogil:
    cdef int32_t i, number = it.frame.number
    for i in range(e.plan.frames[number].n_slots):
        buffer_release(it.slots[i].owner)
        it.slots[i].owner = NULL
    state_of(e).pools[number].push_back(it)


cdef void end_frame(Execution e, FrameRun* frame) noexcept nogil:
    """Frees what a frame holds, children first; the frame itself is its owner's to delete."""
    cdef size_t i
    cdef FrameRun* child
    for i in range(frame.live.size()):
        while frame.live[i].children != NULL:
            child = frame.live[i].children
            frame.live[i].children = child.sibling
            end_frame(e, child)
            del child
        give_iteration(e, frame.live[i])
    frame.live.clear()
    for i in range(frame.constants.size()):
        if not frame.constants[i].dead:
            buffer_release(frame.constants[i].value.owner)
    frame.constants.clear()
    for i in range(frame.deferred.size()):
        buffer_release(frame.deferred[i].value.owner)
    frame.deferred.clear()
