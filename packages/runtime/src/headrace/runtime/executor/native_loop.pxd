"""A while loop that runs as a fixed list of kernel schedules an iteration (native_loop.hpp)."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.state.context cimport Run, SessionState
from headrace.runtime.plan.executable cimport Executable, Lease, RunBuffers
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_buffer, hr_code, hr_tensor
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.passes.program cimport Program
from headrace.runtime.threads.pools cimport Work


cdef extern from "executor/native_loop.hpp" namespace "headrace" nogil:
    cdef enum LoopStepKind:
        RUN_PART
        CHOOSE
        RUN_INNER

    cdef cppclass Guard:
        int32_t slot
        uint8_t value
        GraphNode* node

    cdef cppclass LoopStep:
        LoopStepKind kind
        int32_t number
        int32_t first_guard, n_guards
        int32_t first_slot, n_inputs, n_outputs
        int32_t index_if_true

    cdef cppclass LoopValue:
        const hr_tensor* tensor
        hr_buffer* owner

    cdef cppclass PartRun:
        Lease lease
        Executable* executable
        RunBuffers* buffers
        vector[hr_tensor] inputs
        int32_t samples_left
        cbool leaves_counted
        cbool same_places
        cbool heavy
        cbool chosen_again
        shared_ptr[Executable] single
        cbool measured
        cbool fits(const LoopValue* values, const int32_t* slots)
        void place(const LoopValue* values, const int32_t* slots)
        void hand_out(LoopValue* values, const int32_t* slots)
        cbool begin(shared_ptr[Executable] chosen)

    cdef cppclass LoopRun:
        vector[OwnedTensor] variables
        vector[uint8_t] own
        vector[OwnedTensor] following
        vector[const hr_tensor*] by
        vector[LoopValue] values
        vector[PartRun] parts
        vector[int32_t] dirty
        cbool started
        cbool has_inner()
        LoopRun* inner_at(int32_t i)
        cbool is_variable(const hr_tensor* t)
        void release_values()

    unique_ptr[LoopRun] new_loop_run(size_t n_variables, size_t n_slots, size_t n_parts,
                                     const vector[LoopStep]& steps)
    cbool add_inner(LoopRun* outer, unique_ptr[LoopRun]& inner)
    const hr_tensor* index_tensor(int32_t index)


# The state that the loops of one run share.
cdef struct LoopContext:
    Run* run
    Run* wide               # of the part that has the intra-op pool
    int intra_op_threads                # threads of the intra-op pool
    void* errors            # a Python list: exceptions, the first one wins
    Work poll               # called by the waiting thread while the intra-op pool works
    void* poll_argument
    int64_t next_signal_check_ns      # when to check for signals again
    uint32_t rounds


cdef class NativeLoop:
    cdef readonly list nodes             # program nodes that it replaces, inner loops included
    cdef int32_t parent_frame
    cdef vector[int32_t] inputs        # values that its Enters take
    cdef vector[Guard] references        # input values: variables that must have a value; node: the Enter
    cdef vector[int32_t] waits           # nodes that its Enters wait for
    cdef vector[int32_t] outputs         # values that its Exits make
    # Slots: first the loop variables, then the input values.
    cdef vector[int32_t] start           # per loop variable: its input value
    cdef vector[int32_t] following       # per loop variable: the slot of what it becomes
    cdef vector[int32_t] exits           # per output value: its slot
    cdef Guard predicate                 # of the loop
    cdef int32_t n_slots
    cdef Segments segments               # one a part
    cdef vector[LoopStep] steps
    cdef int32_t n_condition             # steps before the predicate is tested
    cdef vector[int32_t] slots           # of the steps
    cdef vector[Guard] guards            # of the steps
    cdef readonly list parts             # SegmentRunner per part
    cdef vector[void*] part_pointers     # the same, for code without the GIL
    cdef readonly list inner             # NativeLoop per inner loop
    cdef vector[void*] inner_pointers

    cdef void bind(self, Program program, SessionState* session, int intra_op_threads)

# inputs: the input values; outputs: the output values.
cdef hr_code run_native(NativeLoop loop, LoopContext* context, const hr_tensor* inputs,
                        OwnedTensor* outputs) noexcept nogil
