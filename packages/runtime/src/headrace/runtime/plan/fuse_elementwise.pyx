# cython: language_level=3
"""Fuses elementwise steps into one pass over memory.

Elementwise ops on large tensors take as long as their memory traffic, so a chain of them should
read and write memory once. A group is a step together with all earlier steps whose results only the
group reads; all have the group's shape. It becomes one _FusedElementwise, whose program lists the
ops. A reduction over the last dimensions may end a group, which then becomes a _FusedReduction.
The kernel library lists the ops that a program may contain (hr_fusible_op). Shapes are known here,
so small tensors are left alone. No op is computed more often than before, and results have the same
bits.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.formats.proto import op_pb2
from headrace.runtime.graph.attributes cimport (
    AttrEntry, AttrScalar, attributes_of, find_scalar, fill_abi_node, kBool, kFloat, kInt, kString,
    kType, number_attr, read_attr,
)
from headrace.runtime.plan.fused_nodes cimport new_fused_node
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_FUSE_INSTRUCTION, HR_FUSE_REDUCTION, HR_INT32, HR_OK, hr_code, hr_dtype, hr_elements,
    hr_fusible_op, hr_kernel, hr_tensor,
)
from headrace.runtime.kernels.kernel_table cimport find_fusible, find_kernel, is_python_kernel
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport (
    SegmentBuilder, Step, ensure_state, prepare_kernel,
)
from headrace.runtime.plan.executable cimport ARENA, PreparedNode

from headrace.formats import errors


cdef extern from "memory/dtype_names.hpp" namespace "headrace" nogil:
    const char* dtype_name(hr_dtype dtype)

# Smaller results stay in the first-level cache without fusion. On a device each launch counts.
cdef int64_t FEWEST_ELEMENTS = 4096
cdef int MOST_STEPS = 64
cdef int MOST_OPERANDS = 16     # of AddN

# (op, dtypes) -> whether the kernel of _FusedElementwise accepts the instruction.
_accepted = {}
# Attributes that do not change the result of an elementwise op or a reduction. An op with any other
# attribute is not fused.
_ATTRIBUTES_WITHOUT_EFFECT = frozenset((
    b"T", b"N", b"data_format", b"SrcT", b"DstT", b"incompatible_shape_error", b"Tidx",
    b"keep_dims",
))


cdef int fuse_elementwise(SegmentBuilder builder, Segments segments, Segment segment) except -1:
    cdef vector[int32_t] maker      # per tensor: the step that makes it, if the step may join a group
    cdef vector[int32_t] readers    # per tensor: how many inputs read it, plus one for an output
    cdef vector[uint8_t] taken      # per step: in a group
    cdef vector[int32_t] group
    cdef Step* step
    cdef int i, j, reduced
    cdef int possible = 0
    maker.assign(builder.tensors.size(), -1)
    readers.assign(builder.tensors.size(), 0)
    taken.assign(builder.steps.size(), 0)
    for i in range(segment.n_outputs):
        readers[builder.local_of[segments.outputs[segment.first_output + i]]] += 1
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if step.elided:
            continue
        for j in range(step.n_inputs):
            readers[builder.arguments[step.first_input + j]] += 1
        if may_fuse(builder, step):
            maker[builder.arguments[step.first_output]] = i
            possible += 1
    if possible < 1:
        return 0
    for i in range(<int>builder.steps.size() - 1, -1, -1):
        step = &builder.steps[i]
        # A step without outputs (AssignVariableOp, NoOp) has no argument at first_output.
        if step.elided or taken[i] or step.n_outputs != 1:
            continue
        reduced = 0
        if maker[builder.arguments[step.first_output]] != i:
            reduced = reduced_dimensions(builder, step, maker)
            if reduced == 0:
                continue
        find_group(builder, i, reduced > 0, maker, readers, taken, group)
        if group.size() > 1 and replace_by_one(builder, group, reduced):
            for j in range(<int>group.size()):
                taken[group[j]] = 1
    return 0


cdef inline const char* device_type(SegmentBuilder builder) noexcept nogil:
    return builder.memory.type if builder.memory != NULL else <const char*>b"CPU"


cdef bint is_plain_step(Step* step) noexcept:
    return step.n_outputs == 1 and not step.view and not step.by_kernel and not step.writes and \
        step.n_inputs >= 1 and step.kernel != NULL and not is_python_kernel(step.kernel)


cdef bint may_fuse(SegmentBuilder builder, Step* step):
    cdef hr_tensor* out
    cdef hr_tensor* t
    cdef int8_t known
    cdef int j
    if not is_plain_step(step) or step.n_inputs > MOST_OPERANDS or \
            builder.memory != NULL and step.on_host:
        return False
    out = &builder.tensors[builder.arguments[step.first_output]]
    if out.layout or out.rank < 0 or builder.storage[builder.arguments[step.first_output]] != ARENA or \
            builder.memory == NULL and hr_elements(out) < FEWEST_ELEMENTS:
        return False
    for j in range(step.n_inputs):
        t = &builder.tensors[builder.arguments[step.first_input + j]]
        if t.layout or t.rank < 0:
            return False
    # The condition of Select may be a vector over the first dimension.
    if step.node.op == b"Select":
        t = &builder.tensors[builder.arguments[step.first_input]]
        if t.rank and not same_dims(t, out):
            return False
    known = step.node.may_fuse.load()
    if known < 0:
        known = plain_attributes(step.node, instruction_of(step.node)) and \
            channels_last(step.node) and is_instruction(builder, step, out.dtype)
        step.node.may_fuse.store(known)
    return known


cdef bint same_dims(const hr_tensor* a, const hr_tensor* b) noexcept nogil:
    return a.rank == b.rank and memcmp(a.dims, b.dims, a.rank * sizeof(int64_t)) == 0


cdef int reduced_dimensions(SegmentBuilder builder, Step* step, vector[int32_t]& maker) except -1:
    """How many of the last dimensions a step reduces; 0: it may not end a group."""
    cdef hr_tensor* x
    cdef hr_tensor* axes
    cdef hr_tensor* out
    cdef const hr_fusible_op* listed
    cdef int64_t axis
    cdef int64_t length = 1
    cdef int i, kept
    cdef uint64_t reduced = 0
    if not is_plain_step(step) or step.n_inputs != 2:
        return 0
    listed = find_fusible(b"_FusedReduction", step.node.op, HR_FUSE_REDUCTION)
    if listed == NULL or not plain_attributes(step.node, listed):
        return 0
    if maker[builder.arguments[step.first_input]] < 0:
        return 0
    x = &builder.tensors[builder.arguments[step.first_input]]
    axes = &builder.tensors[builder.arguments[step.first_input + 1]]
    out = &builder.tensors[builder.arguments[step.first_output]]
    if axes.data == NULL or out.layout or builder.storage[builder.arguments[step.first_output]] != ARENA:
        return 0
    for i in range(<int>hr_elements(axes)):
        axis = (<const int32_t*>axes.data)[i] if axes.dtype == HR_INT32 else \
            (<const int64_t*>axes.data)[i]
        reduced |= <uint64_t>1 << <int>(axis + x.rank if axis < 0 else axis)
    kept = x.rank
    # A dimension of size 1 counts as reduced where the output keeps it.
    while kept > 0 and (reduced >> (kept - 1) & 1 or
                        x.dims[kept - 1] == 1 and out.rank == x.rank):
        kept -= 1
        length *= x.dims[kept]
    if length < 2 or reduced & ((<uint64_t>1 << kept) - 1):
        return 0
    return x.rank - kept


cdef const hr_fusible_op* instruction_of(GraphNode* node) noexcept nogil:
    """How a program contains the node's op; null: it may not."""
    return find_fusible(b"_FusedElementwise", node.op, HR_FUSE_INSTRUCTION)


