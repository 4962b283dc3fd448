"""One run of a kernel schedule, as the thread that computes it sees it."""

from libc.stdint cimport int32_t, int64_t
from libcpp.memory cimport shared_ptr

from headrace.runtime.executor.trace cimport Clock
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_tensor
from headrace.runtime.plan.executable cimport Executable, Lease, RunBuffers
from headrace.runtime.state.context cimport Run
from headrace.runtime.state.raised_error cimport RaisedError
from headrace.runtime.threads.pools cimport ActiveRun, Work


cdef struct KernelWork:
    Executable* executable
    RunBuffers* buffers
    Run* run
    hr_code code
    Clock* clock             # started if the run is traced, or measured kernel by kernel
    int32_t thread           # the thread that ran it, if it is traced
    int64_t took_ns
    bint timed
    RaisedError* interrupt   # raised by a signal handler


# Takes run buffers for an executable and enters the values of its inputs.
cdef int begin_schedule(Lease& lease, shared_ptr[Executable] chosen, hr_tensor* inputs,
                        KernelWork* work, bint clocked) except -1
# Runs all kernels; the argument is a KernelWork.
cdef void run_kernels(void* argument) noexcept nogil
# Cancels the run of a KernelWork, with an error.
cdef void end_kernels(void* argument, hr_code code, const char* why) noexcept nogil
# Lets Python handle pending signals, on the thread that may.
cdef void handle_signals(void* argument) noexcept nogil
# handle_signals for a caller that waits for a pool; null: the caller does not handle signals.
cdef Work poll_of(ActiveRun* active) noexcept
# Raises the error that ended the run, if one did.
cdef int raise_failure(KernelWork* work) except -1
