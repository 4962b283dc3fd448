"""What a finished unit brings about: values delivered, iterations begun and ended."""

from libc.stdint cimport int32_t, int64_t

from headrace.runtime.executor_plan cimport ExecutorPlan
from headrace.runtime.executor_state cimport ExecutionState, FrameRun, Iteration
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport hr_code, hr_tensor

# Ends the step with that error, if it is the first. The lock is not held.
cdef void fail(ExecutionState* state, GraphNode* node, hr_code code,
               const char* message) noexcept nogil

# The lock is held in all that follow.
cdef void push(ExecutionState* state, ExecutorPlan plan, int32_t unit,
               Iteration* iteration) noexcept nogil
# Delivers what a unit made and counts it as done. outputs: their references are taken over;
# null: the unit was dead. The step may be over and gone once the lock is free.
cdef void finish(ExecutionState* state, ExecutorPlan plan, int32_t number, Iteration* iteration,
                 hr_tensor* outputs) noexcept nogil
# The same for a switch: `chosen` is the port that lives.
cdef void finish_switch(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration, int32_t chosen, hr_tensor* value) noexcept nogil
# Counts a unit as done that has nothing to deliver.
cdef void finish_failed(ExecutionState* state, ExecutorPlan plan, int32_t number,
                        Iteration* iteration) noexcept nogil
# Brings a value (its reference taken over) to where a port leads.
cdef void deliver_value(ExecutionState* state, ExecutorPlan plan, int32_t port, Iteration* into,
                        hr_tensor* value) noexcept nogil
# Notes a unit that is one node, for a traced step.
cdef void note(ExecutionState* state, ExecutorPlan plan, int32_t unit, const hr_tensor* outputs,
               int64_t start_ns) noexcept nogil
# A frame's next iteration; null: no memory, and the step has failed.
cdef Iteration* new_iteration(ExecutionState* state, ExecutorPlan plan,
                              FrameRun* frame) noexcept nogil
# Frees what a frame holds, children first; the frame itself is its owner's to delete.
cdef void end_frame(ExecutionState* state, ExecutorPlan plan, FrameRun* frame) noexcept nogil
