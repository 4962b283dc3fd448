# cython: language_level=3
"""The loop over a kernel schedule: an array of kernels with all decisions executable.

A run takes buffers (tensors, argument pointers, arena) from its executable. Concurrent runs
therefore never share memory, and a second run allocates only what outlives it.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.memory cimport make_shared, shared_ptr

from headrace.runtime.memory.buffer cimport (
    allocate_on, allocate_tensor, buffer_release, set_bytes,
)
from headrace.runtime.state.context cimport (
    HR_REPLAN, Run, run_attend, run_blame, run_fail_text, run_wants_attention,
)
from headrace.runtime.state.error_boundary cimport call_compute
from headrace.runtime.memory.kernel_abi cimport (
    HR_ABORTED, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_device, hr_tensor,
)


cdef extern from *:
    """
    #include <chrono>
    static int64_t now_ns() {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(
                 std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static std::shared_ptr<headrace::Executable> shared_executable(headrace::IdleBuffers* idle) {
      return std::make_shared<headrace::Executable>(idle);
    }
    """
    int64_t now_ns() nogil
    shared_ptr[Executable] shared_executable(IdleBuffers* idle) except +

cdef extern from "<pthread.h>" nogil:
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil)


# Never freed: executables may outlive the globals of the module at exit.
cdef IdleBuffers* idle_buffers = new IdleBuffers(<int64_t>1 << 30)


cdef void take_lock() noexcept nogil:
    idle_buffers.lock()


cdef void give_lock() noexcept nogil:
    idle_buffers.unlock()


pthread_atfork(take_lock, give_lock, give_lock)


def idle_bytes() -> int:
    """Returns: bytes of the large run buffers that executables keep between runs."""
    return idle_buffers.bytes()


def idle_bytes_limit() -> int:
    """Returns: the most bytes of large run buffers that the process keeps between runs."""
    return idle_buffers.limit()


def set_idle_bytes_limit(int64_t limit) -> None:
    """Bounds the large run buffers that the process keeps between runs.

    Args:
      limit: bytes; beyond it, the buffers that were idle longest are freed.
    """
    idle_buffers.set_limit(limit)


cdef shared_ptr[Executable] new_executable() except *:
    return shared_executable(idle_buffers)


cdef hr_code run_entries(Executable* executable, RunBuffers* buffers, Run* run) noexcept nogil:
    if executable.memory != NULL:
        return run_part(executable, buffers, run, 0, executable.entries.size(), NULL)
    cdef hr_code code = allocate_counted(executable, buffers, run)
    cdef Entry* entry = buffers.entries
    cdef Entry* end = entry + executable.entries.size()
    if code != HR_OK:
        return code
    while entry != end:
        code = call_compute(entry.compute, &run.ctx, entry.state, entry.plan,
                            <const hr_tensor* const*>entry.inputs,
                            <hr_tensor* const*>entry.outputs, entry.workspace)
        if code != HR_OK:
            return stopped(executable, run, entry - buffers.entries, code)
        if run_wants_attention(run):
            code = run_attend(run)
            if code != HR_OK:
                return code
        entry += 1
    return HR_OK


cdef hr_code run_traced(Executable* executable, RunBuffers* buffers, Run* run,
                        int64_t* clock_ns) noexcept nogil:
    cdef size_t i
    for i in range(2 * executable.entries.size()):
        clock_ns[i] = 0
    return run_part(executable, buffers, run, 0, executable.entries.size(), clock_ns)


cdef hr_code run_part(Executable* executable, RunBuffers* buffers, Run* run, size_t first,
                      size_t last, int64_t* clock_ns) noexcept nogil:
    cdef hr_code code = HR_OK if first else allocate_counted(executable, buffers, run)
    cdef size_t i
    cdef Entry* entry
    if code != HR_OK:
        return code
    for i in range(first, last):
        entry = &buffers.entries[i]
        if executable.memory != NULL:   # otherwise threads share the run
            run.ctx.device = executable.memory
            if executable.entries[i].on_host:
                run.ctx.device = NULL
            if run.ctx.profile != NULL:
                run.ctx.profile.entry = run.first_profiled + <int32_t>i
        if clock_ns != NULL:
            clock_ns[2 * i] = now_ns()
        code = call_compute(entry.compute, &run.ctx, entry.state, entry.plan,
                            <const hr_tensor* const*>entry.inputs,
                            <hr_tensor* const*>entry.outputs, entry.workspace)
        if clock_ns != NULL:
            clock_ns[2 * i + 1] = now_ns()
        if code != HR_OK:
            return stopped(executable, run, i, code)
        if run_wants_attention(run):
            code = run_attend(run)
            if code != HR_OK:
                return code
    return HR_OK


cdef hr_code stopped(Executable* executable, Run* run, size_t entry, hr_code code) noexcept nogil:
    """The code of a run that ended in that entry: HR_REPLAN if nothing has had an effect."""
    if code == HR_REPLAN and <int64_t>entry <= executable.first_effect:
        return code
    if code == HR_REPLAN:
        code = run_fail_text(run, HR_ABORTED, "the variable's shape changed during the run")
    run_blame(run, executable.entries[entry].node)
    return code


cdef inline hr_code allocate_counted(Executable* executable, RunBuffers* buffers,
                                     Run* run) noexcept nogil:
    cdef int32_t i
    if executable.memory != NULL:
        return allocate_on_device(executable, buffers, run)
    for i in executable.counted:
        if allocate_tensor(&buffers.tensors[i]) != HR_OK:
            return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for a result")
    return HR_OK


cdef hr_code allocate_on_device(Executable* executable, RunBuffers* buffers,
                                Run* run) noexcept nogil:
    cdef int32_t i
    cdef size_t k
    cdef hr_tensor* t
    for i in executable.counted_on_host:
        if allocate_tensor(&buffers.tensors[i]) != HR_OK:
            return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for a result")
    for k in range(executable.counted.size()):
        t = &buffers.tensors[executable.counted[k]]
        if set_bytes(t) < 0 or allocate_on(executable.memory, t,
                                           executable.counted_makers[k].name.c_str()) != HR_OK:
            return fail_no_room_for(run, executable.memory, t.bytes)
    return HR_OK


cdef hr_code alias_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) noexcept nogil:
    outputs[0].data = inputs[0].data
    outputs[0].owner = inputs[0].owner
    return HR_OK


cdef hr_code release_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void* workspace) noexcept nogil:
    buffer_release(outputs[0].owner)
    outputs[0].owner = NULL
    return HR_OK
