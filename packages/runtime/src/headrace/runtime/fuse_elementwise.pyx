# cython: language_level=3
"""Makes one pass over memory of several elementwise steps.

Large tensors cost what moving them costs, so a chain of elementwise ops on them should touch
memory once. A group is a step with all those before it of which only the group itself reads the
result; each makes the group's shape. It becomes a _FusedElementwise, whose program lists the ops.
Shapes are known here, so nothing small is fused, and nothing is computed more often than before.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memset
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.formats.proto import op_pb2
from headrace.runtime.attributes cimport (
    AttrEntry, AttrScalar, attributes_of, bytes_attr, find_scalar, finish_face, kInt, kString, kType,
    make_attributes, number_attr,
)
from headrace.runtime.error_boundary cimport call_prepare
from headrace.runtime.threads cimport begin_prepare, end_prepare
from headrace.runtime.graph_node cimport GraphNode, OpInfo
from headrace.runtime.kernel_abi cimport (
    HR_OK, hr_code, hr_dtype, hr_elements, hr_kernel, hr_request, hr_tensor,
)
from headrace.runtime.kernel_table cimport find_kernel, is_python_kernel
from headrace.runtime.node_text cimport text_of
from headrace.runtime.op_table cimport op_entry
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.segment_draft cimport SegmentDraft, Step, ensure_state
from headrace.runtime.executable cimport ARENA, PreparedNode

from headrace.formats import errors

# Below this the steps' results stay in the first-level cache anyway.
cdef int64_t FEWEST_ELEMENTS = 4096
cdef int MOST_STEPS = 64

# Whether the kernel of _FusedElementwise knows an instruction: by op, number of operands and dtype.
_known = {}
# Attributes that change nothing: an instruction computes its op as it is without any others.
_IDLE_ATTRIBUTES = frozenset((b"T", b"N", b"data_format"))


cdef int fuse_elementwise(SegmentDraft draft, Segments segments, Segment segment) except -1:
    cdef vector[int32_t] maker      # per tensor: the step that makes it, if that may join a group
    cdef vector[int32_t] readers    # per tensor: how many inputs read it; leaving counts, too
    cdef vector[uint8_t] taken      # per step: in a group
    cdef vector[int32_t] group
    cdef Step* step
    cdef int i, j
    cdef int possible = 0
    maker.assign(draft.tensors.size(), -1)
    readers.assign(draft.tensors.size(), 0)
    taken.assign(draft.steps.size(), 0)
    for i in range(segment.n_leaving):
        readers[draft.local_of[segments.leaving[segment.first_leaving + i]]] += 1
    for i in range(<int>draft.steps.size()):
        step = &draft.steps[i]
        if step.elided:
            continue
        for j in range(step.n_inputs):
            readers[draft.arguments[step.first_input + j]] += 1
        if may_fuse(draft, step):
            maker[draft.arguments[step.first_output]] = i
            possible += 1
    if possible < 2:
        return 0
    for i in range(<int>draft.steps.size() - 1, -1, -1):
        step = &draft.steps[i]
        # A step without outputs (AssignVariableOp, NoOp) owns no argument at first_output.
        if step.elided or taken[i] or step.n_outputs != 1 or \
                maker[draft.arguments[step.first_output]] != i:
            continue
        find_group(draft, i, maker, readers, taken, group)
        if group.size() > 1 and replace_by_one(draft, group):
            for j in range(<int>group.size()):
                taken[group[j]] = 1
    return 0


cdef bint may_fuse(SegmentDraft draft, Step* step):
    cdef hr_tensor* out
    cdef hr_tensor* t
    cdef int j
    if step.n_outputs != 1 or step.view or step.by_kernel or step.writes or step.n_inputs < 1 or \
            step.n_inputs > 2 or step.kernel == NULL or is_python_kernel(step.kernel):
        return False
    out = &draft.tensors[draft.arguments[step.first_output]]
    if out.layout or out.rank < 0 or draft.storage[draft.arguments[step.first_output]] != ARENA or \
            hr_elements(out) < FEWEST_ELEMENTS:
        return False
    for j in range(step.n_inputs):
        t = &draft.tensors[draft.arguments[step.first_input + j]]
        if t.dtype != out.dtype or t.layout or t.rank < 0:
            return False
    return plain_attributes(step.node) and channels_last(step.node) and \
        is_instruction(draft, step.node, step.n_inputs, out.dtype)


cdef bint is_instruction(SegmentDraft draft, GraphNode* like, int operands,
                         hr_dtype dtype) except -1:
    """Whether a program may name an op: the kernel says so when it reads one of that op alone."""
    cdef shared_ptr[GraphNode] node
    cdef const hr_kernel* kernel
    cdef void* state
    key = (<bytes>like.op, operands, <int>dtype)
    known = _known.get(key)
    if known is None:
        line = b" ".join([<bytes>like.op, b"t0", *(b"i%d" % i for i in range(operands))])
        node.reset(fused_node(like, operands, dtype, [line], []))
        kernel = find_kernel(node.get(), b"CPU", False)
        known = kernel != NULL
        if known:
            try:
                ensure_state(node.get(), kernel, draft.session, &state)
            except errors.OpError:
                known = False
        _known[key] = known
    return known


cdef bint plain_attributes(GraphNode* node):
    cdef AttrEntry entry
    cdef bytes key
    for entry in attributes_of(node).entries:
        key = entry.key.data()[:entry.key.size()]
        if key not in _IDLE_ATTRIBUTES and not key.startswith(b"_"):
            return False
    return True


cdef bint channels_last(GraphNode* node):
    """Whether a vector is added along the last dimension, as every vector in a program is."""
    cdef AttrScalar format
    return find_scalar(node, string_view(<const char*>b"data_format"), kString, format) != HR_OK \
        or format.bytes.data()[:format.bytes.size()] == b"NHWC"


cdef void find_group(SegmentDraft draft, int root, vector[int32_t]& maker,
                     vector[int32_t]& readers, vector[uint8_t]& taken,
                     vector[int32_t]& group) noexcept:
    """group: the root and what only the group reads, the root first."""
    cdef vector[int32_t] inside     # per tensor: how often the group reads it
    cdef hr_tensor* shape = &draft.tensors[draft.arguments[draft.steps[root].first_output]]
    cdef Step* step
    cdef hr_tensor* t
    cdef int32_t argument, other
    cdef size_t at = 0
    cdef int j
    group.clear()
    group.push_back(root)
    inside.assign(draft.tensors.size(), 0)
    while at < group.size() and group.size() < <size_t>MOST_STEPS:
        step = &draft.steps[group[at]]
        at += 1
        for j in range(step.n_inputs):
            argument = draft.arguments[step.first_input + j]
            inside[argument] += 1
            other = maker[argument]
            # It joins with its last reader, when all of them are here.
            if other < 0 or taken[other] or inside[argument] != readers[argument]:
                continue
            t = &draft.tensors[argument]
            if t.dtype == shape.dtype and t.rank == shape.rank and \
                    memcmp(t.dims, shape.dims, t.rank * sizeof(int64_t)) == 0:
                group.push_back(other)


cdef bint replace_by_one(SegmentDraft draft, vector[int32_t]& group) except -1:
    """Puts one fused step in the root's place; False: no kernel takes it, and nothing changed."""
    cdef Step* root = &draft.steps[group[0]]
    cdef Step* step
    cdef vector[int32_t] inputs
    cdef shared_ptr[GraphNode] node
    cdef const hr_kernel* kernel
    cdef size_t i
    cdef int j
    cdef int32_t argument
    cdef double moved = 0
    names = {}
    program = []
    origins = []
    for number in sorted([group[i] for i in range(group.size())]):
        step = &draft.steps[<size_t>number]
        operands = []
        for j in range(step.n_inputs):
            argument = draft.arguments[step.first_input + j]
            if argument not in names:
                names[argument] = b"i%d" % inputs.size()
                inputs.push_back(argument)
                moved += draft.tensors[argument].bytes
            operands.append(names[argument])
        target = b"t%d" % len(program)
        names[draft.arguments[step.first_output]] = target
        program.append(b" ".join([<bytes>step.node.op, target, *operands]))
        origins.append(f"{text_of(step.node.name)} = {text_of(step.node.op)}")
    node = shared_fused_node(draft, root.node, inputs.size(), draft.tensors[inputs[0]].dtype,
                             program, origins)
    kernel = find_kernel(node.get(), b"CPU", False)
    if kernel == NULL:
        return False
    if not prepare_fused(draft, root, node.get(), kernel, inputs):
        return False
    draft.out.nodes.push_back(node)
    for i in range(1, group.size()):
        draft.steps[group[i]].elided = True
        draft.out.bytes_moved -= 2 * draft.tensors[
            draft.arguments[draft.steps[group[i]].first_output]].bytes
    draft.out.fused += <int>group.size() - 1
    return True


