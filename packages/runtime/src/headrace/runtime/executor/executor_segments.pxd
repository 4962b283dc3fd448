"""Running a segment, or a native loop, as one unit of a dynamic step."""

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.executor.executor_plan cimport ExecutorPlan, Unit
from headrace.runtime.executor.executor_state cimport ExecutionState, Iteration
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_tensor

# outputs: the output values. Called without the step's lock. What a Send waits for is sent as soon
# as it is complete; the Send then has no more to do.
# alone: no other unit of the step needs a core. poll: see IntraOpPool::try_run; may be null.
cdef hr_code run_segment(ExecutionState* state, ExecutorPlan plan, int unit,
                         Iteration* iteration, const hr_tensor* inputs, OwnedTensor* outputs, bint alone,
                         void (*poll)(void*) noexcept nogil, void* poll_argument) noexcept nogil
cdef hr_code run_loop(ExecutionState* state, Unit* unit, const hr_tensor* inputs,
                      OwnedTensor* outputs, void (*poll)(void*) noexcept nogil,
                      void* poll_argument) noexcept nogil
