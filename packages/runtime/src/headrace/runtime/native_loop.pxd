"""A while loop whose condition and body run as one kernel schedule each."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.context cimport Run, SessionState
from headrace.runtime.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.program cimport Program
from headrace.runtime.segment_runner cimport SegmentRunner


cdef enum SourceKind:
    FROM_VARIABLE      # number: of the loop variable
    FROM_ENTERING      # number: of the entering value, a loop invariant
    FROM_CONDITION     # number: of a value that leaves the condition
    FROM_BODY          # number: of a value that leaves the body


cdef struct Source:
    SourceKind kind
    int32_t number


cdef class NativeLoop:
    cdef readonly list nodes             # program nodes that it replaces
    cdef int32_t parent_frame
    cdef vector[int32_t] entering        # values that its Enters take
    cdef vector[int32_t] waits           # nodes that its Enters wait for
    cdef vector[int32_t] leaving         # values that its Exits make
    cdef vector[int32_t] start           # per loop variable: its entering value
    cdef vector[Source] following        # per loop variable: what it becomes
    cdef vector[int32_t] exit_variable   # per leaving value: the loop variable
    cdef int32_t predicate               # among what leaves the condition
    cdef Segments segments               # 0: condition, 1: body
    cdef vector[Source] condition_inputs
    cdef vector[Source] body_inputs
    cdef readonly SegmentRunner condition
    cdef readonly SegmentRunner body

    cdef void bind(self, Program program, SessionState* session, int team)
    cdef int run(self, Run* run, hr_tensor* inputs, hr_tensor* outputs) except -1

# The native form of a frame, or None where it has to run on the dynamic executor.
cdef NativeLoop native_loop_of(Program program, Segments segments, int32_t frame, int32_t parent,
                               vector[int32_t]& frame_of, vector[int32_t]& entered)
