"""Steps of one segment whose independent heavy kernels can run at the same time."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.plan.executable cimport Executable
from headrace.runtime.passes.program cimport Program
from headrace.runtime.state.session_owner cimport SessionOwner


cdef class BranchOverlap:
    cdef SessionOwner owner
    cdef Program program
    cdef object make_step         # (owner, program, segments, native loops, one thread) -> DynamicStep
    cdef readonly list steps      # dynamic steps, by OverlapChoice.step
    cdef int32_t n_possible       # kernels that may run at the same time as others
    cdef dict number_of           # nodes that are units (bytes) -> number of the step

    cdef bint may_run_isolated(self, int32_t j)
    cdef int threads(self)
    # Records the duration of a run. `planned` is the executable for these shapes.
    cdef int record_run(self, Executable* planned, double took_ns) except -1
    # Records the duration of each kernel of `ran`, the executable for one thread; decides after
    # some such runs.
    cdef int record_clock(self, Executable* planned, const Executable* ran,
                    const int64_t* clock_ns) except -1
    cdef int decide(self, Executable* planned, const Executable* ran) except -1
    cdef int32_t step_for(self, vector[uint8_t]& isolated) except -2


# Whether the next run is to be measured kernel by kernel, on one thread.
cdef inline bint wants_clock(const Executable* planned) noexcept:
    return planned.overlap.clocks
