# cython: language_level=3
"""Who owns the memory of each value of a segment.

Escape analysis comes first: values that may outlive the run get counted buffers. All others get
offsets in the arena, packed by lifetime, in place of an input where the kernel allows it.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport Failure, kAnyValues, kIntegers, op_entry_of
from headrace.runtime.memory.buffer cimport is_plain
from headrace.runtime.memory.kernel_abi cimport (
    HR_BFLOAT16, HR_COMPLEX64, HR_COMPLEX128, HR_DOUBLE, HR_FLOAT, HR_HALF, HR_REF, hr_dtype,
    hr_elements, hr_tensor,
)
from headrace.runtime.kernels.kernel_table cimport ASSIGNS_SLOT, OWN_MEMORY
from headrace.runtime.plan.memory_plan cimport Lifetime, plan_memory
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.executable cimport ARENA, BY_KERNEL, COUNTED, STATIC, SegmentOutput
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step, is_stateful


cdef extern from "headrace/kernel.h" nogil:
    cdef cppclass node_api "hr_node_api":
        void (*input_range)(const void*, int32_t, int32_t*, int32_t*)

cdef int64_t SMALL = 4096           # bytes; copying up to this size is cheaper than counting

# The input that a kernel keeps by reference, if the value has a buffer, and would copy otherwise.
cdef unordered_map[string, int32_t] kept_inputs
for _op, _input in {
    "TensorListPushBack": 1, "TensorListSetItem": 2, "TensorListFromTensor": 0,
    "TensorListScatter": 0, "TensorListScatterV2": 0, "TensorListScatterIntoExistingList": 1,
    "TensorListSplit": 0, "TensorListPushBackBatch": 1,
    "TensorArrayWriteV2": 2, "TensorArrayWriteV3": 2, "TensorArrayScatterV2": 2,
    "TensorArrayScatterV3": 2, "TensorArraySplitV2": 1, "TensorArraySplitV3": 1,
    "StackPush": 1, "StackPushV2": 1,
}.items():
    kept_inputs[<string>_op.encode()] = _input


cdef int plan_storage(SegmentBuilder builder, Segments segments, Segment segment,
                      bint copy_small) except -1:
    cdef int i, j, tensor, root
    cdef Step* step
    cdef size_t n
    cdef vector[int32_t] storage_of     # root -> lifetime
    cdef vector[Lifetime] lifetimes
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if step.elided:
            continue
        for j in range(step.n_inputs):
            builder.last[builder.root[builder.arguments[step.first_input + j]]] = i
        for j in range(step.n_outputs):
            tensor = builder.arguments[step.first_output + j]
            if builder.root[tensor] == tensor:
                builder.first[tensor] = i
                builder.last[tensor] = i
    for i in range(segment.n_outputs):
        builder.escapes[builder.root[builder.local_of[segments.outputs[segment.first_output + i]]]] = 1
    for i in range(<int>builder.steps.size()):
        if not builder.steps[i].elided:
            mark_kept(builder, &builder.steps[i])
            mark_assigned(builder, &builder.steps[i])
    storage_of.assign(builder.tensors.size(), -1)
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if step.elided:
            continue
        for j in range(step.n_outputs):
            tensor = builder.arguments[step.first_output + j]
            if builder.root[tensor] == tensor:
                place_output(builder, step, i, j, tensor, copy_small, storage_of, lifetimes)
        if step.workspace > 0 and builder.memory != NULL and step.on_host:
            builder.out.host_workspace = max(builder.out.host_workspace, step.workspace)
        elif step.workspace > 0:
            add_lifetime(lifetimes, step.workspace, i, i)
            step.workspace = <int64_t>lifetimes.size()   # 1 + its number, until the offset is known
    builder.out.arena_bytes = plan_memory(lifetimes)
    for n in range(lifetimes.size()):
        builder.out.intermediate_bytes += lifetimes[n].bytes
    for i in range(<int>builder.tensors.size()):
        root = builder.root[i]
        if builder.storage[root] == ARENA and storage_of[root] >= 0:
            builder.tensors[i].data = <void*><size_t>lifetimes[storage_of[root]].offset
            builder.storage[i] = ARENA
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if step.elided or step.workspace <= 0:  # a folded step has no lifetime
            step.workspace = -1
        elif builder.memory != NULL and step.on_host:
            step.workspace = 0
        else:
            step.workspace = lifetimes[step.workspace - 1].offset
    return plan_outputs(builder, segments, segment)


cdef int mark_kept(SegmentBuilder builder, Step* step) except -1:
    """Gives a large value that a kernel keeps a buffer, or the owner of a constant's buffer."""
    cdef int tensor, root
    found = kept_inputs.find(step.node.op)
    if found == kept_inputs.end() or dereference(found).second >= step.n_inputs:
        return 0
    tensor = builder.arguments[step.first_input + dereference(found).second]
    root = builder.root[tensor]
    # On a device a buffer costs less than the copy that has to be enqueued without one.
    if builder.tensors[root].bytes <= SMALL and (builder.memory == NULL or builder.on_host[root]):
        return 0
    if builder.storage[root] == ARENA:
        builder.escapes[root] = 1
    elif builder.storage[root] == STATIC and builder.tensors[tensor].dtype < HR_REF:
        builder.tensors[tensor].owner = builder.out.constant_at(builder.tensors[tensor].data)
    return 0


