# cython: language_level=3
"""Constant folding: nodes whose inputs are known are computed while their segment is planned.

A run that plans can be ended meanwhile: long kernels are computed on a pool's thread while the
calling thread handles signals.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.graph.node_text cimport node_label
from headrace.runtime.kernels.kernel_table cimport OWN_MEMORY, SESSION_CONSTANT, is_python_kernel
from headrace.runtime.memory.buffer cimport OwnedTensor, allocate_tensor, buffer_retain
from headrace.runtime.memory.kernel_abi cimport (
    HR_CANCELLED, HR_OK, HR_UINT8, hr_code, hr_tensor,
)
from headrace.runtime.passes.step_costs cimport FOLD_LIMIT
from headrace.runtime.plan.executable cimport STATIC
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step, node_error
from headrace.runtime.state.context cimport Run, run_begin
from headrace.runtime.state.error_boundary cimport call_compute
from headrace.runtime.state.raised_error cimport RaisedError
from headrace.runtime.threads.pools cimport (
    ActiveRun, current_run, flush_denormals, in_pool, is_watched, kHoldGil, process_inter_op_pool,
    restore_denormals,
)


cdef bint is_small_enough(vector[hr_tensor*]& outputs) noexcept nogil:
    cdef int64_t total = 0
    cdef size_t i
    for i in range(outputs.size()):
        total += outputs[i].bytes
    return total <= FOLD_LIMIT


cdef bint take_session_constant(SegmentBuilder builder, Step* step, int32_t number) except -1:
    """Reuses the outputs from an earlier plan of the segment; False: there is none."""
    cdef const vector[hr_tensor]* found = NULL
    cdef hr_tensor* out
    cdef int i
    if builder.cache != NULL:
        found = builder.cache.find_session_constant(number)
    if found == NULL:
        return False
    for i in range(step.n_outputs):
        out = builder.node_outputs[i]
        out[0] = found.at(i)
        if out.owner != NULL:
            buffer_retain(out.owner)
            builder.out.keep(out.owner)
            out.owner = NULL
        builder.storage[builder.arguments[step.first_output + i]] = STATIC
        builder.session_constant[builder.arguments[step.first_output + i]] = 1
    step.elided = True
    builder.out.folded += 1
    return True


cdef object no_memory(GraphNode* node):
    return errors.ResourceExhaustedError(
        None, None, f"{node_label(node)}: no memory for its result")


cdef int fold(SegmentBuilder builder, Step* step, int32_t number, vector[const hr_tensor*]& inputs,
              vector[hr_tensor*]& outputs, double cost_ns) except -1:
    """Computes a node whose inputs are all known."""
    cdef Run* run = new Run()
    cdef hr_code code = HR_OK
    cdef size_t i
    cdef OwnedTensor workspace
    workspace.get().dtype = HR_UINT8
    workspace.get().rank = 1
    workspace.get().dims[0] = step.workspace
    workspace.get().data = NULL
    try:
        run_begin(run, builder.session, builder.threads)
        if not step.kernel.flags & (OWN_MEMORY | SESSION_CONSTANT):
            for i in range(outputs.size()):
                if allocate_tensor(outputs[i]) != HR_OK:
                    raise no_memory(step.node)
        if step.workspace > 0 and allocate_tensor(workspace.get()) != HR_OK:
            raise no_memory(step.node)
        code = compute_watched(step, run, <const hr_tensor* const*>inputs.data(),
                               <hr_tensor* const*>outputs.data(), workspace.get().data, cost_ns)
        if code != HR_OK:
            step.node.error.assign(run.message)
            raise node_error(step.node, code)
        if step.kernel.flags & SESSION_CONSTANT and builder.cache != NULL:
            builder.cache.keep_session_constant(number, outputs)
    finally:
        for i in range(outputs.size()):
            if outputs[i].owner != NULL:
                builder.out.keep(outputs[i].owner)
                outputs[i].owner = NULL
            builder.storage[builder.arguments[step.first_output + i]] = STATIC
        del run
    step.elided = True
    builder.out.folded += 1
    return 0


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
            ran = process_inter_op_pool().get().run(compute_folded, &work, &run.cancelled, handle_signals,
                                                    &work)
    elif work.around != NULL:
        run.ctx.cancelled = work.around.cancelled.address()
    if not ran:
        with nogil:
            compute_folded(&work)
    if interrupt.get() != NULL:
        raise <object>interrupt.get()
    PyErr_CheckSignals()
    if work.around != NULL and work.around.cancelled.get():
        raise errors.CancelledError(None, None, "the run was ended while it was planned")
    return work.code


cdef void compute_folded(void* argument) noexcept nogil:
    cdef FoldWork* work = <FoldWork*>argument
    cdef uint64_t mode = flush_denormals()
    work.code = call_compute(work.step.compute, &work.run.ctx, work.step.state,
                             work.step.plan, work.inputs, work.outputs, work.workspace)
    restore_denormals(mode)


cdef void handle_signals(void* argument) noexcept nogil:
    cdef FoldWork* work = <FoldWork*>argument
    if work.around != NULL and work.around.cancelled.get():
        work.run.cancelled.set(1)
    with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as interrupt:
            work.run.cancelled.set(1)
            work.interrupt.keep(interrupt)
