"""The part of a session that its steps need: state, pools, limits, and whether it is open."""

from libcpp.memory cimport shared_ptr

from headrace.runtime.state.context cimport SessionState
from headrace.runtime.memory.kernel_abi cimport hr_code
from headrace.runtime.threads.pools cimport InterOpPool


cdef class StateOwner:
    """The resources of one session, or of all sessions of one local://NAME."""
    cdef SessionState* state
    cdef int generation          # number of forks when it was made
    cdef const int* forks        # the current number


cdef class SessionOwner:
    """A session as its steps see it; they keep it alive."""
    cdef StateOwner shared
    cdef SessionState* state     # of the StateOwner
    cdef readonly bint closed
    cdef readonly int intra_op_threads       # threads of an intra-op team
    cdef readonly double timeout_s              # of runs without a timeout; 0: none
    cdef shared_ptr[InterOpPool] inter_op_pool  # empty: all runs on the calling thread
    cdef list numbered_pools                    # PoolHandle per session_inter_op_thread_pool
    cdef int check(self) except -1
    # The pool that a run's options choose; empty: the calling thread.
    cdef shared_ptr[InterOpPool] pool_of(self, int number) except *
