# cython: language_level=3
# Queues and the operations that wait in them (queue.hpp).

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cbool
from libcpp.list cimport list as linked_list
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_ctx, hr_done, hr_dtype, hr_object, hr_tensor


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
        int64_t seed
        int64_t seed2
        cbool padding
        vector[hr_dtype] types
        vector[int32_t] ranks
        vector[vector[int64_t]] dims
        string name
        cbool shapes_fit()
        string wrong_minimum()
        string lack_of_shapes()
        string types_text()
        string shapes_text()
        cbool fits(size_t component, const hr_tensor* t, cbool batched)
        string shape_mismatch(size_t component, const hr_tensor* actual, cbool batched)
        string difference(const QueueSpec& requested)

    cdef enum WaiterKind "headrace::Waiter::Kind":
        ENQUEUE "headrace::Waiter::kEnqueue"
        DEQUEUE "headrace::Waiter::kDequeue"
        CLOSE "headrace::Waiter::kClose"

    cdef cppclass Waiter:
        WaiterKind kind
        linked_list[Element] elements
        int64_t requested
        cbool many
        cbool up_to
        hr_tensor* const* outputs
        int32_t n_outputs
        void* object
        string message

    # One element of a batch, as a view.
    void view_row(const hr_tensor* batch, int64_t row, hr_tensor* out)

    cdef cppclass WaiterPtr "headrace::Queue::WaiterPtr":
        Waiter* get()

    cdef cppclass Waiters "headrace::Queue::Waiters":
        WaiterPtr front()

    cdef cppclass Queue:
        Queue() except +
        hr_object object
        QueueSpec spec
        hr_code (*complete_dequeue)(Waiter*, const QueueSpec*) noexcept nogil
        Waiters new_waiter(hr_ctx* ctx, hr_tensor* const* outputs, int32_t n_outputs, hr_done done,
                           void* argument)
        void close_now()
        int64_t size()
        cbool closed()
