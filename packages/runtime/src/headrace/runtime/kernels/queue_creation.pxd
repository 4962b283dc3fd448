# cython: language_level=3
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_node

cdef hr_code create_queue(hr_node* node, void** state) noexcept nogil
cdef void destroy_state(void* state) noexcept nogil
