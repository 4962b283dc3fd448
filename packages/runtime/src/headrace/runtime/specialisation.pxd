"""One segment for one set of shapes: kernels prepared, constants folded, memory planned."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.context cimport SessionState
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport hr_buffer, hr_tensor
from headrace.runtime.program cimport Program
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.segment_draft cimport KernelPlan, Leaving, ShapeGuard
from headrace.runtime.tape cimport Tape


cdef class Specialisation:
    cdef readonly Tape tape
    cdef Program program
    cdef vector[hr_tensor] entering       # shapes; with data where the value is part of the key
    cdef vector[int32_t] entering_tensor  # its number on the tape
    cdef vector[Leaving] leaving
    cdef vector[hr_buffer*] constants
    cdef vector[KernelPlan] plans
    cdef vector[ShapeGuard] guards        # variables whose shape no attribute declares
    cdef readonly double flops
    cdef readonly double bytes_moved
    cdef readonly int threads
    cdef readonly int device              # of the program
    cdef readonly int64_t intermediate_bytes   # what all arena values would take side by side
    cdef readonly int folded
    cdef readonly int fused                    # nodes that others compute on the way
    cdef vector[GraphNode*] nodes              # made here
    cdef bint fits(self, const hr_tensor* entering) noexcept nogil

# copy_small: leaving values of up to 4 KiB stay in the arena; the caller copies them out at once.
# The new specialisation's `entering` describes the tensors it was made for.
cdef Specialisation specialise(Program program, Segments segments, int number,
                               const hr_tensor* entering, int threads, SessionState* session,
                               bint copy_small)
