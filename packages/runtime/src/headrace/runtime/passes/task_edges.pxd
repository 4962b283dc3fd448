"""Cuts a placed graph at the borders between tasks."""

from libc.stdint cimport int32_t, int64_t
from libcpp.map cimport map
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.memory.kernel_abi cimport hr_dtype
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.passes.task_frames cimport TaskFrames


cdef struct TaskEdge:
    int32_t send_task, recv_task     # numbers of tasks; -1: the client
    int32_t feed                     # of a fed edge
    hr_dtype dtype


cdef class TaskEdges:
    cdef GraphIR ir
    cdef TaskFrames frames
    cdef vector[int32_t] task_of        # per device of the ir
    cdef list tasks                     # names of the tasks
    cdef vector[TaskEdge] edges
    cdef readonly list tensors          # per edge, the name of its tensor
    cdef vector[int64_t] fetches        # per fetch: its edge, or -1 - the number of a feed
    cdef bint bfloat16                  # float tensors pass between tasks as that
    cdef map[vector[int32_t], int32_t] narrow   # nodes that make bfloat16 of a tensor
    cdef map[vector[int32_t], int32_t] receivers, sent_fetches, signals, entered, heads
    cdef list loop_conditions           # per frame: its LoopCond node, or -1

    cdef int cut(self) except -1
    cdef int32_t task(self, int32_t node) noexcept nogil
    cdef int copy_constant_enters(self) except -1
    cdef Edge crossing(self, Edge edge, int32_t consumer) except *
    cdef int32_t receive(self, Edge edge, int32_t device, int32_t consumer) except -1
    cdef int32_t narrowed(self, Edge edge, const vector[int32_t]& waits) except -1
    cdef int32_t add_cast(self, int32_t node, int32_t port, int32_t device, hr_dtype source,
                          hr_dtype to) except -1
    cdef int32_t receive_signal(self, int32_t source, int32_t device) except -1
    cdef int32_t loop_head(self, int32_t frame, int32_t device) except -1
    cdef int32_t make_skeleton(self, int32_t frame, int32_t device) except -1
    cdef int32_t number_edge(self, int32_t sender, int32_t receiver, int32_t feed, hr_dtype dtype,
                             str tensor) except -1
    cdef int32_t add(self, int kind, str op, str name, int32_t device, int32_t frame,
                     int32_t inside, int32_t like) except -1
    cdef int32_t add_send(self, Edge edge, int32_t number, bint to_client) except -1
    cdef int32_t add_receive(self, int32_t number, int32_t device, int32_t frame,
                             int32_t like) except -1
    cdef int describe(self, int32_t node, bytes type_key, int32_t number) except -1
    cdef int send_fetches(self) except -1
