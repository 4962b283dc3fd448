# cython: language_level=3
# Queues and the operations that wait in them (queue.hpp).

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.list cimport list as linked_list
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_ctx, hr_done, hr_dtype, hr_object, hr_tensor


cdef extern from "state/slot.hpp" namespace "headrace" nogil:
    cdef cppclass ObjectRef:
        pass

cdef extern from "state/queue.hpp" namespace "headrace" nogil:
    cdef cppclass Element:
        Element()
        vector[OwnedTensor] parts

    cdef enum QueueOrder "headrace::QueueOrder":
        FIRST "headrace::QueueOrder::kFirst"
        RANDOM "headrace::QueueOrder::kRandom"
        LEAST "headrace::QueueOrder::kLeast"

    cdef cppclass QueueSpec:
        QueueOrder order
        int64_t capacity
        int64_t min_after_dequeue
        uint64_t seed
        cbool padding
        vector[hr_dtype] types
        vector[int32_t] ranks
        vector[vector[int64_t]] dims
        string name
        cbool shapes_fit()
        string lack_of_shapes()
        string types_text()

    cdef cppclass Waiter:
        int kind
        hr_ctx* ctx
        hr_done done
        void* argument
        linked_list[Element] elements
        int64_t requested
        cbool many
        cbool up_to
        hr_tensor* const* outputs
        int32_t n_outputs
        uint64_t token
        Queue* queue
        ObjectRef held
        string message

    cdef cppclass Queue:
        Queue() except +
        hr_object object
        QueueSpec spec
        hr_code (*complete_dequeue)(Waiter*) noexcept nogil
        void close(cbool cancel_pending)
        void cancel(Waiter* waiter)
        int64_t size()
        cbool closed()
