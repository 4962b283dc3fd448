# cython: language_level=3
"""A program that is one segment: fed, run by its kernel schedule, fetched.

Small programs run on the calling thread, since waking another costs more than they do; work
worth several cores goes to the lane (lane.hpp), prepared for that many threads.
"""

import time

from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.arrays cimport array_from_tensor, fetched
from headrace.runtime.buffer cimport buffer_release
from headrace.runtime.fed_values cimport fed_tensor
from headrace.runtime.context cimport (
    HR_REPLAN, Run, SessionState, run_begin, run_cancel, run_fail_text,
)
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport (
    HR_CANCELLED, HR_DEADLINE_EXCEEDED, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_dtype, hr_tensor,
)
from headrace.runtime.node_text cimport node_label
from headrace.runtime.partition_graphs cimport partition_metadata
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.program cimport Program
from headrace.runtime.segment_runner cimport SegmentRunner
from headrace.runtime.executable cimport (
    Executable, Lease, RunBuffers, SegmentOutput, run_entries, run_traced,
)
from headrace.runtime.trace cimport TraceRecord, metadata_of, thread_number, trace_entries


cdef extern from "lane.hpp" namespace "headrace" nogil:
    int fork_generation()
    bint lane_try_run "headrace::Lane::try_run"(
        void (*work)(void*) noexcept nogil, void* argument, int threads,
        void (*poll)(void*) noexcept nogil, void* poll_argument)
    void run_beside "headrace::Lane::run_beside"(
        void (*work)(void*) noexcept nogil, void* argument,
        void (*poll)(void*) noexcept nogil, void* poll_argument)


cdef extern from "gil_turn.hpp" namespace "headrace" nogil:
    void gil_left()
    void gil_taken()
    void wait_for_gil()


# Work below this does not pay for waking the lane: a hand-over costs 5 to 60 us.
cdef double LANE_NS = 250e3
# Work from here on is watched also where the lane is taken: for Ctrl-C, close and timeout.
cdef double LONG_NS = 20e6
# Plans that one run may try while other threads change the shapes of its variables.
cdef int MOST_PLANS = 16


cdef class SessionOwner:
    def __cinit__(self, int team):
        self.state = new SessionState()
        self.team = team
        self.generation = fork_generation()

    def __dealloc__(self):
        del self.state

    def close(self):
        self.closed = True

    cdef int check(self) except -1:
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self.generation != fork_generation():
            raise errors.FailedPreconditionError(
                None, None, "this session was made before a fork: threads and locks of the parent "
                "are not in the child; make a new Session in the child")
        return 0


cdef object run_error(Run* run):
    cdef GraphNode* node = <GraphNode*>run.failed
    text = (<bytes>run.message).decode(errors="replace")
    if node == NULL:
        return errors.from_code(run.code, text)
    name = (<bytes>node.name).decode(errors="replace")
    return errors.from_code(run.code, f"{node_label(node)}: {text}", name)


cdef struct TapeWork:
    Executable* made
    RunBuffers* buffers
    Run* run
    hr_code code
    int64_t* clock_ns
    int32_t thread    # where it ran, if traced
    void* interrupt   # the exception of a signal's handler, counted; null: none came
    double deadline   # of time.monotonic; 0: none
    void* owner


cdef void work_on_tape(void* argument) noexcept nogil:
    cdef TapeWork* work = <TapeWork*>argument
    if work.clock_ns != NULL:
        work.thread = thread_number()
        work.code = run_traced(work.made, work.buffers, work.run, work.clock_ns)
    else:
        work.code = run_entries(work.made, work.buffers, work.run)


cdef void poll_signals(void* argument) noexcept nogil:
    cdef TapeWork* work = <TapeWork*>argument
    with gil:
        if work.deadline and time.monotonic() > work.deadline:
            work.deadline = 0
            run_fail_text(work.run, HR_DEADLINE_EXCEEDED, "the run took longer than its timeout")
            run_cancel(work.run)
        if (<SessionOwner>work.owner).closed:
            run_fail_text(work.run, HR_CANCELLED, "the session was closed")
            run_cancel(work.run)
        try:
            PyErr_CheckSignals()
        except BaseException as interrupt:
            if work.interrupt == NULL:
                Py_INCREF(interrupt)
                work.interrupt = <void*>interrupt
            run_cancel(work.run)