cdef bytes line_of(Step* step, hr_dtype result, target, operands):
    """One line of a program: name, target, operands."""
    cdef AttrScalar number
    cdef const hr_fusible_op* listed = instruction_of(step.node)
    if listed == NULL:      # the reduction that ends the program
        listed = find_fusible(b"_FusedReduction", step.node.op, HR_FUSE_REDUCTION)
    words = [<bytes>listed.name, target, *operands]
    if listed.attribute != NULL and find_scalar(
            step.node, string_view(listed.attribute), kFloat, number) == HR_OK:
        words.append(b"c%r" % float(number.real))
    if step.node.op == b"Cast":
        words.append(<bytes>dtype_name(result))
    return b" ".join(words)


cdef bint is_instruction(SegmentBuilder builder, Step* step, hr_dtype result) except -1:
    """Whether the kernel accepts a program of this op alone, for these dtypes."""
    cdef shared_ptr[GraphNode] node
    cdef const hr_kernel* kernel
    cdef void* state
    cdef vector[hr_dtype] dtypes
    cdef int i
    if instruction_of(step.node) == NULL:
        return False
    for i in range(step.n_inputs):
        dtypes.push_back(builder.tensors[builder.arguments[step.first_input + i]].dtype)
    key = (<bytes>step.node.op, tuple(dtypes), <int>result, <bytes>device_type(builder))
    known = _accepted.get(key)
    if known is None:
        line = line_of(step, result, b"t0", [b"i%d" % i for i in range(step.n_inputs)])
        node.reset(fused_node(step.node, b"_FusedElementwise", dtypes, result, [line], []))
        kernel = find_kernel(node.get(), device_type(builder), False)
        known = kernel != NULL
        if known:
            try:
                ensure_state(node.get(), kernel, builder.session, &state)
            except errors.OpError:
                known = False
        _accepted[key] = known
    return known


