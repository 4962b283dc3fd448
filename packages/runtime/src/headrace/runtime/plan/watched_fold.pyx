# cython: language_level=3
"""Computing a node while its segment is planned, so that the run can be ended meanwhile."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint64_t

from headrace.formats import errors
from headrace.runtime.state.context cimport Run
from headrace.runtime.state.error_boundary cimport call_compute
from headrace.runtime.memory.kernel_abi cimport HR_CANCELLED, hr_code, hr_tensor
from headrace.runtime.kernels.kernel_table cimport is_python_kernel
from headrace.runtime.state.raised_error cimport RaisedError
from headrace.runtime.plan.segment_builder cimport Step
from headrace.runtime.threads.pools cimport (
    ActiveRun, current_run, flush_denormals, in_pool, is_watched, kHoldGil, process_inter_op_pool,
    restore_denormals,
)


cdef struct FoldWork:
    Run* run
    Step* step
    const hr_tensor* const* inputs
    hr_tensor* const* outputs
    void* workspace
    ActiveRun* around  # the run that plans; null: none
    hr_code code
    RaisedError* interrupt   # of a signal's handler


cdef hr_code compute_watched(Step* step, Run* run, const hr_tensor* const* inputs,
                             hr_tensor* const* outputs, void* workspace,
                             double cost_ns) except? -1:
    cdef FoldWork work
    cdef bint ran = False
    cdef RaisedError interrupt
    work.run = run
    work.step = step
    work.inputs = inputs
    work.outputs = outputs
    work.workspace = workspace
    work.around = current_run()
    work.code = HR_CANCELLED
    work.interrupt = &interrupt
    if is_watched() and not in_pool() and cost_ns > kHoldGil and \
            not is_python_kernel(step.kernel):
        with nogil:
            ran = process_inter_op_pool().get().run(fold, &work, &run.cancelled, look_at_signals,
                                                    &work)
    elif work.around != NULL:
        run.ctx.cancelled = work.around.cancelled.address()
    if not ran:
        with nogil:
            fold(&work)
    if interrupt.get() != NULL:
        raise <object>interrupt.get()
    PyErr_CheckSignals()
    if work.around != NULL and work.around.cancelled.get():
        raise errors.CancelledError(None, None, "the run was ended while it was planned")
    return work.code


cdef void fold(void* argument) noexcept nogil:
    cdef FoldWork* work = <FoldWork*>argument
    cdef uint64_t mode = flush_denormals()
    work.code = call_compute(work.step.compute, &work.run.ctx, work.step.state,
                             work.step.plan, work.inputs, work.outputs, work.workspace)
    restore_denormals(mode)


cdef void look_at_signals(void* argument) noexcept nogil:
    cdef FoldWork* work = <FoldWork*>argument
    if work.around != NULL and work.around.cancelled.get():
        work.run.cancelled.set(1)
    with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as interrupt:
            work.run.cancelled.set(1)
            work.interrupt.keep(interrupt)
