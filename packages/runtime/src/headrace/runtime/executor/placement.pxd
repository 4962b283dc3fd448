"""The schedule of a run, and where it runs."""

from libcpp.memory cimport shared_ptr

from headrace.runtime.executor.schedule_run cimport KernelWork
from headrace.runtime.executor.step cimport Step
from headrace.runtime.memory.kernel_abi cimport hr_tensor
from headrace.runtime.plan.executable cimport Executable, Lease
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.state.raised_error cimport RaisedError
from headrace.runtime.threads.pools cimport ActiveRun, StepFacts


# The arguments of planning on a thread of the intra-op pool.
cdef struct IntraOpPlanning:
    void* step                     # PlacedStep
    hr_tensor* inputs
    ActiveRun* run
    KernelWork* work
    bint traced
    shared_ptr[Executable]* found
    Lease* lease                   # holds `found` if it runs at once
    RaisedError* error


# A step over one segment, without its feeds and fetches.
cdef class PlacedStep(Step):
    cdef readonly SegmentRunner runner
    cdef bint heavy                       # the last run was worth several threads
    cdef shared_ptr[Executable] latest    # of the last run, and probably of the next one

    cdef bint choose(self, shared_ptr[Executable]& chosen, hr_tensor* inputs, ActiveRun* active,
                     KernelWork* work, Lease& lease, bint traced) except -1
    cdef StepFacts facts_of(self, Executable* executable, ActiveRun* active)
    cdef bint find_for_intra_op(self, shared_ptr[Executable]& chosen, hr_tensor* inputs,
                                ActiveRun* active, KernelWork* work, Lease& lease,
                                bint traced) except -1
    cdef bint plan_for_intra_op(self, IntraOpPlanning* search) except -1
    cdef bint run_on_intra_op_pool(self, ActiveRun* active, KernelWork* work) except -1
    cdef int run_on_one(self, StepFacts* facts, ActiveRun* active, KernelWork* work,
                        int pool_number) except -1
