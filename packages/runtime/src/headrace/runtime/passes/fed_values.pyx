# cython: language_level=3
"""Fed values are checked against their placeholders before anything runs.

A wrong value is an InvalidArgumentError with TensorFlow's words, the name of the tensor and both
shapes or dtypes.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.memory.arrays cimport tensor_from_array
from headrace.runtime.graph.attributes cimport ParsedValue, parsed_value
from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_OK, hr_dtype, hr_tensor
from headrace.runtime.graph.node_text cimport dtype_text, text_of
from headrace.runtime.passes.program cimport Program, ProgramValue, checked_tensor
from headrace.runtime.graph.session_graph cimport SessionGraph


# Files of earlier producers wrote the shape [] for an unknown one.
SCALARS_KNOWN_FROM = 24


cdef int note_feed_shapes(Program program, int producer) except -1:
    cdef size_t i
    cdef ProgramValue value
    cdef GraphNode* source
    program.feed_ranks.assign(program.feeds.size(), -1)
    program.feed_dims.resize(program.feeds.size())
    for i in range(program.feeds.size()):
        if program.feeds[i] < 0:
            continue
        value = program.values[program.feeds[i]]
        source = program.nodes[value.node].source
        # Any tensor may be fed; only placeholders declare a dtype and a shape.
        program.feed_ranks[i] = _declared(source, producer, &program.feed_dims[i])
    return 0


cdef int32_t _declared(GraphNode* source, int producer, vector[int64_t]* dims) except -2:
    """The rank that a placeholder declares, or -1, and the sizes."""
    if not text_of(source.op).startswith("Placeholder"):
        return -1
    cdef int32_t rank = _shape_attribute(source, string_view(<const char*>b"shape"), 0, dims)
    return -1 if rank == 0 and producer < SCALARS_KNOWN_FROM else rank


cdef int32_t _shape_attribute(GraphNode* source, string_view key, size_t which,
                              vector[int64_t]* dims) except -2:
    cdef ParsedValue* attribute = parsed_value(source, key)
    cdef int32_t d
    if attribute == NULL or attribute.code != HR_OK or attribute.ranks.size() <= which:
        return -1
    for d in range(attribute.ranks[which]):
        dims.push_back(attribute.dims[which][d])
    return attribute.ranks[which]


cdef tuple tensor_spec(SessionGraph graph, str name):
    cdef Edge edge
    cdef GraphNode* node
    cdef vector[int64_t] dims
    cdef int32_t rank
    with graph.lock:
        edge = checked_tensor(graph, "Tensor", name)
        node = graph.nodes[edge.node]
        rank = _declared(node, graph.producer, &dims)
        if rank < 0:
            rank = _shape_attribute(node, string_view(<const char*>b"_output_shapes"),
                                    <size_t>edge.port, &dims)
        shape = tuple([None if d < 0 else d for d in <list>dims]) if rank >= 0 else None
        return f"{text_of(node.name)}:{edge.port}", node.output_dtypes[edge.port], shape


cdef object fed_tensor(Program program, int32_t feed, object value, hr_dtype dtype,
                       OwnedTensor* fed):
    cdef hr_tensor* t = fed.get()
    try:
        keep = tensor_from_array(value, dtype, t, False)
    except (TypeError, ValueError, OverflowError, errors.InvalidArgumentError) as error:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot feed value for Tensor '{_tensor_name(program, feed)}', which has "
            f"dtype {dtype_text(dtype)}: {error}", node_name=_node_name(program, feed)) from None
    if not _fits(program.feed_ranks[feed], program.feed_dims[feed].data(), t):
        sizes = [t.dims[i] for i in range(t.rank)]
        raise errors.InvalidArgumentError(
            None, None, f"Cannot feed value of shape {sizes} for Tensor "
            f"'{_tensor_name(program, feed)}', which has shape "
            f"{_shown(program.feed_dims[feed])}", node_name=_node_name(program, feed))
    return keep


cdef inline bint _fits(int32_t rank, const int64_t* dims, const hr_tensor* t) noexcept nogil:
    cdef int32_t i
    if rank < 0:
        return True
    if rank != t.rank:
        return False
    for i in range(rank):
        if dims[i] >= 0 and dims[i] != t.dims[i]:
            return False
    return True


cdef str _shown(list dims):
    return "[" + ", ".join(["?" if d < 0 else str(d) for d in dims]) + "]"


cdef str _tensor_name(Program program, int32_t feed):
    name = program.feed_names[feed]
    return name if ":" in name else f"{name}:0"


cdef str _node_name(Program program, int32_t feed):
    return program.feed_names[feed].partition(":")[0]
