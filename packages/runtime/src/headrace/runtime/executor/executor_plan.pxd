"""A dynamic program as the executor runs it: units, ports, targets, frames."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.executor.executor_state cimport UnitState
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_kernel
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.passes.program cimport Program
from headrace.runtime.memory.relaxed cimport Relaxed


cdef enum UnitKind:
    RUN_SEGMENT
    RUN_ASYNC
    RUN_FEED
    RUN_SWITCH
    RUN_MERGE
    RUN_ENTER
    RUN_EXIT
    RUN_NEXT
    RUN_SEND
    RUN_RECV
    RUN_LOOP        # a native loop: a whole frame as one unit (native_loop.pyx)


cdef struct Target:
    int32_t unit
    int32_t slot          # of the unit's inputs; -1: a control edge


cdef struct Port:         # the consumers of one output value
    int32_t first_target, n_targets
    int32_t first_fetch, n_fetches


cdef struct Unit:
    UnitKind kind
    int32_t frame                       # number of the static frame that it runs in
    int32_t local                       # its number within that frame
    int32_t first_slot, n_inputs        # slots within the frame's iteration state
    int32_t pending                     # inputs and control edges to wait for; a merge counts one
    int32_t first_port, n_ports
    int32_t first_control, n_controls   # control targets
    int32_t number                      # segment number, node number, or loop number
    int32_t child                       # RUN_ENTER: the frame that it enters
    int32_t device                      # of the program
    bint constant                       # RUN_ENTER: the value holds in every iteration
    bint needs_value                    # its input is a reference to a variable that must have one
    bint loop_head                      # RUN_MERGE: of Enter and NextIteration
    int64_t edge                        # RUN_SEND, RUN_RECV: of a plan over tasks, or below 0
    GraphNode* node                     # to name in errors; null for segments
    const hr_kernel* kernel


cdef struct FrameInfo:
    int32_t parent
    int32_t n_units, n_slots
    int32_t n_enters
    int32_t parallel_iterations
    uint64_t name                       # name_number of its frame_name


cdef class ExecutorPlan:
    cdef Program program
    cdef Segments segments
    cdef vector[Unit] units
    cdef vector[Port] ports
    cdef vector[Target] targets
    cdef vector[int32_t] fetches         # per Port's fetch range: fetch numbers
    cdef vector[FrameInfo] frames        # 0: not in a loop
    cdef vector[vector[UnitState]] starts # per frame: its units as an iteration starts
    cdef vector[Relaxed[uint8_t]] weights  # per unit: Weight (thread_policy.hpp), as measured so far
    cdef vector[int32_t] roots           # units of frame 0 that wait for nothing
    cdef vector[int32_t] entered         # per node: the frame that an Enter enters
    cdef vector[int32_t] loop_of         # per node: its native loop; -1: none
    cdef vector[int32_t] feed_units      # per feed: its unit; -1: not needed
    cdef readonly list runners           # SegmentRunner per segment
    cdef vector[void*] runner_pointers   # the same, for code without the GIL
    cdef readonly list loops             # NativeLoop per RUN_LOOP unit
    cdef vector[void*] loop_pointers     # the same, for code without the GIL
    cdef readonly list frame_names
    cdef bint one_thread                 # no unit runs on the intra-op pool

# native_loops: whether loops may run in their native form.
cdef ExecutorPlan plan_executor(Program program, Segments segments, bint native_loops)
