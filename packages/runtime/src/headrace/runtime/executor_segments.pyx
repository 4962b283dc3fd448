# cython: language_level=3
"""Running a segment, or a native loop, as one unit of a dynamic step.

Small segments run on the thread that found them ready. One that is worth several cores goes to
the lane (lane.hpp) where it has the step to itself; else it shares the cores with its neighbours.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.buffer cimport buffer_retain
from headrace.runtime.context cimport Run, run_fail_text
from headrace.runtime.executor_plan cimport HEAVY, LIGHT, LONG, ExecutorPlan, Unit
from headrace.runtime.executor_state cimport ExecutionState
from headrace.runtime.kernel_abi cimport (
    HR_INTERNAL, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_tensor,
)
from headrace.runtime.native_loop cimport NativeLoop
from headrace.runtime.segment_runner cimport SegmentRunner
from headrace.runtime.segment_draft cimport Leaving
from headrace.runtime.specialisation cimport Specialisation
from headrace.runtime.tape cimport Frame, Tape
from headrace.runtime.trace cimport thread_number, trace_tape


cdef extern from "lane.hpp" namespace "headrace" nogil:
    bint lane_try_run "headrace::Lane::try_run"(
        void (*work)(void*) noexcept nogil, void* argument, int threads,
        void (*poll)(void*) noexcept nogil, void* poll_argument)


# Work below this does not pay for waking a helper, and below that not for the lane.
cdef double HEAVY_NS = 20e3
cdef double LANE_NS = 250e3
# Longer work keeps the thread that looks at signals and the clock waiting too long.
cdef double LONG_NS = 2e6


cdef hr_code run_segment(ExecutionState* state, ExecutorPlan plan, int unit,
                         hr_tensor* inputs, hr_tensor* outputs, bint alone,
                         void (*poll)(void*) noexcept nogil, void* poll_argument) noexcept nogil:
    cdef int number = plan.units[unit].number
    cdef void* chosen = (<SegmentRunner>plan.runner_pointers[number]).ready_pointer
    cdef double expected_ns
    cdef hr_code code
    if chosen == NULL or not (<Specialisation>chosen).fits(inputs):
        chosen = specialised(state, number, inputs, 1)
        if chosen == NULL:
            return HR_INTERNAL
        expected_ns = expected(<Specialisation>chosen)
        plan.weights[unit] = LIGHT
        if expected_ns > LONG_NS:
            plan.weights[unit] = LONG
        elif expected_ns > HEAVY_NS:
            plan.weights[unit] = HEAVY
    if alone and plan.weights[unit] and state.team > 1 and \
            expected(<Specialisation>chosen) > LANE_NS:
        if run_wide(state, number, inputs, outputs, poll, poll_argument, &code):
            return code
    return run_on(state, &state.run, inputs, outputs, <Specialisation>chosen,
                  <Tape><void*>(<Specialisation>chosen).tape)


cdef inline double expected(Specialisation made) noexcept nogil:
    return made.flops * 0.03 + made.bytes_moved * 0.1


cdef hr_code run_on(ExecutionState* state, Run* run, hr_tensor* inputs, hr_tensor* outputs,
                    Specialisation made, Tape tape) noexcept nogil:
    cdef Frame* frame = tape.take_frame()
    cdef Leaving* leaving
    cdef hr_tensor* root
    cdef size_t i
    cdef hr_code code
    if frame == NULL:
        return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for an arena")
    for i in range(made.entering_tensor.size()):
        frame.tensors[made.entering_tensor[i]] = inputs[i]
    if state.traced:
        code = run_traced(state, run, made, tape, frame)
    else:
        code = tape.run(frame, run)
    if code == HR_OK:
        for i in range(made.leaving.size()):
            leaving = &made.leaving[i]
            root = &frame.tensors[leaving.root]
            outputs[i] = frame.tensors[leaving.tensor]
            outputs[i].owner = root.owner
            buffer_retain(root.owner)
    tape.release_values(frame)
    tape.give_frame(frame)
    return code


cdef hr_code run_traced(ExecutionState* state, Run* run, Specialisation made, Tape tape,
                        Frame* frame) noexcept nogil:
    cdef vector[int64_t] clock
    clock.resize(2 * tape.entries.size() + 1)
    cdef hr_code code = tape.run_traced(frame, run, clock.data())
    state.lock.lock()
    trace_tape(state.records, tape, frame, clock.data(), made.device, thread_number())
    state.lock.unlock()
    return code


# ---- on several threads -----------------------------------------------------------------------------

cdef struct WideWork:
    ExecutionState* state
    void* made
    hr_tensor* inputs
    hr_tensor* outputs
    hr_code code


cdef bint run_wide(ExecutionState* state, int number, hr_tensor* inputs, hr_tensor* outputs,
                   void (*poll)(void*) noexcept nogil, void* poll_argument,
                   hr_code* code) noexcept nogil:
    """Runs the segment with the step's team; False: others have the lane, nothing ran."""
    cdef WideWork work
    work.state = state
    work.inputs = inputs
    work.outputs = outputs
    work.made = specialised(state, number, inputs, state.team)
    if work.made == NULL:
        code[0] = HR_INTERNAL
        return True
    if not lane_try_run(work_wide, &work, state.team, poll, poll_argument):
        return False
    code[0] = work.code
    if work.code != HR_OK:
        run_fail_text(&state.run, state.wide.code, state.wide.message)
        state.run.failed = state.wide.failed
    return True


cdef void work_wide(void* argument) noexcept nogil:
    cdef WideWork* work = <WideWork*>argument
    work.code = run_on(work.state, &work.state.wide, work.inputs, work.outputs,
                       <Specialisation>work.made, <Tape><void*>(<Specialisation>work.made).tape)


# ---- what needs Python -------------------------------------------------------------------------------

cdef void* specialised(ExecutionState* state, int number, hr_tensor* inputs,
                       int threads) noexcept nogil:
    """The specialisation for these shapes; null: it failed, and the step knows why."""
    with gil:
        try:
            return (<SegmentRunner>(<ExecutorPlan>state.plan).runners[number]).find_pointer(
                inputs, threads)
        except BaseException as error:
            (<list>state.errors).append(error)
            return NULL


cdef hr_code run_loop(ExecutionState* state, Unit* unit, hr_tensor* inputs,
                      hr_tensor* outputs) noexcept nogil:
    with gil:
        try:
            (<NativeLoop>(<ExecutorPlan>state.plan).loops[unit.number]).run(
                &state.run, inputs, outputs)
            return state.run.code
        except BaseException as error:
            (<list>state.errors).append(error)
            return HR_INTERNAL
