"""The tape: what a specialised segment runs, and the frames it runs in."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.buffer cimport SpinLock
from headrace.runtime.context cimport Run
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport hr_code, hr_compute, hr_tensor


cdef enum Storage:
    STATIC = 0      # constants and references: the pointer never changes
    ARENA = 1       # an offset of the frame's arena
    ENTERING = 2    # the caller's, set before each run
    COUNTED = 3     # a counted buffer of its own, made before each run: it may outlive the run
    BY_KERNEL = 4   # the kernel sets data and owner


cdef struct Entry:
    hr_compute compute
    void* state
    void* plan
    hr_tensor** inputs
    hr_tensor** outputs
    void* workspace


# One run's memory: everything absolute, so that a run only walks the entries.
cdef struct Frame:
    Frame* next
    hr_tensor* tensors
    Entry* entries
    void* memory


cdef struct EntryPlan:
    hr_compute compute
    void* state
    void* plan
    int32_t first_input, n_inputs     # into Tape.arguments
    int32_t first_output, n_outputs
    int64_t workspace                 # offset in the arena; -1: none
    GraphNode* node                   # to name in errors and traces


cdef class Tape:
    cdef vector[hr_tensor] tensors    # as they stand before a run; ARENA: data is the offset
    cdef vector[uint8_t] storage
    cdef vector[EntryPlan] entries
    cdef vector[int32_t] arguments    # tensor numbers
    cdef vector[int32_t] counted      # tensors to allocate before, and to release after a run
    cdef vector[int32_t] by_kernel    # tensors to release after a run
    cdef int64_t arena_bytes
    cdef SpinLock lock
    cdef Frame* free_frames

    cdef Frame* take_frame(self) noexcept nogil
    cdef void give_frame(self, Frame* frame) noexcept nogil
    # Runs all entries; afterwards release_values must be called, also on an error.
    cdef hr_code run(self, Frame* frame, Run* run) noexcept nogil
    cdef hr_code run_traced(self, Frame* frame, Run* run, int64_t* clock_ns) noexcept nogil
    cdef void release_values(self, Frame* frame) noexcept nogil

# output 0 becomes input 0's memory under output 0's own shape.
cdef hr_code alias_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) noexcept nogil
# Gives input 0's counted memory back before the run ends.
cdef hr_code release_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void* workspace) noexcept nogil
