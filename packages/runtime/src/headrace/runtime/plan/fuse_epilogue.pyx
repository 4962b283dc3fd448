# cython: language_level=3
# distutils: language = c++
"""Fuses a convolution or a matrix product with the bias and the activation that follow it.

Conv2D -> BiasAdd -> Relu moves the output through memory three times; _FusedConv2D does so once.
A convolution also takes in a batch normalisation by known statistics, in place of the bias.
Intermediate results must have no other reader. Training steps qualify too, since gradients of most
activations read the activation's output. Shapes are known here, so an Add of a vector counts as a
BiasAdd. The op catalogue defines the fused ops; the kernel library lists the normalisations and
activations that its kernels take in (hr_fusible_op).
"""

from libc.stdint cimport int32_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.formats import op_catalogue
from headrace.formats.proto import op_pb2
from headrace.runtime.graph.attributes cimport (
    AttrEntry, AttrScalar, Attributes, attributes_of, find_scalar, fill_abi_node, kBool, kInt,
    kString, number_attr, op_entry_of,
)
from headrace.runtime.plan.executable cimport ARENA
from headrace.runtime.plan.fuse_elementwise cimport replace_group
from headrace.runtime.plan.fused_nodes cimport new_fused_node
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_FLOAT, HR_FUSE_ACTIVATION, HR_FUSE_NORMALIZATION, HR_OK, hr_fusible_op, hr_tensor,
)
from headrace.runtime.kernels.kernel_table cimport find_fusible, is_python_kernel
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step


cdef inline bint has_fused_op(GraphNode* node) noexcept:
    return node.info != NULL and op_entry_of(node).has_fused_op


cdef const hr_fusible_op* listed_for(GraphNode* product, GraphNode* node, int32_t role):
    """How the product's fused kernel takes in a node; null: it does not."""
    cdef bytes fused_op = b"_Fused" + <bytes>product.op
    return find_fusible(fused_op, node.op, role)


cdef int fuse_epilogues(SegmentBuilder builder, Segments segments, Segment segment) except -1:
    cdef vector[int32_t] reader     # per tensor: the one step that reads it; -1: none; -2: more
    cdef vector[int32_t] group
    cdef Step* step
    cdef int32_t argument
    cdef int i, j
    cdef bint possible = False
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        possible = possible or not step.elided and has_fused_op(step.node)
    if not possible:
        return 0
    reader.assign(builder.tensors.size(), -1)
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if step.elided:
            continue
        for j in range(step.n_inputs):
            argument = builder.arguments[step.first_input + j]
            reader[argument] = i if reader[argument] == -1 else -2
    for i in range(segment.n_outputs):
        reader[builder.local_of[segments.outputs[segment.first_output + i]]] = -2
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if step.elided or not has_fused_op(step.node) or not find_chain(builder, i, reader, group):
            continue
        if not replace_chain(builder, group) and group.size() > 2:
            group.pop_back()
            replace_chain(builder, group)
    return 0


cdef bint plain_float(SegmentBuilder builder, Step* step):
    """Whether a step makes one float tensor in the arena, in row-major order."""
    return step.n_outputs == 1 and first_is_plain_float(builder, step)


cdef bint first_is_plain_float(SegmentBuilder builder, Step* step):
    cdef hr_tensor* out
    if step.elided or step.view or step.by_kernel or step.writes or step.kernel == NULL or \
            is_python_kernel(step.kernel):
        return False
    out = &builder.tensors[builder.arguments[step.first_output]]
    return out.dtype == HR_FLOAT and not out.layout and out.rank >= 2 and \
        builder.storage[builder.arguments[step.first_output]] == ARENA


