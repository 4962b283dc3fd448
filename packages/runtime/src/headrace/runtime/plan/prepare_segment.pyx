# cython: language_level=3
"""The first stage of a specialisation: every kernel's `prepare` is called for the shapes at hand."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.kernels.kernel_table cimport (
    ASSIGNS_SLOT, NOTHING, OWN_MEMORY, READS_SLOT, SESSION_CONSTANT, find_kernel, library_of,
)
from headrace.runtime.memory.buffer cimport copy_tensor, set_bytes
from headrace.runtime.memory.kernel_abi cimport (
    HR_KERNEL_PRIVATE_IN, HR_KERNEL_VIEW, HR_OK, HR_REF, HR_RESOURCE, HR_VARIANT, hr_code,
    hr_device, hr_kernel, hr_tensor,
)
from headrace.runtime.passes.program cimport ProgramNode
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.constant_folding cimport fold, is_small_enough, take_session_constant
from headrace.runtime.plan.copy_elision cimport copies_input
from headrace.runtime.plan.executable cimport ARENA, INPUT, STATIC, PreparedNode
from headrace.runtime.plan.segment_builder cimport (
    SegmentBuilder, Step, ensure_state, is_stateful, node_error, prepare_kernel, prepare_key,
)
from headrace.runtime.state.context cimport READ_ANY_SHAPE, READ_ENDS
from headrace.runtime.threads.pools cimport expected_ns


cdef enum:
    FOLDED = 1 << 30   # in keys of prepared nodes: by the host's kernel


cdef int add_inputs(SegmentBuilder builder, Segments segments, Segment segment,
                    const hr_tensor* inputs) except -1:
    cdef size_t total = segment.n_inputs
    cdef int i, n
    cdef hr_tensor t
    cdef hr_tensor key
    for i in range(segment.n_nodes):
        total += builder.program.nodes[segments.nodes[segment.first_node + i]].n_outputs
    builder.tensors.reserve(total)
    builder.local_of.assign(builder.program.values.size(), -1)
    for i in range(segment.n_inputs):
        t = inputs[i]
        key = t
        key.owner = NULL
        if segments.shape_like[segment.first_input + i]:
            if copy_tensor(&inputs[i], &key) != HR_OK:
                raise MemoryError()
            builder.out.keep(key.owner)
            key.owner = NULL
            t.data = key.data
        else:
            key.data = NULL
            if t.dtype < HR_REF and t.dtype != HR_RESOURCE:
                t.data = NULL
        t.owner = NULL
        n = builder.add_tensor(&t, INPUT)
        builder.on_host[n] = \
            builder.program.values[segments.inputs[segment.first_input + i]].memory < 0
        builder.out.inputs.push_back(key)
        builder.out.input_tensor.push_back(n)
        builder.local_of[segments.inputs[segment.first_input + i]] = n
    return 0


cdef int prepare_segment(SegmentBuilder builder, Segments segments, Segment segment) except -1:
    cdef int i, j, number
    cdef ProgramNode* node
    cdef Step step
    cdef hr_tensor t
    cdef vector[uint64_t] private_bits
    find_private(builder, segments, segment, private_bits)
    builder.consumed.assign(builder.program.values.size(), 0)
    for i in range(segment.n_nodes):
        node = &builder.program.nodes[segments.nodes[segment.first_node + i]]
        for j in range(node.n_inputs):
            builder.consumed[builder.program.inputs[node.first_input + j]] = 1
    for i in range(segment.n_nodes):
        number = segments.nodes[segment.first_node + i]
        node = &builder.program.nodes[number]
        memset(&step, 0, sizeof(Step))
        step.node = node.source
        step.kernel = node.kernel
        step.on_host = node.on_host
        step.first_input = <int32_t>builder.arguments.size()
        step.n_inputs = node.n_inputs
        for j in range(node.n_inputs):
            builder.arguments.push_back(
                builder.local_of[builder.program.inputs[node.first_input + j]])
        step.first_output = <int32_t>builder.arguments.size()
        step.n_outputs = node.n_outputs
        for j in range(node.n_outputs):
            memset(&t, 0, sizeof(hr_tensor))
            t.rank = -2
            t.dtype = builder.program.values[node.first_output + j].dtype
            builder.arguments.push_back(builder.add_tensor(&t, ARENA))
            builder.on_host[builder.arguments.back()] = \
                builder.program.values[node.first_output + j].memory < 0
            builder.local_of[node.first_output + j] = builder.arguments.back()
        if builder.ends_at >= 0:
            step.elided = True   # a read of unknown shape ends every run before this node
        else:
            prepare_node(builder, &step, number, private_bits[i])
        builder.steps.push_back(step)
    return 0


cdef int find_private(SegmentBuilder builder, Segments segments, Segment segment,
                      vector[uint64_t]& bits) except -1:
    """Finds the outputs that only kernels of the same library read, which take private layouts."""
    cdef int i, j, value, number
    cdef ProgramNode* node
    cdef const hr_kernel* kernel
    cdef vector[const hr_kernel*] maker
    cdef vector[uint8_t] needs_public_layout
    bits.assign(segment.n_nodes, 0)
    if builder.memory != NULL:
        return 0
    cdef bint any_private = False
    for i in range(segment.n_nodes):
        kernel = builder.program.nodes[segments.nodes[segment.first_node + i]].kernel
        if kernel != NULL and kernel.flags & HR_KERNEL_PRIVATE_IN:
            any_private = True
            break
    if not any_private:
        return 0
    maker.assign(builder.program.values.size(), NULL)
    needs_public_layout.assign(builder.program.values.size(), 0)
    for i in range(segment.n_nodes):
        node = &builder.program.nodes[segments.nodes[segment.first_node + i]]
        kernel = node.kernel
        for j in range(node.n_outputs):
            maker[node.first_output + j] = kernel
        for j in range(node.n_inputs):
            value = builder.program.inputs[node.first_input + j]
            if maker[value] == NULL or kernel == NULL or \
                    not kernel.flags & HR_KERNEL_PRIVATE_IN or \
                    library_of(kernel) != library_of(maker[value]) and \
                    memcmp_text(library_of(kernel), library_of(maker[value])) != 0:
                needs_public_layout[value] = 1
    for i in range(segment.n_outputs):
        needs_public_layout[segments.outputs[segment.first_output + i]] = 1
    for i in range(segment.n_nodes):
        node = &builder.program.nodes[segments.nodes[segment.first_node + i]]
        if node.kernel == NULL or not node.kernel.flags & HR_KERNEL_PRIVATE_IN:
            continue
        for j in range(node.n_outputs):
            if j < 64 and not needs_public_layout[node.first_output + j]:
                bits[i] |= <uint64_t>1 << j
    return 0


cdef extern from "<cstring>" namespace "std" nogil:
    int memcmp_text "std::strcmp"(const char* a, const char* b)


cdef int prepare_node(SegmentBuilder builder, Step* step, int32_t number,
                      uint64_t private_bits) except -1:
    cdef GraphNode* node = step.node
    cdef const hr_kernel* kernel = step.kernel
    cdef shared_ptr[const PreparedNode] prepared_node
    cdef hr_tensor* source
    cdef int i
    cdef bint known = True
    builder.node_inputs.clear()
    builder.node_outputs.clear()
    ensure_state(node, kernel, builder.session, &step.state)
    for i in range(step.n_inputs):
        source = &builder.tensors[builder.arguments[step.first_input + i]]
        builder.node_inputs.push_back(source)
        known = known and source.data != NULL
        if source.dtype >= HR_REF or source.dtype == HR_RESOURCE:
            # `prepare` may read an input handle; runs may have other handles.
            known = known and builder.storage[builder.arguments[step.first_input + i]] == STATIC
            # Ops such as Assign write through a reference, and are not stateful otherwise.
            step.writes = step.writes or is_stateful(node) or source.dtype >= HR_REF
            if kernel.flags & OWN_MEMORY:
                step.writes = False
    if node.info != NULL and node.info.shape_only:
        known = True     # Shape and similar ops need only complete shapes
    for i in range(step.n_outputs):
        builder.node_outputs.push_back(&builder.tensors[builder.arguments[step.first_output + i]])
    if kernel.flags & SESSION_CONSTANT and take_session_constant(builder, step, number):
        return 0
    plan_handles(builder, step)
    if known and fold_on_host(builder, step, number):
        return 0
    prepared_node = prepared(builder, step, number, private_bits, builder.node_inputs, builder.node_outputs)
    apply_prepared(builder, step, prepared_node, builder.node_inputs, builder.node_outputs)
    plan_slot(builder, step, number)
    step.view = step.view or copies_input(builder, step) and (
        builder.on_host[builder.arguments[step.first_input]]
        == builder.on_host[builder.arguments[step.first_output]])
    if step.view and known and builder.node_inputs[0].dtype < HR_REF:
        builder.node_outputs[0].data = builder.node_inputs[0].data
        step.elided = True
        builder.storage[builder.arguments[step.first_output]] = STATIC
    elif step.view:
        if builder.node_inputs[0].dtype == HR_RESOURCE or builder.node_inputs[0].dtype >= HR_REF:
            builder.node_outputs[0].data = builder.node_inputs[0].data   # for `prepare`, like the input's
        builder.root[builder.arguments[step.first_output]] = \
            builder.root[builder.arguments[step.first_input]]
    elif kernel.flags & NOTHING:
        step.elided = True
    elif kernel.flags & SESSION_CONSTANT or (
            known and not step.by_kernel and step.n_outputs > 0 and not is_stateful(node)
            and not step.writes and not any_variant(builder.node_outputs)
            and (builder.memory == NULL or step.on_host or kernel.flags & OWN_MEMORY)
            and (is_small_enough(builder.node_outputs)
                 or builder.memory != NULL and kernel.flags & OWN_MEMORY)):
        fold(builder, step, number, builder.node_inputs, builder.node_outputs,
             expected_ns(prepared_node.get().flops, prepared_node.get().bytes_moved))
        if kernel.flags & SESSION_CONSTANT:
            for i in range(step.n_outputs):
                builder.session_constant[builder.arguments[step.first_output + i]] = 1
    return 0


cdef bint fold_on_host(SegmentBuilder builder, Step* step, int32_t number) except -1:
    """Folds a node of a device by a kernel of the host. False: there is none, or the result is large."""
    cdef const hr_kernel* kernel = step.kernel
    cdef shared_ptr[const PreparedNode] made
    cdef void* state = step.state
    cdef int i
    if builder.memory == NULL or step.on_host or is_stateful(step.node) or step.writes or \
            step.n_outputs == 0 or \
            kernel.flags & (OWN_MEMORY | SESSION_CONSTANT | NOTHING | HR_KERNEL_VIEW):
        return False
    step.kernel = find_kernel(step.node, "CPU", False)
    if step.kernel != NULL and step.kernel.compute != NULL:
        ensure_state(step.node, step.kernel, builder.session, &step.state)
        made = prepared(builder, step, number | FOLDED, 0, builder.node_inputs,
                        builder.node_outputs)
        apply_prepared(builder, step, made, builder.node_inputs, builder.node_outputs)
        if not step.by_kernel and not any_variant(builder.node_outputs) and \
                is_small_enough(builder.node_outputs):
            fold(builder, step, number, builder.node_inputs, builder.node_outputs,
                 expected_ns(made.get().flops, made.get().bytes_moved))
            return True
        for i in range(step.n_outputs):
            builder.node_outputs[i].rank = -2
    step.kernel = kernel
    step.state = state
    return False


cdef bint any_variant(vector[hr_tensor*]& outputs) noexcept nogil:
    """Whether an output is a variant: what it holds, such as a list, may be of any size."""
    cdef hr_tensor* output
    for output in outputs:
        if output.dtype == HR_VARIANT:
            return True
    return False


cdef shared_ptr[const PreparedNode] prepared(
        SegmentBuilder builder, Step* step, int32_t number, uint64_t private_bits,
        vector[const hr_tensor*]& inputs, vector[hr_tensor*]& outputs) except *:
    """The result of the kernel's `prepare` for these inputs, from the cache if it is there."""
    cdef shared_ptr[PreparedNode] result
    cdef shared_ptr[const PreparedNode] found
    cdef hr_code code
    cdef size_t i
    cdef bint may_keep = may_keep_plan(builder, step, private_bits, inputs)
    if may_keep:
        found = builder.cache.find(number, builder.node_key)
        if found.get() != NULL:
            return found
    result = make_shared[PreparedNode]()
    code = prepare_kernel(step.node, step.kernel, step.state, inputs, outputs.data(),
                          builder.threads, private_bits, memory_of_step(builder, step), result.get())
    if code != HR_OK:
        raise node_error(step.node, code)
    for i in range(outputs.size()):
        result.get().outputs.push_back(outputs[i][0])
    if may_keep:
        builder.cache.keep(number, builder.node_key, <shared_ptr[const PreparedNode]>result)
    return <shared_ptr[const PreparedNode]>result


