# cython: language_level=3
"""What a step has enqueued on devices with memory of their own: its errors, and how much it is.

A device reports an error of its work once, to the step that awaits it first. That step passes it to
all steps with work there (memory/device_steps.hpp), since their values may be wrong as well.
"""

from libc.stdint cimport int32_t, int64_t

from headrace.runtime.executor.executor_state cimport (
    DeviceWork, ExecutionState, wait_for_change, wake,
)
from headrace.runtime.executor.propagation cimport fail
from headrace.runtime.executor.trace cimport monotonic_ns
from headrace.runtime.memory.device_steps cimport begin_on_device, end_on_devices, fail_on_device
from headrace.runtime.memory.kernel_abi cimport (
    HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_device,
)
from headrace.runtime.state.context cimport run_fail_text
from headrace.runtime.threads.pools cimport may_handle_signals


# A step asks for notices, so that about so much work lies between them, and awaits the last but one
# before it goes on.
cdef enum:
    MOST_NOTICES = 2
    NOTICE_NS = 20000000
    MOST_KERNELS = 1024


cdef hr_code begin_work(ExecutionState* state, int32_t device, hr_device* memory,
                        void (*poll)(void*) noexcept nogil, void* poll_argument) noexcept nogil:
    cdef DeviceWork* work = &state.work[device]
    work.poll = poll
    work.poll_argument = poll_argument
    if work.listed:
        return HR_OK
    work.device = memory
    work.listed = begin_on_device(memory, state, end_step)
    if not work.listed:
        return run_fail_text(&state.run, HR_RESOURCE_EXHAUSTED, "no memory for a step")
    return HR_OK


cdef size_t wait_for_room(ExecutionState* state, int32_t device, size_t n) noexcept nogil:
    cdef DeviceWork* work = &state.work[device]
    state.lock.lock()
    if work.kernels >= work.per_notice:
        while work.notices >= MOST_NOTICES and not state.failed:
            wait_for_change(state, may_handle_signals())
            if work.poll != NULL:
                state.lock.unlock()
                work.poll(work.poll_argument)
                state.lock.lock()
        await_work(state, device)
    if work.kernels < work.per_notice:
        n = min(n, <size_t>(work.per_notice - work.kernels))
    work.kernels += n
    state.lock.unlock()
    return n


cdef void await_work(ExecutionState* state, int32_t device) noexcept nogil:
    cdef DeviceWork* work = &state.work[device]
    if work.notices == 0:
        work.asked_ns = monotonic_ns()
    work.kernels = 0
    work.notices += 1
    state.outstanding += 1
    state.lock.unlock()
    work.device.notify(work.device, work_done, work)
    state.lock.lock()


cdef void work_done(void* argument, int32_t code, const char* message) noexcept nogil:
    cdef DeviceWork* work = <DeviceWork*>argument
    cdef ExecutionState* state = work.state
    if code != HR_OK:
        fail(state, NULL, code, message)
        fail_on_device(work.device, code, message)
    state.lock.lock()
    adapt(work)
    work.notices -= 1
    state.outstanding -= 1
    wake(state)
    # Once the lock is released the step may have been freed.
    state.lock.unlock()


cdef void adapt(DeviceWork* work) noexcept nogil:
    """Sets the kernels from one notice to the next by the time that the last ones took."""
    cdef int64_t now = monotonic_ns()
    if now - work.asked_ns > 2 * NOTICE_NS:
        work.per_notice = max(work.per_notice * NOTICE_NS // (now - work.asked_ns), 1)
    elif now - work.asked_ns < NOTICE_NS // 2:
        work.per_notice = min(work.per_notice * 2, MOST_KERNELS)
    work.asked_ns = now


cdef void end_step(void* step, hr_code code, const char* message) noexcept nogil:
    fail(<ExecutionState*>step, NULL, code, message)


cdef void end_work(ExecutionState* state) noexcept nogil:
    cdef size_t i
    cdef bint listed = False
    for i in range(state.work.size()):
        listed = listed or state.work[i].listed
        state.work[i].listed = False
    if listed:
        end_on_devices(state)
