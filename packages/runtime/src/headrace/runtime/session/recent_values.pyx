# cython: language_level=3
"""A bounded cache with one look-up per access: two generations instead of an order of use."""


cdef class RecentValues:
    """Keeps the most recently used values: at least `size`, at most twice as many."""

    def __init__(self, int size):
        self.young = {}
        self.old = {}
        self.size = size

    cpdef get(self, key):
        """Returns: the value of a key, or None."""
        value = self.young.get(key)
        if value is None:
            value = self.old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    cpdef put(self, key, value):
        """Keeps a value; values not used while the young generation filled up are dropped."""
        if len(self.young) >= self.size:
            self.old = self.young
            self.young = {}
        self.young[key] = value

    cpdef clear(self):
        self.young = {}
        self.old = {}
