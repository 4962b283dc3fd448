"""Runs of a worker's partitions, behind the functions of headrace/worker.h."""

from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr, weak_ptr

from headrace.runtime.executor.executor_state cimport ExecutionState
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_buffer, hr_code
from headrace.runtime.memory.relaxed cimport Relaxed
from headrace.runtime.memory.worker_abi cimport hr_run_done, hr_worker
from headrace.runtime.threads.pools cimport PoolCall


cdef extern from "executor/worker_runs.hpp" namespace "headrace" nogil:
    cdef cppclass WorkerPartition:
        shared_ptr[void] python
        void* plan
        void* owner
        size_t n_frames
        cbool calls_python
        Relaxed[int64_t] busy_ns
        void add_time(int64_t ns)

    cdef cppclass WorkerRun:
        ExecutionState state
        shared_ptr[WorkerPartition] partition
        shared_ptr[WorkerRuns] worker
        int64_t number
        hr_run_done done
        void* argument
        PoolCall call

    cdef cppclass RunEnd:
        const char* node
        const char* message
        void set_message(const char* text)
        void set_message_of(const GraphNode& at, const char* text)

    cdef cppclass WorkerRuns:
        hr_worker abi
        weak_ptr[WorkerRuns] self
        int64_t add(shared_ptr[WorkerPartition] partition) except +
        shared_ptr[WorkerPartition] find(int64_t number)
        shared_ptr[WorkerPartition] remove(int64_t number)
        hr_code enter(WorkerRun* run)
        void leave(WorkerRun* run)
        void close()
        uint64_t new_request()
        WorkerRun* pin_next(const WorkerPartition* partition, int64_t number, uint64_t request)
        cbool wait_for_runs(int64_t milliseconds)

    void unpin(WorkerRun*)
    shared_ptr[WorkerRuns] make_worker_runs() except +
    WorkerRuns* runs_of(hr_worker*)
    WorkerRun* new_worker_run(size_t n_frames)
    cbool defer_run(WorkerRun*)
    void begin_deliveries()
    WorkerRun* next_delivery()
    hr_buffer* wrap_memory(void*, int64_t, void (*)(void*) noexcept, void*)

cdef shared_ptr[WorkerRuns] new_worker_runs() except *
# step: a DynamicStep; plan, owner: its ExecutorPlan and SessionOwner.
cdef int64_t add_partition(WorkerRuns* worker, object step, object plan, object owner) except -1
# Ends the runs of a partition (null: of all); does not wait.
cdef void end_partition_runs(WorkerRuns* worker, WorkerPartition* partition, hr_code code,
                             const char* why) noexcept nogil
cdef void close_runs(WorkerRuns* worker) noexcept nogil