cdef class TapeStep:
    """services.Step over one segment."""
    cdef SessionOwner owner
    cdef Program program
    cdef readonly SegmentRunner runner
    cdef vector[int32_t] feed_of          # per entering value: the feed that brings it
    cdef vector[hr_dtype] feed_dtypes
    cdef vector[int32_t] leaving_of       # per fetch: its leaving value; -1 - feed: a fed value
    cdef int n_entering
    cdef bint heavy                       # the last run was worth several threads
    cdef shared_ptr[Executable] latest    # the one that the last run took: likely the next one's

    def __init__(self, SessionOwner owner, Program program, Segments segments):
        cdef int i
        cdef int32_t value
        self.owner = owner
        self.program = program
        if segments.segments.size():
            self.runner = SegmentRunner()
            self.runner.program = program
            self.runner.segments = segments
            self.runner.number = 0
            self.runner.session = owner.state
            self.runner.copy_small = True
            self.runner.team = owner.team
            self.n_entering = segments.segments[0].n_entering
        feeds = {program.feeds[i]: i for i in range(program.feeds.size())}
        for i in range(program.feeds.size()):
            self.feed_dtypes.push_back(
                program.values[program.feeds[i]].dtype if program.feeds[i] >= 0 else 0)
        for i in range(self.n_entering):
            self.feed_of.push_back(feeds[segments.entering[i]])
        leaving = {segments.leaving[i]: i for i in range(segments.leaving.size())}
        for i in range(program.fetches.size()):
            value = program.fetches[i]
            self.leaving_of.push_back(-1 - feeds[value] if value in feeds else leaving[value])

    def __call__(self, values):
        return self.execute(values, 0.0, None)

    def run(self, values, bytes options):
        from headrace.runtime.run_options import (
            timeout_s, wants_partition_graphs, wants_trace,
        )
        trace = [] if wants_trace(options) else None
        results = self.execute(values, timeout_s(options), trace)
        metadata = trace[0] if trace else b""
        if wants_partition_graphs(options):
            metadata += partition_metadata(self.program)   # messages side by side are one
        return results, metadata

    def explain(self):
        from headrace.runtime.explain import explain_tape_step
        return explain_tape_step(self)

    cdef list execute(self, values, double timeout, list trace):
        cdef int attempt
        cdef hr_tensor few[16]
        cdef vector[hr_tensor] many
        cdef hr_tensor* entering = few
        cdef Run run
        cdef int i
        cdef list keep = None
        self.owner.check()
        if <size_t>len(values) != self.feed_dtypes.size():
            raise errors.InvalidArgumentError(
                None, None, f"the step takes {self.feed_dtypes.size()} values, got {len(values)}")
        if self.runner is None:
            return [self.fed(values, i) for i in self.leaving_of]
        if self.n_entering > 16:
            many.resize(self.n_entering)
            entering = many.data()
        for i in range(self.n_entering):
            entering[i].owner = NULL
        try:
            if self.n_entering:
                keep = []
                for i in range(self.n_entering):
                    keep.append(fed_tensor(self.program, self.feed_of[i],
                                           values[self.feed_of[i]],
                                           self.feed_dtypes[self.feed_of[i]], &entering[i]))
            for attempt in range(MOST_PLANS):
                results = self.run_specialised(entering, values, timeout, trace, &run)
                if results is not None:
                    return results
            raise errors.AbortedError(
                None, None, "variables that the step reads changed their shapes at each attempt")
        finally:
            for i in range(self.n_entering):
                if entering[i].owner != NULL:
                    buffer_release(entering[i].owner)

    cdef fed(self, values, int32_t which):
        """A fetch of a fed tensor: the caller's own copy of what was fed."""
        cdef hr_tensor t
        cdef int feed = -1 - which
        keep = fed_tensor(self.program, feed, values[feed], self.feed_dtypes[feed], &t)
        try:
            found = array_from_tensor(&t)
            return found if t.rank else found[()]
        finally:
            buffer_release(t.owner)

    cdef list run_specialised(self, hr_tensor* entering, values, double timeout, list trace,
                              Run* run):
        """The fetches; None: a variable has another shape than planned, and nothing was done."""
        cdef int team = self.owner.team
        # A heavy step is prepared for the whole team first: most of its runs get it.
        cdef int threads = team if self.heavy else 1
        cdef shared_ptr[Executable] chosen
        cdef Lease lease
        cdef TapeWork work
        cdef vector[TraceRecord] records
        cdef bint ran = False
        cdef double expected_ns
        # `latest` is touched under the GIL alone: no lock, and one count for the run.
        if self.latest.get() != NULL and self.latest.get().threads == threads and \
                self.latest.get().resets == self.owner.state.resets.load() and \
                self.latest.get().fits(entering) and self.latest.get().variables_fit(entering):
            chosen = self.latest
        else:
            chosen = self.runner.find(entering, threads)
            self.latest = chosen
        expected_ns = expected(chosen.get())
        memset(&work, 0, sizeof(TapeWork))
        work.run = run
        work.owner = <void*>self.owner
        if timeout > 0:
            work.deadline = time.monotonic() + timeout
            expected_ns = LONG_NS
        self.heavy = team > 1 and expected_ns > LANE_NS
        if self.heavy:
            if chosen.get().threads != team:
                chosen = self.runner.find(entering, team)
            begin(self, lease, chosen, entering, &work, trace)
            run_begin(run, self.owner.state, team)
            with nogil:
                ran = lane_try_run(work_on_tape, &work, team, poll_signals, &work)
            if not ran:
                end(lease, &work)
        if not ran:
            if chosen.get().threads != 1:
                chosen = self.runner.find(entering, 1)
            begin(self, lease, chosen, entering, &work, trace)
            run_begin(run, self.owner.state, 1)
            with nogil:
                gil_left()
                if expected_ns >= LONG_NS:
                    run_beside(work_on_tape, &work, poll_signals, &work)
                else:
                    work_on_tape(&work)
                wait_for_gil()
            gil_taken()
        try:
            if work.interrupt != NULL:
                interrupt = <object>work.interrupt
                Py_DECREF(interrupt)
                raise interrupt
            if work.code == HR_REPLAN and run.code == HR_OK:
                return None
            if run.code != HR_OK:
                PyErr_CheckSignals()  # a Python kernel may have met one
                raise run_error(run)
            if trace is not None:
                trace_entries(records, work.made, work.buffers, work.clock_ns, work.thread)
                trace.append(metadata_of(records, self.program))
            return self.collect(work.made, work.buffers, values)
        finally:
            end(lease, &work)

    cdef list collect(self, Executable* made, RunBuffers* buffers, values):
        cdef list results = []
        cdef int32_t which
        cdef SegmentOutput* leaving
        cdef hr_tensor view
        for which in self.leaving_of:
            if which < 0:
                results.append(self.fed(values, which))
                continue
            leaving = &made.outputs[which]
            view = buffers.tensors[leaving.tensor]
            view.owner = NULL
            if leaving.handed_over:
                view.owner = buffers.tensors[leaving.root].owner
                results.append(fetched(&view))
                buffers.tensors[leaving.root].owner = view.owner
            elif view.rank == 0:
                results.append(fetched(&view))
            else:
                results.append(array_from_tensor(&view))
        return results


cdef inline double expected(const Executable* made) noexcept nogil:
    return made.flops * 0.03 + made.bytes_moved * 0.1


cdef int begin(TapeStep step, Lease& lease, shared_ptr[Executable]& chosen, hr_tensor* entering,
               TapeWork* work, list trace) except -1:
    cdef int i
    cdef hr_tensor* t
    if not lease.begin(chosen, buffer_release):
        raise errors.ResourceExhaustedError(
            None, None, f"no memory for an arena of {chosen.get().arena_bytes} bytes")
    work.made = lease.made()
    work.buffers = lease.buffers()
    for i in range(step.n_entering):
        t = &work.buffers.tensors[work.made.input_tensor[i]]
        t.data = entering[i].data
        # Strings come on counted memory, which kernels may hold on to.
        t.owner = entering[i].owner
    if trace is not None:
        step_clock(work)
    return 0


cdef int step_clock(TapeWork* work) except -1:
    work.clock_ns = <int64_t*>malloc(sizeof(int64_t) * (2 * work.made.entries.size() + 1))
    if work.clock_ns == NULL:
        raise MemoryError()
    return 0


cdef void end(Lease& lease, TapeWork* work) noexcept:
    free(work.clock_ns)
    work.clock_ns = NULL
    lease.end()
