# cython: language_level=3
from libc.stdint cimport int64_t, uint64_t
from libcpp.memory cimport shared_ptr

from headrace.distributed.native.endpoint_types cimport Binding, CEndpoint, StepKey, WorkerStep


cdef class Exchange:
    cdef object owner                 # the Endpoint
    cdef shared_ptr[CEndpoint] endpoint
    cdef shared_ptr[WorkerStep] step
    cdef int pid
    cdef WorkerStep* check(self) except NULL


cdef Exchange open_exchange(object owner, shared_ptr[CEndpoint] endpoint, StepKey key,
                            shared_ptr[Binding] binding)
cdef shared_ptr[Binding] make_binding(uint64_t session, int64_t partition, destinations,
                                      peers) except *
