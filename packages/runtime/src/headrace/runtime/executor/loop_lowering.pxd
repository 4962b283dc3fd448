"""Lowers the frame of a while loop to the form that native_loop.pyx runs."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.executor.native_loop cimport NativeLoop
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.passes.program cimport Program

# The native form of a frame; None if only the dynamic executor can run it.
# inner: the native loops found so far, by frame.
cdef NativeLoop native_loop_of(Program program, Segments segments, int32_t frame, int32_t parent,
                               vector[int32_t]& frame_of, vector[int32_t]& entered, dict inner)