cdef shared_ptr[GraphNode] shared_fused_node(SegmentDraft draft, GraphNode* like, size_t n_inputs,
                                             hr_dtype dtype, list program, list origins) except *:
    """The node that stands for a group: the one made before for the same group, if there is one."""
    cdef shared_ptr[GraphNode] node
    cdef string key = "\n".join([str(dtype), str(n_inputs), *origins]).encode() + b"\n".join(program)
    if draft.cache != NULL:
        node = draft.cache.find_fused(key)
    if node.get() == NULL:
        node.reset(fused_node(like, n_inputs, dtype, program, origins))
        if draft.cache != NULL:
            draft.cache.keep_fused(key, node)
    return node


cdef GraphNode* fused_node(GraphNode* like, size_t n_inputs, hr_dtype dtype,
                           list program, list origins) except NULL:
    cdef GraphNode* node = new GraphNode()
    cdef size_t i
    node.op = b"_FusedElementwise"
    # It goes by the name of its last op: errors and traces then name a node of the user's.
    node.name = like.name
    node.device = like.device
    node.session = like.session
    node.info = <const OpInfo*>op_entry(string_view(<const char*>b"_FusedElementwise"))
    make_attributes(node)
    attributes_of(node).add(<string>b"N", number_attr(kInt, <int64_t>n_inputs))
    attributes_of(node).add(<string>b"T", number_attr(kType, dtype))
    attributes_of(node).add(<string>b"program", <string>op_pb2.AttrValue(
        list=op_pb2.AttrValue.ListValue(s=program)).SerializeToString())
    attributes_of(node).add(<string>b"_origins", bytes_attr(
        kString, <string>"; ".join(origins).encode()))
    for i in range(n_inputs):
        node.input_dtypes.push_back(dtype)
    node.output_dtypes.push_back(dtype)
    finish_face(node)
    return node


