"""What a run is fed, as tensors that fit the placeholders."""

from libc.stdint cimport int32_t

from headrace.runtime.kernel_abi cimport hr_dtype, hr_tensor
from headrace.runtime.program cimport Program


# Notes the shapes that a program's placeholders declare. `scalars_known` is False for graphs so
# old that the shape [] meant an unknown one.
cdef int note_feed_shapes(Program program, bint scalars_known) except -1

# The tensor of a fed value; the object returned keeps its memory alive.
cdef object fed_tensor(Program program, int32_t feed, object value, hr_dtype dtype, hr_tensor* t)
