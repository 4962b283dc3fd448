# cython: language_level=3
"""What a run is fed, checked against the placeholders before anything runs.

A wrong value is its sender's error: InvalidArgumentError with TensorFlow's words, the tensor's name
and both shapes or dtypes.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.arrays cimport tensor_from_array
from headrace.runtime.attributes cimport ParsedValue, parsed_value
from headrace.runtime.buffer cimport buffer_release
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport HR_OK, hr_dtype, hr_tensor
from headrace.runtime.node_text cimport dtype_text, text_of
from headrace.runtime.program cimport Program, ProgramValue


cdef int note_feed_shapes(Program program, bint scalars_known) except -1:
    cdef size_t i
    cdef int32_t d, rank
    cdef ProgramValue value
    cdef ParsedValue* attribute
    cdef GraphNode* source
    program.feed_ranks.assign(program.feeds.size(), -1)
    program.feed_dims.resize(program.feeds.size())
    for i in range(program.feeds.size()):
        if program.feeds[i] < 0:
            continue
        value = program.values[program.feeds[i]]
        source = program.nodes[value.node].source
        if not text_of(source.op).startswith("Placeholder"):
            continue  # any tensor may be fed; only placeholders declare what they take
        attribute = parsed_value(source, string_view(<const char*>b"shape"))
        if attribute == NULL or attribute.code != HR_OK or attribute.ranks.empty():
            continue
        rank = attribute.ranks[0]
        if rank == 0 and not scalars_known:
            continue
        for d in range(rank):
            program.feed_dims[i].push_back(attribute.dims[0][d])
        program.feed_ranks[i] = rank
    return 0


cdef object fed_tensor(Program program, int32_t feed, object value, hr_dtype dtype, hr_tensor* t):
    t.owner = NULL
    try:
        keep = tensor_from_array(value, dtype, t, False)
    except (TypeError, ValueError, OverflowError, errors.InvalidArgumentError) as error:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot feed value for Tensor '{_tensor_name(program, feed)}', which has "
            f"dtype {dtype_text(dtype)}: {error}", node_name=_node_name(program, feed)) from None
    if not _fits(program.feed_ranks[feed], program.feed_dims[feed].data(), t):
        fed = [t.dims[i] for i in range(t.rank)]
        buffer_release(t.owner)
        t.owner = NULL
        raise errors.InvalidArgumentError(
            None, None, f"Cannot feed value of shape {fed} for Tensor "
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
