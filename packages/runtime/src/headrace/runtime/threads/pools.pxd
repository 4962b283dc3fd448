"""The state of the process: thread pools, runs in progress, the number of forks
(process_state.hpp).

Other extensions access it only through these functions.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr

from headrace.runtime.memory.kernel_abi cimport hr_code
from headrace.runtime.memory.relaxed cimport Flag

ctypedef void (*Work)(void*) noexcept nogil


cdef extern from "threads/thread_policy.hpp" namespace "headrace" nogil:
    cdef enum Weight:
        LIGHT
        HEAVY
        LONG

    cdef enum class Place(uint8_t):
        kHoldGil
        kBackoff
        kCaller
        kIntraOp
        kInterOp

    cdef struct StepFacts:
        double ns
        cbool measured
        cbool calls_python
        cbool watched
        cbool in_pool
        int intra_op_threads

    cdef cppclass Cost:
        Cost()
        double ns(double expected)
        cbool known()
        cbool wants_sample()
        void add_sample(double ns)

    const int64_t kSignalCheckNs
    const double kHoldGil
    const double kHeavy
    const double kParallel
    const double kOverlap

    cdef struct OverlapFacts:
        double wall_ns, one_thread_ns, heavy_ns, longest_ns
        int threads

    int overlap_threads(int pool)
    cbool overlap_saves(const OverlapFacts& step)
    const double kLong
    double expected_ns(double flops, double bytes_moved)
    Weight weight_of(double ns)
    Place place_of(const StepFacts& step)
    int core_count()
    int most_intra_op_threads()
    int most_inter_op_threads()


cdef extern from "threads/team_choice.hpp" namespace "headrace" nogil:
    cdef cppclass TeamChoice:
        cbool wants_team(double ns)
        void ran_on_team(double ns)
        void ran_on_one(double ns)

cdef extern from "threads/active_runs.hpp" namespace "headrace" nogil:
    int64_t steady_ns()

    cdef cppclass ActiveRun:
        ActiveRun()
        void (*end)(void* argument, hr_code code, const char* why) noexcept nogil
        void* argument
        const void* session
        const void* state
        const Flag* cancelled
        Flag* check_signals
        int64_t deadline_ns
        ActiveRun* outer
        cbool in_pool

cdef extern from "threads/inter_op_pool.hpp" namespace "headrace" nogil:
    cdef cppclass PoolCall:
        Work work
        void* argument
    cdef cppclass InterOpPool:
        int size()
        cbool submit(Work work, void* argument)
        cbool submit(PoolCall* call)
        cbool ready()
        int withdraw(void* argument)
        cbool run(Work work, void* argument, const Flag* cancelled, Work poll,
                  void* poll_argument)
        void close()

cdef extern from "threads/denormals.hpp" namespace "headrace" nogil:
    uint64_t flush_denormals()
    void restore_denormals(uint64_t before)


# The number of forks. Sessions made when it was smaller cannot be used in this process.
cdef int fork_generation() noexcept nogil
# Its address, for code that reads it often.
cdef const int* fork_counter() noexcept nogil
# The calling thread's number in traces, from 0 in the order in which threads first trace.
cdef int32_t thread_number() noexcept nogil

# Runs work(argument) with a team of that size and waits, calling poll, if there is one, every 20
# ms. False: the pool is busy, and nothing ran.
cdef bint run_intra_op(Work work, void* argument, int threads, Work poll,
                       void* poll_argument) noexcept nogil
cdef shared_ptr[InterOpPool] process_inter_op_pool() noexcept nogil
cdef shared_ptr[InterOpPool] make_inter_op_pool(int size) except *

# Around a run, on the calling thread. `check_signals` becomes null if that thread does not handle
# signals.
cdef int begin_run(ActiveRun* run) except -1
cdef void begin_run_unwatched(ActiveRun* run) noexcept nogil
cdef void end_run(ActiveRun* run) noexcept nogil
# The innermost run of the calling thread; null: none.
cdef ActiveRun* current_run() noexcept nogil
# Ends the runs of a session, or all that use a state.
cdef int end_runs_of(const void* owner, hr_code code, const char* why) noexcept nogil

# Whether the calling thread belongs to a pool, and whether it handles signals (requires the GIL).
cdef bint in_pool() noexcept nogil
cdef bint is_watched() except -1
# The same without the GIL, if is_watched was called on this thread before.
cdef bint may_handle_signals() noexcept nogil

# Around a heavy unit of a dynamic step on one thread; the second takes what the first returns.
cdef int32_t begin_heavy_unit() noexcept nogil
cdef void end_heavy_unit(int32_t before) noexcept nogil
# Whether such units fill so many cores that a short unit gets no team.
cdef bint others_compute() noexcept nogil

# Around a call of a Python kernel; the result of the first is passed to the second.
cdef uint64_t begin_python_kernel() noexcept nogil
cdef void end_python_kernel(uint64_t before) noexcept nogil
# At the beginning and end of a thread that a kernel library has started.
cdef void begin_kernel_thread() noexcept nogil
cdef void end_kernel_thread() noexcept nogil
# Around kernels' `prepare`; a fork waits for the end.
cdef void begin_prepare() noexcept nogil
cdef void end_prepare() noexcept nogil

# GIL backoff (gil_backoff.hpp): around a step of 10 to 50 us.
cdef bint keeps_gil() noexcept nogil
cdef void gil_released() noexcept nogil
cdef int64_t wait_for_gil() noexcept nogil
cdef void gil_reacquired(int64_t since_ns, double step_ns) noexcept nogil
