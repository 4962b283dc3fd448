# cython: language_level=3
"""What a dequeue returns: an element, or elements joined to a batch."""

from libc.stdint cimport int32_t, int64_t
from cython.operator cimport dereference, preincrement
from libc.string cimport memset
from libcpp.list cimport list as linked_list

from headrace.runtime.memory.buffer cimport allocate_tensor, copy_elements
from headrace.runtime.memory.kernel_abi cimport (
    HR_INVALID_ARGUMENT, HR_MAX_RANK, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code, hr_dtype_size,
    hr_tensor,
)
from headrace.runtime.state.queue cimport Element, QueueSpec, Waiter, view_row


cdef hr_code complete_dequeue(Waiter* w, const QueueSpec* spec) noexcept nogil:
    """Returns the one element, or joins the elements of a batch."""
    cdef int32_t c
    cdef hr_code code = HR_OK
    if not w.many:
        for c in range(w.n_outputs):
            w.outputs[c][0] = w.elements.front().parts[c].take()
        return HR_OK
    for c in range(w.n_outputs):
        code = batch(w, spec, c)
        if code != HR_OK:
            return code
    return HR_OK


cdef hr_code fail_rank(Waiter* w) noexcept nogil:
    w.message.assign(b"a batch of the component would have more dimensions than tensors may have")
    return HR_INVALID_ARGUMENT


cdef hr_code fail_shapes(Waiter* w) noexcept nogil:
    w.message.assign(b"elements of different shapes do not make a batch; PaddingFIFOQueue pads them")
    return HR_INVALID_ARGUMENT


cdef hr_code batch(Waiter* w, const QueueSpec* spec, int32_t c) noexcept nogil:
    cdef hr_tensor* out = w.outputs[c]
    cdef hr_tensor part
    cdef const hr_tensor* one
    cdef linked_list[Element].iterator element
    cdef size_t n = w.elements.size()
    cdef int64_t i = 0
    cdef int32_t d
    out.dtype = spec.types[c]
    if n == 0:
        if <size_t>c >= spec.ranks.size() or spec.ranks[c] < 0:
            w.message.assign(b"an empty batch needs declared shapes of the components")
            return HR_INVALID_ARGUMENT
        out.rank = spec.ranks[c] + 1
        if out.rank > HR_MAX_RANK:
            return fail_rank(w)
        for d in range(spec.ranks[c]):
            out.dims[d + 1] = max(spec.dims[c][d], <int64_t>0)
    else:
        one = w.elements.front().parts[c].get()
        out.rank = one.rank + 1
        if out.rank > HR_MAX_RANK:
            return fail_rank(w)
        for d in range(out.rank - 1):
            out.dims[d + 1] = one.dims[d]
    element = w.elements.begin()
    while element != w.elements.end():
        one = dereference(element).parts[c].get()
        preincrement(element)
        if one.rank + 1 != out.rank:
            return fail_shapes(w)
        for d in range(one.rank):
            if one.dims[d] != out.dims[d + 1]:
                if not spec.padding:
                    return fail_shapes(w)
                out.dims[d + 1] = max(out.dims[d + 1], one.dims[d])
    out.dims[0] = <int64_t>n
    if allocate_tensor(out) != HR_OK:
        w.message.assign(b"no memory for the batch")
        return HR_RESOURCE_EXHAUSTED
    if spec.padding:
        memset(out.data, 0, out.bytes)
    element = w.elements.begin()
    while element != w.elements.end():
        view_row(out, i, &part)
        copy_padded(dereference(element).parts[c].get(), &part, 0, 0, 0)
        preincrement(element)
        i += 1
    return HR_OK


cdef void copy_padded(const hr_tensor* src, hr_tensor* dst, int dimension, int64_t from_,
                      int64_t to) noexcept nogil:
    """Copies src into the first corner of dst; from_ and to count elements."""
    cdef hr_tensor a
    cdef hr_tensor b
    cdef int64_t i, inner_from = 1, inner_to = 1, size
    cdef int d
    cdef bint same = True
    for d in range(dimension, src.rank):
        same = same and src.dims[d] == dst.dims[d]
        inner_from *= src.dims[d] if d > dimension else 1
        inner_to *= dst.dims[d] if d > dimension else 1
    if same or dimension >= src.rank:
        size = hr_dtype_size(src.dtype)
        a = src[0]
        b = dst[0]
        a.rank = 1
        a.dims[0] = 1
        for d in range(dimension, src.rank):
            a.dims[0] *= src.dims[d]
        a.bytes = a.dims[0] * size
        b.bytes = a.bytes
        a.data = <char*>src.data + from_ * size
        b.data = <char*>dst.data + to * size
        copy_elements(&a, &b)
        return
    for i in range(src.dims[dimension]):
        copy_padded(src, dst, dimension + 1, from_ + i * inner_from, to + i * inner_to)
