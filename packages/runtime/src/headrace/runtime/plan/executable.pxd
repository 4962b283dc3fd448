"""A segment made ready for one set of shapes (executable.hpp), and the loop over its kernels."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.state.context cimport MemoryAccount, Run
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    hr_buffer, hr_code, hr_compute, hr_device, hr_kernel, hr_tensor,
)
from headrace.runtime.threads.pools cimport Cost, TeamChoice


cdef extern from "state/slot_shapes.hpp" namespace "headrace" nogil:
    cdef cppclass ShapeGuard:
        pass

    cdef cppclass SlotShapes:
        vector[ShapeGuard] guards
        cbool shape_of(const hr_tensor* handle, int32_t input, hr_tensor* out)
        void assign(const hr_tensor* handle, const hr_tensor* value)
        void clear()


cdef extern from "plan/executable.hpp" namespace "headrace" nogil:
    cpdef enum Storage:
        STATIC
        ARENA
        INPUT
        COUNTED
        BY_KERNEL

    cdef cppclass Entry:
        hr_compute compute
        void* state
        void* plan
        hr_tensor** inputs
        hr_tensor** outputs
        void* workspace

    cdef cppclass EntryPlan:
        hr_compute compute
        void* state
        void* plan
        int32_t first_input, n_inputs
        int32_t first_output, n_outputs
        int64_t workspace
        GraphNode* node
        const hr_kernel* kernel
        cbool on_host

    cdef cppclass PreparedNode:
        PreparedNode() except +
        void* plan
        void (*destroy)(void*) noexcept nogil
        hr_compute compute
        int64_t workspace
        double flops, bytes_moved
        cbool shape_depends_on_data
        vector[hr_tensor] outputs

    cdef cppclass OverlapChoice:
        cbool decided
        cbool clocks
        int8_t runs, series, short_runs
        int32_t step
        double wall_ns
        vector[int64_t] took_ns

    cdef cppclass SegmentOutput:
        int32_t tensor
        int32_t root
        uint8_t handed_over
        uint8_t sent
        hr_buffer* constant

    cdef struct EarlyOutput "headrace::Executable::EarlyOutput":
        int32_t after
        int32_t output

    cdef cppclass RunBuffers:
        hr_tensor* tensors
        Entry* entries
        int64_t bytes

    cdef cppclass IdleBuffers:
        IdleBuffers(int64_t limit) except +
        int64_t bytes()
        int64_t limit()
        void set_limit(int64_t limit)
        void lock()
        void unlock()

    cdef cppclass Executable:
        Executable(IdleBuffers* idle) except +
        vector[hr_tensor] tensors
        vector[uint8_t] storage
        vector[EntryPlan] entries
        vector[int32_t] arguments
        vector[int32_t] counted
        vector[GraphNode*] counted_makers
        vector[int32_t] counted_on_host
        hr_device* memory
        int64_t host_workspace
        vector[int32_t] by_kernel
        int64_t arena_bytes
        int32_t first_effect
        vector[EarlyOutput] early
        vector[hr_tensor] inputs
        vector[int32_t] input_tensor
        vector[SegmentOutput] outputs
        int64_t resets
        int threads
        int device
        vector[shared_ptr[const PreparedNode]] prepared
        vector[shared_ptr[GraphNode]] nodes
        double flops, bytes_moved
        int64_t intermediate_bytes
        int folded
        int fused
        Cost cost
        TeamChoice team
        int8_t blocks
        OverlapChoice overlap
        hr_buffer* constant_at(const void* data) nogil
        bint hold_in(shared_ptr[MemoryAccount] account, string name) except +
        string no_room() except +
        void keep(hr_buffer* counted) except +
        cbool fits(const hr_tensor* given)
        vector[ShapeGuard] guards
        cbool variables_fit(const hr_tensor* given)


cdef extern from "plan/lease.hpp" namespace "headrace" nogil:
    hr_code fail_no_room(Run* run, const Executable& executable)
    hr_code fail_no_room_for(Run* run, hr_device* device, int64_t bytes)

    cdef cppclass Lease:
        Lease()
        cbool begin(shared_ptr[Executable] executable)
        void end()
        void release_values()
        Executable* executable()
        RunBuffers* buffers()


# An executable whose large idle buffers count against the limit of the process.
cdef shared_ptr[Executable] new_executable() except *
# Runs all entries; the lease releases their outputs, also after an error. HR_REPLAN: a variable has
# another shape than planned, and nothing has had an effect.
cdef hr_code run_entries(Executable* executable, RunBuffers* buffers, Run* run) noexcept nogil
# The entries from first to last - 1. clock_ns: null, or as in run_traced.
cdef hr_code run_part(Executable* executable, RunBuffers* buffers, Run* run, size_t first,
                      size_t last, int64_t* clock_ns) noexcept nogil
# As run_entries; sets clock_ns to start and end of each entry.
cdef hr_code run_traced(Executable* executable, RunBuffers* buffers, Run* run,
                        int64_t* clock_ns) noexcept nogil

# output 0 becomes input 0's memory under output 0's own shape.
cdef hr_code alias_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) noexcept nogil
# Releases the counted memory of input 0 before the run ends.
cdef hr_code release_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void* workspace) noexcept nogil
