# cython: language_level=3
# distutils: language = c++
"""The worker of one task: partitions of the graphs of several sessions over one state.

services.Worker; what happens in every step is in worker_runs.pyx.
"""

import threading

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t
from libcpp.memory cimport shared_ptr

from headrace.formats import errors
from headrace.runtime.executor.worker_runs cimport (
    WorkerPartition, WorkerRuns, add_partition, close_runs, end_partition_runs, new_worker_runs,
)
from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.memory.kernel_abi cimport HR_CANCELLED
from headrace.runtime.memory.worker_abi cimport HR_WORKER_CAPSULE
from headrace.runtime.kernels.device_list cimport DeviceList
from headrace.runtime.passes.program cimport Program, ProgramConfig, build_program
from headrace.runtime.passes.segments cimport cut_segments
from headrace.runtime.session.function_compiler cimport FunctionCompiler
from headrace.runtime.session.state_reset cimport reset_state
from headrace.runtime.state.session_owner cimport SessionOwner, StateOwner

from headrace.runtime.executor.dynamic_step import DynamicStep
from headrace.runtime.kernels.kernel_libraries import load_kernels
from headrace.runtime.session.session_devices import device_attributes, session_devices
from headrace.runtime.state.session_options import SessionOptions

# Runs that are cancelled end within this time, unless a kernel does not poll.
cdef int64_t END_MS = 10_000


cdef class Partition:
    """A registered partition: a graph of its own, on the state of its session."""
    cdef SessionGraph graph
    cdef SessionOwner owner
    cdef FunctionCompiler functions
    cdef readonly int64_t number

    def __init__(self, Worker worker, StateOwner state, options, bytes graph_def):
        cdef ProgramConfig config = ProgramConfig()
        cdef Program program
        config.devices = worker.devices
        config.device_list = worker.device_list
        config.allow_reference = options.allow_reference
        config.allow_soft_placement = True     # the plan has placed it
        self.graph = SessionGraph()
        self.graph.extend(graph_def)
        self.owner = SessionOwner(state, options.intra_op_threads, options.inter_op_threads,
                                  options.inter_op_pools, 0.0, options.memory_limit)
        self.functions = FunctionCompiler(self.graph, self.owner, config, options.dynamic)
        self.functions.attach()
        program = build_program(self.graph, [], [], self.graph.sinks(), config)
        step = DynamicStep(self.owner, program, cut_segments(program, False),
                           not options.dynamic)
        self.number = add_partition(worker.runs.get(), step, step.plan, self.owner)

    cdef int close(self, Worker worker) except -1:
        cdef shared_ptr[WorkerPartition] removed = worker.runs.get().remove(self.number)
        if removed.get() != NULL:
            with nogil:
                end_partition_runs(worker.runs.get(), removed.get(), HR_CANCELLED,
                                   "the partition was deregistered")
        self.owner.close("the partition was deregistered")
        self.functions.close("the session was closed", True)
        return 0


class _Session:
    def __init__(self, state, options):
        self.state = state
        self.options = options
        self.partitions = {}


cdef class Worker:
    """services.Worker."""
    cdef shared_ptr[WorkerRuns] runs
    cdef StateOwner state
    cdef readonly list devices
    cdef readonly DeviceList device_list
    cdef readonly object capsule
    cdef dict sessions
    cdef dict session_of      # partition number -> session name
    cdef object lock

    def __init__(self, str task, bytes config):
        load_kernels()
        options = SessionOptions(config)
        self.device_list = session_devices(task, options)
        self.devices = self.device_list.names
        self.state = StateOwner()
        self.runs = new_worker_runs()
        self.capsule = PyCapsule_New(&self.runs.get().abi, HR_WORKER_CAPSULE, NULL)
        self.sessions = {}
        self.session_of = {}
        self.lock = threading.Lock()

    def list_devices(self):
        return [device_attributes(self.device_list, i) for i in range(len(self.devices))]

    def open_session(self, str session, bytes config, bint own_state):
        options = SessionOptions(config)
        with self.lock:
            if session in self.sessions:
                raise errors.AlreadyExistsError(
                    None, None, f"the worker has a session {session!r} already")
            self.sessions[session] = _Session(StateOwner() if own_state else self.state, options)

    def register(self, str session, bytes graph_def):
        found = self.session(session)
        made = Partition(self, found.state, found.options, graph_def)
        with self.lock:
            if self.sessions.get(session) is found:
                found.partitions[made.number] = made
                self.session_of[made.number] = session
                return made.number
        (<Partition>made).close(self)
        raise self.unknown(session)

    cdef object session(self, str session):
        with self.lock:
            found = self.sessions.get(session)
        if found is None:
            raise self.unknown(session)
        return found

    cdef object unknown(self, str session):
        return errors.NotFoundError(
            None, None, f"the worker has no session {session!r}: it was closed, or the worker has "
            "been restarted")

    def deregister(self, int64_t partition):
        with self.lock:
            session = self.sessions.get(self.session_of.pop(partition, None))
            found = session.partitions.pop(partition, None) if session else None
        if found is not None:
            (<Partition>found).close(self)

    def close_session(self, str session):
        with self.lock:
            found = self.sessions.pop(session, None)
            if found is None:
                return
            for number in found.partitions:
                self.session_of.pop(number, None)
        for partition in found.partitions.values():
            (<Partition>partition).close(self)

    def reset(self, containers):
        cdef Partition partition
        cdef SessionOwner owner = SessionOwner(self.state, 1)
        with self.lock:
            partitions = [p for s in self.sessions.values() if s.state is self.state
                          for p in s.partitions.values()]
        for partition in partitions:
            with nogil:
                end_all_runs(self.runs.get(), partition.number)
        reset_state(owner, containers, [(<Partition>p).graph for p in partitions],
                    [(<Partition>p).functions for p in partitions])

    def close(self):
        with nogil:
            close_runs(self.runs.get())
            self.runs.get().wait_for_runs(END_MS)
        for session in list(self.sessions):
            self.close_session(session)

    def __del__(self):
        if self.sessions is not None:
            self.close()


cdef void end_all_runs(WorkerRuns* runs, int64_t partition) noexcept nogil:
    cdef shared_ptr[WorkerPartition] found = runs.find(partition)
    if found.get() != NULL:
        end_partition_runs(runs, found.get(), HR_CANCELLED,
                           "the session's resources were reset")
