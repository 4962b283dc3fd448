# cython: language_level=3
"""The state of the process: thread pools, runs in progress, the number of forks
(process_state.hpp).

A static in a header exists once per extension, except with GCC's unique symbols. Therefore this
extension owns the state, and others call it through Cython's function table.
"""

import threading

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.memory cimport shared_ptr

from headrace.runtime.memory.kernel_abi cimport hr_code


cdef extern from "threads/process_state.hpp" nogil:
    """
    static int32_t number_of_thread() {
      if (this_thread.number < 0) this_thread.number = traced_threads++;
      return this_thread.number;
    }
    """
    int fork_count
    const int* address_of_fork_count "&fork_count"
    int working_threads "working.load"()
    int computing_threads "computing.load"()
    void watch_forks()
    bint try_intra_op(Work work, void* argument, int threads, Work poll, void* poll_argument)
    shared_ptr[InterOpPool] the_inter_op_pool()
    shared_ptr[InterOpPool] new_inter_op_pool(int size) except +
    bint c_begin_run "begin_run"(ActiveRun* run)
    void c_end_run "end_run"(ActiveRun* run)
    ActiveRun* c_current_run "current_run"()
    int end_of "active_runs.end_of"(const void* owner, hr_code code, const char* why)
    int32_t c_begin_heavy_unit "begin_heavy_unit"()
    void c_end_heavy_unit "end_heavy_unit"(int32_t before)
    bint c_others_compute "others_compute"()
    bint this_in_pool "this_thread.in_pool"
    int32_t number_of_thread()
    uint64_t c_begin_python_kernel "begin_python_kernel"()
    void c_end_python_kernel "end_python_kernel"(uint64_t before)
    bint backoff_keeps "gil_backoff.keeps_gil"()
    void backoff_left "gil_backoff.left"()
    void backoff_taken "gil_backoff.taken"()
    void backoff_wait "gil_backoff.wait_for_gil"()
    void backoff_returned "gil_backoff.returned"(int64_t waited_ns, double step_ns)
    int startable_threads(int requested)

cdef extern from *:
    """
    static void begin_preparing() { pthread_rwlock_rdlock(&preparing); }
    static void end_preparing() { pthread_rwlock_unlock(&preparing); }
    static void begin_library_thread() {
      // Such threads run at the same time; a team for each would be more threads than cores.
      omp_set_num_threads(1);
      headrace::flush_denormals();
      begin_thread();
    }
    static void set_watched(bool is) {
      this_thread.watched = is;
      this_thread.watched_since = fork_count;
    }
    static bool knows_watched() { return this_thread.watched_since == fork_count; }
    static bool get_watched() { return this_thread.watched; }
    """
    void begin_preparing() nogil
    void begin_library_thread() nogil
    void end_thread() nogil
    void end_preparing() nogil
    void set_watched(bint value) nogil
    bint knows_watched() nogil
    bint get_watched() nogil


watch_forks()


cdef int fork_generation() noexcept nogil:
    return fork_count


cdef const int* fork_counter() noexcept nogil:
    return address_of_fork_count


cdef int32_t thread_number() noexcept nogil:
    return number_of_thread()


cdef bint run_intra_op(Work work, void* argument, int threads, Work poll,
                       void* poll_argument) noexcept nogil:
    return try_intra_op(work, argument, threads, poll, poll_argument)


cdef shared_ptr[InterOpPool] process_inter_op_pool() noexcept nogil:
    return the_inter_op_pool()


cdef shared_ptr[InterOpPool] make_inter_op_pool(int size) except *:
    return new_inter_op_pool(size)


cdef int begin_run(ActiveRun* run) except -1:
    if not c_begin_run(run):
        is_watched()
        c_begin_run(run)
    return 0


cdef void begin_run_unwatched(ActiveRun* run) noexcept nogil:
    run.check_signals = NULL
    c_begin_run(run)


cdef void end_run(ActiveRun* run) noexcept nogil:
    c_end_run(run)


cdef ActiveRun* current_run() noexcept nogil:
    return c_current_run()


cdef int end_runs_of(const void* owner, hr_code code, const char* why) noexcept nogil:
    return end_of(owner, code, why)


cdef int32_t begin_heavy_unit() noexcept nogil:
    return c_begin_heavy_unit()


cdef void end_heavy_unit(int32_t before) noexcept nogil:
    c_end_heavy_unit(before)


cdef bint others_compute() noexcept nogil:
    return c_others_compute()


cdef bint in_pool() noexcept nogil:
    return this_in_pool


cdef bint is_watched() except -1:
    if not knows_watched():
        set_watched(
            threading.get_ident() == threading.main_thread().ident)
    return get_watched()


cdef bint may_handle_signals() noexcept nogil:
    return knows_watched() and get_watched()


cdef uint64_t begin_python_kernel() noexcept nogil:
    return c_begin_python_kernel()


cdef void end_python_kernel(uint64_t before) noexcept nogil:
    c_end_python_kernel(before)


cdef void begin_kernel_thread() noexcept nogil:
    begin_library_thread()


cdef void end_kernel_thread() noexcept nogil:
    end_thread()


cdef void begin_prepare() noexcept nogil:
    begin_preparing()


cdef void end_prepare() noexcept nogil:
    end_preparing()


cdef bint keeps_gil() noexcept nogil:
    return backoff_keeps()


cdef void gil_released() noexcept nogil:
    backoff_left()


cdef int64_t wait_for_gil() noexcept nogil:
    backoff_wait()
    return steady_ns()


cdef void gil_reacquired(int64_t since_ns, double step_ns) noexcept nogil:
    backoff_taken()
    backoff_returned(steady_ns() - since_ns, step_ns)


def count_at_work() -> int:
    """Returns: the number of pool threads that compute now; the process must not exit meanwhile."""
    return working_threads()


def count_heavy_units() -> int:
    """Returns: the number of threads that run heavy units of dynamic steps now."""
    return computing_threads()


_startable = 1  # known to start in this process


def bounded_intra_op(requested: int) -> int:
    """Returns: the number of threads, up to that number, that an intra-op team can have here."""
    global _startable
    cdef int n = requested
    cdef int found
    if n > _startable:
        with nogil:
            found = startable_threads(n)
        # The driver is one more thread, and other libraries start threads as well.
        _startable = max(_startable, found if found == n else found // 2)
    return min(n, _startable)


def most_intra_op() -> int:
    """Returns: the most threads of an intra-op team."""
    return most_intra_op_threads()


def most_inter_op() -> int:
    """Returns: the most threads of an inter-op pool."""
    return most_inter_op_threads()
