"""The C++ side of a session graph's nodes (graph_node.hpp)."""

from libc.stdint cimport int8_t, int32_t, uint16_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.kernel_abi cimport hr_dtype, hr_kernel, hr_node


cdef extern from "<atomic>" nogil:
    cdef cppclass AtomicPointer "std::atomic<void*>":
        void* load()
        void store(void* value)

    cdef cppclass AtomicBool "std::atomic<bool>":
        cbool load()
        void store(cbool value)

    cdef cppclass AtomicInt8 "std::atomic<int8_t>":
        int8_t load()
        void store(int8_t value)

cdef extern from "graph/graph_node.hpp" namespace "headrace" nogil:
    # One text per calling thread.
    cdef cppclass CallError:
        void assign(const char* text)
        void assign(const string& text)
        string take()

    cdef struct Edge:
        int32_t node
        int32_t port

    cdef cppclass ArgInfo:
        string name
        hr_dtype dtype
        string type_attr
        string number_attr
        string type_list_attr
        cbool is_ref
        uint16_t ranks

    cdef cppclass OpInfo:
        string name
        vector[ArgInfo] inputs
        vector[ArgInfo] outputs
        cbool stateful
        cbool commutative
        cbool aggregate
        cbool uninitialized_ok
        cbool shape_only
        cbool view
        cbool data_shape

    cdef cppclass CallBody:
        vector[Edge] outputs
        vector[int32_t] effects
        int32_t done
        string function

    cdef struct KernelState:
        const hr_kernel* kernel
        void* state

    cdef cppclass GraphNode:
        hr_node abi_node
        string name
        string op
        string device
        const OpInfo* info
        vector[Edge] inputs
        vector[int32_t] controls
        vector[hr_dtype] input_dtypes
        vector[hr_dtype] output_dtypes
        vector[uint16_t] input_ranks
        unique_ptr[CallBody] body
        int32_t caller
        Edge argument
        const hr_kernel* kernel
        AtomicPointer state
        AtomicBool created
        const hr_kernel* creating
        cbool find_state(const hr_kernel* wanted, void** found)
        void add_other(const hr_kernel* made_for, void* made) except +
        vector[KernelState] take_others()
        AtomicInt8 may_fuse
        void* session
        CallError error
