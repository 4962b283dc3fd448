"""One segment for one set of shapes: kernels prepared, constants folded, memory planned."""

from libcpp.memory cimport shared_ptr

from headrace.runtime.state.context cimport SessionState
from headrace.runtime.plan.executable cimport Executable
from headrace.runtime.memory.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.passes.program cimport Program
from headrace.runtime.plan.segment_builder cimport PreparedNodes


# copy_small: outputs of up to 4 KiB stay in the arena; the caller copies them out at once.
# cache: earlier `prepare` results of the segment's kernels; null: none.
# The `inputs` of the new executable are its key.
cdef shared_ptr[Executable] specialise(Program program, Segments segments, int number,
                                       const hr_tensor* inputs, int threads,
                                       SessionState* session, bint copy_small,
                                       PreparedNodes* cache) except *
cdef dict describe(Executable* executable)
