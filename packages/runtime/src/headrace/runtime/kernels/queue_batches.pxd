from headrace.runtime.memory.kernel_abi cimport hr_code
from headrace.runtime.state.queue cimport QueueSpec, Waiter

# Sets the outputs of a dequeue.
cdef hr_code complete_dequeue(Waiter* w, const QueueSpec* spec) noexcept nogil
