# cython: language_level=3
from libc.stdint cimport int64_t

from headrace.runtime.memory.kernel_abi cimport hr_code, hr_tensor
from headrace.runtime.state.queue cimport Waiter

cdef hr_code complete_dequeue(Waiter* w) noexcept nogil
cdef void slice_of(const hr_tensor* batch, int64_t row, hr_tensor* out) noexcept nogil
