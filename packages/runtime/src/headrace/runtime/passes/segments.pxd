"""A program cut into segments: sets of nodes that run as one unit without a deadlock.

Segment s owns nodes `nodes[first_node : +n_nodes]` (topological order). It may start when all
values `inputs[first_input : +n_inputs]` are available and all nodes `waits[first_wait : +n_waits]`
(control edges from outside) have run. The values `outputs[first_output : +n_outputs]` are read
outside, or fetched; others never leave the segment.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from headrace.runtime.passes.program cimport Program


cdef struct Segment:
    int32_t device
    int32_t level                       # within its group of equal tokens and deadness
    int32_t first_node, n_nodes
    int32_t first_input, n_inputs
    int32_t first_output, n_outputs
    int32_t first_wait, n_waits


cdef class Segments:
    cdef vector[int32_t] segment_of     # per node of the program; -1: boundary nodes and feeds
    cdef vector[Segment] segments       # in an order in which each may run after those before it
    cdef vector[int32_t] nodes          # node numbers
    cdef vector[int32_t] inputs       # value numbers, no duplicates within a segment
    cdef vector[uint8_t] shape_like     # per input: prepare needs the value itself
    cdef vector[int32_t] outputs        # value numbers
    cdef vector[uint8_t] sent           # per output: a Send that waits for nothing else reads it
    cdef vector[int32_t] waits          # node numbers outside the segment
    cdef vector[uint8_t] data_dependent # per node: the shapes of its outputs depend on data
    cdef vector[uint64_t] constant_args # per node: arguments whose values `prepare` needs
    cdef readonly bint whole            # at most one segment and no boundary node: one kernel schedule suffices


# late_feeds: feeds arrive one by one (partial_run), so each feed bounds segments.
cdef Segments cut_segments(Program program, bint late_feeds)
# isolated: per node, whether it is a segment of its own, beside which others of equal tokens run.
cdef Segments cut_isolated(Program program, const vector[uint8_t]& isolated)
