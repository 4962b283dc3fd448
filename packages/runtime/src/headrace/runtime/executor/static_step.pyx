# cython: language_level=3
"""Steps of programs that are one segment: one kernel schedule runs the whole step.

placement.pyx chooses the schedule and the thread that runs it.
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
from headrace.runtime.executor.placement cimport PlacedStep
from headrace.runtime.executor.schedule_run cimport (
    KernelWork, begin_schedule, end_kernels, handle_signals, raise_failure,
)
from headrace.runtime.executor.step cimport run_error
from headrace.runtime.executor.trace cimport Clock, TraceRecord, metadata_of, trace_entries
from headrace.runtime.memory.kernel_abi cimport HR_OK, hr_dtype, hr_tensor
from headrace.runtime.passes.program cimport Program
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.plan.executable cimport Executable, Lease, RunBuffers, SegmentOutput
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.state.context cimport HR_REPLAN, Run, StepFunctions, run_begin, run_code
from headrace.runtime.state.raised_error cimport RaisedError
from headrace.runtime.state.session_owner cimport SessionOwner
from headrace.runtime.threads.pools cimport (
    ActiveRun, Place, StepFacts, begin_run, end_run, place_of, steady_ns,
)

from headrace.runtime.executor.explain import explain_static_step


# Plans that one run may try while other threads change the shapes of its variables.
cdef int MOST_PLANS = 16


cdef class StaticStep(PlacedStep):
    """A step over one segment."""
    cdef vector[int32_t] feed_of          # per input value: the feed that brings it
    cdef vector[hr_dtype] feed_dtypes
    cdef vector[int32_t] output_of       # per fetch: its output value; -1 - feed: a fed value
    cdef int n_inputs
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
        run.functions = <StepFunctions*>self.owner.functions.get()
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
                ran = lease.executable() != NULL
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
                work.executable.cost.add_sample(<double>work.took_ns * work.executable.threads)
            if work.code == HR_REPLAN and run_code(work.run) == HR_OK and \
                    not work.run.cancelled.get():
                return None
            raise_failure(work)
            if clocked:
                self.overlap.record_clock(planned.get(), work.executable, work.clock.data())
            elif work.took_ns:
                self.overlap.record_run(work.executable, work.took_ns)
            if trace is not None:
                if not trace_entries(records, work.executable, work.buffers, work.clock.data(),
                                     work.thread):
                    raise MemoryError()
                trace.append(metadata_of(records, self.program))
            return self.collect(work.executable, work.buffers, values)
        except errors.OpError:
            raise_failure(work)  # planning ended because the run was ended
            raise

    cdef list collect(self, Executable* executable, RunBuffers* buffers, values):
        cdef list results = []
        cdef int32_t which
        cdef SegmentOutput* output
        cdef hr_tensor view
        for which in self.output_of:
            if which < 0:
                results.append(self.fed(values, which))
                continue
            output = &executable.outputs[which]
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
