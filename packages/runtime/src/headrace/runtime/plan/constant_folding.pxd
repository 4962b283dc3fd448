"""Constant folding: nodes whose inputs are known are computed while their segment is planned."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.memory.kernel_abi cimport hr_tensor
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step


# Whether results of this size are worth keeping as constants.
cdef bint is_small_enough(vector[hr_tensor*]& outputs) noexcept nogil
# Reuses a node's outputs from an earlier plan of the segment; False: there is none.
cdef bint take_session_constant(SegmentBuilder builder, Step* step, int32_t number) except -1
# Computes a node whose inputs are all known. cost_ns: the expected time.
# Raises CancelledError where the run that plans is ended.
cdef int fold(SegmentBuilder builder, Step* step, int32_t number, vector[const hr_tensor*]& inputs,
              vector[hr_tensor*]& outputs, double cost_ns) except -1
