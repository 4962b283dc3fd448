"""Units that finish in a callback on any thread: asynchronous kernels and receives."""

from libc.stdint cimport int32_t

from headrace.runtime.executor.executor_plan cimport ExecutorPlan
from headrace.runtime.executor.executor_state cimport ExecutionState, Iteration
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_tensor
from headrace.runtime.state.context cimport Run

# Called without the step's lock. The unit's inputs stay alive until it is done.
cdef void start_async(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
cdef void start_recv(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
# Sends the value (null: dead) under the unit's key.
cdef void send(ExecutionState* state, int32_t number, Iteration* iteration) noexcept nogil
# Sends an output of a segment, which still runs, for all Sends that wait for nothing else.
cdef hr_code send_early(ExecutionState* state, ExecutorPlan plan, Run* run, int32_t number,
                        Iteration* iteration, int32_t output,
                        const hr_tensor* value) noexcept nogil
