from headrace.runtime.passes.graph_ir cimport GraphIR

# Gives every plain input, and fetch, that a reference feeds a `_ReadSlot` node of its own.
cdef int read_slots(GraphIR ir) except -1