cdef bint find_chain(SegmentBuilder builder, int product, vector[int32_t]& reader,
                     vector[int32_t]& group):
    """Sets group to the product, the bias or normalisation after it, and the activation, if any."""
    cdef Step* first = &builder.steps[product]
    cdef int32_t value, after
    cdef int j
    if not plain_float(builder, first):
        return False
    for j in range(first.n_inputs):
        if builder.tensors[builder.arguments[first.first_input + j]].layout:
            return False
    value = builder.arguments[first.first_output]
    after = reader[value]
    if after < 0 or not (adds_bias(builder, first, &builder.steps[after], value) or
                         normalises(builder, first, &builder.steps[after], value, reader)):
        return False
    group.clear()
    group.push_back(product)
    group.push_back(after)
    after = reader[builder.arguments[builder.steps[after].first_output]]
    if after >= 0 and plain_float(builder, &builder.steps[after]) and builder.steps[after].n_inputs == 1 \
            and is_activation(first.node, builder.steps[after].node):
        group.push_back(after)
    return True


cdef bint is_activation(GraphNode* product, GraphNode* node):
    """Whether the product's fused kernel applies an op with these attributes to its result."""
    cdef AttrEntry entry
    cdef bytes key
    cdef const hr_fusible_op* listed = listed_for(product, node, HR_FUSE_ACTIVATION)
    if listed == NULL:
        return False
    considered = <bytes>listed.attribute if listed.attribute != NULL else None
    for entry in attributes_of(node).entries:
        key = entry.key.data()[:entry.key.size()]
        if key != b"T" and key != considered and not key.startswith(b"_"):
            return False
    return True


cdef bint adds_bias(SegmentBuilder builder, Step* product, Step* step, int32_t value):
    """Whether `step` adds a vector over the channels of `value`, the product's output."""
    cdef hr_tensor* out = &builder.tensors[value]
    cdef hr_tensor* bias
    cdef int32_t other = bias_of(builder, step, value)
    if other < 0 or not plain_float(builder, step):
        return False
    bias = &builder.tensors[other]
    if bias.dtype != HR_FLOAT or bias.rank != 1 or bias.layout:
        return False
    op = <bytes>step.node.op
    if op == b"BiasAdd":
        return builder.arguments[step.first_input] == value and \
            data_format(product.node) == data_format(step.node)
    return op in (b"Add", b"AddV2") and data_format(product.node) == b"NHWC" and \
        bias.dims[0] == out.dims[out.rank - 1]


cdef bint normalises(SegmentBuilder builder, Step* product, Step* step, int32_t value,
                     vector[int32_t]& reader):
    """Whether `step` only normalises `value` by known statistics."""
    cdef AttrScalar training
    cdef int j
    if listed_for(product.node, step.node, HR_FUSE_NORMALIZATION) == NULL or \
            builder.arguments[step.first_input] != value or step.n_inputs != 5 or \
            not first_is_plain_float(builder, step) or \
            find_scalar(step.node, string_view(<const char*>b"is_training"), kBool,
                        training) != HR_OK or training.number or \
            data_format(product.node) != data_format(step.node):
        return False
    for j in range(1, 5):
        if builder.tensors[builder.arguments[step.first_input + j]].dtype != HR_FLOAT or \
                builder.tensors[builder.arguments[step.first_input + j]].layout:
            return False
    for j in range(1, step.n_outputs):
        if reader[builder.arguments[step.first_output + j]] != -1:
            return False
    return True


cdef int32_t bias_of(SegmentBuilder builder, Step* step, int32_t value) noexcept:
    """The other input of a step that reads `value` and one more tensor; -1: there is none."""
    cdef int32_t a, b
    if step.n_inputs != 2:
        return -1
    a = builder.arguments[step.first_input]
    b = builder.arguments[step.first_input + 1]
    if a == b:
        return -1
    return b if a == value else a


cdef bytes data_format(GraphNode* node):
    cdef AttrScalar format
    if find_scalar(node, string_view(<const char*>b"data_format"), kString, format) != HR_OK:
        return b"NHWC"
    return format.bytes.data()[:format.bytes.size()]


