"""Running a segment, or a native loop, as one unit of a dynamic step."""

from headrace.runtime.executor_plan cimport ExecutorPlan, Unit
from headrace.runtime.executor_state cimport ExecutionState
from headrace.runtime.kernel_abi cimport hr_code, hr_tensor

# outputs: the leaving values, counted for the caller. The step's lock is not held.
# alone: nothing else of the step wants a core. poll: see IntraOpPool::try_run; may be null.
cdef hr_code run_segment(ExecutionState* state, ExecutorPlan plan, int unit,
                         hr_tensor* inputs, hr_tensor* outputs, bint alone,
                         void (*poll)(void*) noexcept nogil, void* poll_argument) noexcept nogil
cdef hr_code run_loop(ExecutionState* state, Unit* unit, hr_tensor* inputs, hr_tensor* outputs,
                      void (*poll)(void*) noexcept nogil, void* poll_argument) noexcept nogil
