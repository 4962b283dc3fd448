from headrace.runtime.passes.graph_ir cimport GraphIR

# Adds a `_ReadSlot` node for every plain input or fetch of a reference.
cdef int read_slots(GraphIR ir) except -1
