"""Propagates the outputs of finished units; begins and ends iterations."""

from libc.stdint cimport int32_t, int64_t

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.executor.executor_plan cimport ExecutorPlan
from headrace.runtime.executor.executor_state cimport ExecutionState, FrameRun, Iteration
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_code

# Ends the step with this error, if it is the first. Called without the lock.
cdef void fail(ExecutionState* state, GraphNode* node, hr_code code,
               const char* message) noexcept nogil

# The following functions are called with the lock held.
cdef void push(ExecutionState* state, ExecutorPlan plan, int32_t unit,
               Iteration* iteration) noexcept nogil
# Propagates the outputs of a unit and counts it as done. outputs: moved where they have consumers;
# null: the unit was dead. Once the lock is released the step may have been freed.
cdef void finish(ExecutionState* state, ExecutorPlan plan, int32_t number, Iteration* iteration,
                 OwnedTensor* outputs) noexcept nogil
# The same for a Switch: `chosen` is the port that is not dead.
cdef void finish_switch(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration, int32_t chosen, OwnedTensor* value) noexcept nogil
# Counts a failed unit as done; it has no outputs.
cdef void finish_failed(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration) noexcept nogil
# Propagates a value to the consumers of a port, and moves it if there are any.
cdef void propagate_value(ExecutionState* state, ExecutorPlan plan, int32_t port, Iteration* into,
                        OwnedTensor* value) noexcept nogil
# Ends a step that has no memory for its own records.
cdef void fail_memory(ExecutionState* state, const char* message) noexcept nogil
# Records a unit of one node in the trace.
cdef void record_unit(ExecutionState* state, ExecutorPlan plan, int32_t unit, OwnedTensor* outputs,
               int64_t start_ns) noexcept nogil
# A frame's next iteration; null: out of memory, and the step has failed.
cdef Iteration* new_iteration(ExecutionState* state, ExecutorPlan plan,
                              FrameRun* frame) noexcept nogil
