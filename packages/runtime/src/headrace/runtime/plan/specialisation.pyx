# cython: language_level=3
"""One segment for one set of shapes: kernels prepared, constants folded, memory planned.

Walks over the segment's nodes, in this order: `prepare` asks every kernel for its plan and output
shapes and folds what is known (shape arithmetic disappears here); window_index.pyx,
fuse_epilogue.pyx and fuse_elementwise.pyx make fewer passes over memory; storage_plan.pyx decides
who owns each value's memory; schedule_writer.pyx writes the kernel schedule.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.memory.buffer cimport (
    OwnedTensor, allocate_tensor, buffer_retain, copy_tensor, set_bytes,
)
from headrace.runtime.state.context cimport (
    READ_ANY_SHAPE, READ_ENDS, Run, SessionState, run_begin,
)
from headrace.runtime.plan.copy_elision cimport copies_input
from headrace.runtime.state.error_boundary cimport call_prepare
from headrace.runtime.plan.executable cimport (
    ARENA, INPUT, STATIC, Executable, PreparedNode, new_executable, release_entry,
)
from headrace.runtime.plan.fuse_elementwise cimport fuse_elementwise
from headrace.runtime.plan.fuse_epilogue cimport fuse_epilogues
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_KERNEL_PRIVATE_IN, HR_KERNEL_VIEW, HR_OK, HR_REF, HR_RESOURCE, hr_code, hr_compute, hr_kernel,
    hr_request, hr_tensor,
)
from headrace.runtime.kernels.kernel_table cimport (
    ASSIGNS_SLOT, NOTHING, OWN_MEMORY, READS_SLOT, SESSION_CONSTANT, library_of,
)
from headrace.runtime.graph.node_text cimport label_of, node_label, text_of
from headrace.runtime.passes.program cimport Program, ProgramNode
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.schedule_writer cimport write_schedule
from headrace.runtime.plan.segment_builder cimport (
    PreparedNodes, SegmentBuilder, Step, ensure_state, give_builder, is_stateful, node_error,
    prepare_key, take_builder,
)
from headrace.runtime.plan.storage_plan cimport drop_unused, plan_storage
from headrace.runtime.threads.pools cimport begin_prepare, end_prepare, expected_ns
from headrace.runtime.plan.watched_fold cimport compute_watched
from headrace.runtime.plan.window_index cimport keep_window_indices


cdef extern from "graph/input_ranks.hpp" namespace "headrace" nogil:
    hr_code check_input_ranks(GraphNode* node, const hr_request* request)

cdef extern from "threads/thread_count.hpp" namespace "headrace" nogil:
    cdef cppclass TeamOf:
        TeamOf(int threads)

cdef int64_t FOLD_LIMIT = 16 << 20  # bytes of a constant that is worth keeping


cdef shared_ptr[Executable] specialise(Program program, Segments segments, int number,
                                       const hr_tensor* inputs, int threads,
                                       SessionState* session, bint copy_small,
                                       PreparedNodes* cache) except *:
    cdef shared_ptr[Executable] made = new_executable()
    cdef SegmentBuilder builder = take_builder()
    cdef Segment segment = segments.segments[number]
    cdef TeamOf* team = new TeamOf(threads)
    builder.program = program
    builder.made = made
    builder.out = made.get()
    builder.threads = threads
    builder.session = session
    builder.cache = cache
    try:
        enter(builder, segments, segment, inputs)
        prepare(builder, segments, segment)
        drop_unused(builder, segments, segment)
        keep_window_indices(builder)
        fuse_epilogues(builder, segments, segment)
        fuse_elementwise(builder, segments, segment)
        plan_storage(builder, segments, segment, copy_small)
        write_schedule(builder)
        builder.out.guards.swap(builder.slots.guards)
    finally:
        del team
        give_builder(builder)
    made.get().threads = threads
    made.get().device = program.nodes[segments.nodes[segment.first_node]].device
    return made


# ---- what enters ----------------------------------------------------------------------------------

cdef int enter(SegmentBuilder builder, Segments segments, Segment segment,
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
        builder.out.inputs.push_back(key)
        builder.out.input_tensor.push_back(n)
        builder.local_of[segments.inputs[segment.first_input + i]] = n
    return 0


# ---- prepare and fold -------------------------------------------------------------------------------

cdef int prepare(SegmentBuilder builder, Segments segments, Segment segment) except -1:
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
            builder.local_of[node.first_output + j] = builder.arguments.back()
        if builder.ends_at >= 0:
            step.elided = True   # a read of unknown shape ends each run before this node
        else:
            prepare_node(builder, &step, number, private_bits[i])
        builder.steps.push_back(step)
    return 0


cdef int find_private(SegmentBuilder builder, Segments segments, Segment segment,
                      vector[uint64_t]& bits) except -1:
    """Which outputs go only to kernels of the same library that take private layouts."""
    cdef int i, j, value, number
    cdef ProgramNode* node
    cdef const hr_kernel* kernel
    cdef vector[const hr_kernel*] maker
    cdef vector[uint8_t] refused
    bits.assign(segment.n_nodes, 0)
    cdef bint any_private = False
    for i in range(segment.n_nodes):
        kernel = builder.program.nodes[segments.nodes[segment.first_node + i]].kernel
        if kernel != NULL and kernel.flags & HR_KERNEL_PRIVATE_IN:
            any_private = True
            break
    if not any_private:
        return 0
    maker.assign(builder.program.values.size(), NULL)
    refused.assign(builder.program.values.size(), 0)
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
                refused[value] = 1
    for i in range(segment.n_outputs):
        refused[segments.outputs[segment.first_output + i]] = 1
    for i in range(segment.n_nodes):
        node = &builder.program.nodes[segments.nodes[segment.first_node + i]]
        if node.kernel == NULL or not node.kernel.flags & HR_KERNEL_PRIVATE_IN:
            continue
        for j in range(node.n_outputs):
            if j < 64 and not refused[node.first_output + j]:
                bits[i] |= <uint64_t>1 << j
    return 0


cdef extern from "<cstring>" namespace "std" nogil:
    int memcmp_text "std::strcmp"(const char* a, const char* b)


cdef int prepare_node(SegmentBuilder builder, Step* step, int32_t number,
                      uint64_t private_bits) except -1:
    cdef GraphNode* node = step.node
    cdef const hr_kernel* kernel = step.kernel
    cdef shared_ptr[const PreparedNode] answer
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
            # A handle that enters is there for `prepare` to look at; runs may bring others.
            known = known and builder.storage[builder.arguments[step.first_input + i]] == STATIC
            # Assign and its like write through a reference, and are not stateful otherwise.
            step.writes = step.writes or is_stateful(node) or source.dtype >= HR_REF
            if kernel.flags & OWN_MEMORY:
                step.writes = False
    if node.info != NULL and node.info.shape_only:
        known = True     # Shape and its like: complete shapes are all they need
    for i in range(step.n_outputs):
        builder.node_outputs.push_back(&builder.tensors[builder.arguments[step.first_output + i]])
    if kernel.flags & SESSION_CONSTANT and take_lasting(builder, step, number):
        return 0
    plan_handles(builder, step)
    answer = prepared(builder, step, number, private_bits, builder.node_inputs, builder.node_outputs)
    take_answer(builder, step, answer, builder.node_inputs, builder.node_outputs)
    plan_slot(builder, step, number)
    step.view = step.view or copies_input(builder, step)
    if step.view and known and builder.node_inputs[0].dtype < HR_REF:
        builder.node_outputs[0].data = builder.node_inputs[0].data
        step.elided = True
        builder.storage[builder.arguments[step.first_output]] = STATIC
    elif step.view:
        if builder.node_inputs[0].dtype == HR_RESOURCE or builder.node_inputs[0].dtype >= HR_REF:
            builder.node_outputs[0].data = builder.node_inputs[0].data   # for `prepare` to look at, as the input's
        builder.root[builder.arguments[step.first_output]] = \
            builder.root[builder.arguments[step.first_input]]
    elif kernel.flags & NOTHING:
        step.elided = True
    elif kernel.flags & SESSION_CONSTANT or (
            known and not step.by_kernel and step.n_outputs > 0 and not is_stateful(node)
            and not step.writes and small_enough(builder.node_outputs)):
        fold(builder, step, number, builder.node_inputs, builder.node_outputs,
             expected_ns(answer.get().flops, answer.get().bytes_moved))
        if kernel.flags & SESSION_CONSTANT:
            for i in range(step.n_outputs):
                builder.lasting[builder.arguments[step.first_output + i]] = 1
    return 0


cdef bint take_lasting(SegmentBuilder builder, Step* step, int32_t number) except -1:
    """Takes what the node gave when the segment was planned before; False: that was never."""
    cdef const vector[hr_tensor]* found = NULL
    cdef hr_tensor* out
    cdef int i
    if builder.cache != NULL:
        found = builder.cache.find_lasting(number)
    if found == NULL:
        return False
    for i in range(step.n_outputs):
        out = builder.node_outputs[i]
        out[0] = found.at(i)
        if out.owner != NULL:
            buffer_retain(out.owner)
            builder.out.keep(out.owner)
            out.owner = NULL
        builder.storage[builder.arguments[step.first_output + i]] = STATIC
        builder.lasting[builder.arguments[step.first_output + i]] = 1
    step.elided = True
    builder.out.folded += 1
    return True


cdef shared_ptr[const PreparedNode] prepared(
        SegmentBuilder builder, Step* step, int32_t number, uint64_t private_bits,
        vector[const hr_tensor*]& inputs, vector[hr_tensor*]& outputs) except *:
    """What the kernel prepared for these inputs: now, or when it last met them."""
    cdef shared_ptr[PreparedNode] made
    cdef shared_ptr[const PreparedNode] found
    cdef PreparedNode* to
    cdef hr_request request
    cdef hr_code code
    cdef size_t i
    cdef bint may_keep = may_keep_plan(builder, step, private_bits, inputs)
    if may_keep:
        found = builder.cache.find(number, builder.node_key)
        if found.get() != NULL:
            return found
    made = make_shared[PreparedNode]()
    to = made.get()
    memset(&request, 0, sizeof(hr_request))
    request.size = sizeof(hr_request)
    request.node = &step.node.face
    request.inputs = inputs.data()
    request.outputs = outputs.data()
    request.threads = builder.threads
    request.private_layout = private_bits
    with nogil:
        begin_prepare()
        code = check_input_ranks(<GraphNode*>step.node, &request)
        if code == HR_OK:
            code = call_prepare(step.kernel, step.state, &request)
        end_prepare()
    to.plan = request.plan
    to.destroy = request.destroy_plan
    if code != HR_OK:
        raise node_error(step.node, code)
    to.compute = request.compute if request.compute != NULL else step.kernel.compute
    to.workspace = <int64_t>request.workspace
    to.flops = request.flops
    to.bytes_moved = request.bytes_moved
    to.shape_depends_on_data = request.shape_depends_on_data != 0
    for i in range(outputs.size()):
        to.outputs.push_back(outputs[i][0])
    if may_keep:
        builder.cache.keep(number, builder.node_key, <shared_ptr[const PreparedNode]>made)
    return <shared_ptr[const PreparedNode]>made


cdef bint may_keep_plan(SegmentBuilder builder, Step* step, uint64_t private_bits,
                        vector[const hr_tensor*]& inputs) except -1:
    """Whether `prepare` may look at nothing but what builder.node_key holds then."""
    cdef size_t i
    builder.node_lasting.clear()
    if builder.cache == NULL or step.kernel.flags & (OWN_MEMORY | SESSION_CONSTANT | NOTHING):
        return False
    for i in range(inputs.size()):
        if inputs[i].dtype >= HR_REF or inputs[i].dtype == HR_RESOURCE:
            return False
        builder.node_lasting.push_back(builder.lasting[builder.arguments[step.first_input + <int>i]])
    return prepare_key(inputs, builder.node_lasting, builder.threads, private_bits, &builder.node_key)


cdef int take_answer(SegmentBuilder builder, Step* step, shared_ptr[const PreparedNode]& answer,
                     vector[const hr_tensor*]& inputs, vector[hr_tensor*]& outputs) except -1:
    """Enters a kernel's answer into the step and its output tensors."""
    cdef const PreparedNode* made = answer.get()
    cdef const hr_tensor* shape
    cdef hr_tensor* out
    cdef int i
    builder.out.prepared.push_back(answer)
    step.compute = made.compute
    step.plan = made.plan
    step.workspace = made.workspace
    step.by_kernel = made.shape_depends_on_data
    step.view = step.kernel.flags & HR_KERNEL_VIEW and not step.by_kernel
    builder.out.flops += made.flops
    builder.out.bytes_moved += made.bytes_moved
    if made.bytes_moved == 0 and not step.view:
        for i in range(step.n_inputs):
            builder.out.bytes_moved += inputs[i].bytes
    for i in range(step.n_outputs):
        out = outputs[i]
        shape = &made.outputs[i]
        out.rank = shape.rank
        memcpy(out.dims, shape.dims, sizeof(out.dims))
        out.layout = shape.layout
        out.bytes = shape.bytes
        if out.dtype >= HR_REF and not step.kernel.flags & SESSION_CONSTANT and inputs.size():
            # An op that updates a reference passes it on.
            if out.rank == -2:
                out.rank = inputs[0].rank
                memcpy(out.dims, inputs[0].dims, sizeof(out.dims))
            out.data = inputs[0].data
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
    """Which of the segment's inputs brings the tensor, seen through views; -1: none."""
    cdef size_t k
    for k in range(builder.out.input_tensor.size()):
        if builder.out.input_tensor[k] == builder.root[tensor]:
            return <int32_t>k
    return -1


