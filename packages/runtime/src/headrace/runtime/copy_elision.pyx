# cython: language_level=3
# distutils: language = c++
"""Finds steps that would copy their input as it is; shapes and constants decide.

A reduction over no axes, or over axes of size 1, a transposition that moves only such axes, a cast
to the same type, a pad by nothing: their outputs become views, as those of Reshape are.
"""

from libc.stdint cimport int32_t, int64_t

from headrace.runtime.kernel_abi cimport (
    HR_INT32, HR_INT64, HR_REF, HR_RESOURCE, hr_elements, hr_tensor,
)
from headrace.runtime.segment_draft cimport SegmentDraft, Step

# Each output element is one element of input 0, in its order, if there are as many of them.
_SAME_COUNT = frozenset(
    b"Sum Mean Prod Max Min All Any Tile BroadcastTo Pad PadV2 MirrorPad Slice".split())
# Likewise where nothing but the first input has elements to give.
_OF_ONE = {b"AddN": 1, b"Pack": 1, b"ConcatV2": 2}    # op: inputs if there is one value


cdef bint copies_input(SegmentDraft draft, const Step* step) except -1:
    cdef const hr_tensor* given
    cdef const hr_tensor* made
    if step.n_inputs < 1 or step.n_outputs != 1 or step.by_kernel or step.writes:
        return False
    given = &draft.tensors[draft.arguments[step.first_input]]
    made = &draft.tensors[draft.arguments[step.first_output]]
    if given.dtype != made.dtype or given.dtype >= HR_REF or given.dtype == HR_RESOURCE or \
            given.layout or made.layout or given.rank < 0 or made.rank < 0 or \
            hr_elements(given) != hr_elements(made):
        return False
    op = <bytes>step.node.op
    if op in _SAME_COUNT or op == b"Cast":
        return True
    if op in _OF_ONE:
        return step.n_inputs == _OF_ONE[op]
    if op == b"Transpose":
        return keeps_order(given, &draft.tensors[draft.arguments[step.first_input + 1]])
    return op == b"StridedSlice" and all_ones(&draft.tensors[draft.arguments[step.first_input + 3]])


cdef int64_t element(const hr_tensor* t, int64_t i) noexcept nogil:
    return (<int32_t*>t.data)[i] if t.dtype == HR_INT32 else (<int64_t*>t.data)[i]


cdef bint known_integers(const hr_tensor* t) noexcept nogil:
    return t.data != NULL and (t.dtype == HR_INT32 or t.dtype == HR_INT64)


cdef bint all_ones(const hr_tensor* t) noexcept nogil:
    cdef int64_t i
    if not known_integers(t):
        return False
    for i in range(hr_elements(t)):
        if element(t, i) != 1:
            return False
    return True


cdef bint keeps_order(const hr_tensor* given, const hr_tensor* order) noexcept nogil:
    """Whether the axes that have more than one element stay in their order."""
    cdef int64_t i, axis
    cdef int64_t last = -1
    if not known_integers(order):
        return False
    for i in range(hr_elements(order)):
        axis = element(order, i)
        if axis < 0:
            axis += given.rank
        if axis < 0 or axis >= given.rank:
            return False
        if given.dims[axis] == 1:
            continue
        if axis < last:
            return False
        last = axis
    return True
