# cython: language_level=3
# distutils: language = c++
"""Makes MaxPool keep the position of each window's maximum for its gradient.

MaxPoolGrad searches for the maxima of orig_input again, which reads that input once more. If its
orig_output comes from a MaxPool of the same input and attributes in the same plan, the MaxPool
writes the position within the window as a byte (_MaxPoolWithWindowIndex), and
_MaxPoolGradWithWindowIndex reads the byte and the gradient. Results have the same bits, except
where windows with NaN overlap: MaxPoolGrad adds their gradients last. A MaxPool without such a
gradient does not change.
"""

from libc.stdint cimport int32_t
from libc.string cimport memcmp
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport AttrEntry, attributes_of, fill_abi_node
from headrace.runtime.memory.buffer cimport set_bytes
from headrace.runtime.plan.executable cimport ARENA, STATIC
from headrace.runtime.plan.fuse_elementwise cimport prepare_fused
from headrace.runtime.plan.fused_nodes cimport new_fused_node
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_UINT8, hr_dtype, hr_kernel, hr_tensor
from headrace.runtime.kernels.kernel_table cimport find_kernel, is_python_kernel, library_of
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step

cdef extern from "<cstring>" namespace "std" nogil:
    int compare_text "std::strcmp"(const char* a, const char* b)

_WINDOW = (b"T", b"ksize", b"strides", b"padding", b"explicit_paddings", b"data_format")


cdef int keep_window_indices(SegmentBuilder builder) except -1:
    cdef vector[int32_t] gradients, made_by
    cdef vector[vector[int32_t]] of_pool
    cdef Step* step
    cdef int i, j
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if is_plain(step) and step.n_inputs == 3 and step.node.op == b"MaxPoolGrad":
            gradients.push_back(i)
    if gradients.empty():
        return 0
    made_by.assign(builder.tensors.size(), -1)
    for i in range(<int>builder.steps.size()):
        step = &builder.steps[i]
        if is_plain(step) and step.n_inputs == 1 and step.node.op == b"MaxPool":
            made_by[builder.arguments[step.first_output]] = i
    of_pool.resize(builder.steps.size())
    for i in gradients:
        j = made_by[builder.root[builder.arguments[builder.steps[i].first_input + 1]]]
        if j >= 0 and belongs_to(builder, &builder.steps[i], &builder.steps[j]):
            of_pool[j].push_back(i)
    for j in range(<int>of_pool.size()):
        if not of_pool[j].empty():
            replace(builder, j, of_pool[j])
    return 0


cdef bint is_plain(Step* step) noexcept:
    return not step.elided and not step.view and not step.by_kernel and step.n_outputs == 1 and \
        step.kernel != NULL and not is_python_kernel(step.kernel)


cdef bint belongs_to(SegmentBuilder builder, Step* gradient, Step* pool) except -1:
    """Whether a gradient has the input and the windows of the pool."""
    cdef int32_t x = builder.arguments[gradient.first_input]
    cdef int32_t read = builder.arguments[pool.first_input]
    cdef int32_t y = builder.arguments[gradient.first_input + 1]
    return builder.root[x] == builder.root[read] and \
        same_tensor(&builder.tensors[x], &builder.tensors[read]) and \
        same_tensor(&builder.tensors[y], &builder.tensors[builder.arguments[pool.first_output]]) and \
        window_of(gradient.node) == window_of(pool.node)


cdef bint same_tensor(const hr_tensor* a, const hr_tensor* b) noexcept:
    return a.dtype == b.dtype and a.rank == b.rank and not a.layout and not b.layout and \
        memcmp(a.dims, b.dims, a.rank * sizeof(a.dims[0])) == 0


cdef dict window_of(GraphNode* node):
    cdef AttrEntry entry
    found = {}
    for entry in attributes_of(node).entries:
        key = entry.key.data()[:entry.key.size()]
        if key in _WINDOW:
            found[key] = entry.value.data()[:entry.value.size()]
    return found