cdef inline hr_device* memory_of_step(SegmentBuilder builder, const Step* step) noexcept:
    """Where the kernel of a step computes; null: on the host."""
    if builder.memory == NULL or step.on_host or \
            memcmp_text(step.kernel.device_type, "CPU") == 0:
        return NULL
    return builder.memory


cdef bint may_keep_plan(SegmentBuilder builder, Step* step, uint64_t private_bits,
                        vector[const hr_tensor*]& inputs) except -1:
    """Whether the result of `prepare` depends only on builder.node_key, which this sets."""
    cdef size_t i
    builder.node_session_constants.clear()
    if builder.cache == NULL or step.kernel.flags & (OWN_MEMORY | SESSION_CONSTANT | NOTHING):
        return False
    for i in range(inputs.size()):
        if inputs[i].dtype >= HR_REF or inputs[i].dtype == HR_RESOURCE:
            return False
        builder.node_session_constants.push_back(builder.session_constant[builder.arguments[step.first_input + <int>i]])
    return prepare_key(inputs, builder.node_session_constants, builder.threads, private_bits, &builder.node_key)


cdef int apply_prepared(SegmentBuilder builder, Step* step, shared_ptr[const PreparedNode]& prepared_node,
                     vector[const hr_tensor*]& inputs, vector[hr_tensor*]& outputs) except -1:
    """Copies the result of `prepare` into the step and its output tensors."""
    cdef const PreparedNode* result = prepared_node.get()
    cdef const hr_tensor* shape
    cdef hr_tensor* out
    cdef int i
    builder.out.prepared.push_back(prepared_node)
    step.compute = result.compute
    step.plan = result.plan
    step.workspace = result.workspace
    step.by_kernel = result.shape_depends_on_data
    step.view = step.kernel.flags & HR_KERNEL_VIEW and not step.by_kernel
    builder.out.flops += result.flops
    builder.out.bytes_moved += result.bytes_moved
    if result.bytes_moved == 0 and not step.view:
        for i in range(step.n_inputs):
            builder.out.bytes_moved += inputs[i].bytes
    for i in range(step.n_outputs):
        out = outputs[i]
        shape = &result.outputs[i]
        out.rank = shape.rank
        memcpy(out.dims, shape.dims, sizeof(out.dims))
        out.layout = shape.layout
        out.bytes = shape.bytes
        if out.dtype >= HR_REF and not step.kernel.flags & SESSION_CONSTANT and inputs.size() and \
                inputs[0].dtype >= HR_REF:
            # An op that updates a reference returns it.
            if out.rank == -2:
                out.rank = inputs[0].rank
                memcpy(out.dims, inputs[0].dims, sizeof(out.dims))
            out.data = inputs[0].data
            builder.root[builder.arguments[step.first_output + i]] = \
                builder.root[builder.arguments[step.first_input]]
            builder.storage[builder.arguments[step.first_output + i]] = STATIC
        if out.rank == -2:
            out.rank = 0
        if step.by_kernel:
            continue
        if out.rank >= 0 and out.layout == 0 and set_bytes(out) < 0:
            raise errors.ResourceExhaustedError(
                None, None, f"{(<bytes>step.node.op).decode()} "
                f"'{(<bytes>step.node.name).decode()}': output {i} would have {shape_text(out)} "
                "elements, more than memory can hold")
    return 0


