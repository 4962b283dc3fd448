# cython: language_level=3
"""The tape: an array of kernels with everything decided, and the loop over it.

A run takes a frame (tensors, argument pointers, arena) from the tape's pool, so that concurrent
runs never share memory and a second run allocates nothing but what outlives it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from headrace.runtime.buffer cimport allocate_tensor, buffer_release
from headrace.runtime.context cimport Run, run_fail_text
from headrace.runtime.error_boundary cimport call_compute
from headrace.runtime.kernel_abi cimport (
    HR_CANCELLED, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_compute, hr_ctx, hr_tensor,
)


cdef extern from *:
    """
    #include <chrono>
    #include <cstdlib>
    static int64_t now_ns() {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(
                 std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static void* aligned_block(int64_t bytes) {
      void* p = nullptr;
      return posix_memalign(&p, 64, static_cast<size_t>(bytes)) ? nullptr : p;
    }
    """
    int64_t now_ns() nogil
    void* aligned_block(int64_t bytes) nogil


cdef inline int64_t up_to_line(int64_t bytes) noexcept nogil:
    return (bytes + 63) & ~<int64_t>63


cdef class Tape:
    def __dealloc__(self):
        cdef Frame* frame = self.free_frames
        cdef Frame* next_frame
        while frame != NULL:
            next_frame = frame.next
            free(frame.memory)
            frame = next_frame

    cdef Frame* take_frame(self) noexcept nogil:
        self.lock.lock()
        cdef Frame* frame = self.free_frames
        if frame != NULL:
            self.free_frames = frame.next
        self.lock.unlock()
        if frame == NULL:
            frame = new_frame(self)
        return frame

    cdef void give_frame(self, Frame* frame) noexcept nogil:
        self.lock.lock()
        frame.next = self.free_frames
        self.free_frames = frame
        self.lock.unlock()

    cdef hr_code run(self, Frame* frame, Run* run) noexcept nogil:
        cdef hr_code code = allocate_counted(self, frame, run)
        cdef Entry* entry = frame.entries
        cdef Entry* end = entry + self.entries.size()
        if code != HR_OK:
            return code
        while entry != end:
            code = call_compute(entry.compute, &run.ctx, entry.state, entry.plan,
                                <const hr_tensor* const*>entry.inputs,
                                <hr_tensor* const*>entry.outputs, entry.workspace)
            if code != HR_OK:
                run.failed = self.entries[entry - frame.entries].node
                return code
            if run.cancelled:
                return run_fail_text(run, HR_CANCELLED, "the step was cancelled")
            entry += 1
        return HR_OK

    cdef hr_code run_traced(self, Frame* frame, Run* run, int64_t* clock_ns) noexcept nogil:
        """As run; clock_ns gets start and end of each entry."""
        cdef hr_code code = allocate_counted(self, frame, run)
        cdef size_t i
        cdef Entry* entry
        for i in range(2 * self.entries.size()):
            clock_ns[i] = 0
        if code != HR_OK:
            return code
        for i in range(self.entries.size()):
            entry = &frame.entries[i]
            clock_ns[2 * i] = now_ns()
            code = call_compute(entry.compute, &run.ctx, entry.state, entry.plan,
                                <const hr_tensor* const*>entry.inputs,
                                <hr_tensor* const*>entry.outputs, entry.workspace)
            clock_ns[2 * i + 1] = now_ns()
            if code != HR_OK:
                run.failed = self.entries[i].node
                return code
            if run.cancelled:
                return run_fail_text(run, HR_CANCELLED, "the step was cancelled")
        return HR_OK

    cdef void release_values(self, Frame* frame) noexcept nogil:
        cdef int32_t i
        for i in self.counted:
            buffer_release(frame.tensors[i].owner)
            frame.tensors[i].owner = NULL
        for i in self.by_kernel:
            buffer_release(frame.tensors[i].owner)
            frame.tensors[i].owner = NULL


cdef hr_code allocate_counted(Tape tape, Frame* frame, Run* run) noexcept nogil:
    cdef int32_t i
    for i in tape.counted:
        if allocate_tensor(&frame.tensors[i]) != HR_OK:
            return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for a result")
    return HR_OK


cdef Frame* new_frame(Tape tape) noexcept nogil:
    cdef int64_t tensors = up_to_line(sizeof(hr_tensor) * tape.tensors.size())
    cdef int64_t entries = up_to_line(sizeof(Entry) * tape.entries.size())
    cdef int64_t arguments = up_to_line(sizeof(hr_tensor*) * tape.arguments.size())
    cdef int64_t header = up_to_line(sizeof(Frame))
    cdef char* memory = <char*>aligned_block(header + tensors + entries + arguments
                                             + tape.arena_bytes + 64)
    cdef Frame* frame
    cdef hr_tensor** pointers
    cdef char* arena
    cdef size_t i
    cdef EntryPlan* plan
    if memory == NULL:
        return NULL
    frame = <Frame*>memory
    frame.memory = memory
    frame.next = NULL
    frame.tensors = <hr_tensor*>(memory + header)
    frame.entries = <Entry*>(memory + header + tensors)
    pointers = <hr_tensor**>(memory + header + tensors + entries)
    arena = memory + header + tensors + entries + arguments
    for i in range(tape.tensors.size()):
        frame.tensors[i] = tape.tensors[i]
        if tape.storage[i] == ARENA:
            frame.tensors[i].data = arena + <size_t>tape.tensors[i].data
    for i in range(tape.arguments.size()):
        pointers[i] = &frame.tensors[tape.arguments[i]]
    for i in range(tape.entries.size()):
        plan = &tape.entries[i]
        frame.entries[i].compute = plan.compute
        frame.entries[i].state = plan.state
        frame.entries[i].plan = plan.plan
        frame.entries[i].inputs = pointers + plan.first_input
        frame.entries[i].outputs = pointers + plan.first_output
        frame.entries[i].workspace = arena + plan.workspace if plan.workspace >= 0 else NULL
    return frame


cdef hr_code alias_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) noexcept nogil:
    outputs[0].data = inputs[0].data
    return HR_OK


cdef hr_code release_entry(Run* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void* workspace) noexcept nogil:
    buffer_release(outputs[0].owner)
    outputs[0].owner = NULL
    return HR_OK