cdef bint replace_chain(SegmentBuilder builder, vector[int32_t]& group) except -1:
    """Replaces the chain's last step by one fused step; False: no kernel accepts it."""
    cdef Step* product = &builder.steps[group[0]]
    cdef Step* second = &builder.steps[group[1]]
    cdef vector[int32_t] inputs
    cdef int i
    for i in range(2):
        inputs.push_back(builder.arguments[product.first_input + i])
    if second.n_inputs == 2:
        inputs.push_back(bias_of(builder, second, builder.arguments[product.first_output]))
    else:
        for i in range(1, second.n_inputs):
            inputs.push_back(builder.arguments[second.first_input + i])
    if not replace_group(builder, group, group.back(), chain_node(builder, group), inputs):
        return False
    builder.steps[group.back()].n_outputs = 1   # nothing reads a normalisation's other outputs
    return True


cdef shared_ptr[GraphNode] chain_node(SegmentBuilder builder, vector[int32_t]& group) except *:
    """The fused node of a chain; an equal chain reuses its node."""
    cdef shared_ptr[GraphNode] node
    cdef GraphNode* part
    cdef string key = b"chain\n"
    cdef size_t i
    for i in range(group.size()):
        part = builder.steps[group[i]].node     # of the program, which outlives the cache
        key.append(<const char*>&part, sizeof(part))
    if builder.cache != NULL:
        node = builder.cache.find_fused(key)
    if node.get() == NULL:
        node.reset(new_chain_node(builder.steps[group[0]].node, builder.steps[group[1]].node,
                                  builder.steps[group.back()].node, origins_of(builder, group)))
        if builder.cache != NULL:
            builder.cache.keep_fused(key, node)
    return node


cdef str origins_of(SegmentBuilder builder, vector[int32_t]& group):
    cdef size_t i
    return "; ".join([f"{text_of(builder.steps[group[i]].node.name)} = "
                      f"{text_of(builder.steps[group[i]].node.op)}" for i in range(group.size())])


cdef int copy_attribute(GraphNode* node, const hr_fusible_op* listed, Attributes* to) except -1:
    """Gives the fused node the attribute of a fused op that changes its result."""
    cdef AttrEntry entry
    if listed.attribute == NULL:
        return 0
    for entry in attributes_of(node).entries:
        if entry.key == string_view(listed.attribute):
            to.add(<string>listed.fused_attribute, <string>entry.value)
    return 0


cdef GraphNode* new_chain_node(GraphNode* product, GraphNode* second, GraphNode* last,
                               str origins) except NULL:
    cdef GraphNode* node
    cdef Attributes* attributes
    cdef AttrEntry entry
    cdef const hr_fusible_op* listed = listed_for(product, second, HR_FUSE_NORMALIZATION)
    cdef int n_args = 1 if listed == NULL else 4
    signature = op_catalogue.signature("_Fused" + (<bytes>product.op).decode())
    declared = {attr.name.encode() for attr in signature.attrs}
    # It has the name of the product, which takes most of the time: traces show it under that name.
    node = new_fused_node(signature.name.encode(), product.name, last, origins)
    attributes = attributes_of(node)
    for entry in attributes_of(product).entries:
        if entry.key.data()[:entry.key.size()] in declared:
            attributes.add(<string>entry.key, <string>entry.value)
    attributes.add(<string>b"num_args", number_attr(kInt, n_args))
    if b"TArgs" in declared:
        attributes.add(<string>b"TArgs", <string>op_pb2.AttrValue(
            list=op_pb2.AttrValue.ListValue(type=[HR_FLOAT] * n_args)).SerializeToString())
    if listed == NULL:
        fused = [b"BiasAdd"]
    else:
        fused = [<bytes>listed.name]
        copy_attribute(second, listed, attributes)
    if last != second:
        listed = listed_for(product, last, HR_FUSE_ACTIVATION)
        fused.append(<bytes>listed.name)
        copy_attribute(last, listed, attributes)
    attributes.add(<string>b"fused_ops", <string>op_pb2.AttrValue(
        list=op_pb2.AttrValue.ListValue(s=fused)).SerializeToString())
    for _ in range(2 + n_args):
        node.input_dtypes.push_back(HR_FLOAT)
    node.output_dtypes.push_back(HR_FLOAT)
    fill_abi_node(node)
    return node