cdef bint replace(SegmentBuilder builder, int pool, vector[int32_t]& gradients) except -1:
    """Replaces a pool and its gradients by the ops with an index; False: no kernel accepts them."""
    cdef Step* forward = &builder.steps[pool]
    cdef Step before = forward[0]
    cdef Step* backward
    cdef vector[int32_t] inputs
    cdef hr_tensor shape = builder.tensors[builder.arguments[forward.first_input]]
    cdef hr_tensor* y
    cdef hr_tensor index
    cdef int32_t number, shape_of_x
    cdef int replaced = 0
    inputs.push_back(builder.arguments[forward.first_input])
    index = builder.tensors[builder.arguments[forward.first_output]]
    index.dtype = HR_UINT8
    index.data = NULL
    index.owner = NULL
    if not take_place(builder, forward, b"_MaxPoolWithWindowIndex", inputs, &index) or \
            set_bytes(&index) < 0:
        forward[0] = before
        return False
    number = builder.add_tensor(&index, ARENA)
    forward.first_output = <int32_t>builder.arguments.size()
    forward.n_outputs = 2
    builder.arguments.push_back(builder.arguments[before.first_output])
    builder.arguments.push_back(number)
    # The gradient needs only the shape of orig_input, whose memory can be released earlier.
    shape.data = NULL
    shape.owner = NULL
    shape_of_x = builder.add_tensor(&shape, STATIC)
    for i in gradients:
        backward = &builder.steps[i]
        inputs.clear()
        inputs.push_back(shape_of_x)
        inputs.push_back(number)
        inputs.push_back(builder.arguments[backward.first_input + 2])
        if take_place(builder, backward, b"_MaxPoolGradWithWindowIndex", inputs, NULL):
            replaced += 1
            y = &builder.tensors[builder.arguments[before.first_output]]
            builder.out.bytes_moved += index.bytes - shape.bytes - y.bytes
    if not replaced:
        forward[0] = before
    return replaced > 0


cdef bint take_place(SegmentBuilder builder, Step* step, bytes op, vector[int32_t]& inputs,
                     hr_tensor* second) except -1:
    """Replaces a step by that op with these inputs; False: its library has no kernel that accepts
    them."""
    cdef shared_ptr[GraphNode] node = node_of(builder, step.node, op, inputs)
    cdef const hr_kernel* kernel = find_kernel(node.get(), b"CPU", False)
    if kernel == NULL or library_of(kernel) == NULL or library_of(step.kernel) == NULL or \
            compare_text(library_of(kernel), library_of(step.kernel)) != 0 or \
            not prepare_fused(builder, step, node.get(), kernel, inputs, second):
        return False
    builder.out.nodes.push_back(node)
    return True


cdef shared_ptr[GraphNode] node_of(SegmentBuilder builder, GraphNode* like, bytes op,
                                   vector[int32_t]& inputs) except *:
    """A node with the windows of `like`; an equal node is reused."""
    cdef shared_ptr[GraphNode] node
    cdef string key = op + b"\n" + <bytes>like.name
    if builder.cache != NULL:
        node = builder.cache.find_fused(key)
    if node.get() == NULL:
        node.reset(new_node(builder, like, op, inputs))
        if builder.cache != NULL:
            builder.cache.keep_fused(key, node)
    return node


cdef GraphNode* new_node(SegmentBuilder builder, GraphNode* like, bytes op,
                         vector[int32_t]& inputs) except NULL:
    cdef GraphNode* node = new_fused_node(
        op, like.name, like, f"{text_of(like.name)} = {text_of(like.op)}")
    cdef AttrEntry entry
    cdef int32_t input
    for entry in attributes_of(like).entries:
        if entry.key.data()[:entry.key.size()] in _WINDOW:
            attributes_of(node).add(<string>entry.key, <string>entry.value)
    for input in inputs:
        node.input_dtypes.push_back(builder.tensors[input].dtype)
    node.output_dtypes.push_back(<hr_dtype>like.output_dtypes[0])
    if inputs.size() == 1:
        node.output_dtypes.push_back(HR_UINT8)
    fill_abi_node(node)
    return node