cdef bint plain_attributes(GraphNode* node, const hr_fusible_op* listed):
    """Whether a fused kernel considers all attributes that change the op's result."""
    cdef AttrEntry entry
    cdef bytes key
    if listed == NULL:
        return False
    considered = <bytes>listed.attribute if listed.attribute != NULL else None
    for entry in attributes_of(node).entries:
        key = entry.key.data()[:entry.key.size()]
        if key == b"Truncate":      # of Cast
            if read_attr(entry.value).number:
                return False
        elif key != considered and key not in _ATTRIBUTES_WITHOUT_EFFECT and \
                not key.startswith(b"_"):
            return False
    return True


cdef bint channels_last(GraphNode* node):
    """Whether the op adds a vector along the last dimension, as programs do."""
    cdef AttrScalar format
    return find_scalar(node, string_view(<const char*>b"data_format"), kString, format) != HR_OK \
        or format.bytes.data()[:format.bytes.size()] == b"NHWC"


cdef void find_group(SegmentBuilder builder, int root, bint reduces, vector[int32_t]& maker,
                     vector[int32_t]& readers, vector[uint8_t]& taken,
                     vector[int32_t]& group) noexcept:
    """Sets group to the root and all steps whose results only the group reads, the root first."""
    cdef vector[int32_t] inside     # per tensor: how often the group reads it
    cdef hr_tensor* shape
    cdef Step* step = &builder.steps[root]
    cdef int32_t argument, other
    cdef size_t at = 0
    cdef int j
    shape = &builder.tensors[builder.arguments[step.first_input if reduces else step.first_output]]
    group.clear()
    group.push_back(root)
    inside.assign(builder.tensors.size(), 0)
    while at < group.size() and group.size() < <size_t>MOST_STEPS:
        step = &builder.steps[group[at]]
        at += 1
        for j in range(1 if reduces and at == 1 else step.n_inputs):
            argument = builder.arguments[step.first_input + j]
            inside[argument] += 1
            other = maker[argument]
            # It joins when the last of its readers has joined.
            if other < 0 or taken[other] or inside[argument] != readers[argument]:
                continue
            if same_dims(&builder.tensors[argument], shape):
                group.push_back(other)


cdef bint replace_by_one(SegmentBuilder builder, vector[int32_t]& group, int reduced) except -1:
    """Replaces the root by one fused step; False: no kernel accepts it, and nothing changed."""
    cdef Step* root = &builder.steps[group[0]]
    cdef Step* step
    cdef vector[int32_t] inputs
    cdef shared_ptr[GraphNode] node
    cdef size_t i
    cdef int j
    cdef int32_t argument
    cdef hr_dtype result = builder.tensors[builder.arguments[root.first_output]].dtype
    names = {}
    program = []
    origins = []
    for number in sorted([group[i] for i in range(group.size())]):
        step = &builder.steps[<size_t>number]
        operands = []
        for j in range(1 if reduced and number == group[0] else step.n_inputs):
            argument = builder.arguments[step.first_input + j]
            if argument not in names:
                names[argument] = b"i%d" % inputs.size()
                inputs.push_back(argument)
            operands.append(names[argument])
        target = b"t%d" % len(program)
        argument = builder.arguments[step.first_output]
        names[argument] = target
        program.append(line_of(step, builder.tensors[argument].dtype, target, operands))
        origins.append(f"{text_of(step.node.name)} = {text_of(step.node.op)}")
    node = shared_fused_node(builder, root.node, inputs, result, program, origins, reduced)
    return replace_group(builder, group, group[0], node, inputs)