cdef void mark_assigned(SegmentBuilder builder, Step* step) noexcept:
    """Gives a value that is assigned on a device a buffer there: only buffers say where they are."""
    cdef int root
    if builder.memory != NULL and step.kernel.flags & ASSIGNS_SLOT:
        root = builder.root[builder.arguments[step.first_input + 1]]
        if builder.storage[root] == ARENA:
            builder.escapes[root] = 1


cdef void drop_unused(SegmentBuilder builder, Segments segments, Segment segment) noexcept:
    """Elides steps without readers, for example if only the shape of a value is needed.

    Steps that may fail stay, since their error is an error of the run: a read of a variable without
    a value, an index out of range. A view that only control edges reach needs no step, but the
    viewed tensor must be computed.
    """
    cdef vector[uint8_t] used
    cdef int i, j, number
    cdef bint needed, awaited
    cdef Step* step
    used.assign(builder.tensors.size(), 0)
    for i in range(segment.n_outputs):
        used[builder.local_of[segments.outputs[segment.first_output + i]]] = 1
    for i in range(<int>builder.steps.size() - 1, -1, -1):
        step = &builder.steps[i]
        if step.elided:
            continue
        number = segments.nodes[segment.first_node + i]
        awaited = builder.program.nodes[number].awaited
        needed = step.writes or i == builder.ends_at or is_stateful(step.node) or \
            awaited and not step.view or may_fail(step)
        for j in range(step.n_outputs):
            needed = needed or used[builder.arguments[step.first_output + j]]
        if not needed:
            step.elided = True
            if not awaited:
                continue
        for j in range(step.n_inputs):
            used[builder.arguments[step.first_input + j]] = 1


cdef bint may_fail(Step* step) noexcept:
    """Whether computing a step may fail; steps of variables are excluded."""
    if step.view:
        return False
    if step.by_kernel or step.node.info == NULL:
        return True
    cdef Failure failure = op_entry_of(step.node).failure
    return failure == kAnyValues or \
        failure == kIntegers and not has_fractions(step.node.output_dtypes[0])


cdef inline bint has_fractions(hr_dtype dtype) noexcept nogil:
    return dtype in (HR_FLOAT, HR_DOUBLE, HR_HALF, HR_BFLOAT16, HR_COMPLEX64, HR_COMPLEX128)


cdef int add_lifetime(vector[Lifetime]& lifetimes, int64_t bytes, int first, int last) except -1:
    cdef Lifetime life
    life.bytes = bytes
    life.first = first
    life.last = last
    life.offset = 0
    lifetimes.push_back(life)
    return 0


