# cython: language_level=3
"""The schedule of a run, and where it runs.

thread_policy.hpp decides: on the calling thread with or without the GIL, on the intra-op pool
(prepared for that many threads), or on one thread of the inter-op pool.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset
from libcpp.memory cimport shared_ptr

from headrace.runtime.executor.branch_overlap cimport wants_clock
from headrace.runtime.executor.schedule_run cimport (
    KernelWork, begin_schedule, poll_of, raise_failure, run_kernels,
)
from headrace.runtime.executor.step cimport Step
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.kernels.kernel_table cimport is_python_kernel, library_of
from headrace.runtime.memory.kernel_abi cimport hr_kernel, hr_tensor
from headrace.runtime.plan.executable cimport Executable, Lease
from headrace.runtime.state.raised_error cimport RaisedError
from headrace.runtime.threads.pools cimport (
    ActiveRun, InterOpPool, Place, StepFacts, Work, begin_run_unwatched, end_run, expected_ns,
    gil_released, gil_reacquired, keeps_gil, place_of, run_intra_op, wait_for_gil,
)


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
            begun = (<PlacedStep>search.step).plan_for_intra_op(search)
        except BaseException as error:
            search.error.keep(error)
    end_run(&proxy)
    if begun:
        search.work.run.ctx.threads = search.found.get().threads
        search.work.timed = search.work.executable.cost.wants_sample()
        run_kernels(search.work)


cdef class PlacedStep(Step):

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
        return lease.executable() != NULL

    cdef StepFacts facts_of(self, Executable* executable, ActiveRun* active):
        cdef StepFacts facts
        facts.ns = executable.cost.ns(expected_ns(executable.flops, executable.bytes_moved))
        facts.measured = executable.cost.known()
        facts.calls_python = may_block(executable)
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
                ran = run_intra_op(plan_on_intra_op_pool, &search, self.owner.intra_op_threads, poll,
                                   work)
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
        cdef Executable* executable
        search.found[0] = self.runner.find(search.inputs, self.owner.intra_op_threads)
        executable = search.found.get()
        if executable.overlap.step >= 0 or wants_clock(executable) or executable.entries.empty() or \
                place_of(self.facts_of(executable, search.run)) != Place.kIntraOp:
            return False
        begin_schedule(search.lease[0], search.found[0], search.inputs, search.work, search.traced)
        return True

    cdef bint run_on_intra_op_pool(self, ActiveRun* active, KernelWork* work) except -1:
        cdef Work poll = poll_of(active)
        cdef bint ran
        work.run.ctx.threads = self.owner.intra_op_threads
        work.timed = work.executable.cost.wants_sample()
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
        if work.executable.entries.empty():
            return 0  # all fetches are constants
        work.run.ctx.threads = 1   # an earlier attempt may have had all threads
        work.timed = work.executable.cost.wants_sample()
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


cdef bint may_block(Executable* executable):
    """Whether a kernel may wait or call Python: such a run never keeps the GIL."""
    cdef size_t i
    cdef GraphNode* node
    cdef const hr_kernel* kernel
    cdef const char* library
    if executable.blocks < 0:
        executable.blocks = 0
        for i in range(executable.entries.size()):
            node = executable.entries[i].node
            kernel = executable.entries[i].kernel
            if node == NULL or kernel == NULL:
                continue
            library = library_of(kernel)
            if is_python_kernel(kernel) or (
                    node.info != NULL and node.info.stateful and library != NULL
                    and library[:] != b"runtime"):
                executable.blocks = 1
    return executable.blocks != 0
