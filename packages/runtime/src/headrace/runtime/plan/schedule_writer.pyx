# cython: language_level=3
"""The last walk: a segment's steps as entries of the kernel schedule."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.plan.executable cimport (
    ARENA, EntryPlan, Executable, alias_entry, release_entry,
)
from headrace.runtime.memory.kernel_abi cimport hr_compute
from headrace.runtime.kernels.kernel_table cimport OWN_MEMORY
from headrace.runtime.plan.segment_draft cimport SegmentDraft, Step


cdef int write_schedule(SegmentDraft draft) except -1:
    cdef Executable* made = draft.out
    cdef int i, j, tensor, last_writer = -1
    cdef Step* step
    cdef EntryPlan entry
    cdef vector[vector[int32_t]] dying   # pinned values by the step of their last use
    dying.resize(draft.steps.size())
    for i in range(<int>draft.steps.size()):
        if draft.steps[i].writes and not draft.steps[i].elided:
            last_writer = i
    for i in made.by_kernel:
        if draft.last[i] < last_writer and not draft.escapes[i]:
            dying[draft.last[i]].push_back(i)
    # Copies: the draft is used again, and what is kept has no room to spare.
    made.arguments = draft.arguments
    made.entries.reserve(draft.steps.size())
    made.first_effect = -1
    for i in range(<int>draft.steps.size()):
        step = &draft.steps[i]
        if made.first_effect < 0 and not step.elided and has_effect(step):
            made.first_effect = <int32_t>made.entries.size()
        if not step.elided and not (step.view and is_placed(draft, step, made)):
            entry.compute = <hr_compute>alias_entry if step.view else step.compute
            entry.state = step.state
            entry.plan = step.plan
            entry.first_input = step.first_input
            entry.n_inputs = step.n_inputs
            entry.first_output = step.first_output
            entry.n_outputs = step.n_outputs
            entry.workspace = step.workspace
            entry.node = step.node
            made.entries.push_back(entry)
        for j in range(<int>dying[i].size()):
            entry.compute = <hr_compute>release_entry
            entry.state = NULL
            entry.plan = NULL
            entry.first_input = <int32_t>made.arguments.size()
            entry.n_inputs = 0
            entry.first_output = entry.first_input
            entry.n_outputs = 1
            entry.workspace = -1
            entry.node = step.node
            made.arguments.push_back(dying[i][j])
            made.entries.push_back(entry)
    if made.first_effect < 0:
        made.first_effect = <int32_t>made.entries.size()
    made.tensors = draft.tensors
    made.storage = draft.storage
    return 0


cdef bint has_effect(Step* step) noexcept:
    """Whether a step may change what outlives the run; reading a variable does not."""
    return step.writes or step.node.info != NULL and step.node.info.stateful and \
        not step.kernel.flags & OWN_MEMORY


cdef bint is_placed(SegmentDraft draft, Step* step, Executable* made) noexcept:
    """A view of arena memory has its pointer from the plan; others get theirs at run."""
    cdef int out = made.arguments[step.first_output]
    return draft.storage[draft.root[out]] == ARENA
