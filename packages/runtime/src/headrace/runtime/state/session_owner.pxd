"""The part of a session that its steps need: state, pools, limits, and whether it is open."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.state.context cimport Mutex, SessionState
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_dtype
from headrace.runtime.threads.pools cimport InterOpPool


cdef extern from "state/functions.hpp" nogil:
    cdef cppclass hr_function:
        string name, key
        vector[hr_dtype] inputs, outputs
        int32_t waits
        cbool draws
        shared_ptr[void] body
        shared_ptr[void] body_now()
        void drop_body()

ctypedef hr_code (*CompileFunction)(SessionFunctions* functions, const string& key,
                                    hr_function** made, string* error) noexcept nogil
ctypedef hr_code (*RecompileFunction)(SessionFunctions* functions, const string& key,
                                      shared_ptr[void]* body, string* error) noexcept nogil

cdef extern from "state/functions.hpp" namespace "headrace" nogil:
    cdef cppclass SessionFunctions:
        SessionFunctions() except +
        Mutex lock
        cbool closed
        unordered_map[string, hr_function*] by_key
        PyObject* compiler
        CompileFunction compile
        RecompileFunction recompile
        void (*unused)(SessionFunctions* functions) noexcept nogil
        const int* forks
        int generation
        cbool forked()

    void function_retain(hr_function* function)
    void function_release(hr_function* function)


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
    cdef shared_ptr[SessionFunctions] functions  # of the session's graph, for kernels that call them
    cdef list numbered_pools                    # PoolHandle per session_inter_op_thread_pool
    cdef int check(self) except -1
    # The pool that a run's options choose; empty: the calling thread.
    cdef shared_ptr[InterOpPool] pool_of(self, int number) except *
