# cython: language_level=3
"""One segment of a program with its specialisations, the least recently used given up first.

EXECUTION.md proposes to run a program unspecialised after some sixteen shapes. Preparing kernels
node by node at each run costs what specialising does, so a bounded list of specialisations does
the same with one mechanism.
"""

import threading

from headrace.runtime.context cimport SessionState
from headrace.runtime.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.program cimport Program
from headrace.runtime.specialisation cimport Specialisation, specialise

LIMIT = 16


cdef class SegmentRunner:
    def __cinit__(self):
        self.made = []
        self.retired = []
        self.lock = threading.Lock()

    cdef Specialisation find(self, const hr_tensor* entering, int threads):
        cdef Specialisation found = self.latest if threads == 1 else self.latest_wide
        if found is not None and found.fits(entering):
            return found
        with self.lock:
            for found in self.made:
                if found.threads == threads and found.fits(entering):
                    self.made.remove(found)
                    self.made.insert(0, found)
                    break
            else:
                found = specialise(self.program, self.segments, self.number, entering, threads,
                                   self.session, self.copy_small)
                self.made.insert(0, found)
                self.retired.extend(self.made[LIMIT:])
                del self.made[LIMIT:]
            if threads == 1:
                self.latest = found
            else:
                self.latest_wide = found
        return found

    cdef void* find_pointer(self, const hr_tensor* entering, int threads) except NULL:
        cdef Specialisation found = self.find(entering, threads)
        if threads == 1:
            self.ready_pointer = <void*>found
        return <void*>found

    cdef void forget_retired(self):
        """Called while no run of the program is under way."""
        if self.retired:
            self.ready_pointer = NULL
            self.retired = []