cdef shared_ptr[GraphNode] shared_fused_node(SegmentBuilder builder, GraphNode* like,
                                             vector[int32_t]& inputs, hr_dtype result,
                                             list program, list origins, int reduced) except *:
    """The fused node of a group; an equal group reuses its node."""
    cdef shared_ptr[GraphNode] node
    cdef vector[hr_dtype] dtypes
    cdef int32_t argument
    cdef bint keep_dims = False
    cdef AttrScalar value
    for argument in inputs:
        dtypes.push_back(builder.tensors[argument].dtype)
    if reduced and find_scalar(like, string_view(<const char*>b"keep_dims"), kBool, value) == HR_OK:
        keep_dims = value.number != 0
    cdef string key = "\n".join([
        str(tuple(dtypes)), str(result), str(reduced), str(keep_dims), *origins,
    ]).encode() + b"\n".join(program)
    if builder.cache != NULL:
        node = builder.cache.find_fused(key)
    if node.get() == NULL:
        node.reset(fused_node(like, b"_FusedReduction" if reduced else b"_FusedElementwise",
                              dtypes, result, program, origins))
        if reduced:
            attributes_of(node.get()).add(<string>b"reduced", number_attr(kInt, reduced))
            attributes_of(node.get()).add(<string>b"keep_dims", number_attr(kBool, keep_dims))
            fill_abi_node(node.get())
        if builder.cache != NULL:
            builder.cache.keep_fused(key, node)
    return node


cdef GraphNode* fused_node(GraphNode* like, bytes op, vector[hr_dtype]& dtypes, hr_dtype result,
                           list program, list origins) except NULL:
    # It has the name of its last op, so that errors and traces name a node of the user.
    cdef GraphNode* node = new_fused_node(op, like.name, like, "; ".join(origins))
    cdef hr_dtype dtype
    attributes_of(node).add(<string>b"Tin", <string>op_pb2.AttrValue(
        list=op_pb2.AttrValue.ListValue(type=list(dtypes))).SerializeToString())
    attributes_of(node).add(<string>b"T", number_attr(kType, result))
    attributes_of(node).add(<string>b"program", <string>op_pb2.AttrValue(
        list=op_pb2.AttrValue.ListValue(s=program)).SerializeToString())
    for dtype in dtypes:
        node.input_dtypes.push_back(dtype)
    node.output_dtypes.push_back(result)
    fill_abi_node(node)
    return node


cdef bint replace_group(SegmentBuilder builder, vector[int32_t]& group, int32_t root,
                        shared_ptr[GraphNode] node, vector[int32_t]& inputs) except -1:
    cdef const hr_kernel* kernel = find_kernel(node.get(), device_type(builder), False)
    cdef int32_t i
    if kernel == NULL or not prepare_fused(builder, &builder.steps[root], node.get(), kernel, inputs):
        return False
    builder.out.nodes.push_back(node)
    for i in group:
        if i != root:
            builder.steps[i].elided = True
            builder.out.bytes_moved -= 2 * builder.tensors[
                builder.arguments[builder.steps[i].first_output]].bytes
    builder.out.fused += <int>group.size() - 1
    return True


cdef bint prepare_fused(SegmentBuilder builder, Step* root, GraphNode* node, const hr_kernel* kernel,
                        vector[int32_t]& inputs, hr_tensor* second=NULL) except -1:
    cdef hr_tensor out = builder.tensors[builder.arguments[root.first_output]]
    cdef hr_tensor* outputs[2]
    cdef vector[const hr_tensor*] sources
    cdef shared_ptr[PreparedNode] created = make_shared[PreparedNode]()
    cdef hr_code code
    cdef void* state
    cdef size_t i
    outputs[0] = &out
    outputs[1] = second
    try:
        ensure_state(node, kernel, builder.session, &state)
    except errors.OpError:
        return False    # the library supports fewer ops
    for i in range(inputs.size()):
        sources.push_back(&builder.tensors[inputs[i]])
    code = prepare_kernel(node, kernel, state, sources, outputs, builder.threads, 0, builder.memory,
                          created.get())
    if code != HR_OK or created.get().shape_depends_on_data:
        return False
    builder.out.prepared.push_back(<shared_ptr[const PreparedNode]>created)
    root.node = node
    root.kernel = kernel
    root.state = state
    root.compute = created.get().compute
    root.plan = created.get().plan
    root.workspace = created.get().workspace
    root.first_input = <int32_t>builder.arguments.size()
    root.n_inputs = <int32_t>inputs.size()
    for i in range(inputs.size()):
        builder.arguments.push_back(inputs[i])
    return True
