# cython: language_level=3
"""Steps of programs that are one segment: one kernel schedule runs the whole step.

thread_policy.hpp decides where the schedule runs: on the calling thread with or without the GIL, on
the intra-op pool (prepared for that many threads), or on one thread of the inter-op pool.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.memory.arrays cimport array_from_tensor, fetched
from headrace.runtime.memory.buffer cimport OwnedTensor, OwnedTensors, tensors_of
from headrace.runtime.passes.fed_values cimport fed_tensor
from headrace.runtime.executor.branch_overlap cimport BranchOverlap, wants_clock
from headrace.runtime.executor.schedule_run cimport (
    KernelWork, begin_schedule, end_kernels, handle_signals, poll_of, raise_failure, run_kernels,
)
from headrace.runtime.executor.step cimport Step, run_error
from headrace.runtime.executor.trace cimport Clock, TraceRecord, metadata_of, trace_entries
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.kernels.kernel_table cimport is_python_kernel, library_of
from headrace.runtime.memory.kernel_abi cimport HR_OK, hr_dtype, hr_tensor
from headrace.runtime.passes.program cimport Program
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.plan.executable cimport Executable, Lease, RunBuffers, SegmentOutput
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.state.context cimport HR_REPLAN, Run, run_begin, run_code
from headrace.runtime.state.raised_error cimport RaisedError
from headrace.runtime.state.session_owner cimport SessionOwner
from headrace.runtime.threads.pools cimport (
    ActiveRun, InterOpPool, Place, StepFacts, Work, begin_run, begin_run_unwatched, end_run,
    expected_ns, gil_released, gil_reacquired, keeps_gil, place_of, run_intra_op, steady_ns, wait_for_gil,
)

from headrace.runtime.executor.explain import explain_static_step


# Plans that one run may try while other threads change the shapes of its variables.
cdef int MOST_PLANS = 16


# The arguments of planning on a thread of the intra-op pool.
cdef struct IntraOpPlanning:
    void* step                     # StaticStep
    hr_tensor* inputs
    ActiveRun* run
    KernelWork* work
    bint traced
    shared_ptr[Executable]* found
    Lease* lease                   # holds `found` if it runs at once
    RaisedError* error


cdef void plan_on_intra_op_pool(void* argument) noexcept nogil:
    """Plans on the intra-op pool, since folded kernels may use all its threads.

    Where the schedule belongs on the pool, it runs at once: a second hand-over would cost as much
    as planning a part of the segment.
    """
    cdef IntraOpPlanning* search = <IntraOpPlanning*>argument
    cdef ActiveRun proxy
    cdef bint begun = False
    proxy.cancelled = search.run.cancelled
    begin_run_unwatched(&proxy)
    with gil:
        try:
            begun = (<StaticStep>search.step).plan_for_intra_op(search)
        except BaseException as error:
            search.error.keep(error)
    end_run(&proxy)
    if begun:
        search.work.run.ctx.threads = search.found.get().threads
        search.work.timed = search.work.made.cost.wants_sample()
        run_kernels(search.work)


cdef class StaticStep(Step):
    """A step over one segment."""
    cdef readonly SegmentRunner runner
    cdef vector[int32_t] feed_of          # per input value: the feed that brings it
    cdef vector[hr_dtype] feed_dtypes
    cdef vector[int32_t] output_of       # per fetch: its output value; -1 - feed: a fed value
    cdef int n_inputs
    cdef bint heavy                       # the last run was worth several threads
    cdef shared_ptr[Executable] latest    # of the last run, and probably of the next one
    cdef BranchOverlap overlap

    def __init__(self, SessionOwner owner, Program program, Segments segments, make_dynamic):
        """make_dynamic: makes a DynamicStep, for independent heavy kernels."""
        cdef int i
        cdef int32_t value
        super().__init__(owner, program)
        self.overlap = BranchOverlap(owner, program, make_dynamic)
        if segments.segments.size():
            self.runner = SegmentRunner()
            self.runner.program = program
            self.runner.segments = segments
            self.runner.number = 0
            self.runner.session = owner.state
            self.runner.copy_small = True
            self.runner.intra_op_threads = owner.intra_op_threads
            self.n_inputs = segments.segments[0].n_inputs
        feeds = {program.feeds[i]: i for i in range(program.feeds.size())}
        for i in range(program.feeds.size()):
            self.feed_dtypes.push_back(
                program.values[program.feeds[i]].dtype if program.feeds[i] >= 0 else 0)
        for i in range(self.n_inputs):
            self.feed_of.push_back(feeds[segments.inputs[i]])
        outputs = {segments.outputs[i]: i for i in range(segments.outputs.size())}
        for i in range(program.fetches.size()):
            value = program.fetches[i]
            self.output_of.push_back(-1 - feeds[value] if value in feeds else outputs[value])

    def explain(self):
        return explain_static_step(self)

    @property
    def overlapping(self):
        """The dynamic steps in which heavy kernels run at the same time."""
        return self.overlap.steps

    cdef list execute(self, values, double timeout, list trace, int pool):
        cdef int attempt
        cdef OwnedTensors fed
        cdef hr_tensor* inputs
        cdef Clock clock
        cdef RaisedError interrupt
        cdef Run run
        cdef ActiveRun active
        cdef KernelWork work
        cdef int i
        cdef list keep = None
        self.check_count(values)
        if self.runner is None:
            self.owner.check()
            return [self.fed(values, i) for i in self.output_of]
        if not fed.hold(self.n_inputs):
            raise MemoryError()
        inputs = tensors_of(fed.data())
        memset(&work, 0, sizeof(KernelWork))
        work.run = &run
        work.clock = &clock
        work.interrupt = &interrupt
        run_begin(&run, self.owner.state, 1)
        active.end = end_kernels
        active.argument = &work
        active.session = <void*>self.owner
        active.state = <void*>self.owner.state
        active.cancelled = &run.cancelled
        if timeout > 0:
            active.deadline_ns = steady_ns() + <int64_t>(timeout * 1e9)
        active.check_signals = &run.check_signals
        run.on_check_signals = handle_signals
        run.check_signals_argument = &work
        begin_run(&active)
        try:
            # The check comes after begin_run: a later `close` ends the run.
            self.owner.check()
            if self.n_inputs:
                keep = []
                for i in range(self.n_inputs):
                    keep.append(fed_tensor(self.program, self.feed_of[i],
                                           values[self.feed_of[i]],
                                           self.feed_dtypes[self.feed_of[i]], &fed.data()[i]))
            for attempt in range(MOST_PLANS):
                results = self.run_specialised(inputs, values, timeout, trace, &active, &work,
                                               pool)
                if results is not None:
                    return results
            raise errors.AbortedError(
                None, None, "variables that the step reads changed their shapes at each attempt")
        except errors.CancelledError:
            # Planning was ended without a reason; the run has it: timeout, close or reset.
            if run_code(&run) != HR_OK:
                raise run_error(&run) from None
            raise
        finally:
            end_run(&active)

    cdef fed(self, values, int32_t which):
        """A fetch of a fed tensor: a copy of the fed value that the caller owns."""
        cdef OwnedTensor t
        cdef int feed = -1 - which
        keep = fed_tensor(self.program, feed, values[feed], self.feed_dtypes[feed], &t)
        found = array_from_tensor(t.get())
        return found if t.get().rank else found[()]

    cdef list run_specialised(self, hr_tensor* inputs, values, double timeout, list trace,
                              ActiveRun* active, KernelWork* work, int pool):
        """The fetches; None: a variable has another shape than planned, and nothing has had an
        effect."""
        cdef shared_ptr[Executable] chosen
        cdef Lease lease
        cdef vector[TraceRecord] records
        cdef StepFacts facts
        cdef shared_ptr[Executable] planned
        cdef bint ran = False
        cdef bint clocked
        work.code = HR_OK
        work.took_ns = 0
        try:
            ran = self.choose(chosen, inputs, active, work, lease, trace is not None)
            if not ran and chosen.get().overlap.step >= 0:
                return self.overlap.steps[chosen.get().overlap.step].run_with(
                    values, timeout, trace, pool)
            facts = self.facts_of(chosen.get(), active)
            self.heavy = place_of(facts) == Place.kIntraOp
            clocked = not ran and wants_clock(chosen.get())
            if clocked:
                planned = chosen
            elif self.heavy and not ran and self.find_for_intra_op(chosen, inputs, active, work,
                                                               lease, trace is not None):
                ran = lease.made() != NULL
                if not ran:
                    begin_schedule(lease, chosen, inputs, work, trace is not None)
                    ran = self.run_on_intra_op_pool(active, work)
                    if not ran:
                        lease.end()
            if not ran:
                facts.intra_op_threads = 1
                if chosen.get().threads != 1:
                    chosen = self.runner.find(inputs, 1)
                begin_schedule(lease, move(chosen), inputs, work, trace is not None or clocked)
                self.run_on_one(&facts, active, work, pool)
            if work.took_ns and work.code == HR_OK:
                # With several threads: about the time of one thread, and no less.
                work.made.cost.add_sample(<double>work.took_ns * work.made.threads)
            if work.code == HR_REPLAN and run_code(work.run) == HR_OK and \
                    not work.run.cancelled.get():
                return None
            raise_failure(work)
            if clocked:
                self.overlap.record_clock(planned.get(), work.made, work.clock.data())
            elif work.took_ns:
                self.overlap.record_run(work.made, work.took_ns)
            if trace is not None:
                if not trace_entries(records, work.made, work.buffers, work.clock.data(),
                                     work.thread):
                    raise MemoryError()
                trace.append(metadata_of(records, self.program))
            return self.collect(work.made, work.buffers, values)
        except errors.OpError:
            raise_failure(work)  # planning ended because the run was ended
            raise

    cdef bint choose(self, shared_ptr[Executable]& chosen, hr_tensor* inputs, ActiveRun* active,
                     KernelWork* work, Lease& lease, bint traced) except -1:
        """Chooses the executable of the last run, or one for all intra-op threads if that run was
        heavy.

        Returns: whether the executable has already run.
        """
        # `latest` is accessed under the GIL only, so it needs no lock.
        if self.latest.get() != NULL and \
                self.latest.get().threads == (self.owner.intra_op_threads if self.heavy else 1) and \
                self.latest.get().resets == self.owner.state.resets.load() and \
                self.latest.get().fits(inputs) and self.latest.get().variables_fit(inputs):
            chosen = self.latest
            return False
        # A heavy step is first planned for all intra-op threads: most of its runs get them.
        if not self.heavy or not self.find_for_intra_op(chosen, inputs, active, work, lease, traced):
            chosen = self.runner.find(inputs, 1)
        self.latest = chosen
        return lease.made() != NULL

    cdef StepFacts facts_of(self, Executable* made, ActiveRun* active):
        cdef StepFacts facts
        facts.ns = made.cost.ns(expected_ns(made.flops, made.bytes_moved))
        facts.measured = made.cost.known()
        facts.calls_python = may_block(made)
        facts.watched = active.check_signals != NULL
        facts.in_pool = active.in_pool
        facts.intra_op_threads = self.owner.intra_op_threads
        return facts

    cdef bint find_for_intra_op(self, shared_ptr[Executable]& chosen, hr_tensor* inputs,
                            ActiveRun* active, KernelWork* work, Lease& lease,
                            bint traced) except -1:
        """Finds the executable for the intra-op pool; False: the pool is busy.

        The lease begins only if the executable was planned now, and has run.
        """
        cdef IntraOpPlanning search
        cdef RaisedError error
        cdef Work poll = poll_of(active)
        cdef shared_ptr[Executable] found
        cdef bint ran
        if chosen.get() != NULL and chosen.get().threads == self.owner.intra_op_threads:
            return True
        found = self.runner.lookup(inputs, self.owner.intra_op_threads)
        if found.get() == NULL:
            memset(&search, 0, sizeof(IntraOpPlanning))
            search.step = <void*>self
            search.inputs = inputs
            search.run = active
            search.work = work
            search.traced = traced
            search.found = &found
            search.lease = &lease
            search.error = &error
            with nogil:
                ran = run_intra_op(plan_on_intra_op_pool, &search, self.owner.intra_op_threads, poll, work)
            if not ran:
                return False
            if error.get() != NULL:
                raise_failure(work)
                raise <object>error.get()
        chosen = found
        self.latest = found
        return True

    cdef bint plan_for_intra_op(self, IntraOpPlanning* search) except -1:
        """Returns: whether the new executable runs at once; the lease holds it then."""
        cdef Executable* made
        search.found[0] = self.runner.find(search.inputs, self.owner.intra_op_threads)
        made = search.found.get()
        if made.overlap.step >= 0 or wants_clock(made) or made.entries.empty() or \
                place_of(self.facts_of(made, search.run)) != Place.kIntraOp:
            return False
        begin_schedule(search.lease[0], search.found[0], search.inputs, search.work, search.traced)
        return True

    cdef bint run_on_intra_op_pool(self, ActiveRun* active, KernelWork* work) except -1:
        cdef Work poll = poll_of(active)
        cdef bint ran
        work.run.ctx.threads = self.owner.intra_op_threads
        work.timed = work.made.cost.wants_sample()
        with nogil:
            ran = run_intra_op(run_kernels, work, self.owner.intra_op_threads, poll, work)
        if not ran:
            work.run.ctx.threads = 1
        return ran

    cdef int run_on_one(self, StepFacts* facts, ActiveRun* active, KernelWork* work,
                        int pool_number) except -1:
        cdef Work poll = poll_of(active)
        cdef Place place = place_of(facts[0])
        cdef shared_ptr[InterOpPool] pool
        cdef int64_t since
        cdef bint ran = False
        if work.made.entries.empty():
            return 0  # all fetches are constants
        work.run.ctx.threads = 1   # an earlier attempt may have had all threads
        work.timed = work.made.cost.wants_sample()
        if place == Place.kInterOp:
            pool = self.owner.pool_of(pool_number)
            if pool.get() != NULL:
                with nogil:
                    ran = pool.get().run(run_kernels, work, &work.run.cancelled, poll, work)
                if ran:
                    return 0
        if place == Place.kHoldGil or place == Place.kBackoff and keeps_gil():
            run_kernels(work)
            return 0
        with nogil:
            gil_released()
            run_kernels(work)
            since = wait_for_gil()
        gil_reacquired(since, facts.ns)
        return 0

    cdef list collect(self, Executable* made, RunBuffers* buffers, values):
        cdef list results = []
        cdef int32_t which
        cdef SegmentOutput* output
        cdef hr_tensor view
        for which in self.output_of:
            if which < 0:
                results.append(self.fed(values, which))
                continue
            output = &made.outputs[which]
            view = buffers.tensors[output.tensor]
            view.owner = NULL
            if output.handed_over:
                view.owner = buffers.tensors[output.root].owner
                results.append(fetched(&view))
                buffers.tensors[output.root].owner = view.owner
            elif view.rank == 0:
                results.append(fetched(&view))
            else:
                results.append(array_from_tensor(&view))
        return results


cdef bint may_block(Executable* made):
    """Whether a kernel may wait or call Python: such a run never keeps the GIL."""
    cdef size_t i
    cdef GraphNode* node
    cdef const char* library
    if made.blocks < 0:
        made.blocks = 0
        for i in range(made.entries.size()):
            node = made.entries[i].node
            if node == NULL or node.kernel == NULL:
                continue
            library = library_of(node.kernel)
            if is_python_kernel(node.kernel) or (
                    node.info != NULL and node.info.stateful and library != NULL
                    and library[:] != b"runtime"):
                made.blocks = 1
    return made.blocks != 0