cdef bint prepare_fused(SegmentDraft draft, Step* root, GraphNode* node, const hr_kernel* kernel,
                        vector[int32_t]& inputs) except -1:
    cdef hr_request request
    cdef hr_tensor out = draft.tensors[draft.arguments[root.first_output]]
    cdef hr_tensor* output = &out
    cdef vector[const hr_tensor*] sources
    cdef shared_ptr[PreparedNode] made = make_shared[PreparedNode]()
    cdef hr_code code
    cdef void* state
    cdef size_t i
    try:
        ensure_state(node, kernel, draft.session, &state)
    except errors.OpError:
        return False    # a library that knows fewer ops
    for i in range(inputs.size()):
        sources.push_back(&draft.tensors[inputs[i]])
    memset(&request, 0, sizeof(hr_request))
    request.size = sizeof(hr_request)
    request.node = &node.face
    request.inputs = sources.data()
    request.outputs = &output
    request.threads = draft.threads
    with nogil:
        begin_prepare()
        code = call_prepare(kernel, state, &request)
        end_prepare()
    made.get().plan = request.plan
    made.get().destroy = request.destroy_plan
    if code != HR_OK or request.shape_depends_on_data:
        return False
    draft.out.prepared.push_back(<shared_ptr[const PreparedNode]>made)
    root.node = node
    root.kernel = kernel
    root.state = state
    root.compute = kernel.compute
    if request.compute != NULL:
        root.compute = request.compute
    root.plan = request.plan
    root.workspace = <int64_t>request.workspace
    root.first_input = <int32_t>draft.arguments.size()
    root.n_inputs = <int32_t>inputs.size()
    for i in range(inputs.size()):
        draft.arguments.push_back(inputs[i])
    return True
