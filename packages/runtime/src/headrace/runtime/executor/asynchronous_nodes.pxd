"""Units that end later, on whatever thread calls back: asynchronous kernels and receives."""

from libc.stdint cimport int32_t

from headrace.runtime.executor.executor_state cimport ExecutionState, Iteration

# The step's lock is not held. The unit's inputs stay until it is done.
cdef void start_async(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
cdef void start_recv(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
# Gives the value (null: dead) to whoever waits for it under the unit's key.
cdef void send(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