cdef void plan_handles(SegmentBuilder builder, Step* step) noexcept nogil:
    """References get the shapes that their variables have at this point of the plan."""
    cdef int i
    cdef int32_t tensor
    for i in range(step.n_inputs):
        tensor = builder.arguments[step.first_input + i]
        if builder.tensors[tensor].dtype >= HR_REF and not step.kernel.flags & ASSIGNS_SLOT:
            builder.slots.shape_of(&builder.tensors[tensor], input_number(builder, tensor),
                                 &builder.tensors[tensor])


cdef void plan_slot(SegmentBuilder builder, Step* step, int32_t number) noexcept nogil:
    """Follows what shapes variables have: what a read gives, and what an assignment changes."""
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


cdef bint small_enough(vector[hr_tensor*]& outputs) noexcept nogil:
    cdef int64_t total = 0
    cdef size_t i
    for i in range(outputs.size()):
        total += outputs[i].bytes
    return total <= FOLD_LIMIT


cdef object no_memory(GraphNode* node):
    return errors.ResourceExhaustedError(
        None, None, f"{node_label(node)}: no memory for its result")


cdef int fold(SegmentBuilder builder, Step* step, int32_t number, vector[const hr_tensor*]& inputs,
              vector[hr_tensor*]& outputs, double cost_ns) except -1:
    """Computes a node whose inputs are all known, now and once."""
    cdef Run* run = new Run()
    cdef hr_code code = HR_OK
    cdef size_t i
    cdef OwnedTensor workspace
    workspace.get().dtype = 4  # bytes
    workspace.get().rank = 1
    workspace.get().dims[0] = step.workspace
    workspace.get().data = NULL
    try:
        run_begin(run, builder.session, builder.threads)
        if not step.kernel.flags & (OWN_MEMORY | SESSION_CONSTANT):
            for i in range(outputs.size()):
                if allocate_tensor(outputs[i]) != HR_OK:
                    raise no_memory(step.node)
        if step.workspace > 0 and allocate_tensor(workspace.get()) != HR_OK:
            raise no_memory(step.node)
        code = compute_watched(step, run, <const hr_tensor* const*>inputs.data(),
                               <hr_tensor* const*>outputs.data(), workspace.get().data, cost_ns)
        if code != HR_OK:
            step.node.error.assign(run.message)
            raise node_error(step.node, code)
        if step.kernel.flags & SESSION_CONSTANT and builder.cache != NULL:
            builder.cache.keep_lasting(number, outputs)
    finally:
        for i in range(outputs.size()):
            if outputs[i].owner != NULL:
                builder.out.keep(outputs[i].owner)
                outputs[i].owner = NULL
            builder.storage[builder.arguments[step.first_output + i]] = STATIC
        del run
    step.elided = True
    builder.out.folded += 1
    return 0


cdef dict describe(Executable* made):
    """Figures for `explain`: input shapes, entries, arena, kernels by op and library."""
    cdef size_t i
    cdef GraphNode* node
    kernels = {}
    fused_nodes = []
    for i in range(made.entries.size()):
        node = made.entries[i].node
        if made.entries[i].compute == <hr_compute>release_entry:
            continue     # no kernel: it gives memory back behind the node that it names
        if label_of(node) != f"{text_of(node.name)} = {text_of(node.op)}":
            fused_nodes.append(label_of(node))
        library = library_of(node.kernel) if node.kernel != NULL else NULL
        name = (f"{(<bytes>node.op).decode()} "
                f"({library.decode() if library != NULL else 'runtime'})")
        kernels[name] = kernels.get(name, 0) + 1
    return {
        "inputs": ", ".join([shape_text(&made.inputs[i]) for i in range(made.inputs.size())]),
        "entries": sum(kernels.values()),
        "arena_bytes": made.arena_bytes,
        "intermediate_bytes": made.intermediate_bytes,
        "flops": made.flops,
        "bytes_moved": made.bytes_moved,
        "folded": made.folded,
        "fused": made.fused,
        "threads": made.threads,
        "kernels": kernels,
        "fused_nodes": fused_nodes,
    }
