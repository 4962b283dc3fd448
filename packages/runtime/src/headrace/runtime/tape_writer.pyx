# cython: language_level=3
"""The last walk: a segment's steps as entries of a tape."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.kernel_abi cimport hr_compute
from headrace.runtime.segment_draft cimport SegmentDraft, Step
from headrace.runtime.tape cimport ARENA, EntryPlan, Tape, alias_entry, release_entry


cdef int write_tape(SegmentDraft draft) except -1:
    cdef Tape tape = draft.tape
    cdef int i, j, tensor, last_writer = -1
    cdef Step* step
    cdef EntryPlan entry
    cdef vector[vector[int32_t]] dying   # pinned values by the step of their last use
    dying.resize(draft.steps.size())
    for i in range(<int>draft.steps.size()):
        if draft.steps[i].writes and not draft.steps[i].elided:
            last_writer = i
    for i in tape.by_kernel:
        if draft.last[i] < last_writer and not draft.escapes[i]:
            dying[draft.last[i]].push_back(i)
    tape.arguments.swap(draft.arguments)
    for i in range(<int>draft.steps.size()):
        step = &draft.steps[i]
        if not step.elided and not (step.view and is_placed(draft, step, tape)):
            entry.compute = <hr_compute>alias_entry if step.view else step.compute
            entry.state = step.node.state
            entry.plan = step.plan
            entry.first_input = step.first_input
            entry.n_inputs = step.n_inputs
            entry.first_output = step.first_output
            entry.n_outputs = step.n_outputs
            entry.workspace = step.workspace
            entry.node = step.node
            tape.entries.push_back(entry)
        for j in range(<int>dying[i].size()):
            entry.compute = <hr_compute>release_entry
            entry.state = NULL
            entry.plan = NULL
            entry.first_input = <int32_t>tape.arguments.size()
            entry.n_inputs = 0
            entry.first_output = entry.first_input
            entry.n_outputs = 1
            entry.workspace = -1
            entry.node = step.node
            tape.arguments.push_back(dying[i][j])
            tape.entries.push_back(entry)
    tape.tensors.swap(draft.tensors)
    tape.storage.swap(draft.storage)
    return 0


cdef bint is_placed(SegmentDraft draft, Step* step, Tape tape) noexcept:
    """A view of arena memory has its pointer from the plan; others get theirs at run."""
    cdef int out = tape.arguments[step.first_output]
    return draft.storage[draft.root[out]] == ARENA
