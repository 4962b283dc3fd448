"""What the nodes of a step take: estimated from static shapes, or measured."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.passes.graph_ir cimport GraphIR


cdef extern from "passes/step_costs.hpp" namespace "headrace" nogil:
    cdef cppclass StepCosts:
        vector[double] expected_ns
        vector[double] measured_ns
        vector[uint8_t] folded
        vector[int32_t] first_value
        vector[int64_t] bytes

    cdef cppclass Cost:
        double ns(double expected)

    cdef cppclass MeasuredCost:
        Cost time
        vector[int64_t] output_bytes

    cdef cppclass MeasuredCosts:
        void add(const string& name, double ns, const vector[int64_t]& output_bytes) except +
        const MeasuredCost* find(const string& name)
        size_t size()


cdef enum:
    FOLD_LIMIT = 16 << 20   # bytes of a constant that is worth keeping


# What the steps of a session were measured to take; one object for all its signatures.
cdef class NodeCosts:
    cdef MeasuredCosts measured

    # Takes the times and sizes of a traced step: a RunMetadata.
    cpdef observe(self, bytes run_metadata)


# measured: may be None. order: of ir.order.
cdef int estimate_costs(GraphIR ir, const vector[int32_t]& order, NodeCosts measured,
                        StepCosts* costs) except -1
