# cython: language_level=3
"""The last stage: a segment's steps become entries of the kernel schedule."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_unique, unique_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.plan.executable cimport (
    ARENA, BY_KERNEL, COUNTED, INPUT, STATIC, EarlyOutput, EntryPlan, Executable, SegmentOutput,
    alias_entry, release_entry,
)
from headrace.runtime.graph.attributes cimport argument_range
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.kernels.kernel_table cimport (
    KEEPS_SMALL_ON_HOST, OWN_MEMORY, READS_SLOT, SESSION_CONSTANT,
)
from headrace.runtime.memory.buffer cimport (
    OwnedTensor, allocate_on, is_kept_on_host, is_plain, memory_of,
)
from headrace.runtime.memory.kernel_abi cimport (
    HR_KERNEL_VIEW, HR_OK, HR_REF, hr_code, hr_compute, hr_device, hr_tensor,
)
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step

from headrace.formats import errors


cdef extern from "memory/device_copies.hpp" namespace "headrace" nogil:
    cdef cppclass CopiesToDevice:
        CopiesToDevice(hr_device* device)
        void add(void* to, const void* source, int64_t bytes)
        hr_code wait(string* text)


cdef int write_schedule(SegmentBuilder builder) except -1:
    cdef Executable* executable = builder.out
    cdef int i, j, tensor, last_writer = -1
    cdef Step* step
    cdef EntryPlan entry
    cdef vector[vector[int32_t]] dying   # pinned values by the step of their last use
    cdef vector[int32_t] after           # per step: the entries up to it
    dying.resize(builder.steps.size())
    for i in range(<int>builder.steps.size()):
        if builder.steps[i].writes and not builder.steps[i].elided:
            last_writer = i
    for i in executable.by_kernel:
        if builder.last[i] < last_writer and not builder.escapes[i]:
            dying[builder.last[i]].push_back(i)
    if builder.memory != NULL:
        place_constants(builder)
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
            entry.kernel = NULL
            entry.on_host = True
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
            entry.on_host = step.on_host
            entry.node = step.node
            entry.kernel = step.kernel
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
            entry.kernel = NULL
            entry.on_host = True
            executable.arguments.push_back(dying[i][j])
            executable.entries.push_back(entry)
        after.push_back(<int32_t>executable.entries.size())
    if executable.first_effect < 0:
        executable.first_effect = <int32_t>executable.entries.size()
    executable.tensors = builder.tensors
    executable.storage = builder.storage
    return find_early_outputs(builder, after)


cdef int place_constants(SegmentBuilder builder) except -1:
    """Puts the constants that kernels of a device read, or that leave the segment there, into its
    memory."""
    cdef vector[int32_t] placed    # per tensor: its copy on the device
    cdef unique_ptr[CopiesToDevice] copies = make_unique[CopiesToDevice](builder.memory)
    cdef string text
    cdef hr_code code
    cdef uint64_t listed
    cdef Step* step
    cdef size_t k
    cdef int i, j
    placed.assign(builder.tensors.size(), -1)
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if step.elided or step.on_host or step.kernel.flags & SESSION_CONSTANT:
            continue
        listed = step.kernel.host_inputs | step.kernel.constant_inputs | step.kernel.value_inputs
        for j in range(step.n_inputs):
            if not (listed and is_listed(step.node, j, listed)) and not (
                    step.kernel.flags & (HR_KERNEL_VIEW | KEEPS_SMALL_ON_HOST) and is_kept_on_host(
                        builder.tensors[builder.arguments[step.first_input + j]].dtype)):
                builder.arguments[step.first_input + j] = constant_on_device(
                    builder, placed, copies.get(), builder.arguments[step.first_input + j],
                    b"a constant of " + step.node.name)
    for k in range(builder.out.outputs.size()):
        if not builder.on_host[builder.out.outputs[k].tensor]:
            i = constant_on_device(
                builder, placed, copies.get(), builder.out.outputs[k].tensor, b"a constant")
            if i != builder.out.outputs[k].tensor:
                builder.out.outputs[k].tensor = i
                builder.out.outputs[k].root = i
                builder.out.outputs[k].constant = builder.tensors[i].owner
    # The executable is kept, so what it holds must be complete.
    with nogil:
        code = copies.get().wait(&text)
    if code != HR_OK:
        raise errors.from_code(
            code, "a constant could not be copied to the device: "
            + (<bytes>text).decode(errors="replace"))
    return 0


cdef int32_t constant_on_device(SegmentBuilder builder, vector[int32_t]& placed,
                                CopiesToDevice* copies, int32_t tensor,
                                const string& holder) except -1:
    """The copy of a constant on the device; other tensors as they are."""
    cdef OwnedTensor made
    cdef hr_tensor copy
    cdef hr_device* device = builder.memory
    if builder.storage[builder.root[tensor]] != STATIC or builder.tensors[tensor].data == NULL or \
            not is_plain(builder.tensors[tensor].dtype) or builder.tensors[tensor].dtype >= HR_REF:
        return tensor
    if tensor < <int32_t>placed.size() and placed[tensor] >= 0:
        return placed[tensor]
    if memory_of(builder.tensors[tensor].owner) == device:
        return tensor
    made.get()[0] = builder.tensors[tensor]
    made.get().owner = NULL
    if allocate_on(device, made.get(), holder.c_str()) != HR_OK:
        raise errors.ResourceExhaustedError(
            None, None, f"no memory on the device for a constant of {made.get().bytes} bytes")
    if made.get().bytes > 0:
        copies.add(made.get().data, builder.tensors[tensor].data, made.get().bytes)
    copy = made.take()
    builder.out.keep(copy.owner)
    placed[tensor] = builder.add_tensor(&copy, STATIC)
    builder.on_host[placed[tensor]] = 0
    return placed[tensor]


cdef bint is_listed(GraphNode* node, int32_t position, uint64_t arguments) noexcept:
    """Whether an input belongs to one of the arguments."""
    cdef int32_t argument, first = 0, count = 0
    if node.info == NULL:   # of a pass: each argument is one tensor
        return arguments >> position & 1 != 0
    for argument in range(64):
        if arguments >> argument & 1:
            argument_range(node, False, argument, &first, &count)
            if first <= position < first + count:
                return True
    return False


cdef int find_early_outputs(SegmentBuilder builder, vector[int32_t]& after) except -1:
    """Finds the outputs for Sends that are complete before the last entry has run.

    Their memory is counted, and no other step writes it. None is sent before a read that may find
    that a variable has another shape than planned: the run then starts again, and what it has sent
    would not fit what it reads.
    """
    cdef Executable* executable = builder.out
    cdef vector[EarlyOutput] found
    cdef vector[int32_t] made_by
    cdef EarlyOutput early
    cdef SegmentOutput* output
    cdef int i, j
    cdef int32_t certain = 0   # once as many entries have run, the run does not start again
    cdef size_t k
    cdef bint any_sent = False
    for k in range(executable.outputs.size()):
        any_sent = any_sent or executable.outputs[k].sent
    if not any_sent:
        return 0
    made_by.assign(builder.tensors.size(), -1)
    for i in range(<int>builder.steps.size()):
        for j in range(builder.steps[i].n_outputs if not builder.steps[i].elided else 0):
            made_by[builder.arguments[builder.steps[i].first_output + j]] = i
        if not builder.steps[i].elided and builder.steps[i].kernel != NULL and \
                builder.steps[i].kernel.flags & READS_SLOT and \
                (after[i - 1] if i else 0) <= executable.first_effect:
            certain = after[i]
    for k in range(executable.outputs.size()):
        output = &executable.outputs[k]
        if not output.sent or made_by[output.root] < 0 or \
                builder.storage[output.root] not in (BY_KERNEL, COUNTED):
            continue
        early.after = max(certain, after[max(made_by[output.root], made_by[output.tensor])])
        early.output = <int32_t>k
        if early.after < <int32_t>executable.entries.size():
            found.push_back(early)
    sort(found.begin(), found.end(), is_earlier)
    executable.early = found
    return 0


cdef bint is_earlier(const EarlyOutput& a, const EarlyOutput& b) noexcept nogil:
    return a.after < b.after


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
