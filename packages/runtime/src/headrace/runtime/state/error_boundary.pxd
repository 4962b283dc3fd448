# cython: language_level=3
"""Calls of a kernel's functions from which no C++ exception escapes."""

from headrace.runtime.memory.kernel_abi cimport (
    hr_code, hr_compute, hr_ctx, hr_done, hr_kernel, hr_node, hr_request, hr_tensor,
)


cdef extern from "state/error_boundary.hpp" namespace "headrace" nogil:
    hr_code call_create(const hr_kernel*, hr_node*, void** state) noexcept
    hr_code call_prepare(const hr_kernel*, void* state, hr_request*) noexcept
    hr_code call_compute(hr_compute, hr_ctx*, void* state, void* plan,
                         const hr_tensor* const* inputs, hr_tensor* const* outputs,
                         void* workspace) noexcept
    void call_compute_async(const hr_kernel*, hr_ctx*, void* state, void* plan,
                            const hr_tensor* const* inputs, hr_tensor* const* outputs,
                            void* workspace, hr_done done, void* argument) noexcept
