"""What the steps of a session need of it: its state, its pools and limits, whether it is open."""

from libcpp.memory cimport shared_ptr

from headrace.runtime.state.context cimport SessionState
from headrace.runtime.memory.kernel_abi cimport hr_code
from headrace.runtime.threads.pools cimport InterOpPool


cdef class StateOwner:
    """The resources of one session, or of all sessions of one local://NAME."""
    cdef SessionState* state
    cdef int generation          # of forks, when it was made
    cdef const int* forks        # how many there are now


cdef class SessionOwner:
    """A session as its steps see it; they keep it alive."""
    cdef StateOwner shared
    cdef SessionState* state     # shared's
    cdef readonly bint closed
    cdef readonly int team       # threads of an intra-op team
    cdef readonly double timeout_s              # of runs that say none; 0: none
    cdef shared_ptr[InterOpPool] inter_op_pool  # empty: all runs on the calling thread
    cdef list numbered_pools                    # PoolHandle per session_inter_op_thread_pool
    cdef int check(self) except -1
    # The pool that a run's options choose; empty: the calling thread.
    cdef shared_ptr[InterOpPool] pool_of(self, int number) except *
