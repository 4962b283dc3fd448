# distutils: language = c++
"""Sets of small numbers, each stored once, so that equal sets have equal numbers."""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector


cdef class TokenSets:
    """Hash-consed sorted vectors, with a cache of their unions."""

    def __cinit__(self):
        self.sets.resize(1)

    cdef int32_t single(self, int32_t token) noexcept nogil:
        cdef vector[int32_t] tokens
        tokens.push_back(token)
        return self._keep(tokens)

    cdef int32_t join(self, int32_t a, int32_t b) noexcept nogil:
        cdef vector[int32_t] merged
        cdef uint64_t key
        cdef size_t i = 0
        cdef size_t k = 0
        cdef int32_t result
        if a == b or b == 0:
            return a
        if a == 0:
            return b
        if a > b:
            a, b = b, a
        key = <uint64_t>a << 32 | <uint64_t>b
        found = self.unions.find(key)
        if found != self.unions.end():
            return dereference(found).second
        merged.reserve(self.sets[a].size() + self.sets[b].size())
        while i < self.sets[a].size() or k < self.sets[b].size():
            if k == self.sets[b].size():
                merged.push_back(self.sets[a][i])
                i += 1
            elif i == self.sets[a].size() or self.sets[b][k] < self.sets[a][i]:
                merged.push_back(self.sets[b][k])
                k += 1
            else:
                if self.sets[b][k] == self.sets[a][i]:
                    k += 1
                merged.push_back(self.sets[a][i])
                i += 1
        result = self._keep(merged)
        self.unions[key] = result
        return result

    cdef int32_t _keep(self, vector[int32_t]& tokens) noexcept nogil:
        cdef uint64_t hashed = 1469598103934665603ULL
        cdef size_t i
        cdef int32_t number
        for i in range(tokens.size()):
            hashed = (hashed ^ <uint64_t>tokens[i]) * 1099511628211ULL
        for i in range(self.by_hash[hashed].size()):
            number = self.by_hash[hashed][i]
            if self.sets[number] == tokens:
                return number
        number = <int32_t>self.sets.size()
        self.sets.push_back(tokens)
        self.by_hash[hashed].push_back(number)
        return number