cdef int place_output(SegmentBuilder builder, Step* step, int at, int port, int tensor, bint copy_small,
                      vector[int32_t]& storage_of, vector[Lifetime]& lifetimes) except -1:
    cdef hr_tensor* t = &builder.tensors[tensor]
    cdef int last = builder.last[tensor]
    cdef int reused
    if t.dtype >= HR_REF:
        builder.storage[tensor] = STATIC
        return 0
    if step.by_kernel or step.kernel.flags & OWN_MEMORY:
        builder.storage[tensor] = BY_KERNEL
        builder.out.by_kernel.push_back(tensor)
        return 0
    if builder.memory != NULL and builder.on_host[tensor]:
        builder.storage[tensor] = COUNTED
        builder.out.counted_on_host.push_back(tensor)
        return 0
    if not is_plain(t.dtype) or builder.escapes[tensor] and not (copy_small and t.bytes <= SMALL):
        builder.storage[tensor] = COUNTED
        builder.out.counted.push_back(tensor)
        builder.out.counted_makers.push_back(step.node)
        return 0
    builder.storage[tensor] = ARENA
    if builder.escapes[tensor]:
        last = <int>builder.steps.size()
    if port == 0:
        reused = reusable_input(builder, step, at, tensor)
        if reused >= 0 and storage_of[reused] >= 0:
            storage_of[tensor] = storage_of[reused]
            lifetimes[storage_of[tensor]].last = max(last, lifetimes[storage_of[tensor]].last)
            return 0
    add_lifetime(lifetimes, t.bytes, at, last)
    storage_of[tensor] = <int32_t>lifetimes.size() - 1
    return 0


cdef int reusable_input(SegmentBuilder builder, Step* step, int at, int output):
    """A root in the arena whose last use is here and that the kernel may overwrite; -1: none."""
    cdef int32_t argument, first = 0, count = 0
    cdef int i, j, tensor, root
    cdef hr_tensor* out = &builder.tensors[output]
    cdef bint alone
    if step.kernel.reuse_inputs == 0:
        return -1
    for argument in range(64):
        if not step.kernel.reuse_inputs >> argument:
            break
        if not (step.kernel.reuse_inputs >> argument) & 1:
            continue
        (<node_api*>step.node.abi_node.api).input_range(&step.node.abi_node, argument, &first, &count)
        for i in range(first, first + count):
            if i >= step.n_inputs:
                break
            tensor = builder.arguments[step.first_input + i]
            root = builder.root[tensor]
            if builder.storage[root] != ARENA or builder.last[root] != at or builder.escapes[root]:
                continue
            if builder.first[root] < 0 or builder.tensors[tensor].bytes != out.bytes or \
                    builder.tensors[root].bytes != out.bytes or \
                    builder.tensors[tensor].layout != out.layout or \
                    hr_elements(&builder.tensors[tensor]) != hr_elements(out):
                continue
            alone = True
            for j in range(step.n_inputs):
                if j != i and builder.root[builder.arguments[step.first_input + j]] == root and \
                        not same_dims(&builder.tensors[builder.arguments[step.first_input + j]], out):
                    alone = False
            if alone:
                return root
    return -1


cdef bint same_dims(const hr_tensor* a, const hr_tensor* b) noexcept nogil:
    return a.rank == b.rank and memcmp(a.dims, b.dims, a.rank * sizeof(int64_t)) == 0


cdef int plan_outputs(SegmentBuilder builder, Segments segments, Segment segment) except -1:
    cdef int i
    cdef size_t a, b
    cdef SegmentOutput output
    cdef vector[SegmentOutput]* outputs = &builder.out.outputs
    for i in range(segment.n_outputs):
        output.tensor = builder.local_of[segments.outputs[segment.first_output + i]]
        output.root = builder.root[output.tensor]
        output.handed_over = builder.storage[output.root] in (COUNTED, BY_KERNEL)
        output.constant = NULL
        output.sent = segments.sent[segment.first_output + i]
        if builder.storage[output.root] == STATIC and builder.tensors[output.tensor].dtype < HR_REF:
            output.constant = builder.out.constant_at(builder.tensors[output.tensor].data)
        outputs.push_back(output)
    for a in range(outputs.size()):
        for b in range(a):
            if outputs.at(a).root == outputs.at(b).root:
                outputs.at(a).handed_over = 0
                outputs.at(b).handed_over = 0
    return 0
