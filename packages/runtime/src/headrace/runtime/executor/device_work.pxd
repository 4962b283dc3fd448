"""What a step has enqueued on devices with memory of their own: its errors, and how much it is."""

from libc.stdint cimport int32_t

from headrace.runtime.executor.executor_state cimport ExecutionState
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_device

# Called without the lock, before the step enqueues work; errors of the device end the step from now
# on.
cdef hr_code begin_work(ExecutionState* state, int32_t device, hr_device* memory,
                        void (*poll)(void*) noexcept nogil, void* poll_argument) noexcept nogil
# How many of `n` kernels to enqueue next. Waits while much is enqueued: work of a device cannot be
# ended, so this bounds how long a step lives that was cancelled. Called without the lock.
cdef size_t wait_for_room(ExecutionState* state, int32_t device, size_t n) noexcept nogil
# Awaits all that was enqueued on the device. Called with the lock, which it releases meanwhile.
cdef void await_work(ExecutionState* state, int32_t device) noexcept nogil
# The step is over. Called without the lock.
cdef void end_work(ExecutionState* state) noexcept nogil
