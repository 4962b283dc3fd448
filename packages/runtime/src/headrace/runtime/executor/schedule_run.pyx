# cython: language_level=3
"""One run of a kernel schedule, as the thread that computes it sees it."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move

from headrace.formats import errors
from headrace.runtime.executor.step cimport run_error
from headrace.runtime.memory.kernel_abi cimport HR_OK, hr_code, hr_tensor
from headrace.runtime.plan.executable cimport Executable, Lease, run_entries, run_traced
from headrace.runtime.state.context cimport run_cancel, run_code, run_fail_text
from headrace.runtime.threads.pools cimport (
    ActiveRun, Work, flush_denormals, restore_denormals, may_handle_signals, steady_ns, thread_number,
)


cdef int begin_schedule(Lease& lease, shared_ptr[Executable] chosen, hr_tensor* inputs,
                        KernelWork* work, bint clocked) except -1:
    cdef size_t i
    cdef hr_tensor* t
    if not lease.begin(move(chosen)):
        raise errors.ResourceExhaustedError(
            None, None, (<bytes>lease.executable().no_room()).decode(errors="replace"))
    work.executable = lease.executable()
    work.buffers = lease.buffers()
    for i in range(work.executable.input_tensor.size()):
        t = &work.buffers.tensors[work.executable.input_tensor[i]]
        t.data = inputs[i].data
        # Strings come in counted memory, which kernels may keep.
        t.owner = inputs[i].owner
    if not clocked:
        work.clock.stop()   # an earlier attempt may have started it, for other kernels
    elif not work.clock.start(work.executable.entries.size()):
        raise MemoryError()
    return 0


cdef void run_kernels(void* argument) noexcept nogil:
    cdef KernelWork* work = <KernelWork*>argument
    cdef uint64_t mode = flush_denormals()
    cdef int64_t start = steady_ns() if work.timed else 0
    if work.clock.data() != NULL:
        work.thread = thread_number()
        work.code = run_traced(work.executable, work.buffers, work.run, work.clock.data())
    else:
        work.code = run_entries(work.executable, work.buffers, work.run)
    if work.timed:
        work.took_ns = steady_ns() - start
    restore_denormals(mode)


cdef void end_kernels(void* argument, hr_code code, const char* why) noexcept nogil:
    cdef KernelWork* work = <KernelWork*>argument
    run_fail_text(work.run, code, why)
    run_cancel(work.run)


cdef void handle_signals(void* argument) noexcept nogil:
    cdef KernelWork* work = <KernelWork*>argument
    if not may_handle_signals():
        return
    with gil:
        work.run.check_signals.set(0)
        try:
            PyErr_CheckSignals()
        except BaseException as interrupt:
            work.interrupt.keep(interrupt)
            run_cancel(work.run)


cdef Work poll_of(ActiveRun* active) noexcept:
    if active.check_signals == NULL:
        return NULL
    return handle_signals


cdef int raise_failure(KernelWork* work) except -1:
    if work.interrupt.get() != NULL:
        raise <object>work.interrupt.get()
    if run_code(work.run) != HR_OK:
        PyErr_CheckSignals()  # a Python kernel may have received one
        raise run_error(work.run)
    if work.run.cancelled.get():
        raise errors.CancelledError(None, None, "the step was cancelled")
    return 0
