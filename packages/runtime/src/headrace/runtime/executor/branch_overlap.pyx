# cython: language_level=3
"""Finds steps of one segment whose independent heavy kernels gain by running at the same time.

A segment runs its kernels one after another. Once runs of a step have been long, some are measured
kernel by kernel; where thread_policy.hpp expects a gain, the program is cut again for the dynamic
executor, with each heavy kernel as a segment of its own. Runs for other shapes do not change. In a
session with several intra-op threads only kernels that do not use them count (HR_KERNEL_SERIAL).
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.plan.executable cimport Executable
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.kernels.kernel_table cimport is_python_kernel
from headrace.runtime.memory.kernel_abi cimport HR_KERNEL_SERIAL
from headrace.runtime.passes.segments cimport cut_isolated
from headrace.runtime.passes.program cimport Program, ProgramNode
from headrace.runtime.state.session_owner cimport SessionOwner
from headrace.runtime.threads.pools cimport OverlapFacts, kOverlap, overlap_saves, overlap_threads


# A series of measurements: its first run fills caches, then some runs are measured as a whole, and
# some kernel by kernel.
cdef int RUNS = 3
cdef int CLOCKED_RUNS = 3
# A step with this many short runs is never measured: later long runs have another cause.
cdef int SHORT_RUNS = 8
# Other load disturbs measurements, so a step whose kernels could overlap is measured again.
cdef int MOST_SERIES = 4
# Dynamic steps of one signature, one for each set of heavy kernels: these differ with the shapes.
cdef int MOST_STEPS = 4



cdef class BranchOverlap:
    def __init__(self, SessionOwner owner, Program program, make_step):
        self.owner = owner
        self.program = program
        self.make_step = make_step
        self.steps = []
        self.number_of = {}
        self.n_possible = 0
        cdef int32_t j
        for j in range(<int32_t>program.nodes.size()):
            self.n_possible += self.may_run_isolated(j)
            if self.n_possible == 2:
                break

    cdef bint may_run_isolated(self, int32_t j):
        cdef ProgramNode* node = &self.program.nodes[j]
        if node.kernel == NULL or is_python_kernel(node.kernel):
            return False
        # Other kernels of a session with a team of threads stay on it: they gain little from running
        # at the same time, and on one thread they may round sums differently.
        return self.owner.intra_op_threads == 1 or node.kernel.flags & HR_KERNEL_SERIAL

    cdef int record_run(self, Executable* planned, double took_ns) except -1:
        if planned.overlap.decided or planned.overlap.clocks:  # a run of another thread
            return 0
        if self.n_possible < 2:
            planned.overlap.decided = True
            return 0
        if took_ns < 2 * kOverlap:
            planned.overlap.short_runs += 1
            planned.overlap.decided = planned.overlap.short_runs == SHORT_RUNS
            return 0
        if planned.entries.size() < 2 or self.threads() < 2:
            planned.overlap.decided = True
            return 0
        planned.overlap.runs += 1
        if planned.overlap.runs == 1:
            return 0
        if planned.overlap.wall_ns == 0 or took_ns < planned.overlap.wall_ns:
            planned.overlap.wall_ns = took_ns
        planned.overlap.clocks = planned.overlap.runs >= RUNS
        return 0

    cdef int threads(self):
        if self.owner.inter_op_pool.get() == NULL:
            return 1
        return overlap_threads(self.owner.inter_op_pool.get().size())

    cdef int record_clock(self, Executable* planned, const Executable* ran,
                        const int64_t* clock_ns) except -1:
        cdef vector[int64_t]* least = &planned.overlap.took_ns
        cdef int64_t took_ns
        cdef size_t i, n = ran.entries.size()
        for i in range(n):
            took_ns = clock_ns[2 * i + 1] - clock_ns[2 * i]
            if least.size() < n:
                least.push_back(took_ns)
            elif took_ns < least.at(i):
                least[0][i] = took_ns
        planned.overlap.runs += 1
        if planned.overlap.runs >= RUNS + CLOCKED_RUNS:
            self.decide(planned, ran)
        return 0

    cdef int decide(self, Executable* planned, const Executable* ran) except -1:
        cdef unordered_map[size_t, int32_t] numbers
        cdef vector[double] heavy, end_of
        cdef vector[uint8_t] isolated
        cdef OverlapFacts facts
        cdef ProgramNode* node
        cdef double took_ns, start
        cdef size_t i
        cdef int32_t j
        heavy.assign(self.program.nodes.size(), 0)
        end_of.assign(self.program.nodes.size(), 0)
        isolated.assign(self.program.nodes.size(), 0)
        for i in range(self.program.nodes.size()):
            numbers[<size_t>self.program.nodes[i].source] = <int32_t>i
        facts.wall_ns = planned.overlap.wall_ns
        facts.one_thread_ns = facts.heavy_ns = facts.longest_ns = 0
        facts.threads = self.threads()
        for i in range(ran.entries.size()):
            took_ns = <double>planned.overlap.took_ns[i]
            facts.one_thread_ns += took_ns
            found = numbers.find(<size_t>ran.entries[i].node)
            if took_ns < kOverlap or found == numbers.end():
                continue
            j = dereference(found).second
            if self.may_run_isolated(j):
                heavy[j] = took_ns
                isolated[j] = 1
                facts.heavy_ns += took_ns
        for i in range(self.program.nodes.size()):
            node = &self.program.nodes[i]
            start = 0
            for j in range(node.n_inputs):
                start = max(start, end_of[self.program.values[
                    self.program.inputs[node.first_input + j]].node])
            for j in range(node.n_controls):
                start = max(start, end_of[self.program.controls[node.first_control + j]])
            end_of[i] = start + heavy[i]
            facts.longest_ns = max(facts.longest_ns, end_of[i])
        planned.overlap.series += 1
        planned.overlap.runs = 1
        planned.overlap.clocks = False
        planned.overlap.took_ns.clear()
        if overlap_saves(facts):
            planned.overlap.step = self.step_for(isolated)
        planned.overlap.decided = planned.overlap.step >= 0 or \
            planned.overlap.series == MOST_SERIES or facts.heavy_ns - facts.longest_ns < kOverlap
        return 0

    cdef int32_t step_for(self, vector[uint8_t]& isolated) except -2:
        """The number of the dynamic step in which these nodes are units; -1: there are too many."""
        key = bytes(isolated)
        if key not in self.number_of:
            if len(self.steps) == MOST_STEPS:
                return -1
            self.steps.append(self.make_step(self.owner, self.program,
                                             cut_isolated(self.program, isolated), False, True))
            self.number_of[key] = len(self.steps) - 1
        return self.number_of[key]
