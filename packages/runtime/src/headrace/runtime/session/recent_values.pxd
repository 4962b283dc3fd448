"""A bounded cache."""

cdef class RecentValues:
    cdef dict young
    cdef dict old
    cdef int size

    cpdef get(self, key)
    cpdef put(self, key, value)
    cpdef clear(self)
