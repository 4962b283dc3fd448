# cython: language_level=3
"""Propagates the outputs of finished units; begins and ends iterations.

Frames and iterations are those of the white paper (§4.4): one frame per entry into a loop, and
iterations with their own counts and values. Dead values (of branches not taken) propagate like
others, and end at a Merge that has a live input.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.state.context cimport run_blame, run_cancel, run_fail_text
from headrace.runtime.executor.executor_plan cimport (
    RUN_ENTER, RUN_EXIT, RUN_MERGE, RUN_NEXT, ExecutorPlan, FrameInfo, Port, Target, Unit,
)
from headrace.runtime.executor.executor_state cimport (
    ExecutionState, FrameRun, Held, Iteration, Ready, UnitState, add_child, add_iteration,
    end_oldest, frame_number, hold, remove_child, wake,
)
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_CANCELLED, HR_RESOURCE_EXHAUSTED, hr_code,
)
from headrace.runtime.threads.pools cimport thread_number
from headrace.runtime.executor.trace cimport TraceRecord, add_output, keep_record, monotonic_ns


cdef void fail(ExecutionState* state, GraphNode* node, hr_code code,
               const char* message) noexcept nogil:
    cdef size_t i
    run_fail_text(&state.run, code, message)
    run_blame(&state.run, node)
    state.lock.lock()
    state.failed = True
    state.lock.unlock()
    run_cancel(&state.run)
    run_cancel(&state.wide)
    for i in range(state.on_devices.size()):
        run_cancel(state.on_devices[i].get())
    state.rendezvous.abort(HR_CANCELLED, "another part of the step failed")
    if state.between_tasks != NULL:
        state.between_tasks.abort(state.between_tasks, HR_CANCELLED,
                                  "another part of the step failed")


cdef void fail_memory(ExecutionState* state, const char* message) noexcept nogil:
    run_fail_text(&state.run, HR_RESOURCE_EXHAUSTED, message)
    state.failed = True
    wake(state)    # it cancels what is still awaited


cdef void record_unit(ExecutionState* state, ExecutorPlan plan, int32_t unit, OwnedTensor* outputs,
               int64_t start_ns) noexcept nogil:
    cdef TraceRecord result
    cdef int32_t i
    result.node = plan.units[unit].node
    result.device = plan.units[unit].device
    result.thread = thread_number()
    result.start_ns = start_ns
    result.end_ns = monotonic_ns()
    for i in range(plan.units[unit].n_ports):
        if not add_output(result, i, outputs[i].get()[0]):
            fail_memory(state, "no memory for the step's trace")
    if not keep_record(state.records, result):
        fail_memory(state, "no memory for the step's trace")


cdef void push(ExecutionState* state, ExecutorPlan plan, int32_t unit,
               Iteration* iteration) noexcept nogil:
    cdef Ready item
    item.unit = unit
    item.iteration = iteration
    if plan.weights[unit].get():
        state.heavy.push_back(item)
    else:
        state.light.push_back(item)
    state.outstanding += 1
    iteration.outstanding += 1
    wake(state)


# ---- what a unit made -----------------------------------------------------------------------------

cdef void finish(ExecutionState* state, ExecutorPlan plan, int32_t number, Iteration* iteration,
                 OwnedTensor* outputs) noexcept nogil:
    cdef Unit* unit = &plan.units[number]
    cdef Iteration* into = iteration
    if state.failed:
        pass
    elif unit.kind == RUN_ENTER:
        enter(state, plan, number, iteration, outputs)
    elif unit.kind == RUN_EXIT:
        # Every iteration except the last makes a dead exit, which is propagated only if the whole
        # loop is dead.
        if outputs != NULL or iteration.frame.dead:
            pass_on(state, plan, unit, iteration.frame.parent, outputs)
    elif unit.kind == RUN_NEXT:
        if outputs != NULL:
            into = next_iteration(state, plan, number, iteration, outputs)
            if into != NULL:
                pass_on(state, plan, unit, into, outputs)
    else:
        pass_on(state, plan, unit, iteration, outputs)
    done(state, plan, unit, iteration)


cdef void finish_switch(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration, int32_t chosen, OwnedTensor* value) noexcept nogil:
    cdef Unit* unit = &plan.units[number]
    if not state.failed:
        propagate_value(state, plan, unit.first_port + chosen, iteration, value)
        propagate_dead(state, plan, unit.first_port + 1 - chosen, iteration)
        propagate_controls(state, plan, unit, iteration, False)
    done(state, plan, unit, iteration)


cdef void finish_failed(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration) noexcept nogil:
    done(state, plan, &plan.units[number], iteration)


cdef inline void done(ExecutionState* state, ExecutorPlan plan, Unit* unit,
                      Iteration* iteration) noexcept nogil:
    cdef OwnedTensor* inputs = iteration.slots + unit.first_slot
    cdef int32_t i
    for i in range(unit.n_inputs):
        inputs[i].reset()
    iteration.outstanding -= 1
    state.outstanding -= 1
    if iteration.outstanding == 0 and not state.failed:
        end_iterations(state, plan, iteration.frame)
    if state.outstanding == 0:
        wake(state)


cdef inline void pass_on(ExecutionState* state, ExecutorPlan plan, Unit* unit, Iteration* into,
                         OwnedTensor* outputs) noexcept nogil:
    cdef int32_t i
    for i in range(unit.n_ports):
        if outputs != NULL:
            propagate_value(state, plan, unit.first_port + i, into, &outputs[i])
        else:
            propagate_dead(state, plan, unit.first_port + i, into)
    if unit.n_controls:
        propagate_controls(state, plan, unit, into, outputs == NULL)


cdef void propagate_value(ExecutionState* state, ExecutorPlan plan, int32_t number, Iteration* into,
                        OwnedTensor* value) noexcept nogil:
    cdef Port* port = &plan.ports[number]
    cdef Target* target = plan.targets.data() + port.first_target
    cdef Unit* unit
    cdef UnitState* its
    cdef OwnedTensor* slot
    cdef int32_t i, fetch
    if port.n_fetches and into == state.root_iteration:
        for i in range(port.n_fetches):
            fetch = plan.fetches[port.first_fetch + i]
            state.fetch_state[fetch] = 1
            state.fetched[fetch].share(value.get()[0])
        if state.partial:
            wake(state)
    for i in range(port.n_targets):
        unit = &plan.units[target[i].unit]
        its = &into.units[unit.local]
        slot = &into.slots[unit.first_slot + target[i].slot]
        if i + 1 == port.n_targets:
            slot.take_from(value[0])
        else:
            slot.share(value.get()[0])
        if unit.kind == RUN_MERGE:
            # A Merge runs with its first live input.
            if its.merged:
                continue
            its.merged = 1 + target[i].slot
        its.pending -= 1
        if its.pending == 0:
            push(state, plan, target[i].unit, into)


cdef void propagate_dead(ExecutionState* state, ExecutorPlan plan, int32_t number,
                       Iteration* into) noexcept nogil:
    cdef Port* port = &plan.ports[number]
    cdef Target* target = plan.targets.data() + port.first_target
    cdef Unit* unit
    cdef UnitState* its
    cdef int32_t i
    if port.n_fetches and into == state.root_iteration:
        for i in range(port.n_fetches):
            state.fetch_state[plan.fetches[port.first_fetch + i]] = 2
        if state.partial:
            wake(state)
    for i in range(port.n_targets):
        unit = &plan.units[target[i].unit]
        its = &into.units[unit.local]
        its.dead += 1
        # A Merge is dead once all its inputs are dead; at a loop's head only the input from outside
        # counts.
        if unit.kind == RUN_MERGE and its.dead < (1 if unit.loop_head else unit.n_inputs):
            continue
        its.pending -= 1
        if its.pending == 0:
            push(state, plan, target[i].unit, into)


cdef void propagate_controls(ExecutionState* state, ExecutorPlan plan, Unit* unit, Iteration* into,
                           bint dead) noexcept nogil:
    cdef Target* target = plan.targets.data() + unit.first_control
    cdef Unit* other
    cdef UnitState* its
    cdef int32_t i
    for i in range(unit.n_controls):
        other = &plan.units[target[i].unit]
        its = &into.units[other.local]
        if dead and other.kind != RUN_MERGE:
            its.dead += 1
        its.pending -= 1
        if its.pending == 0:
            push(state, plan, target[i].unit, into)


# ---- frames and iterations --------------------------------------------------------------------------

cdef void enter(ExecutionState* state, ExecutorPlan plan, int32_t number, Iteration* iteration,
                OwnedTensor* outputs) noexcept nogil:
    cdef Unit* unit = &plan.units[number]
    cdef FrameRun* frame = child_frame(state, plan, iteration, unit.child)
    cdef bint dead = outputs == NULL
    cdef int32_t i
    if frame == NULL:
        return
    frame.enters_left -= 1
    frame.dead = frame.dead or dead
    if unit.constant:
        if not hold(frame.constants, number, unit.first_port, outputs):
            fail_memory(state, "no memory for what a loop takes in")
            return
        for i in range(<int32_t>frame.live.size()):
            propagate_constant(state, plan, &frame.constants.back(), frame.live[i].get())
    else:
        pass_on(state, plan, unit, frame.live[0].get(), outputs)
    end_iterations(state, plan, frame)


cdef void propagate_constant(ExecutionState* state, ExecutorPlan plan, Held* held,
                           Iteration* into) noexcept nogil:
    cdef OwnedTensor value
    if held.dead:
        pass_on(state, plan, &plan.units[held.unit], into, NULL)
    else:
        value.share(held.value.get()[0])
        pass_on(state, plan, &plan.units[held.unit], into, &value)


cdef Iteration* new_iteration(ExecutionState* state, ExecutorPlan plan,
                              FrameRun* frame) noexcept nogil:
    cdef FrameInfo* info = &plan.frames[frame.number]
    cdef Iteration* it = add_iteration(state, frame, info.n_units, info.n_slots)
    if it == NULL:
        fail_memory(state, "no memory for a loop iteration")
    elif info.n_units:
        memcpy(it.units, plan.starts[frame.number].data(), info.n_units * sizeof(UnitState))
    return it


cdef FrameRun* child_frame(ExecutionState* state, ExecutorPlan plan, Iteration* parent,
                           int32_t number) noexcept nogil:
    """The frame entered from this iteration; made when its first Enter runs."""
    cdef FrameRun* frame = parent.children.get()
    while frame != NULL and frame.number != number:
        frame = frame.sibling.get()
    if frame != NULL:
        return frame
    frame = add_child(parent)
    if frame == NULL:
        fail_memory(state, "no memory for a loop")
        return NULL
    frame.number = number
    frame.key = frame_number(parent.frame.key, parent.number if parent.frame.key else 0,
                             plan.frames[number].name)
    frame.enters_left = plan.frames[number].n_enters
    parent.outstanding += 1
    if new_iteration(state, plan, frame) == NULL:
        return NULL
    return frame


cdef Iteration* next_iteration(ExecutionState* state, ExecutorPlan plan, int32_t unit,
                               Iteration* iteration, OwnedTensor* outputs) noexcept nogil:
    """The iteration after this one; null while the window of parallel iterations is full."""
    cdef FrameRun* frame = iteration.frame
    cdef int64_t requested = iteration.number + 1
    if requested < frame.next_number:
        return frame.live[requested - frame.oldest].get()
    if frame.live.size() >= <size_t>plan.frames[frame.number].parallel_iterations + 1:
        if not hold(frame.deferred, unit, plan.units[unit].first_port, outputs):
            fail_memory(state, "no memory for what a loop hands on")
        return NULL
    return start_iteration(state, plan, frame)


cdef Iteration* start_iteration(ExecutionState* state, ExecutorPlan plan,
                                FrameRun* frame) noexcept nogil:
    cdef Iteration* it = new_iteration(state, plan, frame)
    cdef size_t i
    if it == NULL:
        return NULL
    for i in range(frame.constants.size()):
        propagate_constant(state, plan, &frame.constants[i], it)
    return it


cdef void end_iterations(ExecutionState* state, ExecutorPlan plan, FrameRun* frame) noexcept nogil:
    """Ends finished iterations, the oldest first, and admits waiting ones; ends the frame after its
    last iteration."""
    cdef Iteration* parent = frame.parent
    while frame.live.size() and frame.enters_left == 0 and frame.live[0].get().outstanding == 0:
        if parent == NULL:
            return
        if frame.live.size() == 1 and frame.deferred.size():
            admit_deferred(state, plan, frame)
            continue
        end_oldest(state, frame, plan.frames[frame.number].n_units)
        if frame.deferred.size():
            admit_deferred(state, plan, frame)
    if frame.live.size() or parent == NULL:
        return
    remove_child(parent, frame)
    parent.outstanding -= 1
    if parent.outstanding == 0:
        end_iterations(state, plan, parent.frame)


cdef void admit_deferred(ExecutionState* state, ExecutorPlan plan, FrameRun* frame) noexcept nogil:
    cdef vector[Held] waiting
    cdef Iteration* it
    cdef size_t i
    waiting.swap(frame.deferred)
    it = start_iteration(state, plan, frame)
    if it == NULL:
        return
    for i in range(waiting.size()):
        pass_on(state, plan, &plan.units[waiting[i].unit], it, &waiting[i].value)
