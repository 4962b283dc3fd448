"""The record of each node that a traced step ran."""

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_profile, hr_tensor
from headrace.runtime.passes.program cimport Program
from headrace.runtime.plan.executable cimport Executable, RunBuffers


cdef extern from "executor/trace.hpp" namespace "headrace" nogil:
    cdef cppclass TracedOutput:
        int32_t slot
        hr_tensor shape

    cdef cppclass TraceRecord:
        void* node
        int32_t device
        int32_t thread
        int64_t start_ns
        int64_t end_ns
        vector[TracedOutput] outputs
        cbool on_stream
        string what

    # The work that devices did for a traced step.
    cdef cppclass DeviceTrace:
        DeviceTrace() except +
        hr_profile* abi()
        int32_t reserve(size_t n)
        TraceRecord& entry(int32_t number)
        bint finish(vector[TraceRecord]& records)

    # Start and end of each entry; null before `start`.
    cdef cppclass Clock:
        Clock()
        bint start(size_t n_entries)
        void stop()
        int64_t* data()

    # Both: false where memory is exhausted.
    bint add_output(TraceRecord& record, int32_t slot, const hr_tensor& shape)
    bint keep_record(vector[TraceRecord]& records, TraceRecord& record)
    int64_t monotonic_ns()
    int64_t wall_clock_offset_ns()


# Records all entries that ran in these buffers; clock_ns: from run_traced. False: out of memory.
cdef bint trace_entries(vector[TraceRecord]& records, Executable* executable, RunBuffers* buffers,
                        int64_t* clock_ns, int32_t thread) noexcept nogil
# The same for the entries of a device's trace from number `first` on, whose times the device reports.
cdef bint trace_device_entries(DeviceTrace* trace, int32_t first, Executable* executable,
                               RunBuffers* buffers) noexcept nogil
# The records as a RunMetadata message.
cdef bytes metadata_of(vector[TraceRecord]& records, Program program)
