from headrace.runtime.passes.draft cimport Draft

# Gives every plain input, and fetch, that a reference feeds a `_ReadSlot` node of its own.
cdef int read_slots(Draft draft) except -1
