# cython: language_level=3
"""Steps of programs that need the dynamic executor, in one call (`DynamicStep`) or in several."""

import threading

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.executor.executor cimport Execution
from headrace.runtime.executor.executor_plan cimport ExecutorPlan, plan_executor
from headrace.runtime.executor.native_loop cimport NativeLoop
from headrace.runtime.executor.step cimport Step
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.passes.program cimport Program, ProgramNode
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.state.session_owner cimport SessionOwner
from headrace.runtime.threads.pools cimport steady_ns

from headrace.runtime.executor.explain import explain_dynamic_step


cdef ExecutorPlan executor_plan(SessionOwner owner, Program program, Segments segments,
                                bint native_loops):
    """The plan with a runner for each segment."""
    cdef ExecutorPlan plan = plan_executor(program, segments, native_loops)
    cdef SegmentRunner runner
    cdef NativeLoop loop
    cdef size_t i
    for loop in plan.loops:
        loop.bind(program, owner.state, owner.intra_op_threads)
    for i in range(segments.segments.size()):
        runner = SegmentRunner()
        runner.program = program
        runner.segments = segments
        runner.number = <int>i
        runner.session = owner.state
        runner.intra_op_threads = owner.intra_op_threads
        plan.runners.append(runner)
        plan.runner_pointers.push_back(<void*>runner)
    return plan


cdef int64_t deadline_of(double timeout_s) noexcept:
    return steady_ns() + <int64_t>(timeout_s * 1e9) if timeout_s > 0 else 0


cdef class DynamicStep(Step):
    """A step on the dynamic executor."""
    cdef readonly ExecutorPlan plan
    cdef object __weakref__

    def __init__(self, SessionOwner owner, Program program, Segments segments,
                 bint native_loops, bint one_thread=False):
        """one_thread: each unit runs on one thread, since other units run at the same time."""
        super().__init__(owner, program)
        self.plan = executor_plan(owner, program, segments, native_loops)
        self.plan.one_thread = one_thread

    def run_with(self, values, double timeout, list trace, int pool):
        """Runs this step in place of a StaticStep."""
        return self.execute(values, timeout, trace, pool)

    def explain(self):
        return explain_dynamic_step(self)

    @property
    def runners(self):
        return self.plan.runners

    @property
    def loops(self):
        return [(len(loop.nodes), loop.describe()) for loop in self.plan.loops]

    cdef list execute(self, values, double timeout, list trace, int pool):
        cdef Execution execution
        cdef vector[int32_t] everything
        cdef size_t i
        self.owner.check()
        self.check_count(values)
        execution = Execution(self.owner, self.plan, trace is not None)
        if pool:
            execution.take_pool(pool)
        for i in range(self.plan.program.feeds.size()):
            execution.feed(<int>i, values[i])
        execution.advance(everything, deadline_of(timeout))
        if trace is not None:
            trace.append(execution.metadata())
        return [execution.fetch(<int>i) for i in range(self.plan.program.fetches.size())]


def partial_plan(SessionOwner owner, Program program, Segments segments) -> ExecutorPlan:
    """The plan that all partial runs of one signature share."""
    return executor_plan(owner, program, segments, True)


cdef class DynamicPartialStep:
    """services.PartialStep: feeds arrive, and fetches leave, in several calls."""
    cdef SessionOwner owner
    cdef Program program
    cdef Execution execution
    cdef dict feeds
    cdef dict fetches
    cdef dict targets            # operation -> number of its node
    cdef set fed
    cdef ExecutorPlan plan
    cdef object turn             # held by the thread that executes the step
    cdef object __weakref__

    def __init__(self, SessionOwner owner, ExecutorPlan plan, list targets):
        cdef Program program = plan.program
        self.turn = threading.Lock()
        owner.check()
        self.owner = owner
        self.program = program
        self.plan = plan
        self.execution = Execution(owner, self.plan, False)
        self.feeds = {name: i for i, name in enumerate(program.feed_names)}
        self.fetches = {name: i for i, name in enumerate(program.fetch_names)}
        self.targets = {name: program.targets[i] for i, name in enumerate(targets)}
        self.fed = set()

    def __del__(self):
        if self.execution is not None:  # it is None where the setup failed
            self.cancel("the partial run was abandoned")

    def run(self, feeds, fetches):
        with self.turn:
            return self.advance(feeds, fetches)

    cdef list advance(self, feeds, fetches):
        cdef vector[int32_t] requested, everything
        cdef int number
        for name in feeds:
            if name not in self.feeds:
                raise errors.InvalidArgumentError(
                    None, None, f"'{name}' was not named as a feed when the partial run was set up "
                    f"(named: {', '.join(self.feeds) or 'none'})")
            if name in self.fed:
                raise errors.InvalidArgumentError(
                    None, None, f"'{name}' was fed before in this partial run")
        for name in fetches:
            if name in self.fetches:
                requested.push_back(self.fetches[name])
            elif name not in self.targets:
                known = ", ".join([*self.fetches, *self.targets])
                raise errors.InvalidArgumentError(
                    None, None, f"'{name}' was not named as a fetch when the partial run was set "
                    f"up (named: {known or 'none'})")
        for name, value in feeds.items():
            # A copy, kept until the step is over: the caller may change the array meanwhile.
            self.execution.feed(self.feeds[name], np.array(value))
            self.fed.add(name)
        if requested.size() == len(fetches):
            self.execution.advance(requested, deadline_of(self.owner.timeout_s))
        else:  # an operation has run once everything that the feeds allow has run
            self.execution.advance(everything, deadline_of(self.owner.timeout_s))
        for name in fetches:
            if name in self.targets:
                missing = self.feeds_missing_for(self.targets[name])
            elif not self.execution.has_fetch(self.fetches[name]):
                missing = sorted(set(self.feeds) - self.fed)
            else:
                continue
            if missing or name in self.fetches:
                raise errors.InvalidArgumentError(
                    None, None, f"fetch '{name}' needs a feed that this partial run does not have "
                    f"yet (not fed: {', '.join(missing) or 'none'})")
        return [self.execution.fetch(self.fetches[name]) if name in self.fetches else None
                for name in fetches]

    cdef list feeds_missing_for(self, int32_t target):
        """The names of the feeds that a node depends on and that are missing."""
        cdef list stack = [target]
        cdef set seen = {target}
        cdef ProgramNode* node
        cdef int32_t i, at
        while stack:
            node = &self.program.nodes[stack.pop()]
            before = [self.program.values[self.program.inputs[node.first_input + i]].node
                      for i in range(node.n_inputs)]
            before += [self.program.controls[node.first_control + i]
                       for i in range(node.n_controls)]
            for at in before:
                if at not in seen:
                    seen.add(at)
                    stack.append(at)
        return [name for name, number in self.feeds.items()
                if name not in self.fed and self.program.feeds[number] >= 0
                and self.program.values[self.program.feeds[number]].node in seen]

    def cancel(self, str reason):
        cdef vector[int32_t] none
        self.execution.cancel(reason)
        if not self.turn.acquire(blocking=False):
            return  # the thread that executes the step sees it, and may wait for this one
        try:
            self.execution.advance(none, 0)
        except errors.OpError:
            pass  # the cancellation itself
        finally:
            self.turn.release()
