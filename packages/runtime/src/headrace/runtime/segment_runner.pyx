# cython: language_level=3
"""One segment of a program with its executables, the least recently used dropped first.

A bounded list does what running a program unspecialised would: preparing kernels node by node costs
what specialising does, and what the nodes' kernels prepared is kept beyond the list (bounded, too).
"""

import threading

from libc.stdint cimport int32_t, int64_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.context cimport shape_text
from headrace.runtime.executable cimport Executable
from headrace.runtime.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segment
from headrace.runtime.segment_draft cimport PreparedNodes
from headrace.runtime.specialisation cimport describe, specialise

cdef enum:
    LIMIT = 16


cdef class SegmentRunner:
    def __cinit__(self):
        self.cache = new PreparedNodes()
        self.specialising = threading.Lock()

    def __dealloc__(self):
        del self.cache

    cdef shared_ptr[Executable] lookup(self, const hr_tensor* entering,
                                       int threads) noexcept nogil:
        cdef shared_ptr[Executable] found
        cdef Executable* made
        cdef size_t i
        cdef vector[shared_ptr[Executable]] stale   # freed after the lock
        cdef int64_t resets = self.session.resets.load()
        self.made_lock.lock()
        if self.made.size() and self.made[0].get().resets != resets:
            stale.swap(self.made)
        for i in range(self.made.size()):
            made = self.made[i].get()
            if made.resets == resets and made.threads == threads and made.fits(entering) and \
                    made.variables_fit(entering):
                found = self.made[i]
                while i > 0:
                    self.made[i].swap(self.made[i - 1])
                    i -= 1
                break
        self.made_lock.unlock()
        return found

    cdef shared_ptr[Executable] find(self, const hr_tensor* entering, int threads) except *:
        cdef shared_ptr[Executable] found = self.lookup(entering, threads)
        cdef shared_ptr[Executable] dropped
        cdef int64_t resets
        if found.get() != NULL:
            return found
        with self.specialising:
            found = self.lookup(entering, threads)
            if found.get() == NULL:
                resets = self.session.resets.load()
                if self.cache_resets != resets:
                    self.cache_resets = resets
                    del self.cache
                    self.cache = new PreparedNodes()
                found = specialise(self.program, self.segments, self.number, entering, threads,
                                   self.session, self.copy_small, self.cache)
                found.get().resets = resets
                self.account(found.get(), entering)
                self.made_lock.lock()
                self.made.insert(self.made.begin(), found)
                if self.made.size() > LIMIT:
                    # Freed after the lock, and after the runs that hold it.
                    dropped.swap(self.made.back())
                    self.made.pop_back()
                self.made_lock.unlock()
        return found

    cdef int account(self, Executable* made, const hr_tensor* entering) except -1:
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
        for i in range(segment.n_entering):
            name.append(b" for " if i == 0 else b", ")
            name.append(shape_text(&entering[i]))
        if not made.hold_in(self.session.memory, name):
            raise errors.ResourceExhaustedError(
                None, None, "no memory for constants: "
                + (<bytes>self.session.memory.get().text()).decode(errors="replace"))
        return 0

    def describe(self) -> list:
        """Figures of each executable, for `explain`: most recently used first."""
        cdef vector[shared_ptr[Executable]] now
        cdef size_t i
        self.made_lock.lock()
        now = self.made
        self.made_lock.unlock()
        return [describe(now[i].get()) for i in range(now.size())]
