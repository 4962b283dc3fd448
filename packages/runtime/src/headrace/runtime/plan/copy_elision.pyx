# cython: language_level=3
# distutils: language = c++
"""Finds steps that would copy their input unchanged, by shapes and constants.

Examples are a reduction over no axes or over axes of size 1, a transposition that moves only such
axes, a cast to the same type, and a pad by nothing. Their outputs become views, like those of
Reshape.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.string cimport string

from headrace.runtime.memory.kernel_abi cimport (
    HR_INT32, HR_INT64, HR_REF, HR_RESOURCE, hr_elements, hr_tensor,
)
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step

cdef extern from *:
    """
    #include <string_view>
    namespace {
    struct CopyRule {
      std::string_view op;
      int one_value;  // number of inputs if there is one value; 0: any
    };
    // If there are as many output elements as elements of input 0, they are the same elements in
    // the same order. The last three also require that only the first input has elements.
    constexpr CopyRule copy_rules[] = {
        {"Cast", 0}, {"Sum", 0}, {"Mean", 0}, {"Prod", 0}, {"Max", 0}, {"Min", 0}, {"All", 0},
        {"Any", 0}, {"Tile", 0}, {"BroadcastTo", 0}, {"Pad", 0}, {"PadV2", 0}, {"MirrorPad", 0},
        {"Slice", 0}, {"AddN", 1}, {"Pack", 1}, {"ConcatV2", 2}};
    int copying_inputs(std::string_view op) {
      for (const CopyRule& rule : copy_rules)
        if (rule.op == op) return rule.one_value;
      return -1;
    }
    }
    """
    # 0: any number of inputs; -1: the op never only copies.
    int copying_inputs(const string& op) nogil


cdef bint copies_input(SegmentBuilder builder, const Step* step) except -1:
    cdef const hr_tensor* input
    cdef const hr_tensor* result
    cdef int needed
    if step.n_inputs < 1 or step.n_outputs != 1 or step.by_kernel or step.writes:
        return False
    input = &builder.tensors[builder.arguments[step.first_input]]
    result = &builder.tensors[builder.arguments[step.first_output]]
    if input.dtype != result.dtype or input.dtype >= HR_REF or input.dtype == HR_RESOURCE or \
            input.layout or result.layout or input.rank < 0 or result.rank < 0 or \
            hr_elements(input) != hr_elements(result):
        return False
    if step.node.op == b"Slice" or step.node.op == b"StridedSlice":
        # A slice that begins outside the tensor is an error, which `prepare` reports if it knows
        # all bounds.
        for needed in (1, 2):
            if not known_integers(&builder.tensors[builder.arguments[step.first_input + needed]]):
                return False
    needed = copying_inputs(step.node.op)
    if needed >= 0:
        return needed == 0 or step.n_inputs == needed
    if step.node.op == b"Transpose":
        return keeps_order(input, &builder.tensors[builder.arguments[step.first_input + 1]])
    return step.node.op == b"StridedSlice" and \
        all_ones(&builder.tensors[builder.arguments[step.first_input + 3]])


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


cdef bint keeps_order(const hr_tensor* input, const hr_tensor* order) noexcept nogil:
    """Whether the axes with more than one element keep their order."""
    cdef int64_t i, axis
    cdef int64_t last = -1
    if not known_integers(order):
        return False
    for i in range(hr_elements(order)):
        axis = element(order, i)
        if axis < 0:
            axis += input.rank
        if axis < 0 or axis >= input.rank:
            return False
        if input.dims[axis] == 1:
            continue
        if axis < last:
            return False
        last = axis
    return True
