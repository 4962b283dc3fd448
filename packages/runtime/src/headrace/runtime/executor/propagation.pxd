"""What a finished unit brings about: values delivered, iterations begun and ended."""

from libc.stdint cimport int32_t, int64_t

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.executor.executor_plan cimport ExecutorPlan
from headrace.runtime.executor.executor_state cimport ExecutionState, FrameRun, Iteration
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_code

# Ends the step with that error, if it is the first. The lock is not held.
cdef void fail(ExecutionState* state, GraphNode* node, hr_code code,
               const char* message) noexcept nogil

# The lock is held in all that follow.
cdef void push(ExecutionState* state, ExecutorPlan plan, int32_t unit,
               Iteration* iteration) noexcept nogil
# Delivers what a unit made and counts it as done. outputs: those that go on are taken over;
# null: the unit was dead. The step may be over and gone once the lock is free.
cdef void finish(ExecutionState* state, ExecutorPlan plan, int32_t number, Iteration* iteration,
                 OwnedTensor* outputs) noexcept nogil
# The same for a switch: `chosen` is the port that lives.
cdef void finish_switch(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration, int32_t chosen, OwnedTensor* value) noexcept nogil
# Counts a unit as done that has nothing to deliver.
cdef void finish_failed(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration) noexcept nogil
# Brings a value to where a port leads, and takes it over if there is anything.
cdef void propagate_value(ExecutionState* state, ExecutorPlan plan, int32_t port, Iteration* into,
                        OwnedTensor* value) noexcept nogil
# Ends a step that has no memory for its own records.
cdef void fail_memory(ExecutionState* state, const char* message) noexcept nogil
# Notes a unit that is one node, for a traced step.
cdef void note(ExecutionState* state, ExecutorPlan plan, int32_t unit, OwnedTensor* outputs,
               int64_t start_ns) noexcept nogil
# A frame's next iteration; null: no memory, and the step has failed.
cdef Iteration* new_iteration(ExecutionState* state, ExecutorPlan plan,
                              FrameRun* frame) noexcept nogil
