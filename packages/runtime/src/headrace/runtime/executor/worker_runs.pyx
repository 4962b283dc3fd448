# cython: language_level=3
# distutils: language = c++
"""Runs of a worker's partitions, behind the functions of headrace/worker.h.

A run is an execution of the dynamic executor without a thread of its own: where nothing is ready it
is parked, and what a Recv waits for makes it ready. A run whose last run took some tens of
microseconds goes on where its value was delivered; any other one on the session's pool.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string

from headrace.runtime.executor.executor cimport Driven, begin_execution, drive_execution
from headrace.runtime.executor.executor_plan cimport ExecutorPlan
from headrace.runtime.executor.function_calls cimport body_pointer
from headrace.runtime.executor.propagation cimport fail
from headrace.runtime.executor.trace cimport metadata_of
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.kernels.kernel_table cimport is_python_kernel
from headrace.runtime.memory.buffer cimport allocate_tensor, buffer_release, buffer_retain
from headrace.runtime.memory.kernel_abi cimport (
    HR_CANCELLED, HR_NOT_FOUND, HR_OK, HR_RESOURCE_EXHAUSTED, HR_UINT8, hr_buffer, hr_code,
    hr_string, hr_tensor,
)
from headrace.runtime.memory.worker_abi cimport (
    HR_RUN_HERE, HR_RUN_TRACED, HR_WORKER_ABI, hr_rendezvous, hr_run_done, hr_worker,
)
from headrace.runtime.passes.program cimport ProgramNode
from headrace.runtime.state.context cimport run_blamed, run_code
from headrace.runtime.state.session_owner cimport SessionOwner
from headrace.runtime.threads.pools cimport InterOpPool, process_inter_op_pool, steady_ns

from headrace.formats import errors


# A driver that computes for longer leaves the thread that delivers values.
cdef int64_t SHORT_NS = 50_000


# ---- partitions ------------------------------------------------------------------------------------

cdef shared_ptr[WorkerRuns] new_worker_runs() except *:
    cdef shared_ptr[WorkerRuns] made = make_worker_runs()
    cdef hr_worker* abi = &made.get().abi
    abi.size = sizeof(hr_worker)
    abi.abi = HR_WORKER_ABI
    abi.run = start_run
    abi.cancel = cancel_runs
    abi.begin_deliveries = begin
    abi.end_deliveries = end_deliveries
    abi.allocate = allocate
    abi.retain = retain
    abi.release = release
    abi.set_string = set_string
    abi.wrap = wrap
    return made


cdef int64_t add_partition(WorkerRuns* worker, object step, object plan, object owner) except -1:
    cdef shared_ptr[WorkerPartition] made = make_shared[WorkerPartition]()
    cdef ProgramNode node
    made.get().python = body_pointer(step)
    made.get().plan = <void*>plan
    made.get().owner = <void*>owner
    made.get().n_frames = (<ExecutorPlan>plan).frames.size()
    for node in (<ExecutorPlan>plan).program.nodes:
        if node.kernel != NULL and is_python_kernel(node.kernel):
            made.get().calls_python = True
    if not process_inter_op_pool().get().ready():
        raise errors.ResourceExhaustedError(
            None, None, "the system gives no thread for the runs of a partition")
    return worker.add(made)


cdef void end_partition_runs(WorkerRuns* worker, WorkerPartition* partition, hr_code code,
                             const char* why) noexcept nogil:
    end_runs(worker, partition, -1, code, why)


cdef void close_runs(WorkerRuns* worker) noexcept nogil:
    worker.close()
    end_runs(worker, NULL, -1, HR_CANCELLED, "the worker was closed")


cdef void end_runs(WorkerRuns* worker, WorkerPartition* partition, int64_t number, hr_code code,
                   const char* why) noexcept nogil:
    cdef uint64_t request = worker.new_request()
    cdef WorkerRun* run = worker.pin_next(partition, number, request)
    while run != NULL:
        fail(&run.state, NULL, code, why)
        unpin(run)
        run = worker.pin_next(partition, number, request)


# ---- runs ------------------------------------------------------------------------------------------

cdef void start_run(hr_worker* worker, int64_t partition, int64_t number, uint32_t flags,
                    hr_rendezvous* rendezvous, hr_run_done done, void* argument) noexcept nogil:
    cdef shared_ptr[WorkerPartition] found = runs_of(worker).find(partition)
    cdef WorkerRun* run
    cdef hr_code code
    if found.get() == NULL:
        done(argument, HR_NOT_FOUND, "", "the worker has no such partition: it was deregistered, "
             "or the worker has been restarted", "", 0)
        return
    run = new_worker_run(found.get().n_frames)
    if run == NULL or not begin_execution(&run.state, found.get().owner, found.get().plan,
                                          flags & HR_RUN_TRACED != 0):
        del run
        done(argument, HR_RESOURCE_EXHAUSTED, "", "no memory for a run", "", 0)
        return
    run.partition = found
    run.worker = runs_of(worker).self.lock()
    run.number = number
    run.done = done
    run.argument = argument
    run.state.between_tasks = rendezvous
    run.state.resume = resume
    run.state.resume_argument = run
    run.call.work = drive
    run.call.argument = run
    code = runs_of(worker).enter(run)
    if code != HR_OK:
        del run
        done(argument, code, "", "the worker was closed" if code == HR_CANCELLED
             else "no memory for a run", "", 0)
    elif flags & HR_RUN_HERE and is_short(run):
        run.state.light_only = True
        drive(run)
    else:
        submit(run)


cdef void cancel_runs(hr_worker* worker, int64_t number, hr_code code,
                      const char* why) noexcept nogil:
    end_runs(runs_of(worker), NULL, number, code, why)


cdef bint is_short(WorkerRun* run) noexcept nogil:
    cdef int64_t busy_ns = run.partition.get().busy_ns.get()
    return 0 < busy_ns < SHORT_NS and not run.partition.get().calls_python


cdef void resume(void* argument) noexcept nogil:
    cdef WorkerRun* run = <WorkerRun*>argument
    if not is_short(run) or not defer_run(run):
        submit(run)


cdef void begin() noexcept nogil:
    begin_deliveries()


cdef void end_deliveries() noexcept nogil:
    cdef WorkerRun* run = next_delivery()
    while run != NULL:
        run.state.light_only = True
        drive(run)
        run = next_delivery()


cdef void submit(WorkerRun* run) noexcept nogil:
    """Goes on with a run on the session's pool, or on that of the process if the session has
    none."""
    cdef shared_ptr[InterOpPool] pool = (<SessionOwner>run.partition.get().owner).inter_op_pool
    run.state.light_only = False
    if pool.get() != NULL and pool.get().size() > 0 and pool.get().submit(&run.call):
        return
    pool = process_inter_op_pool()
    pool.get().submit(&run.call)    # it has a thread since the partition was registered


cdef void drive(void* argument) noexcept nogil:
    """Runs what is ready. The run may be gone when this returns."""
    cdef WorkerRun* run = <WorkerRun*>argument
    cdef int64_t start = steady_ns()
    cdef shared_ptr[WorkerPartition] partition = run.partition
    cdef Driven how = drive_execution(&run.state, <ExecutorPlan>run.state.plan)
    partition.get().add_time(steady_ns() - start)
    if how == Driven.FOR_POOL:
        submit(run)
    elif how == Driven.OVER:
        end_run(run)


cdef void end_run(WorkerRun* run) noexcept nogil:
    cdef hr_run_done done = run.done
    cdef void* argument = run.argument
    cdef RunEnd end
    cdef string metadata
    cdef hr_code code
    cdef GraphNode* blamed
    run.worker.get().leave(run)
    code = run_code(&run.state.run)
    if code != HR_OK:
        blamed = <GraphNode*>run_blamed(&run.state.run)
        if blamed != NULL:
            end.set_message_of(blamed[0], run.state.run.message)
        else:
            end.set_message(run.state.run.message)
    elif run.state.traced:
        metadata = trace_of(run)
    del run
    done(argument, code, end.node, end.message, metadata.data(), metadata.size())


cdef string trace_of(WorkerRun* run) noexcept nogil:
    cdef string metadata
    if run.state.device_trace.get() != NULL and \
            not run.state.device_trace.get().finish(run.state.records):
        return metadata
    with gil:
        try:
            metadata = metadata_of(run.state.records, (<ExecutorPlan>run.state.plan).program)
        except BaseException:
            pass    # a run without its trace
    return metadata


# ---- memory ----------------------------------------------------------------------------------------

cdef hr_code allocate(hr_tensor* tensor) noexcept nogil:
    return allocate_tensor(tensor)


cdef hr_buffer* wrap(void* data, int64_t n_bytes, void (*release_memory)(void*) noexcept nogil,
                     void* argument) noexcept nogil:
    return wrap_memory(data, n_bytes, release_memory, argument)


cdef void retain(hr_buffer* buffer) noexcept nogil:
    buffer_retain(buffer)


cdef void release(hr_buffer* buffer) noexcept nogil:
    buffer_release(buffer)


cdef hr_code set_string(hr_string* text, const char* data, size_t size) noexcept nogil:
    cdef hr_tensor copy
    copy.owner = NULL
    copy.data = NULL
    if size:
        copy.dtype = HR_UINT8
        copy.rank = 1
        copy.dims[0] = <int64_t>size
        if allocate_tensor(&copy) != HR_OK:
            return HR_RESOURCE_EXHAUSTED
        memcpy(copy.data, data, size)
    buffer_release(text.owner)
    text.owner = copy.owner
    text.data = <const char*>copy.data
    text.size = size
    return HR_OK