cdef int32_t input_number(SegmentBuilder builder, int32_t tensor) noexcept nogil:
    """The segment's input that is the tensor, through views; -1: none."""
    cdef size_t k
    for k in range(builder.out.input_tensor.size()):
        if builder.out.input_tensor[k] == builder.root[tensor]:
            return <int32_t>k
    return -1


cdef void plan_handles(SegmentBuilder builder, Step* step) noexcept nogil:
    """Gives references the shapes that their variables have at this point of the plan."""
    cdef int i
    cdef int32_t tensor
    for i in range(step.n_inputs):
        tensor = builder.arguments[step.first_input + i]
        if builder.tensors[tensor].dtype >= HR_REF and not step.kernel.flags & ASSIGNS_SLOT:
            builder.slots.shape_of(&builder.tensors[tensor], input_number(builder, tensor),
                                 &builder.tensors[tensor])


cdef void plan_slot(SegmentBuilder builder, Step* step, int32_t number) noexcept nogil:
    """Tracks the shapes of variables: sets the shape of a read, and records that of an assignment."""
    cdef int32_t handle, other
    if not step.kernel.flags & (READS_SLOT | ASSIGNS_SLOT):
        return
    handle = builder.arguments[step.first_input]
    if step.kernel.flags & ASSIGNS_SLOT:
        other = builder.arguments[step.first_input + 1]
        builder.slots.assign(&builder.tensors[handle], &builder.tensors[other])
        return
    other = builder.arguments[step.first_output]
    if not builder.consumed[builder.program.nodes[number].first_output]:
        step.plan = <void*><size_t>READ_ANY_SHAPE
        return
    if builder.slots.shape_of(&builder.tensors[handle], input_number(builder, handle),
                            &builder.tensors[other]) and set_bytes(&builder.tensors[other]) == 0:
        return
    builder.ends_at = <int32_t>builder.steps.size()
    step.plan = <void*><size_t>READ_ENDS


cdef str shape_text(const hr_tensor* t):
    cdef int i
    return "[" + ", ".join([str(t.dims[i]) for i in range(t.rank)]) + "]"
