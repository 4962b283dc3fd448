# cython: language_level=3
"""Registers RefSelect and the kernels of temporary variables (temporary_variables.hpp)."""

from libcpp.vector cimport vector

from headrace.runtime.kernels.kernel_table cimport add_own_kernels
from headrace.runtime.memory.kernel_abi cimport (
    HR_KERNEL_ABI, hr_code, hr_dtype, hr_kernel, hr_kernel_table,
)
from headrace.runtime.state.context cimport Run, Slot, fail_uninitialised, slot_clear, slot_new


cdef extern from "kernels/temporary_variables.hpp" namespace "headrace::references" nogil:
    cdef cppclass SlotFunctions:
        Slot* (*create)(hr_dtype dtype, const char* name) noexcept nogil
        void (*clear)(Slot* slot) noexcept nogil
        hr_code (*fail_uninitialised)(Run* run, Slot* slot) noexcept nogil

    void add_kernels(vector[hr_kernel]* table, const SlotFunctions& functions)


cdef SlotFunctions functions
functions.create = slot_new
functions.clear = slot_clear
functions.fail_uninitialised = fail_uninitialised
cdef vector[hr_kernel]* kernels = new vector[hr_kernel]()   # never freed, like the registrations
add_kernels(kernels, functions)

cdef hr_kernel_table table
table.size = sizeof(hr_kernel_table)
table.abi = HR_KERNEL_ABI
table.library = "runtime"
table.version = "0.1.0"
table.kernel_size = sizeof(hr_kernel)
table.n_kernels = <int>kernels.size()
table.kernels = kernels.data()
add_own_kernels(&table)
