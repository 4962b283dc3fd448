# cython: language_level=3
"""Registers the kernels of accumulators, barriers, staging areas, mutexes and session handles."""

from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from headrace.runtime.kernels.kernel_table cimport OWN_MEMORY, SESSION_CONSTANT, add_own_kernels
from headrace.runtime.kernels.queue_batches cimport complete_dequeue
from headrace.runtime.memory.kernel_abi cimport HR_KERNEL_ABI, hr_code, hr_kernel, hr_kernel_table
from headrace.runtime.state.queue cimport QueueSpec, Waiter


cdef extern from "kernels/synchronisation/named_objects.hpp" namespace "headrace" nogil:
    cbool returns_handle(const hr_kernel& kernel)

cdef extern from "kernels/synchronisation/accumulator_kernels.hpp" nogil:
    void add_accumulators "headrace::accumulators::add_kernels"(vector[hr_kernel]* table)

cdef extern from "kernels/synchronisation/barrier_kernels.hpp" nogil:
    void add_barriers "headrace::barriers::add_kernels"(
        vector[hr_kernel]* table, hr_code (*complete)(Waiter*, const QueueSpec*) noexcept nogil)

cdef extern from "kernels/synchronisation/staging_kernels.hpp" nogil:
    void add_staging "headrace::staging::add_kernels"(vector[hr_kernel]* table)

cdef extern from "kernels/synchronisation/mutex_kernels.hpp" nogil:
    void add_mutexes "headrace::mutexes::add_kernels"(vector[hr_kernel]* table)

cdef extern from "kernels/synchronisation/session_tensor_kernels.hpp" nogil:
    void add_session_tensors "headrace::session_tensors::add_kernels"(vector[hr_kernel]* table)


cdef vector[hr_kernel]* kernels = new vector[hr_kernel]()   # never freed, like the registrations
add_accumulators(kernels)
add_barriers(kernels, complete_dequeue)
add_staging(kernels)
add_mutexes(kernels)
add_session_tensors(kernels)
cdef size_t i
for i in range(kernels.size()):
    if returns_handle(kernels.at(i)):
        kernels.at(i).flags = <unsigned int>(SESSION_CONSTANT | OWN_MEMORY)

cdef hr_kernel_table table
table.size = sizeof(hr_kernel_table)
table.abi = HR_KERNEL_ABI
table.library = "runtime"
table.version = "0.1.0"
table.kernel_size = sizeof(hr_kernel)
table.n_kernels = <int>kernels.size()
table.kernels = kernels.data()
add_own_kernels(&table)
