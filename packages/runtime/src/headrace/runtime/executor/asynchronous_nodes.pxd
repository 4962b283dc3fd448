"""Units that finish in a callback on any thread: asynchronous kernels and receives."""

from libc.stdint cimport int32_t

from headrace.runtime.executor.executor_state cimport ExecutionState, Iteration

# Called without the step's lock. The unit's inputs stay alive until it is done.
cdef void start_async(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
cdef void start_recv(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
# Sends the value (null: dead) under the unit's key.
cdef void send(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
