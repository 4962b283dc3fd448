# cython: language_level=3
"""One segment of a program with its executables (executable_cache.hpp).

Results of `prepare` are cached by node and shapes in addition to executables (prepared_nodes.hpp),
so that planning for a new shape repeats as little as possible. Both caches are bounded.
"""

import threading

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.state.context cimport shape_text
from headrace.runtime.plan.executable cimport Executable
from headrace.runtime.memory.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segment
from headrace.runtime.plan.segment_builder cimport PreparedNodes
from headrace.runtime.plan.specialisation cimport describe, specialise


cdef class SegmentRunner:
    def __cinit__(self):
        self.cache = new PreparedNodes()
        self.specialising = threading.Lock()

    def __dealloc__(self):
        del self.cache

    cdef uint64_t hash_of(self, const hr_tensor* inputs) noexcept nogil:
        cdef Segment* segment = &self.segments.segments[self.number]
        return key_hash(inputs, self.segments.shape_like.data() + segment.first_input,
                        segment.n_inputs)

    cdef shared_ptr[Executable] lookup(self, const hr_tensor* inputs,
                                       int threads) noexcept nogil:
        return self.executables.find(self.hash_of(inputs), inputs, threads,
                              self.session.resets.load())

    cdef shared_ptr[Executable] find(self, const hr_tensor* inputs, int threads) except *:
        cdef shared_ptr[Executable] found = self.lookup(inputs, threads)
        cdef int64_t resets
        if found.get() != NULL:
            return found
        with self.specialising:
            found = self.lookup(inputs, threads)
            if found.get() == NULL:
                resets = self.session.resets.load()
                if self.cache_resets != resets:
                    self.cache_resets = resets
                    del self.cache
                    self.cache = new PreparedNodes()
                found = specialise(self.program, self.segments, self.number, inputs, threads,
                                   self.session, self.copy_small, self.cache)
                found.get().resets = resets
                self.account(found.get(), inputs)
                self.executables.keep(self.hash_of(inputs), found)
        return found

    cdef int account(self, Executable* executable, const hr_tensor* inputs) except -1:
        """Counts an executable against the session's memory limit, if it has one."""
        cdef Segment* segment = &self.segments.segments[self.number]
        cdef int32_t last
        cdef string name
        cdef int i
        if self.session.memory.get() == NULL:
            return 0
        last = self.segments.nodes[segment.first_node + segment.n_nodes - 1]
        name.assign(b"the plan up to node '")
        name.append(self.program.nodes[last].source.name)
        name.append(b"'")
        for i in range(segment.n_inputs):
            name.append(b" for " if i == 0 else b", ")
            name.append(shape_text(&inputs[i]))
        if not executable.hold_in(self.session.memory, name):
            raise errors.ResourceExhaustedError(
                None, None, "no memory for constants: "
                + (<bytes>self.session.memory.get().text()).decode(errors="replace"))
        return 0

    def describe(self) -> list:
        """Figures of each executable, for `explain`: most recently used first."""
        cdef vector[shared_ptr[Executable]] now
        cdef size_t i
        now = self.executables.all()
        return [describe(now[i].get()) for i in range(now.size())]
