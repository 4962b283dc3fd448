# cython: language_level=3
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.distributed.native.endpoint_types cimport CEndpoint, MasterStep, StepPlan
from headrace.distributed.native.memory cimport Value


cdef class Step:
    cdef object owner                 # the Endpoint
    cdef shared_ptr[CEndpoint] endpoint
    cdef shared_ptr[StepPlan] plan
    cdef list dtypes
    cdef int pid
    cdef CEndpoint* check(self) except NULL


cdef class Running:
    cdef Step of
    cdef shared_ptr[CEndpoint] endpoint
    cdef shared_ptr[MasterStep] step
    cdef vector[Value] values
    cdef vector[const Value*] given
    cdef int pid
    cdef int begin(self, Step of) except -1
    cdef int feed_all(self, values) except -1
    cdef int launch(self, bint traced) except -1
    cdef MasterStep* running(self) except NULL
    cdef int wait(self, int32_t place, int64_t timeout_ms) except -1
    cdef int let_end(self, int64_t until) except -1
    cdef object value(self, int32_t number)
    cdef object results(self, int64_t timeout_ms)
    cdef int check(self) except -1


cdef Step make_step(object owner, shared_ptr[CEndpoint] endpoint, uint64_t session, participants,
                    feeds, fetches, feed_dtypes, bint call)
