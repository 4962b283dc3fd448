# cython: language_level=3
"""The last stage: a segment's steps become entries of the kernel schedule."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.plan.executable cimport (
    ARENA, INPUT, EntryPlan, Executable, alias_entry, release_entry,
)
from headrace.runtime.memory.kernel_abi cimport HR_REF, hr_compute
from headrace.runtime.kernels.kernel_table cimport OWN_MEMORY
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step


cdef int write_schedule(SegmentBuilder builder) except -1:
    cdef Executable* executable = builder.out
    cdef int i, j, tensor, last_writer = -1
    cdef Step* step
    cdef EntryPlan entry
    cdef vector[vector[int32_t]] dying   # pinned values by the step of their last use
    dying.resize(builder.steps.size())
    for i in range(<int>builder.steps.size()):
        if builder.steps[i].writes and not builder.steps[i].elided:
            last_writer = i
    for i in executable.by_kernel:
        if builder.last[i] < last_writer and not builder.escapes[i]:
            dying[builder.last[i]].push_back(i)
    # Copies: the builder is reused, and the executable's vectors have no spare capacity.
    executable.arguments = builder.arguments
    executable.entries.reserve(builder.steps.size())
    executable.first_effect = -1
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if executable.first_effect < 0 and not step.elided and has_effect(step):
            executable.first_effect = <int32_t>executable.entries.size()
        if not step.elided and passes_reference(builder, step):
            entry.compute = <hr_compute>alias_entry
            entry.state = NULL
            entry.plan = NULL
            entry.first_input = step.first_input
            entry.n_inputs = 1
            entry.first_output = step.first_output
            entry.n_outputs = 1
            entry.workspace = -1
            entry.node = NULL
            executable.entries.push_back(entry)
        if not step.elided and not (step.view and is_placed(builder, step, executable)):
            entry.compute = <hr_compute>alias_entry if step.view else step.compute
            entry.state = step.state
            entry.plan = step.plan
            entry.first_input = step.first_input
            entry.n_inputs = step.n_inputs
            entry.first_output = step.first_output
            entry.n_outputs = step.n_outputs
            entry.workspace = step.workspace
            entry.node = step.node
            executable.entries.push_back(entry)
        for j in range(<int>dying[i].size()):
            entry.compute = <hr_compute>release_entry
            entry.state = NULL
            entry.plan = NULL
            entry.first_input = <int32_t>executable.arguments.size()
            entry.n_inputs = 0
            entry.first_output = entry.first_input
            entry.n_outputs = 1
            entry.workspace = -1
            entry.node = step.node
            executable.arguments.push_back(dying[i][j])
            executable.entries.push_back(entry)
    if executable.first_effect < 0:
        executable.first_effect = <int32_t>executable.entries.size()
    executable.tensors = builder.tensors
    executable.storage = builder.storage
    return 0


cdef bint has_effect(Step* step) noexcept:
    """Whether a step may change something that outlives the run; reading a variable does not."""
    return step.writes or step.node.info != NULL and step.node.info.stateful and \
        not step.kernel.flags & OWN_MEMORY


cdef bint passes_reference(SegmentBuilder builder, Step* step) noexcept:
    """Whether a step returns a reference that it gets from outside of the segment: each run may
    have another one."""
    cdef int32_t given
    if step.n_inputs == 0 or step.n_outputs == 0 or step.view:
        return False
    given = builder.arguments[step.first_input]
    return builder.tensors[given].dtype >= HR_REF and builder.storage[builder.root[given]] == INPUT \
        and builder.root[builder.arguments[step.first_output]] == builder.root[given]


cdef bint is_placed(SegmentBuilder builder, Step* step, Executable* executable) noexcept:
    """Whether a view has a fixed address in the arena; other views get theirs in each run."""
    cdef int out = executable.arguments[step.first_output]
    return builder.storage[builder.root[out]] == ARENA
